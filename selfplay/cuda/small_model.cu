#include "selfplay/cuda/small_model.cuh"
extern "C" {
#include "networks/math/value.h"
}

/* Hands out the block's memory. */
static mz_cuda_small_rows take(int *floats, int stride, int parts = 1) {
  const mz_cuda_small_rows rows = {*floats, stride};
  *floats += parts * MZ_CUDA_SMALL_SLOTS * stride;
  return rows;
}

/* Appends a layer of the parameters `weight` and weight + 1. */
static void append(mz_cuda_small_model *m, const mz_infer *infer, int weight, int table, mz_cuda_small_rows from,
                   mz_cuda_small_rows to, bool relu) {
  const int64_t *layout = infer->recurrent.tape->layout;
  const mz_param *param = &infer->model->params.items[weight];
  MZ_ASSERT(m->layer_count < MZ_CUDA_SMALL_LAYERS_MAX);
  mz_cuda_small_layer *layer = &m->layers[m->layer_count++];
  layer->weight = (int)layout[weight] - m->first_weight;
  layer->bias = (int)layout[weight + 1] - m->first_weight;
  layer->table = table < 0 ? -1 : (int)layout[table] - m->first_weight;
  layer->inputs = param->rows;
  layer->from = from;
  layer->to = {to.at, param->stride};
  layer->relu = relu;
}

static mz_cuda_small_scalar scalar_of(const mz_support *support, mz_cuda_small_rows logits) {
  return {logits, support->bins, support->min, mz_bin_step_inline(support->min, support->max, support->bins), support->transform};
}

/* As mz_mlp_recurrent. */
static void append_layers(mz_cuda_small_model *m, const mz_infer *infer, const mz_cuda_small_rows hidden[2]) {
  const mz_model *model = infer->model;
  const int depth = model->depth;
  for (int i = 0; i < depth; i++)
    append(m, infer, model->dynamics + 2 * i, i == 0 ? model->action_table : -1, i == 0 ? m->latent : hidden[(i + 1) % 2],
           hidden[i % 2], true);
  append(m, infer, model->dynamics + 2 * depth, -1, hidden[(depth + 1) % 2], m->latent, false);
  m->latent_layer = m->layer_count - 1;
  append(m, infer, model->reward_head, -1, m->latent, m->reward.logits, false);
  if (model->tells_turns) append(m, infer, model->turn_head, -1, m->latent, m->turn.logits, false);
  for (int i = 0; i < depth; i++)
    append(m, infer, model->prediction + 2 * i, -1, i == 0 ? m->latent : hidden[(i + 1) % 2], hidden[i % 2], true);
  append(m, infer, model->policy_head, -1, hidden[(depth + 1) % 2], m->policy, false);
  append(m, infer, model->value_head, -1, hidden[(depth + 1) % 2], m->value.logits, false);
}

bool mz_cuda_small_model_describe(mz_cuda_small_model *out, const mz_infer *infer) {
  const mz_model *model = infer->model;
  const mz_cuda_lane *lane = (const mz_cuda_lane *)infer->lane.own;
  *out = {};
  if (model->kind != MZ_MODEL_MLP) return false;
  const int64_t first = infer->recurrent.tape->layout[model->dynamics], weights = model->params.size - first;
  if (weights * (int64_t)sizeof(float) > lane->shared_bytes_max) return false;
  const int width = mz_padded(model->width), latent = mz_padded(model->latent), actions = mz_padded(model->actions);
  const int value = mz_padded(model->value.bins), reward = mz_padded(model->reward.bins);
  int widest = width, floats = (int)weights; /* all but the representation's, which come first */
  for (const int stride : {latent, actions, value, reward}) widest = stride > widest ? stride : widest;
  out->first_weight = (int)first;
  out->weights = (int)weights;
  out->latent = take(&floats, latent);
  const mz_cuda_small_rows hidden[2] = {take(&floats, width), take(&floats, width)};
  out->policy = take(&floats, actions);
  out->value = scalar_of(&model->value, take(&floats, value));
  out->reward = scalar_of(&model->reward, take(&floats, reward));
  if (model->tells_turns) out->turn = scalar_of(&mz_model_turn_support, take(&floats, mz_padded(mz_model_turn_support.bins)));
  out->partial = take(&floats, widest, MZ_CUDA_SMALL_PARTS);
  out->actions = take(&floats, 1);
  out->latent_size = model->latent;
  out->rms = model->scaling == MZ_SCALING_RMS;
  out->shared_bytes = floats * (int)sizeof(float);
  append_layers(out, infer, hidden);
  return out->shared_bytes <= lane->shared_bytes_max;
}
