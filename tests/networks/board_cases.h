/* Small networks that together use every op that trains on boards, beside those of cases.h. Include after cmocka.h. */
#pragma once
#include "networks/tape/halving.h"
#include "tests/networks/cases.h"

enum { OBS_PLANES = 3, NARROW = 16 };

/* Parameters that every case has, by index, each with its bias behind it. */
enum { STEM = 0, CONV_A = 2, CONV_B = 4, HEAD = 6, EXTRA = 10 };

static inline int positions_of(net_size size) { return size.board.height * size.board.width; }

static inline void conv_params(mz_params *params, const char *name, net_size size, int inputs) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  mz_params_add_conv(params, full, size.board, inputs, size.width, MZ_INIT_HE);
  snprintf(full, sizeof full, "%s.bias", name);
  mz_params_add(params, full, 1, size.width, false, MZ_INIT_HE, 9 * inputs);
}

static inline void board_params(mz_params *params, net_size size) {
  conv_params(params, "stem", size, mz_padded(OBS_PLANES));
  conv_params(params, "a", size, size.width);
  conv_params(params, "b", size, size.width);
  layer_params(params, "narrow", size.width, NARROW);
  layer_params(params, "head", positions_of(size) * NARROW, 9);
}

static inline mz_value board_stem(net *n, net_size size) {
  const int columns = positions_of(size) * OBS_PLANES;
  const mz_value obs = net_input(n, mz_tape_input(n->tape, columns), columns, PLAIN);
  return mz_tape_conv(n->tape, mz_tape_planes(n->tape, obs, positions_of(size)), STEM, STEM + 1, -1, MZ_LINEAR_ONLY);
}

static inline void board_loss(net *n, net_size size, mz_value x, float factor) {
  const mz_value narrow = mz_tape_pointwise(n->tape, x, positions_of(size), HEAD, HEAD + 1, MZ_RELU);
  net_loss(n, mz_tape_linear(n->tape, narrow, HEAD + 2, HEAD + 3, MZ_LINEAR_ONLY), 9, factor);
}

static inline void record_conv(net *n, net_size size) {
  const mz_value x = mz_tape_conv(n->tape, board_stem(n, size), CONV_A, -1, -1, MZ_RELU);
  board_loss(n, size, mz_tape_conv(n->tape, x, CONV_B, CONV_B + 1, -1, MZ_RELU), 1.0f);
}

/* Sums, with and without a ReLU, of values that others read too, and a weight in two places. */
static inline void record_conv_sums(net *n, net_size size) {
  const mz_value x = board_stem(n, size);
  const mz_value y = mz_tape_conv(n->tape, x, CONV_A, -1, -1, MZ_RELU);
  const mz_value z = mz_tape_conv(n->tape, y, CONV_B, CONV_B + 1, x, MZ_RELU);
  const mz_value u = mz_tape_conv(n->tape, z, CONV_B, CONV_B + 1, x, MZ_LINEAR_ONLY);
  board_loss(n, size, mz_tape_add(n->tape, u, z), 0.5f);
}

static inline void pointwise_params(mz_params *params, net_size size) {
  board_params(params, size);
  mz_params_add(params, "pointwise.weight", size.width, size.width, true, MZ_INIT_HE, size.width);
}
static inline void record_pointwise(net *n, net_size size) {
  mz_value x = board_stem(n, size);
  x = mz_tape_pointwise(n->tape, x, positions_of(size), EXTRA, -1, MZ_LINEAR_ONLY);
  x = mz_tape_add(n->tape, x, mz_tape_pointwise(n->tape, x, positions_of(size), EXTRA, -1, MZ_RELU));
  board_loss(n, size, x, 1.0f);
}

/* Actions of each kind, through one convolution and one table in two places. */
static inline mz_action_map action_map_of(net_size size, mz_action_kind kind) {
  const int cells = positions_of(size);
  const int actions[] = {[MZ_ACTIONS_PLAIN] = NET_ACTIONS,
                         [MZ_ACTIONS_CELLS] = cells,
                         [MZ_ACTIONS_CELLS_PASS] = cells + 1,
                         [MZ_ACTIONS_COLUMNS] = size.board.width};
  return (mz_action_map){size.board, kind, actions[kind]};
}
static inline void define_actions(mz_params *params, net_size size, mz_action_kind kind) {
  const mz_action_map map = action_map_of(size, kind);
  board_params(params, size);
  mz_params_add(params, "action", mz_action_map_rows(&map), size.width, true, MZ_INIT_HE, 9);
}
static inline void record_actions(net *n, net_size size, mz_action_kind kind) {
  const mz_action_map map = action_map_of(size, kind);
  n->actions = map.actions;
  mz_value x = board_stem(n, size);
  for (int k = 0; k < 2; k++) {
    const int index = net_index(n, mz_tape_index_input(n->tape));
    const mz_value action = mz_tape_action_map(n->tape, &map, EXTRA, index);
    x = mz_tape_minmax(n->tape, mz_tape_conv(n->tape, x, CONV_A, CONV_A + 1, action, MZ_RELU));
    board_loss(n, size, x, 1.0f);
  }
}
#define ACTIONS_OF_KIND(name, kind)                                                                                              \
  static inline void name##_params(mz_params *params, net_size size) { define_actions(params, size, kind); }                     \
  static inline void record_##name(net *n, net_size size) { record_actions(n, size, kind); }
