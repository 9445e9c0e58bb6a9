#include "networks/model.h"
#include "networks/math/value.h"
#include <math.h>

#define ROW(key, type, field, min, max, fallback, unit, help)                                                                    \
  { key, type, MZ_ALGORITHMIC, offsetof(mz_network_settings, field), min, max, fallback, NULL, unit, help }
static const mz_setting rows[] = {
    ROW("network.width", MZ_INT, width, 1, 16384, "64", "", "units of a hidden layer"),
    ROW("network.depth", MZ_INT, depth, 1, 16, "1", "layers", "hidden layers of representation, dynamics and prediction each"),
    ROW("network.latent", MZ_INT, latent, 0, 16384, "0", "", "size of the latent state; 0: as network.width"),
    ROW("network.value_bins", MZ_INT, value_bins, 2, 4096, "21", "bins", "categories of the value"),
    ROW("network.reward_bins", MZ_INT, reward_bins, 2, 4096, "21", "bins", "categories of the reward"),
    ROW("network.value_range", MZ_FLOAT, value_range, 0, 1e6, "0", "",
        "value bins span ± this, after the transform; 0: what the environment's returns need"),
    ROW("network.reward_range", MZ_FLOAT, reward_range, 0, 1e6, "0", "",
        "reward bins span ± this, after the transform; 0: what the environment's rewards need"),
    ROW("network.transform", MZ_BOOL, transform, 0, 0, "on", "",
        "values and rewards pass h(x) = sign(x)(sqrt(|x|+1)-1) + 0.001x before they are binned"),
};
const mz_settings_table mz_network_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};

static mz_support support_of(int bins, double range, bool transform, float low, float high) {
  float reach = (float)range;
  if (range == 0.0) {
    const float largest = fmaxf(fabsf(low), fabsf(high));
    reach = transform ? mz_h_inline(largest) : largest;
    if (!(reach > 0.0f)) reach = 1.0f; /* an environment that never pays */
  }
  return (mz_support){.bins = bins, .min = -reach, .max = reach, .transform = transform};
}

/* "part.layer.weight" and "part.layer.bias" (or "part.weight"): two parameters in a row; returns the first. */
static int add_layer(mz_params *params, const char *name, int inputs, int outputs, int fan_in, mz_init init) {
  char full[sizeof params->items[0].name];
  snprintf(full, sizeof full, "%s.weight", name);
  const int weight = mz_params_add(params, full, inputs, outputs, true, init, fan_in);
  snprintf(full, sizeof full, "%s.bias", name);
  mz_params_add(params, full, 1, outputs, false, MZ_INIT_ZERO, 0);
  return weight;
}

/* `depth` hidden layers, "part.0" on, and one onto `outputs` unless that is 0. Returns the first parameter. first_fan_in: of the
 * first layer, which may have more inputs than its weight has rows (the action's). */
static int add_stack(mz_params *params, const char *part, int inputs, int first_fan_in, int width, int depth, int outputs) {
  const int first = params->count;
  for (int layer = 0; layer < depth + (outputs > 0); layer++) {
    char name[32];
    snprintf(name, sizeof name, "%s.%d", part, layer);
    const int in = layer == 0 ? inputs : width;
    add_layer(params, name, in, layer < depth ? width : outputs, layer == 0 ? first_fan_in : in,
              layer < depth ? MZ_INIT_HE : MZ_INIT_GLOROT);
  }
  return first;
}

