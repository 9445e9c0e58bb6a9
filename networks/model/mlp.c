/* Kind `mlp`. */
#include "networks/model/model_kinds.h"

/* `depth` hidden layers, "part.0" on, and one onto `outputs` unless that is 0. Returns the first parameter. first_fan_in: of the
 * first layer, which may have more inputs than its weight has rows (the action's). */
static int add_stack(mz_params *params, const char *part, int inputs, int first_fan_in, int width, int depth, int outputs) {
  const int first = params->count;
  for (int layer = 0; layer < depth + (outputs > 0); layer++) {
    char name[32];
    snprintf(name, sizeof name, "%s.%d", part, layer);
    const int in = layer == 0 ? inputs : width;
    mz_model_add_layer(params, name, in, layer < depth ? width : outputs, layer == 0 ? first_fan_in : in,
                       layer < depth ? MZ_INIT_HE : MZ_INIT_GLOROT);
  }
  return first;
}

enum { FEW = 14 }; /* parameters that are there at any depth */

mz_status mz_mlp_init(mz_model *model, const mz_network_settings *settings) {
  const int width = (int)settings->width, depth = (int)settings->depth;
  const int latent = settings->latent == 0 ? width : (int)settings->latent;
  if (width < 1 || depth < 1 || latent < 1 || 6 * settings->depth + FEW > MZ_PARAMS_MAX) {
    return mz_fail(MZ_E_CONFIG, "network: width %d, depth %d, latent %d: too small, or deeper than %d", width, depth, latent,
                   (MZ_PARAMS_MAX - FEW) / 6);
  }
  model->width = width;
  model->depth = depth;
  model->latent = latent;
  mz_params *params = &model->params;
  const int joined = latent + model->actions; /* inputs of the first dynamics layer, the one-hot action counted */
  model->representation = add_stack(params, "representation", model->obs_size, model->obs_size, width, depth, latent);
  model->dynamics = add_stack(params, "dynamics", latent, joined, width, depth, latent);
  model->action_table = mz_params_add(params, "dynamics.0.action", model->actions, width, true, MZ_INIT_HE, joined);
  model->reward_head = mz_model_add_layer(params, "reward", latent, model->reward.bins, latent, MZ_INIT_SMALL);
  model->prediction = add_stack(params, "prediction", latent, latent, width, depth, 0);
  model->policy_head = mz_model_add_layer(params, "policy", width, model->actions, width, MZ_INIT_SMALL);
  model->value_head = mz_model_add_layer(params, "value", width, model->value.bins, width, MZ_INIT_SMALL);
  if (model->tells_turns)
    model->turn_head = mz_model_add_layer(params, "turn", latent, mz_model_turn_support.bins, latent, MZ_INIT_SMALL);
  return MZ_OK;
}

static mz_value layer(mz_tape *tape, mz_value x, int weight, mz_activation activation) {
  return mz_tape_linear(tape, x, weight, weight + 1, activation);
}

static mz_value hidden_layers(mz_tape *tape, mz_value x, int first, int from, int depth) {
  for (int i = from; i < depth; i++) x = layer(tape, x, first + 2 * i, MZ_RELU);
  return x;
}

static mz_model_heads predict(const mz_model *model, mz_tape *tape, mz_value latent, mz_value reward, mz_value turn) {
  const mz_value hidden = hidden_layers(tape, latent, model->prediction, 0, model->depth);
  return (mz_model_heads){
      .latent = latent,
      .reward = reward,
      .policy = layer(tape, hidden, model->policy_head, MZ_LINEAR_ONLY),
      .value = layer(tape, hidden, model->value_head, MZ_LINEAR_ONLY),
      .turn = turn,
  };
}

mz_value mz_mlp_represent(const mz_model *model, mz_tape *tape, mz_value obs) {
  const mz_value hidden = hidden_layers(tape, obs, model->representation, 0, model->depth);
  return mz_model_scale(model, tape, layer(tape, hidden, model->representation + 2 * model->depth, MZ_LINEAR_ONLY));
}

mz_model_heads mz_mlp_initial(const mz_model *model, mz_tape *tape, mz_value obs) {
  return predict(model, tape, mz_mlp_represent(model, tape, obs), -1, -1);
}

mz_model_heads mz_mlp_recurrent(const mz_model *model, mz_tape *tape, mz_value latent, int action_index) {
  const int first = model->dynamics;
  mz_value hidden = mz_tape_linear_table(tape, latent, first, first + 1, model->action_table, action_index, MZ_RELU);
  hidden = hidden_layers(tape, hidden, first, 1, model->depth);
  const mz_value next = mz_model_scale(model, tape, layer(tape, hidden, first + 2 * model->depth, MZ_LINEAR_ONLY));
  const mz_value reward = layer(tape, next, model->reward_head, MZ_LINEAR_ONLY);
  const mz_value turn = model->tells_turns ? layer(tape, next, model->turn_head, MZ_LINEAR_ONLY) : -1;
  return predict(model, tape, next, reward, turn);
}

static double stack_macs(const mz_model *model, int inputs, int outputs) {
  const double width = model->width;
  return inputs * width + (model->depth - 1) * width * width + width * outputs;
}

static double prediction_macs(const mz_model *model) {
  return stack_macs(model, model->latent, model->actions + model->value.bins);
}

static double dynamics_macs(const mz_model *model) {
  const int heads = model->reward.bins + (model->tells_turns ? mz_model_turn_support.bins : 0);
  return stack_macs(model, model->latent, model->latent) + (double)model->latent * heads;
}

mz_model_macs mz_mlp_macs(const mz_model *model) {
  return (mz_model_macs){stack_macs(model, model->obs_size, model->latent), dynamics_macs(model), prediction_macs(model)};
}