ACTIONS_OF_KIND(plain_actions, MZ_ACTIONS_PLAIN)
ACTIONS_OF_KIND(cell_actions, MZ_ACTIONS_CELLS)
ACTIONS_OF_KIND(pass_actions, MZ_ACTIONS_CELLS_PASS)
ACTIONS_OF_KIND(column_actions, MZ_ACTIONS_COLUMNS)

static inline void norm_params(mz_params *params, net_size size) {
  static const char *const names[] = {"norm0.scale", "norm0.shift", "norm1.scale", "norm1.shift"};
  static const char *const statistics[] = {"norm0.mean", "norm0.variance", "norm1.mean", "norm1.variance"};
  board_params(params, size);
  for (int i = 0; i < 4; i++) mz_params_add(params, names[i], 1, size.width, false, MZ_INIT_HE, 4);
  for (int i = 0; i < 4; i++) mz_params_add_statistic(params, statistics[i], size.width, MZ_INIT_ZERO, 0.1f);
}
/* A residual block in two places. */
static inline void record_norm(net *n, net_size size) {
  static const mz_norm norms[] = {{EXTRA, EXTRA + 1, EXTRA + 4, EXTRA + 5}, {EXTRA + 2, EXTRA + 3, EXTRA + 6, EXTRA + 7}};
  mz_value x = board_stem(n, size);
  for (int k = 0; k < 2; k++) {
    mz_value y = mz_tape_norm(n->tape, x, &norms[0], size.group, MZ_RELU);
    y = mz_tape_conv(n->tape, y, CONV_A, -1, -1, MZ_LINEAR_ONLY);
    y = mz_tape_norm(n->tape, y, &norms[1], size.group, MZ_LINEAR_ONLY);
    x = mz_tape_conv(n->tape, y, CONV_B, -1, x, MZ_LINEAR_ONLY);
  }
  board_loss(n, size, x, 1.0f);
}

static inline void pool_params(mz_params *params, net_size size) {
  board_params(params, size);
  mz_params_add(params, "pooled.weight", 2 * size.width, size.width, true, MZ_INIT_HE, 2 * size.width);
}
/* A weight in two places; what is pooled is read by others before and behind; what is spread is added, and once read besides. */
static inline void record_pool(net *n, net_size size) {
  mz_value x = board_stem(n, size);
  for (int k = 0; k < 2; k++) {
    const mz_value pool = mz_tape_linear(n->tape, mz_tape_pool(n->tape, x, positions_of(size)), EXTRA, -1, MZ_LINEAR_ONLY);
    const mz_value spread = mz_tape_broadcast(n->tape, pool, positions_of(size));
    const mz_value y = mz_tape_conv(n->tape, x, CONV_A, -1, spread, k == 0 ? MZ_LINEAR_ONLY : MZ_RELU);
    x = mz_tape_add(n->tape, y, k == 0 ? x : spread);
  }
  board_loss(n, size, x, 1.0f);
}

