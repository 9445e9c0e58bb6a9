/* Kind `conv`: residual towers over a board. */
#include "networks/model/model_kinds.h"
#include "networks/tape/halving.h"
#include <math.h>

enum { REPRESENTATION, DYNAMICS, PREDICTION };
enum { REWARD, POLICY, VALUE, TURN };
enum { STRIDED = 2 }; /* halvings by convolution, the first ones */

static int positions_of(const mz_model *model) { return model->board.height * model->board.width; }

static int front_channels(const mz_model *model, int halving) {
  return halving == 0 ? mz_padded(model->channels / 2) : model->channels;
}

static int head_count(const mz_model *model) { return model->tells_turns ? TURN + 1 : TURN; }

/* ---- parameters ---- */

static void add_norm(mz_model *model, mz_norm norm[MZ_ORIGINS], const char *part, int channels) {
  norm[MZ_FROM_ROOT] = norm[MZ_FROM_DYNAMICS] = mz_model_add_norm(&model->params, part, channels);
}

static void add_block(mz_model *model, const char *part, mz_board board, int channels, bool pooled) {
  mz_model_name_text name;
  mz_block *block = &model->blocks[model->block_count++];
  block->pooled = -1;
  if (pooled) {
    block->pooled = mz_params_add(&model->params, mz_model_name(name, part, "pooled.weight"), 2 * channels, channels, true,
                                  MZ_INIT_HE, 2 * channels);
  }
  for (int i = 0; i < 2; i++) {
    char layer[80];
    snprintf(layer, sizeof layer, "%s.norm%d", part, i);
    add_norm(model, block->norm[i], layer, channels);
    snprintf(layer, sizeof layer, "conv%d.weight", i);
    block->conv[i] = mz_params_add_conv(&model->params, mz_model_name(name, part, layer), board, channels, channels, MZ_INIT_HE);
  }
}

static void add_tower(mz_model *model, mz_tower *tower, const char *part, int stem_inputs, int blocks, int pooled) {
  mz_model_name_text name;
  *tower = (mz_tower){.stem = -1, .first = model->block_count, .count = blocks};
  if (stem_inputs > 0) {
    tower->stem = mz_params_add_conv(&model->params, mz_model_name(name, part, "stem.weight"), model->board, stem_inputs,
                                     model->channels, MZ_INIT_HE);
    mz_params_add(&model->params, mz_model_name(name, part, "stem.bias"), 1, model->channels, false, MZ_INIT_ZERO, 0);
  }
  for (int i = 0; i < blocks; i++) {
    char block[40];
    snprintf(block, sizeof block, "%s.%d", part, i);
    add_block(model, block, model->board, model->channels, i >= blocks - pooled);
  }
}

static void add_front(mz_model *model, int blocks) {
  mz_board board = model->seen;
  int inputs = model->planes;
  for (int k = 0; k < model->halvings; k++) {
    mz_tower *halving = &model->front[k];
    const int channels = front_channels(model, k), taps = MZ_KERNEL * MZ_KERNEL;
    mz_model_name_text name;
    char part[40], block[64];
    snprintf(part, sizeof part, "representation.downsample%d", k);
    *halving = (mz_tower){.stem = -1, .first = model->block_count, .count = blocks};
    if (k < STRIDED) {
      halving->stem = mz_params_add(&model->params, mz_model_name(name, part, "weight"), mz_padded(taps * inputs), channels, true,
                                    MZ_INIT_HE, taps * inputs);
      mz_params_add(&model->params, mz_model_name(name, part, "bias"), 1, channels, false, MZ_INIT_ZERO, 0);
    }
    board = mz_halved(board);
    for (int i = 0; i < blocks; i++) {
      snprintf(block, sizeof block, "%s.%d", part, i);
      add_block(model, block, board, channels, false);
    }
    inputs = channels;
  }
}

static void add_head(mz_model *model, mz_head *head, const char *part, int outputs) {
  mz_model_name_text name;
  const int inputs = positions_of(model) * model->head_channels;
  head->narrow = mz_params_add(&model->params, mz_model_name(name, part, "conv.weight"), model->channels, model->head_channels,
                               true, MZ_INIT_HE, model->channels);
  add_norm(model, head->norm, mz_model_name(name, part, "norm"), model->head_channels);
  head->hidden = -1;
  const int width = model->head_width, last = width > 0 ? width : inputs;
  if (width > 0) {
    head->hidden =
        mz_params_add(&model->params, mz_model_name(name, part, "hidden.weight"), inputs, width, true, MZ_INIT_HE, inputs);
    add_norm(model, head->hidden_norm, mz_model_name(name, part, "hidden.norm"), width);
  }
  head->out = mz_model_add_layer(&model->params, part, last, outputs, last, MZ_INIT_SMALL);
}