mz_status mz_model_init(mz_model *model, const mz_network_settings *settings, const mz_spec *spec) {
  if (spec->obs_size < 1 || spec->obs_size > 1 << 20) {
    return mz_fail(MZ_E_CONFIG, "network: observations of %d entries: the mlp takes 1 to %d", spec->obs_size, 1 << 20);
  }
  if (spec->actions < 1 || spec->actions > 1 << 16) {
    return mz_fail(MZ_E_CONFIG, "network: %d actions: the mlp takes 1 to %d", spec->actions, 1 << 16);
  }
  const int width = (int)settings->width, depth = (int)settings->depth;
  const int latent = settings->latent == 0 ? width : (int)settings->latent;
  const int64_t value_bins = settings->value_bins, reward_bins = settings->reward_bins;
  if (width < 1 || depth < 1 || latent < 1 || value_bins < 2 || reward_bins < 2 || 6 * settings->depth + 12 > MZ_PARAMS_MAX) {
    return mz_fail(MZ_E_CONFIG, "network: width %d, depth %d, latent %d, bins %lld and %lld: too small, or deeper than %d", width,
                   depth, latent, (long long)value_bins, (long long)reward_bins, (MZ_PARAMS_MAX - 12) / 6);
  }
  *model = (mz_model){
      .obs_size = spec->obs_size,
      .actions = spec->actions,
      .width = width,
      .depth = depth,
      .latent = latent,
      .value = support_of((int)value_bins, settings->value_range, settings->transform, spec->return_min, spec->return_max),
      .reward = support_of((int)reward_bins, settings->reward_range, settings->transform, spec->reward_min, spec->reward_max),
  };
  mz_params *params = &model->params;
  const int joined = latent + spec->actions; /* inputs of the first dynamics layer, the one-hot action counted */
  model->representation = add_stack(params, "representation", spec->obs_size, spec->obs_size, width, depth, latent);
  model->dynamics = add_stack(params, "dynamics", latent, joined, width, depth, latent);
  model->action_table = mz_params_add(params, "dynamics.0.action", spec->actions, width, true, MZ_INIT_HE, joined);
  model->reward_head = add_layer(params, "reward", latent, model->reward.bins, latent, MZ_INIT_SMALL);
  model->prediction = add_stack(params, "prediction", latent, latent, width, depth, 0);
  model->policy_head = add_layer(params, "policy", width, spec->actions, width, MZ_INIT_SMALL);
  model->value_head = add_layer(params, "value", width, model->value.bins, width, MZ_INIT_SMALL);
  return MZ_OK;
}

static mz_value layer(mz_tape *tape, mz_value x, int weight, mz_activation activation) {
  return mz_tape_linear(tape, x, weight, weight + 1, activation);
}

static mz_value hidden_layers(mz_tape *tape, mz_value x, int first, int from, int depth) {
  for (int i = from; i < depth; i++) x = layer(tape, x, first + 2 * i, MZ_RELU);
  return x;
}

static mz_model_heads predict(const mz_model *model, mz_tape *tape, mz_value latent, mz_value reward) {
  const mz_value hidden = hidden_layers(tape, latent, model->prediction, 0, model->depth);
  return (mz_model_heads){
      .latent = latent,
      .reward = reward,
      .policy = layer(tape, hidden, model->policy_head, MZ_LINEAR_ONLY),
      .value = layer(tape, hidden, model->value_head, MZ_LINEAR_ONLY),
  };
}

mz_model_heads mz_model_initial(const mz_model *model, mz_tape *tape, mz_value obs) {
  const mz_value hidden = hidden_layers(tape, obs, model->representation, 0, model->depth);
  const mz_value latent = mz_tape_minmax(tape, layer(tape, hidden, model->representation + 2 * model->depth, MZ_LINEAR_ONLY));
  return predict(model, tape, latent, -1);
}

mz_model_heads mz_model_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index) {
  const int first = model->dynamics;
  mz_value hidden = mz_tape_linear_table(tape, latent, first, first + 1, model->action_table, action_index, MZ_RELU);
  hidden = hidden_layers(tape, hidden, first, 1, model->depth);
  const mz_value next = mz_tape_minmax(tape, layer(tape, hidden, first + 2 * model->depth, MZ_LINEAR_ONLY));
  const mz_value reward = layer(tape, next, model->reward_head, MZ_LINEAR_ONLY);
  return predict(model, tape, next, reward);
}

/* Multiply-adds of one row through each part. */
static double stack_macs(const mz_model *model, int inputs, int outputs) {
  const double width = model->width;
  return inputs * width + (model->depth - 1) * width * width + width * outputs;
}

static double prediction_macs(const mz_model *model) {
  return stack_macs(model, model->latent, model->actions + model->value.bins);
}

static double dynamics_macs(const mz_model *model) {
  return stack_macs(model, model->latent, model->latent) + (double)model->latent * model->reward.bins;
}

double mz_model_inference_flops(const mz_model *model) { return 2.0 * (dynamics_macs(model) + prediction_macs(model)); }

double mz_model_update_flops(const mz_model *model, int unroll) {
  const double representation = stack_macs(model, model->obs_size, model->latent);
  const double forward = representation + (unroll + 1) * prediction_macs(model) + unroll * dynamics_macs(model);
  return 3.0 * 2.0 * forward;
}