/* A board halved twice by convolutions of stride 2. */
static inline void halving_params(mz_params *params, net_size size) {
  const mz_board quarter = mz_halved(mz_halved(size.board));
  layer_params(params, "first", mz_padded(9 * OBS_PLANES), size.width);
  layer_params(params, "second", 9 * size.width, size.width);
  layer_params(params, "narrow", size.width, NARROW);
  layer_params(params, "head", quarter.height * quarter.width * NARROW, 9);
}
/* The second halving is the sum of a convolution and a pool, recorded in either order. */
static inline void record_halving(net *n, net_size size, bool pool_first) {
  const int columns = positions_of(size) * OBS_PLANES;
  const mz_board half = mz_halved(size.board), quarter = mz_halved(half);
  const int positions = quarter.height * quarter.width;
  const mz_value obs = net_input(n, mz_tape_input(n->tape, columns), columns, PLAIN);
  mz_value x = mz_tape_patches(n->tape, mz_tape_scale(n->tape, obs, 0.5f), size.board);
  x = mz_tape_pointwise(n->tape, x, half.height * half.width, 0, 1, MZ_RELU);
  mz_value pool = pool_first ? mz_tape_mean_pool(n->tape, x, half) : 0;
  const mz_value y = mz_tape_pointwise(n->tape, mz_tape_patches(n->tape, x, half), positions, 2, 3, MZ_LINEAR_ONLY);
  if (!pool_first) pool = mz_tape_mean_pool(n->tape, x, half);
  x = mz_tape_pointwise(n->tape, mz_tape_add(n->tape, mz_tape_scale(n->tape, y, -0.75f), pool), positions, 4, 5, MZ_RELU);
  net_loss(n, mz_tape_linear(n->tape, x, 6, 7, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void record_patches(net *n, net_size size) { record_halving(n, size, false); }
static inline void record_mean_pool(net *n, net_size size) { record_halving(n, size, true); }

/* Rows of a group from which on that model has layers whose norm sees one position a row: over few of them it magnifies rounding. */
enum { PROJECTED_GROUP = 8 };
static inline const mz_model *unrolled_board_model(net_size size) {
  static mz_model model; /* large */
  const bool projects = size.group >= PROJECTED_GROUP;
  const mz_network_settings settings = {.kind = MZ_MODEL_CONV,
                                        .channels = size.width,
                                        .blocks = 1,
                                        .pooled_blocks =
                                            size.group > 1, /* the norm of one row takes away what is spread over it */
                                        .prediction_blocks = 1,
                                        .scaling = MZ_SCALING_RMS,
                                        .head_channels = NARROW,
                                        .head_width = projects ? 32 : 0,
                                        .projection = projects ? 32 : 0,
                                        .norm_rows = size.group,
                                        .bn_momentum = 0.1,
                                        .training = size.bf16 ? MZ_PRECISION_BF16 : MZ_PRECISION_F32,
                                        .value_bins = NET_BINS,
                                        .reward_bins = 5};
  const mz_spec spec = {.obs_kind = MZ_OBS_U8,
                        .obs_shape = {size.board.height, size.board.width, OBS_PLANES},
                        .obs_size = positions_of(size) * OBS_PLANES,
                        .actions = size.board.width,
                        .action_kind = MZ_ACTIONS_COLUMNS,
                        .return_max = 1,
                        .reward_max = 1};
  check(mz_model_init(&model, &settings, &spec));
  return &model;
}
static inline void define_unrolled_board(mz_params *params, net_size size) {
  *params = unrolled_board_model(size)->params;
  for (int i = 0; i < params->count; i++) { /* as define_unrolled */
    params->items[i].init = MZ_INIT_HE;
    if (params->items[i].fan_in == 0) params->items[i].fan_in = 4;
  }
}
static inline void record_unrolled_board(net *n, net_size size) {
  n->model = *unrolled_board_model(size);
  record_loss(n, 2, 0.75);
}

/* A model that halves its board as often as it can, at most twice, at the root of an unroll. */
static inline const mz_model *halving_model(net_size size) {
  static mz_model model; /* large */
  const int shorter = size.board.height < size.board.width ? size.board.height : size.board.width;
  const mz_network_settings settings = {.kind = MZ_MODEL_CONV,
                                        .channels = size.width,
                                        .blocks = 1,
                                        .downsample = 1 + (shorter > 2) + (shorter > 4),
                                        .downsample_blocks = 1,
                                        .scaling = MZ_SCALING_RMS,
                                        .head_channels = NARROW,
                                        .norm_rows = size.group,
                                        .bn_momentum = 0.1,
                                        .value_bins = NET_BINS,
                                        .reward_bins = 5};
  const mz_spec spec = {.obs_kind = MZ_OBS_U8,
                        .obs_shape = {size.board.height, size.board.width, OBS_PLANES},
                        .obs_size = positions_of(size) * OBS_PLANES,
                        .obs_scale = 0.75f,
                        .actions = NET_ACTIONS,
                        .return_max = 1,
                        .reward_max = 1};
  check(mz_model_init(&model, &settings, &spec));
  return &model;
}
static inline void define_halving_model(mz_params *params, net_size size) {
  *params = halving_model(size)->params;
  for (int i = 0; i < params->count; i++) { /* as define_unrolled */
    params->items[i].init = MZ_INIT_HE;
    if (params->items[i].fan_in == 0) params->items[i].fan_in = 4;
  }
}
static inline void record_halving_model(net *n, net_size size) {
  const mz_model *model = halving_model(size);
  const mz_value obs = net_input(n, mz_tape_input(n->tape, model->obs_size), model->obs_size, PLAIN);
  const mz_model_heads heads = mz_model_initial(model, n->tape, obs);
  net_loss(n, heads.policy, model->actions, 1.0f);
  net_loss(n, heads.value, model->value.bins, 0.5f);
  const mz_value target =
      net_input(n, mz_tape_input(n->tape, model->latent), model->latent, PLAIN); /* norms hide the stem's bias */
  mz_tape_mse(n->tape, heads.latent, target, net_input(n, mz_tape_input(n->tape, 1), 1, WEIGHTS), 4.0f);
}

static const net_case board_cases[] = {
    {"convolution", board_params, record_conv},
    {"convolution, sums", board_params, record_conv_sums},
    {"pointwise", pointwise_params, record_pointwise},
    {"actions: plain", plain_actions_params, record_plain_actions},
    {"actions: cells", cell_actions_params, record_cell_actions},
    {"actions: cells and pass", pass_actions_params, record_pass_actions},
    {"actions: columns", column_actions_params, record_column_actions},
    {"pool, spread", pool_params, record_pool},
    {"patches, mean pool", halving_params, record_patches},
    {"mean pool, patches", halving_params, record_mean_pool},
    {"halving model", define_halving_model, record_halving_model},
    {"norm", norm_params, record_norm},
    {"unrolled loss, boards", define_unrolled_board, record_unrolled_board},
};
enum { BOARD_CASES = sizeof board_cases / sizeof *board_cases };