/* apart: of each origin its own. */
static void add_statistics_by_origin(mz_model *model, mz_norm norm[MZ_ORIGINS], const char *part, int channels, double share,
                                     bool apart) {
  mz_model_add_statistics(&model->params, &norm[MZ_FROM_DYNAMICS], part, channels, share);
  norm[MZ_FROM_ROOT] = norm[MZ_FROM_DYNAMICS];
  if (!apart) return;
  mz_model_name_text root;
  mz_model_add_statistics(&model->params, &norm[MZ_FROM_ROOT], mz_model_name(root, part, "root"), channels, share);
}

static void add_block_statistics(mz_model *model, const mz_tower *tower, const char *name, int channels, double share,
                                 bool apart) {
  char part[80];
  for (int b = 0; b < tower->count; b++) {
    for (int i = 0; i < 2; i++) {
      snprintf(part, sizeof part, "%s.%d.norm%d", name, b, i);
      add_statistics_by_origin(model, model->blocks[tower->first + b].norm[i], part, channels, share, apart);
    }
  }
}

/* Behind everything else. */
void mz_conv_model_add_statistics(mz_model *model, double share) {
  static const char *const towers[] = {"representation", "dynamics", "prediction"}, *const heads[] = {"reward", "policy", "value",
                                                                                                      "turn"};
  char part[48];
  for (int k = 0; k < model->halvings; k++) {
    snprintf(part, sizeof part, "representation.downsample%d", k);
    add_block_statistics(model, &model->front[k], part, front_channels(model, k), share, false);
  }
  for (int t = 0; t < 3; t++) add_block_statistics(model, &model->towers[t], towers[t], model->channels, share, t == PREDICTION);
  for (int h = 0; h < head_count(model); h++) {
    snprintf(part, sizeof part, "%s.norm", heads[h]);
    add_statistics_by_origin(model, model->heads[h].norm, part, model->head_channels, share, h == POLICY || h == VALUE);
    snprintf(part, sizeof part, "%s.hidden.norm", heads[h]);
    if (model->head_width > 0)
      add_statistics_by_origin(model, model->heads[h].hidden_norm, part, model->head_width, share, h == POLICY || h == VALUE);
  }
}

mz_status mz_conv_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec) {
  MZ_TRY(mz_conv_model_size(model, settings, spec));
  model->planes = spec->obs_shape[2];
  model->channels = (int)settings->channels;
  model->head_channels = (int)settings->head_channels;
  model->head_width = (int)settings->head_width;
  model->infer_bf16 = settings->inference == MZ_PRECISION_BF16;
  model->train_bf16 = settings->training == MZ_PRECISION_BF16;
  model->latent = positions_of(model) * model->channels;
  const mz_action_kind kind = spec->action_kind == MZ_ACTIONS_DIRECTIONS ? MZ_ACTIONS_PLAIN : spec->action_kind;
  model->action_map = (mz_action_map){model->board, kind, spec->actions};
  mz_params *params = &model->params;
  const int blocks = (int)settings->blocks, pooled = (int)settings->pooled_blocks, taps = mz_action_map_rows(&model->action_map);
  add_front(model, (int)settings->downsample_blocks);
  const int entering = model->halvings > 0 ? front_channels(model, model->halvings - 1) : mz_padded(model->planes);
  add_tower(model, &model->towers[REPRESENTATION], "representation", entering, blocks, pooled);
  add_tower(model, &model->towers[DYNAMICS], "dynamics", model->channels, blocks, pooled);
  model->action_table = mz_params_add(params, "dynamics.action", taps, model->channels, true, MZ_INIT_HE, MZ_KERNEL * MZ_KERNEL);
  add_tower(model, &model->towers[PREDICTION], "prediction", 0, (int)settings->prediction_blocks, pooled);
  add_head(model, &model->heads[REWARD], "reward", model->reward.bins);
  add_head(model, &model->heads[POLICY], "policy", model->actions);
  add_head(model, &model->heads[VALUE], "value", model->value.bins);
  if (model->tells_turns) add_head(model, &model->heads[TURN], "turn", mz_model_turn_support.bins);
  return MZ_OK;
}

/* ---- on tapes ---- */

static mz_value narrow(const mz_model *model, mz_tape *tape, mz_value x) {
  return (mz_tape_trains(tape) ? model->train_bf16 : model->infer_bf16) ? mz_tape_to_bf16(tape, x) : x;
}

/* Its second norm goes into the convolution before it: there is one of it. */
static bool folds(const mz_block *b) { return b->norm[1][MZ_FROM_ROOT].mean == b->norm[1][MZ_FROM_DYNAMICS].mean; }

