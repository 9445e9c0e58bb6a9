#include "selfplay/search/search.h"

#define ROW(field, key_, type_, min_, max_, fallback_, choices_, unit_, ...)                                                     \
  {                                                                                                                              \
    .key = key_, .type = type_, .class_ = MZ_ALGORITHMIC, .offset = offsetof(mz_search_settings, field), .min = min_,            \
    .max = max_, .fallback = fallback_, .choices = choices_, .unit = unit_, .help = __VA_ARGS__                                  \
  }

static const mz_setting rows[] = {
    ROW(simulations, "simulations", MZ_INT, 1, 100000, "16", NULL, "a move", "simulations of a search", .common = true),
    ROW(algorithm, "search.algorithm", MZ_ENUM, 0, 0, "gumbel", "puct|gumbel", "",
        "puct: MuZero, targets are visit shares; gumbel: Gumbel MuZero, sequential halving at the root, improved policy as "
        "target",
        .common = true),
    ROW(max_depth, "search.max_depth", MZ_INT, 0, 100000, "0", NULL, "moves",
        "deepest node that a simulation may reach; 0: no limit"),
    ROW(q_transform, "search.q_transform", MZ_ENUM, 0, 0, "parent_siblings", "parent_siblings|min_max", "",
        "puct: how Q is scaled to [0, 1]: by the node's value and its siblings, or by search.min_value and search.max_value"),
    ROW(c_init, "search.c_init", MZ_FLOAT, 0, 1000, "1.25", NULL, "", "puct: weight of exploration"),
    ROW(c_base, "search.c_base", MZ_FLOAT, 1, 1e9, "19652", NULL, "", "puct: visits over which exploration grows"),
    ROW(dirichlet_alpha, "search.dirichlet_alpha", MZ_FLOAT, 1e-3, 1000, "0.3", NULL, "",
        "puct: concentration of the root noise"),
    ROW(dirichlet_fraction, "search.dirichlet_fraction", MZ_FLOAT, 0, 1, "0.25", NULL, "",
        "puct: share of noise in the root's prior"),
    ROW(min_value, "search.min_value", MZ_FLOAT, -1e9, 1e9, "-1", NULL, "", "puct with min_max: least Q"),
    ROW(max_value, "search.max_value", MZ_FLOAT, -1e9, 1e9, "1", NULL, "", "puct with min_max: largest Q"),
    ROW(considered, "search.considered_actions", MZ_INT, 1, 65536, "16", NULL, "actions",
        "gumbel: actions that sequential halving starts with"),
    ROW(value_scale, "search.value_scale", MZ_FLOAT, 0, 1000, "0.1", NULL, "", "gumbel: weight of Q against the logits"),
    ROW(maxvisit_init, "search.maxvisit_init", MZ_FLOAT, 0, 1e6, "50", NULL, "visits",
        "gumbel: visits added to the largest count when Q is weighted"),
    ROW(gumbel_scale, "search.gumbel_scale", MZ_FLOAT, 0, 1000, "1", NULL, "", "gumbel: scale of the root noise"),
    ROW(rescale_values, "search.rescale_values", MZ_BOOL, 0, 1, "on", NULL, "",
        "gumbel: scale completed Q to [0, 1] over a node's actions"),
};

const mz_settings_table mz_search_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
