/* One list of small networks that together use every op that trains on vectors and on graphs (board_cases.h: on boards), for all
 * the questions asked of a backend: are its gradients right, does it agree with the reference, does a row depend on its
 * neighbours. Include after cmocka.h. */
#pragma once
#include "tests/networks/graph_cases.h"
#include "tests/networks/net.h"

static inline void two_layers(mz_params *params, net_size size) {
  layer_params(params, "first", OBS, size.width);
  layer_params(params, "second", size.width, 9);
}
static inline void record_linear(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY);
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void record_linear_relu(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_RELU);
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, -1, MZ_LINEAR_ONLY), 9, 0.25f); /* no second bias: it stays unused */
}
static inline void record_relu(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_relu(n->tape, mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY));
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void record_minmax(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_minmax(n->tape, mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY));
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void record_rms(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_rms(n->tape, mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY));
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
}
static inline void record_scale_gradient(net *n, net_size size) {
  (void)size;
  const mz_value hidden = mz_tape_scale_gradient(n->tape, mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_RELU), 0.375f);
  net_loss(n, mz_tape_linear(n->tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
  n->scale_of_first = 0.375;
}

/* The distance of two values, one of which another loss reads too. */
static inline void record_distance(net *n, net_size size) {
  const mz_value x = mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY);
  const mz_value target = net_input(n, mz_tape_input(n->tape, size.width), size.width, PLAIN);
  net_loss(n, mz_tape_linear(n->tape, x, 2, 3, MZ_LINEAR_ONLY), 9, 1.0f);
  mz_tape_mse(n->tape, x, target, net_input(n, mz_tape_input(n->tape, 1), 1, WEIGHTS), 0.5f);
}

static inline void shared_params(mz_params *params, net_size size) {
  layer_params(params, "in", OBS, size.width);
  layer_params(params, "shared", size.width, size.width);
  layer_params(params, "head", size.width, 9);
  mz_params_add(params, "shared.action", NET_ACTIONS, size.width, true, MZ_INIT_HE, size.width);
}
/* One weight with its table in three places, heads behind each, and sums of values with several readers. */
static inline void record_shared(net *n, net_size size) {
  (void)size;
  int index = -1;
  mz_value x = mz_tape_linear(n->tape, net_obs(n), 0, 1, MZ_LINEAR_ONLY);
  for (int k = 0; k < 3; k++) {
    index = net_index(n, mz_tape_index_input(n->tape));
    const mz_value y = mz_tape_linear_table(n->tape, x, 2, 3, 6, index, MZ_RELU);
    x = mz_tape_minmax(n->tape, mz_tape_add(n->tape, x, y));
    net_loss(n, mz_tape_linear(n->tape, x, 4, 5, MZ_LINEAR_ONLY), 9, k == 0 ? 1.0f : 0.5f);
  }
  mz_tape_linear_table(n->tape, x, 2, 3, 6, index, MZ_RELU); /* leads to no loss */
}

static inline const mz_model *unrolled_model(int width) {
  static mz_model model; /* large */
  const mz_network_settings settings = {
      .width = width, .depth = 2, .latent = width + 3, .value_bins = NET_BINS, .reward_bins = 5, .transform = true};
  const mz_spec spec = {
      .obs_kind = MZ_OBS_F32, .obs_size = OBS, .actions = NET_ACTIONS, .return_max = 300, .reward_min = -1, .reward_max = 2};
  check(mz_model_init(&model, &settings, &spec));
  return &model;
}
static inline void define_unrolled(mz_params *params, net_size size) {
  *params = unrolled_model(size.width)->params;
  for (int i = 0; i < params->count; i++) { /* no zero biases and no near-uniform heads, so that every path carries weight */
    params->items[i].init = MZ_INIT_HE;
    if (params->items[i].fan_in == 0) params->items[i].fan_in = size.width;
  }
}
/* The loss of n->model. */
static inline void record_loss(net *n, int unroll, double consistency) {
  const mz_model *model = &n->model;
  const mz_loss_settings settings = {
      .unroll = unroll, .value_weight = 0.25, .reward_weight = 1.5, .policy_weight = 1, .consistency_weight = consistency};
  mz_loss loss;
  mz_loss_build(&loss, model, &settings, n->tape);
  n->actions = model->actions;
  net_input(n, loss.obs, model->obs_size, PLAIN);
  for (int k = 0; k <= unroll; k++) {
    net_input(n, loss.policy_target[k], model->actions, TARGETS);
    net_input(n, loss.value_target[k], model->value.bins, TARGETS);
    net_input(n, loss.policy_weight[k], 1, WEIGHTS);
    net_input(n, loss.value_weight[k], 1, WEIGHTS);
    if (k == 0) continue;
    if (consistency > 0) {
      net_input(n, loss.next_obs[k], model->obs_size, PLAIN);
      net_input(n, loss.next_weight[k], 1, WEIGHTS);
    }
    net_input(n, loss.reward_target[k], model->reward.bins, TARGETS);
    net_input(n, loss.reward_weight[k], 1, WEIGHTS);
    net_index(n, loss.action[k]);
  }
}
static inline void record_unrolled(net *n, net_size size) {
  n->model = *unrolled_model(size.width);
  record_loss(n, 5, 0);
}

static const net_case net_cases[] = {
    {"linear", two_layers, record_linear},
    {"linear with relu, no bias", two_layers, record_linear_relu},
    {"relu", two_layers, record_relu},
    {"minmax", two_layers, record_minmax},
    {"scale gradient", two_layers, record_scale_gradient},
    {"shared weight, table, add", shared_params, record_shared},
    {"rms", two_layers, record_rms},
    {"distance", two_layers, record_distance},
    {"gelu", graph_params, record_gelu},
    {"layer norm", layer_norm_params, record_layer_norm},
    {"typed linear", typed_linear_params, record_typed_linear},
    {"gather, concat", concat_params, record_concat},
    {"edge attention", graph_params, record_edge_attention},
    {"masked pool", pooled_params, record_masked_pool},
    {"graph network", graph_network_params, record_graph_network},
    {"unrolled loss", define_unrolled, record_unrolled},
};
enum { NET_CASES = sizeof net_cases / sizeof *net_cases };