/* Returns the value that a pooled block's first convolution adds; −1: none. */
static mz_value pooled(const mz_model *model, mz_tape *tape, const mz_block *b, mz_value y) {
  if (b->pooled < 0) return -1;
  const mz_value pool = mz_tape_pool(tape, y, positions_of(model));
  return mz_tape_broadcast(tape, mz_tape_linear(tape, pool, b->pooled, -1, MZ_LINEAR_ONLY), positions_of(model));
}

/* Folded (mz_conv_model_fold), a norm's statistics are scale and shift. */
static mz_value norm(const mz_model *model, mz_tape *tape, const mz_norm *n, mz_value x) {
  return mz_tape_trains(tape) ? mz_tape_norm(tape, x, n, model->norm_rows, MZ_RELU)
                              : mz_tape_affine(tape, x, n->mean, n->variance, MZ_RELU);
}

static mz_value block(const mz_model *model, mz_tape *tape, const mz_block *b, mz_origin origin, mz_value x) {
  mz_value y = narrow(model, tape, norm(model, tape, &b->norm[0][origin], x));
  const mz_value add = pooled(model, tape, b, y);
  if (!mz_tape_trains(tape) && folds(b)) {
    y = mz_tape_conv(tape, y, b->conv[0], b->norm[1][origin].variance, add, MZ_RELU);
  } else {
    y = norm(model, tape, &b->norm[1][origin], mz_tape_conv(tape, y, b->conv[0], -1, add, MZ_LINEAR_ONLY));
  }
  return mz_tape_conv(tape, narrow(model, tape, y), b->conv[1], -1, x, MZ_LINEAR_ONLY);
}

/* add: to the stem's sum; −1: nothing. */
static mz_value tower(const mz_model *model, mz_tape *tape, int which, mz_origin origin, mz_value x, mz_value add) {
  const mz_tower *t = &model->towers[which];
  if (t->stem >= 0) x = mz_tape_conv(tape, narrow(model, tape, x), t->stem, t->stem + 1, add, MZ_LINEAR_ONLY);
  for (int i = 0; i < t->count; i++) x = block(model, tape, &model->blocks[t->first + i], origin, x);
  return x;
}

/* Halves the observations' board down to the latents'. */
static mz_value front(const mz_model *model, mz_tape *tape, mz_value x) {
  mz_board board = model->seen;
  for (int k = 0; k < model->halvings; k++) {
    const mz_tower *halving = &model->front[k];
    const mz_board half = mz_halved(board);
    x = halving->stem < 0 ? mz_tape_mean_pool(tape, x, board)
                          : mz_tape_pointwise(tape, mz_tape_patches(tape, x, board), half.height * half.width, halving->stem,
                                              halving->stem + 1, MZ_RELU);
    for (int i = 0; i < halving->count; i++) x = block(model, tape, &model->blocks[halving->first + i], MZ_FROM_ROOT, x);
    board = half;
  }
  return x;
}

static mz_value head(const mz_model *model, mz_tape *tape, int which, mz_origin origin, mz_value x) {
  const mz_head *h = &model->heads[which];
  x = norm(model, tape, &h->norm[origin], mz_tape_pointwise(tape, x, positions_of(model), h->narrow, -1, MZ_LINEAR_ONLY));
  if (h->hidden >= 0) x = norm(model, tape, &h->hidden_norm[origin], mz_tape_linear(tape, x, h->hidden, -1, MZ_LINEAR_ONLY));
  return mz_tape_linear(tape, x, h->out, h->out + 1, MZ_LINEAR_ONLY);
}

static mz_model_heads predict(const mz_model *model, mz_tape *tape, mz_origin origin, mz_value latent, mz_value reward,
                              mz_value turn) {
  const mz_value x = tower(model, tape, PREDICTION, origin, latent, -1);
  return (mz_model_heads){.latent = latent,
                          .reward = reward,
                          .policy = head(model, tape, POLICY, origin, x),
                          .value = head(model, tape, VALUE, origin, x),
                          .turn = turn};
}

mz_value mz_conv_model_represent(const mz_model *model, mz_tape *tape, mz_value obs) {
  const mz_value x = model->halvings > 0 ? front(model, tape, obs) : mz_tape_planes(tape, obs, positions_of(model));
  return mz_model_scale(model, tape, tower(model, tape, REPRESENTATION, MZ_FROM_ROOT, x, -1));
}

mz_model_heads mz_conv_model_initial(const mz_model *model, mz_tape *tape, mz_value obs) {
  return predict(model, tape, MZ_FROM_ROOT, mz_conv_model_represent(model, tape, obs), -1, -1);
}

