#include "networks/cuda/typed_linear.cuh"

/* The positions of all rows, one behind the other. */
typedef struct layer {
  int64_t positions;
  int inputs, outputs;
  const int32_t *types;       /* [positions], −1: absent */
  const float *weight, *bias; /* [types][inputs][outputs]; [types][outputs] or NULL */
} layer;

/* A thread for each output of each position. */
static __global__ void forward(unsigned count, layer l, const float *__restrict__ all_x, float *__restrict__ y) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned p = i / (unsigned)l.outputs, o = i % (unsigned)l.outputs;
  const int type = l.types[p];
  if (type < 0) {
    y[i] = 0.0f;
    return;
  }
  const float *x = all_x + (size_t)p * (size_t)l.inputs;
  const float *weight = l.weight + (size_t)type * (size_t)(l.inputs * l.outputs) + o;
  float sum = l.bias == nullptr ? 0.0f : l.bias[type * l.outputs + (int)o];
  MZ_UNROLL(4) for (int k = 0; k < l.inputs; k++) sum = fmaf(x[k], weight[(size_t)k * (size_t)l.outputs], sum);
  y[i] = sum;
}

/* A thread for each input of each position: dx (+)= dy Wᵀ. */
static __global__ void data_gradient(unsigned count, layer l, const float *__restrict__ all_dy, float *__restrict__ dx,
                                     bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned p = i / (unsigned)l.inputs, k = i % (unsigned)l.inputs;
  const int type = l.types[p];
  float sum = overwrite ? 0.0f : dx[i];
  const float *dy = all_dy + (size_t)p * (size_t)l.outputs;
  if (type >= 0) {
    const float *weight = l.weight + ((size_t)type * (size_t)l.inputs + k) * (size_t)l.outputs;
    MZ_UNROLL(4) for (int o = 0; o < l.outputs; o++) sum = fmaf(dy[o], weight[o], sum);
  }
  dx[i] = sum;
}

/* A thread for each entry of the weight, or of the bias (then x is NULL), goes over the positions of its type. */
static __global__ void parameter_gradient(unsigned count, layer l, const float *__restrict__ x, const float *__restrict__ dy,
                                          float *__restrict__ gradient, bool add) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned o = i % (unsigned)l.outputs, row = i / (unsigned)l.outputs;
  const unsigned inputs = x == nullptr ? 1 : (unsigned)l.inputs, k = row % inputs;
  const int type = (int)(row / inputs);
  float sum = add ? gradient[i] : 0.0f;
  for (int64_t p = 0; p < l.positions; p++) {
    if (l.types[p] != type) continue;
    const float own = x == nullptr ? 1.0f : x[(size_t)p * inputs + k];
    sum = fmaf(own, dy[(size_t)p * (size_t)l.outputs + o], sum);
  }
  gradient[i] = sum;
}

/* ---- nodes ---- */

static layer layer_of(const mz_tape *tape, const mz_node *node, int rows) {
  layer l = {};
  l.positions = (int64_t)rows * node->positions;
  l.inputs = mz_cuda_input(tape, node, 0)->columns / node->positions;
  l.outputs = tape->params->items[node->weight].columns;
  l.types = tape->indices[node->index_input];
  l.weight = mz_cuda_parameter(tape, node->weight);
  l.bias = mz_cuda_parameter(tape, node->bias);
  return l;
}

mz_status mz_cuda_typed_linear_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows), forward, layer_of(tape, node, rows), mz_cuda_data(x), mz_cuda_data(y));
}

/* Uses in order, each added to those before. */
static mz_status parameter_gradients(mz_tape *tape, const mz_node *node, int rows) {
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const layer l = layer_of(tape, use, rows);
    const float *x = mz_cuda_data(mz_cuda_input(tape, use, 0)), *dy = mz_cuda_gradient(mz_cuda_output(tape, use));
    const int params[] = {node->weight, node->bias};
    const float *const inputs[] = {x, nullptr};
    for (int k = 0; k < 2 && params[k] >= 0; k++) {
      const mz_param *param = &tape->params->items[params[k]];
      MZ_TRY(mz_cuda_run_each(tape, (unsigned)(param->rows * param->stride), parameter_gradient, l, inputs[k], dy,
                              mz_cuda_parameter_gradient(tape, params[k]), u > 0));
    }
  }
  return MZ_OK;
}

mz_status mz_cuda_typed_linear_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  if (x->gradient != nullptr) {
    MZ_TRY(mz_cuda_run_each(tape, mz_cuda_entries(x, rows), data_gradient, layer_of(tape, node, rows), mz_cuda_gradient(y),
                            mz_cuda_gradient(x), node->overwrites[0]));
  }
  return node->first_use ? parameter_gradients(tape, node, rows) : MZ_OK;
}
