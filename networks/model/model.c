#include "networks/model/model.h"
#include "networks/model/model_kinds.h"
#include "networks/math/value.h"
#include <math.h>
#include <string.h>

static const mz_setting rows[] = {
    MZ_SETTING(mz_network_settings, kind, "network.kind", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "mlp", "",
               "fully connected layers, or residual convolutions for boards", .choices = "mlp|conv", .common = true),
    MZ_SETTING(mz_network_settings, scaling, "network.scaling", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "minmax", "",
               "what latents are scaled to: [0, 1], or a mean square of 1", .choices = "minmax|rms"),
    MZ_SETTING(mz_network_settings, inference, "network.inference", MZ_ENUM, MZ_NUMERIC, 0, 0, "f32", "",
               "conv: what inference's convolutions multiply; bf16 is the slower one where the processor has no matrix units",
               .choices = "f32|bf16"),
    MZ_SETTING(mz_network_settings, training, "network.training", MZ_ENUM, MZ_NUMERIC, 0, 0, "f32", "",
               "conv: what training's convolutions multiply (weights and sums are f32)", .choices = "f32|bf16"),
    MZ_SETTING(mz_network_settings, channels, "network.channels", MZ_INT, MZ_ALGORITHMIC, 16, 1024, "64", "",
               "conv: of the towers and the latent; a multiple of 16", .common = true),
    MZ_SETTING(mz_network_settings, blocks, "network.blocks", MZ_INT, MZ_ALGORITHMIC, 0, 16, "2", "blocks",
               "conv: of representation and dynamics each", .common = true),
    MZ_SETTING(mz_network_settings, pooled_blocks, "network.pooled_blocks", MZ_INT, MZ_ALGORITHMIC, 0, 16, "0", "blocks",
               "conv: so many blocks at the end of each tower see means and maxima over the whole board"),
    MZ_SETTING(mz_network_settings, prediction_blocks, "network.prediction_blocks", MZ_INT, MZ_ALGORITHMIC, 0, 8, "0", "blocks",
               "conv: of prediction, before its heads"),
    MZ_SETTING(mz_network_settings, head_channels, "network.head_channels", MZ_INT, MZ_ALGORITHMIC, 16, 256, "16", "",
               "conv: of each head's 1x1; a multiple of 16"),
    MZ_SETTING(mz_network_settings, head_width, "network.head_width", MZ_INT, MZ_ALGORITHMIC, 0, 1024, "0", "units",
               "conv: of a hidden layer in each head; a multiple of 16; 0: none"),
    MZ_SETTING(mz_network_settings, projection, "network.projection", MZ_INT, MZ_ALGORITHMIC, 0, 4096, "0", "units",
               "consistency compares latents through a projection of so many (two layers, with a prediction of two more), as in "
               "SimSiam; a multiple of 16; 0: latents themselves"),
    MZ_SETTING(mz_network_settings, downsample, "network.downsample", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "auto", "",
               "conv: how often observations are halved before the towers; auto: pictures of more than 32 a side, down to 8, at "
               "most 4 times",
               .choices = "auto|0|1|2|3|4"),
    MZ_SETTING(mz_network_settings, downsample_blocks, "network.downsample_blocks", MZ_INT, MZ_ALGORITHMIC, 0, 4, "1", "blocks",
               "conv: after each halving"),
    MZ_SETTING(
        mz_network_settings, norm_rows, "network.bn_rows", MZ_INT, MZ_ALGORITHMIC, 1, 4096, "8", "rows",
        "batch norm (conv, projection) normalises so many rows together; divides batch_size / shards (one that is not given: the "
        "nearest number that does)"),
    MZ_SETTING(mz_network_settings, bn_momentum, "network.bn_momentum", MZ_FLOAT, MZ_ALGORITHMIC, 1e-6, 1, "0.02", "",
               "momentum of batch norm's running statistics: an update's weight in them"),
    MZ_SETTING(mz_network_settings, width, "network.width", MZ_INT, MZ_ALGORITHMIC, 1, 16384, "64", "", "units of a hidden layer",
               .common = true),
    MZ_SETTING(mz_network_settings, depth, "network.depth", MZ_INT, MZ_ALGORITHMIC, 1, 16, "1", "layers",
               "hidden layers of representation, dynamics and prediction each"),
    MZ_SETTING(mz_network_settings, latent, "network.latent", MZ_INT, MZ_ALGORITHMIC, 0, 16384, "0", "",
               "size of the latent state; 0: as network.width"),
    MZ_SETTING(mz_network_settings, value_bins, "network.value_bins", MZ_INT, MZ_ALGORITHMIC, 2, 4096, "21", "bins",
               "categories of the value"),
    MZ_SETTING(mz_network_settings, reward_bins, "network.reward_bins", MZ_INT, MZ_ALGORITHMIC, 2, 4096, "21", "bins",
               "categories of the reward"),
    MZ_SETTING(mz_network_settings, value_range, "network.value_range", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e6, "0", "",
               "value bins span ± this (or one side of it), after the transform; 0: what the environment's returns need"),
    MZ_SETTING(mz_network_settings, reward_range, "network.reward_range", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e6, "0", "",
               "reward bins span ± this (or one side of it), after the transform; 0: what the environment's rewards need"),
    MZ_SETTING(
        mz_network_settings, value_start, "network.value_start", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "middle", "",
        "values and rewards that an untrained network foretells where they never change their sign: the middle of the bins, or 0",
        .choices = "middle|zero"),
    MZ_SETTING(mz_network_settings, transform, "network.transform", MZ_BOOL, MZ_ALGORITHMIC, 0, 0, "on", "",
               "values and rewards pass h(x) = sign(x)(sqrt(|x|+1)-1) + 0.001x before they are binned"),
};
const mz_settings_table mz_network_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};