mz_model_heads mz_conv_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index) {
  const mz_value action = mz_tape_action_map(tape, &model->action_map, model->action_table, action_index);
  const mz_value next = mz_model_scale(model, tape, tower(model, tape, DYNAMICS, MZ_FROM_DYNAMICS, latent, action));
  const mz_value reward = head(model, tape, REWARD, MZ_FROM_DYNAMICS, next);
  const mz_value turn = model->tells_turns ? head(model, tape, TURN, MZ_FROM_DYNAMICS, next) : -1;
  return predict(model, tape, MZ_FROM_DYNAMICS, next, reward, turn);
}

/* ---- folding ---- */

/* A norm with running statistics is x · scale + shift; these take the place of the statistics. */
static void as_affine(const mz_model *model, const mz_norm *norm, const float *values, float *out) {
  const mz_param *items = model->params.items;
  const float *gain = values + items[norm->gamma].offset, *offset = values + items[norm->beta].offset;
  const float *mean = values + items[norm->mean].offset, *variance = values + items[norm->variance].offset;
  float *scale = out + items[norm->mean].offset, *shift = out + items[norm->variance].offset;
  for (int c = 0; c < items[norm->gamma].columns; c++) {
    scale[c] = gain[c] / sqrtf(variance[c] + MZ_NORM_EPSILON);
    shift[c] = offset[c] - mean[c] * scale[c];
  }
}

/* The norm's scale into the weights before it. */
static void scale_columns(const mz_model *model, int weight, const mz_norm *norm, float *out) {
  const mz_param *param = &model->params.items[weight];
  const float *scale = out + model->params.items[norm->mean].offset;
  float *at = out + param->offset;
  for (int r = 0; r < param->rows; r++, at += param->stride)
    for (int c = 0; c < param->columns; c++) at[c] *= scale[c];
}

void mz_conv_model_fold(const mz_model *model, const float *values, float *out) {
  for (int origin = 0; origin < MZ_ORIGINS; origin++) {
    for (int b = 0; b < model->block_count; b++)
      for (int i = 0; i < 2; i++) as_affine(model, &model->blocks[b].norm[i][origin], values, out);
    for (int h = 0; h < head_count(model); h++) {
      as_affine(model, &model->heads[h].norm[origin], values, out);
      if (model->head_width > 0) as_affine(model, &model->heads[h].hidden_norm[origin], values, out);
    }
  }
  for (int b = 0; b < model->block_count; b++) {
    const mz_block *block = &model->blocks[b];
    if (!folds(block)) continue;
    scale_columns(model, block->conv[0], &block->norm[1][MZ_FROM_ROOT], out);
    if (block->pooled >= 0) scale_columns(model, block->pooled, &block->norm[1][MZ_FROM_ROOT], out);
  }
}

/* ---- counting ---- */

static double front_macs(const mz_model *model) {
  mz_board board = model->seen;
  double macs = 0, inputs = model->planes;
  for (int k = 0; k < model->halvings; k++) {
    board = mz_halved(board);
    const double channels = front_channels(model, k), conv = board.height * board.width * MZ_KERNEL * MZ_KERNEL * channels;
    macs += (model->front[k].stem >= 0 ? conv * inputs : 0) + model->front[k].count * 2 * conv * channels;
    inputs = channels;
  }
  return macs;
}

static double head_macs(const mz_model *model, int outputs) {
  const double positions = positions_of(model), narrow = model->head_channels, width = model->head_width;
  return positions * model->channels * narrow +
         (width > 0 ? positions * narrow * width + width * outputs : positions * narrow * outputs);
}

mz_model_macs mz_conv_model_macs(const mz_model *model) {
  const double positions = positions_of(model), channels = model->channels;
  const double conv = positions * MZ_KERNEL * MZ_KERNEL * channels, block = 2 * conv * channels, pooled = 2 * channels * channels;
  const mz_tower *towers = model->towers;
  double pools[3] = {0};
  for (int t = 0; t < 3; t++)
    for (int b = 0; b < towers[t].count; b++) pools[t] += model->blocks[towers[t].first + b].pooled >= 0 ? pooled : 0;
  const double turn = model->tells_turns ? head_macs(model, mz_model_turn_support.bins) : 0;
  const double entering = model->halvings > 0 ? front_channels(model, model->halvings - 1) : model->planes;
  return (mz_model_macs){
      .representation = front_macs(model) + conv * entering + towers[REPRESENTATION].count * block + pools[REPRESENTATION],
      .dynamics =
          conv * channels + towers[DYNAMICS].count * block + pools[DYNAMICS] + head_macs(model, model->reward.bins) + turn,
      .prediction = towers[PREDICTION].count * block + pools[PREDICTION] + head_macs(model, model->actions) +
                    head_macs(model, model->value.bins),
  };
}
