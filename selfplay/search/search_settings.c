#include "selfplay/search/search.h"

static const mz_setting rows[] = {
    MZ_SETTING(mz_search_settings, simulations, "simulations", MZ_INT, MZ_ALGORITHMIC, 1, 100000, "16", "a move",
               "simulations of a search", .common = true),
    MZ_SETTING(mz_search_settings, algorithm, "search.algorithm", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "gumbel", "",
               "puct: MuZero, targets are visit shares; gumbel: Gumbel MuZero, sequential halving at the root, improved policy "
               "as target",
               .choices = "puct|gumbel", .common = true),
    MZ_SETTING(mz_search_settings, max_depth, "search.max_depth", MZ_INT, MZ_ALGORITHMIC, 0, 100000, "0", "moves",
               "deepest node that a simulation may reach; 0: no limit"),
    MZ_SETTING(
        mz_search_settings, q_transform, "search.q_transform", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "parent_siblings", "",
        "puct: how Q is scaled to [0, 1]: by the node's value and its siblings, or by search.min_value and search.max_value",
        .choices = "parent_siblings|min_max"),
    MZ_SETTING(mz_search_settings, c_init, "search.c_init", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "1.25", "",
               "puct: weight of exploration"),
    MZ_SETTING(mz_search_settings, c_base, "search.c_base", MZ_FLOAT, MZ_ALGORITHMIC, 1, 1e9, "19652", "",
               "puct: visits over which exploration grows"),
    MZ_SETTING(mz_search_settings, dirichlet_alpha, "search.dirichlet_alpha", MZ_FLOAT, MZ_ALGORITHMIC, 1e-3, 1000, "0.3", "",
               "puct: concentration of the root noise"),
    MZ_SETTING(mz_search_settings, dirichlet_fraction, "search.dirichlet_fraction", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0.25", "",
               "puct: share of noise in the root's prior"),
    MZ_SETTING(mz_search_settings, min_value, "search.min_value", MZ_FLOAT, MZ_ALGORITHMIC, -1e9, 1e9, "-1", "",
               "puct with min_max: least Q"),
    MZ_SETTING(mz_search_settings, max_value, "search.max_value", MZ_FLOAT, MZ_ALGORITHMIC, -1e9, 1e9, "1", "",
               "puct with min_max: largest Q"),
    MZ_SETTING(
        mz_search_settings, spread_min, "search.spread_min", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "0", "",
        "puct with parent_siblings: least spread of Q that is scaled to 1, as a share of the node's value, so that differences "
        "smaller than a value's error do not decide"),
    MZ_SETTING(
        mz_search_settings, prior_min, "search.prior_min", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0", "",
        "a legal move's prior at the root is at least this share of the largest one's, so that a policy that gave a move up can "
        "take it up again"),
    MZ_SETTING(mz_search_settings, considered, "search.considered_actions", MZ_INT, MZ_ALGORITHMIC, 1, 65536, "16", "actions",
               "gumbel: actions that sequential halving starts with"),
    MZ_SETTING(mz_search_settings, value_scale, "search.value_scale", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "0.1", "",
               "gumbel: weight of Q against the logits"),
    MZ_SETTING(mz_search_settings, maxvisit_init, "search.maxvisit_init", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e6, "50", "visits",
               "gumbel: visits added to the largest count when Q is weighted"),
    MZ_SETTING(mz_search_settings, gumbel_scale, "search.gumbel_scale", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1000, "1", "",
               "gumbel: scale of the root noise"),
    MZ_SETTING(mz_search_settings, rescale_values, "search.rescale_values", MZ_BOOL, MZ_ALGORITHMIC, 0, 1, "on", "",
               "gumbel: scale completed Q to [0, 1] over a node's actions"),
    MZ_SETTING(mz_search_settings, symmetry, "search.symmetry", MZ_BOOL, MZ_ALGORITHMIC, 0, 1, "off", "",
               "policy and value of the position that is searched are means over all symmetries of the board"),
};

const mz_settings_table mz_search_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};