bool mz_network_normalises(const mz_network_settings *settings) {
  return settings->kind == MZ_MODEL_CONV || settings->projection > 0;
}

const mz_support mz_model_turn_support = {.bins = 2, .min = 0, .max = 1};

/* Bins on either side of 0, or where `one_sided` on that of the largest alone. */
static mz_support support_of(int bins, double range, bool transform, float low, float high, bool one_sided) {
  float reach = (float)range;
  if (range == 0.0) {
    const float largest = fmaxf(fabsf(low), fabsf(high));
    reach = transform ? mz_h_inline(largest) : largest;
    if (!(reach > 0.0f)) reach = 1.0f; /* an environment that never pays */
  }
  const bool positive = fabsf(high) >= fabsf(low);
  return (mz_support){
      .bins = bins, .min = one_sided && positive ? 0 : -reach, .max = one_sided && !positive ? 0 : reach, .transform = transform};
}

/* Equal logits foretell the middle of bins on one side of 0. Where they reach far, targets that bootstrap from that leave it slowly; where
 * they do not, hope for the middle makes agents try more. */
static void begin_at_zero(mz_params *params, const char *bias, const mz_support *support) {
  mz_init *init = &params->items[mz_params_find(params, bias)].init;
  if (support->min == 0) *init = MZ_INIT_FIRST;
  if (support->max == 0) *init = MZ_INIT_LAST;
}

mz_status mz_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec) {
  if (spec->obs_size < 1 || spec->obs_size > 1 << 20) {
    return mz_fail(MZ_E_CONFIG, "network: observations of %d entries: it takes 1 to %d", spec->obs_size, 1 << 20);
  }
  if (spec->actions < 1 || spec->actions > 1 << 16) {
    return mz_fail(MZ_E_CONFIG, "network: %d actions: it takes 1 to %d", spec->actions, 1 << 16);
  }
  const int64_t value_bins = settings->value_bins, reward_bins = settings->reward_bins;
  if (value_bins < 2 || reward_bins < 2) {
    return mz_fail(MZ_E_CONFIG, "network: %lld and %lld bins: a value and a reward need 2 at least", (long long)value_bins,
                   (long long)reward_bins);
  }
  MZ_TRY(mz_model_check_width("network.projection", settings->projection));
  *model = (mz_model){
      .kind = settings->kind,
      .scaling = settings->scaling,
      .obs_size = spec->obs_size,
      .obs_scale = spec->obs_kind == MZ_OBS_U8 && spec->obs_scale > 0 ? spec->obs_scale : 1,
      .actions = spec->actions,
      .norm_rows = (int)settings->norm_rows,
      .projection = {.units = (int)settings->projection},
      .tells_turns = spec->turns == MZ_TURNS_TOLD,
      .value = support_of((int)value_bins, settings->value_range, settings->transform, spec->return_min, spec->return_max,
                          spec->one_sided),
      .reward = support_of((int)reward_bins, settings->reward_range, settings->transform, spec->reward_min, spec->reward_max,
                           spec->one_sided),
  };
  MZ_TRY(model->kind == MZ_MODEL_CONV ? mz_conv_model_init(model, settings, spec) : mz_mlp_init(model, settings));
  const bool projects = model->projection.units > 0;
  if (projects) mz_projection_add(&model->projection, &model->params, model->latent);
  if (model->kind == MZ_MODEL_CONV) mz_conv_model_add_statistics(model, settings->bn_momentum);
  if (projects) mz_projection_add_statistics(&model->projection, &model->params, settings->bn_momentum);
  if (settings->value_start == MZ_VALUE_START_ZERO) {
    begin_at_zero(&model->params, "value.bias", &model->value);
    begin_at_zero(&model->params, "reward.bias", &model->reward); /* searches add them to values */
  }
  return MZ_OK;
}

mz_status mz_model_check(const mz_model *model, const mz_lane *lane, bool trains) {
  const bool asks = trains ? model->train_bf16 : model->infer_bf16;
  if (!asks || lane->backend->halves == NULL || mz_lane_halves(lane)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "network.%s: %s:%d does not multiply bf16; use f32 (a run goes on so with --allow-numeric)",
                 trains ? "training" : "inference", lane->backend->name, lane->device);
}

mz_value mz_model_scale(const mz_model *model, mz_tape *tape, mz_value latent) {
  return model->scaling == MZ_SCALING_RMS ? mz_tape_rms(tape, latent) : mz_tape_minmax(tape, latent);
}

static mz_value scaled(const mz_model *model, mz_tape *tape, mz_value obs) {
  return model->obs_scale == 1 ? obs : mz_tape_scale(tape, obs, model->obs_scale);
}

mz_value mz_model_represent(const mz_model *model, mz_tape *tape, mz_value obs) {
  obs = scaled(model, tape, obs);
  return model->kind == MZ_MODEL_CONV ? mz_conv_model_represent(model, tape, obs) : mz_mlp_represent(model, tape, obs);
}

mz_model_heads mz_model_initial(const mz_model *model, mz_tape *tape, mz_value obs) {
  obs = scaled(model, tape, obs);
  return model->kind == MZ_MODEL_CONV ? mz_conv_model_initial(model, tape, obs) : mz_mlp_initial(model, tape, obs);
}

mz_model_heads mz_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index) {
  return model->kind == MZ_MODEL_CONV ? mz_conv_model_recurrent(model, tape, latent, action_index)
                                      : mz_mlp_recurrent(model, tape, latent, action_index);
}

void mz_model_fold(const mz_model *model, const float *values, float *out) {
  memcpy(out, values, (size_t)model->params.size * sizeof *out);
  if (model->kind == MZ_MODEL_CONV) mz_conv_model_fold(model, values, out);
}

static mz_model_macs macs_of(const mz_model *model) {
  return model->kind == MZ_MODEL_CONV ? mz_conv_model_macs(model) : mz_mlp_macs(model);
}

double mz_model_inference_flops(const mz_model *model) {
  const mz_model_macs macs = macs_of(model);
  return 2.0 * (macs.dynamics + macs.prediction);
}

double mz_model_update_flops(const mz_model *model, int unroll) {
  const mz_model_macs macs = macs_of(model);
  const double forward = macs.representation + (unroll + 1) * macs.prediction + unroll * macs.dynamics;
  return 3.0 * 2.0 * forward;
}

/* Heads belong to the network whose latent they read: reward and turn to dynamics, policy and value to prediction. A projection belongs
 * to none (−1). */
static int part_of(const char *parameter) {
  if (strncmp(parameter, "projection", 10) == 0) return -1;
  if (strncmp(parameter, "representation", 14) == 0) return 0;
  return strncmp(parameter, "dynamics", 8) == 0 || strncmp(parameter, "reward", 6) == 0 || strncmp(parameter, "turn", 4) == 0 ? 1
                                                                                                                              : 2;
}

static double tower_depth(const mz_tower *tower) { return 2 * tower->count + (tower->stem >= 0); }

void mz_model_take_apart(const mz_model *model, mz_model_part out[MZ_MODEL_PARTS]) {
  static const char *const names[MZ_MODEL_PARTS] = {"representation", "dynamics", "prediction"};
  const mz_model_macs macs = macs_of(model);
  const double products[MZ_MODEL_PARTS] = {macs.representation, macs.dynamics, macs.prediction};
  const bool conv = model->kind == MZ_MODEL_CONV;
  for (int i = 0; i < MZ_MODEL_PARTS; i++) {
    out[i] = (mz_model_part){.name = names[i], .flops = 2 * products[i], .width = conv ? model->channels : model->width};
    out[i].depth = conv ? tower_depth(&model->towers[i]) : model->depth + (i < 2);
  }
  for (int k = 0; k < model->halvings; k++) out[0].depth += tower_depth(&model->front[k]);
  for (int i = 0; i < model->params.count; i++) {
    const mz_param *param = &model->params.items[i];
    const int part = part_of(param->name);
    if (part >= 0) out[part].parameters += (double)param->rows * param->columns;
  }
}
