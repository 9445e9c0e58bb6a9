#include "networks/cuda/conv.cuh"
#include "networks/cuda/direct_conv.cuh"
#include "networks/cuda/filters.cuh"
#include "networks/cuda/forms.cuh"
#include "networks/cuda/gradients.cuh"
#include "networks/cuda/planned.cuh"
#include "networks/cuda/quads.cuh"
#include <stdio.h>

enum { THREADS = 256, TAPS = MZ_KERNEL * MZ_KERNEL, DIRECTIONS = 3, SCRATCH_ALIGNMENT = 256 };

typedef struct conv {
  mz_cuda_convolution *convolutions[DIRECTIONS]; /* NULL: not needed */
} conv;

static conv *conv_of(const mz_node *node) { return (conv *)node->prepared; }

static int inputs_of(const mz_param *param) { return param->rows / TAPS; }

/* ---- planning ---- */

static mz_cuda_convolution_settings settings_of(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  const mz_param *param = &tape->params->items[node->weight];
  const bool forward = direction == MZ_CUDA_CONV_FORWARD;
  mz_cuda_convolution_settings settings = {};
  settings.rows = tape->rows;
  settings.any_rows = !tape->with_backward;
  settings.graph.direction = direction;
  settings.graph.board = param->conv;
  settings.graph.inputs = inputs_of(param);
  settings.graph.outputs = param->columns;
  settings.graph.bf16 = mz_cuda_input(tape, node, 0)->bf16;
  settings.graph.bf16_out = forward && mz_cuda_output(tape, node)->bf16;
  settings.graph.bias = forward && node->bias >= 0;
  settings.graph.add = forward ? node->input_count > 1 : direction == MZ_CUDA_CONV_DATA && !node->overwrites[0];
  settings.graph.relu = forward && node->activation == MZ_RELU;
  return settings;
}

static const char *const form_names[] = {"cudnn fused", "cudnn + kernel", "direct"};

static void tell(const mz_cuda_convolution_settings *settings, const mz_cuda_convolution *c) {
  static const char *const directions[] = {"", ", gradient of data", ", gradient of weights"};
  if (!mz_cuda_tells_forms()) return;
  fprintf(stderr, "convolution of %d x %d boards, %d to %d channels, %d rows%s%s: %s\n", settings->graph.board.height,
          settings->graph.board.width, settings->graph.inputs, settings->graph.outputs, settings->rows,
          settings->graph.bf16 ? ", bf16" : "", directions[settings->graph.direction], form_names[mz_cuda_convolution_form(c)]);
}

static mz_status plan(mz_tape *tape, mz_node *node, mz_cuda_direction direction) {
  const mz_cuda_convolution_settings settings = settings_of(tape, node, direction);
  mz_cuda_convolution **planned = &conv_of(node)->convolutions[direction];
  MZ_TRY(mz_cuda_planned_take(mz_cuda_lane_of(tape), &settings, planned));
  tell(&settings, *planned);
  return MZ_OK;
}

static bool sends_gradient(const mz_tape *tape, const mz_node *node) {
  return node->backward && mz_cuda_input(tape, node, 0)->gradient != nullptr;
}

static size_t round_up(size_t bytes) { return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT; }

/* Scratch of a pass: dy in bf16 first, then one of several things. */
static size_t rounded_bytes(const mz_tape *tape, const mz_node *node) {
  const size_t count = (size_t)tape->rows * (size_t)mz_cuda_output(tape, node)->stride;
  return node->backward && mz_cuda_input(tape, node, 0)->bf16 ? round_up(count * sizeof(uint16_t)) : 0;
}

static uint16_t *rounded_dy(const mz_tape *tape) { return (uint16_t *)tape->scratch; }

static float *rest_of_scratch(const mz_tape *tape, const mz_node *node) {
  return (float *)((char *)tape->scratch + rounded_bytes(tape, node));
}

/* Whether the convolution goes to scratch first and kernels of ours put the result into place. */
static bool goes_apart(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  const mz_cuda_conv_graph_settings graph = settings_of(tape, node, direction).graph;
  return mz_cuda_convolution_form(conv_of(node)->convolutions[direction]) != MZ_CUDA_CONV_FUSED &&
         (graph.bias || graph.add || graph.relu || graph.bf16_out);
}

static void claim_scratch(mz_tape *tape, const mz_node *node) {
  const mz_param *param = &tape->params->items[node->weight];
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const size_t rows = (size_t)tape->rows, rounded = rounded_bytes(tape, node);
  size_t rest = 0;
  const auto need = [&rest](size_t bytes) { rest = bytes > rest ? bytes : rest; };
  if (goes_apart(tape, node, MZ_CUDA_CONV_FORWARD)) need(rows * (size_t)y->stride * sizeof(float));
  if (sends_gradient(tape, node) && goes_apart(tape, node, MZ_CUDA_CONV_DATA)) need(rows * (size_t)x->stride * sizeof(float));
  if (node->first_use) {
    need((size_t)param->rows * (size_t)param->columns * sizeof(float));
    need(mz_cuda_column_sums_scratch(rows * (size_t)node->positions, param->columns));
  }
  mz_tape_claim_scratch(tape, rounded + rest);
}

mz_status mz_cuda_conv_prepare(mz_tape *tape, mz_node *node) {
  conv *own = nullptr;
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  MZ_TRY(plan(tape, node, MZ_CUDA_CONV_FORWARD));
  if (sends_gradient(tape, node)) MZ_TRY(plan(tape, node, MZ_CUDA_CONV_DATA));
  if (node->first_use) MZ_TRY(plan(tape, node, MZ_CUDA_CONV_WEIGHTS));
  claim_scratch(tape, node);
  return MZ_OK;
}

void mz_cuda_conv_release(mz_tape *tape, mz_node *node) {
  (void)tape;
  conv *own = conv_of(node);
  for (mz_cuda_convolution *c : own->convolutions) mz_cuda_convolution_free(c);
  free(own);
  node->prepared = nullptr;
}

mz_status mz_cuda_conv_pack(const mz_cuda_lane *lane, const mz_param *param, const float *values, bool bf16, float *out) {
  MZ_ASSERT(param->conv.height > 0);
  return mz_cuda_filters_pack(lane, values, inputs_of(param), param->columns, bf16, out);
}

const char *mz_cuda_conv_form_name(const mz_node *node) {
  return form_names[mz_cuda_convolution_form(conv_of(node)->convolutions[MZ_CUDA_CONV_FORWARD])];
}

/* ---- forward ---- */

static mz_status convolve(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction, int rows,
                          const mz_cuda_conv_data *data) {
  mz_cuda_convolution *c = conv_of(node)->convolutions[direction];
  if (mz_cuda_convolution_form(c) != MZ_CUDA_CONV_DIRECT) return mz_cuda_convolution_run(c, mz_cuda_lane_of(tape), rows, data);
  const mz_cuda_conv_graph_settings graph = settings_of(tape, node, direction).graph;
  return mz_cuda_direct_conv_run(mz_cuda_lane_of(tape), &graph, rows, data);
}

/* Four channels a thread. bias, add: NULL for none; y may be `add` itself. */
template <typename T>
static __global__ void finish(const float *sums, const float *bias, const float *add, bool relu, T *y, size_t count,
                              int channels) {
  const size_t i = mz_cuda_thread() * MZ_QUAD;
  if (i >= count) return;
  float4 sum = mz_quad_load(sums + i);
  if (bias != nullptr) sum = mz_quad_add(sum, mz_quad_load(bias + i % (size_t)channels));
  if (add != nullptr) sum = mz_quad_add(sum, mz_quad_load(add + i));
  mz_quad_store(y + i, relu ? mz_quad_relu(sum) : sum);
}

static mz_status finish_rows(const mz_tape *tape, const mz_node *node, int rows, const float *sums, const float *bias,
                             const float *add) {
  const mz_tape_value *y = mz_cuda_output(tape, node);
  const size_t count = (size_t)rows * (size_t)y->stride;
  const int channels = tape->params->items[node->weight].columns;
  const bool relu = node->activation == MZ_RELU;
  const dim3 grid = mz_cuda_blocks(count / MZ_QUAD, THREADS), block(THREADS);
  const cudaStream_t stream = mz_cuda_lane_of(tape)->stream;
  if (y->bf16) {
    MZ_CUDA_TRY(mz_launch(finish<uint16_t>, grid, block, 0, stream, sums, bias, add, relu, (uint16_t *)y->data, count, channels));
  } else {
    MZ_CUDA_TRY(mz_launch(finish<float>, grid, block, 0, stream, sums, bias, add, relu, (float *)y->data, count, channels));
  }
  return MZ_OK;
}

mz_status mz_cuda_conv_forward(mz_tape *tape, mz_node *node, int rows) {
  const float *bias = mz_cuda_parameter(tape, node->bias);
  float *add = node->input_count > 1 ? mz_cuda_data(mz_cuda_input(tape, node, 1)) : nullptr;
  const bool apart = goes_apart(tape, node, MZ_CUDA_CONV_FORWARD);
  mz_cuda_conv_data data = {};
  data.tensors[MZ_CUDA_CONV_X] = mz_cuda_input(tape, node, 0)->data;
  data.tensors[MZ_CUDA_CONV_FILTERS] = (void *)mz_cuda_parameter(tape, node->weight);
  if (!apart) {
    data.tensors[MZ_CUDA_CONV_BIAS] = (void *)bias;
    data.tensors[MZ_CUDA_CONV_ADD] = add;
  }
  data.tensors[MZ_CUDA_CONV_RESULT] = apart ? rest_of_scratch(tape, node) : mz_cuda_output(tape, node)->data;
  MZ_TRY(convolve(tape, node, MZ_CUDA_CONV_FORWARD, rows, &data));
  return apart ? finish_rows(tape, node, rows, rest_of_scratch(tape, node), bias, add) : MZ_OK;
}

/* ---- backward ---- */

/* Returns in *out what the gradients' convolutions read: dy of a use, rounded where they multiply bf16. */
static mz_status convolved_dy(const mz_tape *tape, const mz_node *use, int rows, void **out) {
  const mz_tape_value *y = mz_cuda_output(tape, use);
  *out = y->gradient;
  if (!mz_cuda_input(tape, use, 0)->bf16) return MZ_OK;
  *out = rounded_dy(tape);
  return mz_cuda_round_to_bf16(mz_cuda_lane_of(tape), mz_cuda_gradient(y), rounded_dy(tape), (size_t)rows * (size_t)y->stride);
}

static mz_status data_gradient(const mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0);
  const bool apart = goes_apart(tape, node, MZ_CUDA_CONV_DATA);
  mz_cuda_conv_data data = {};
  MZ_TRY(convolved_dy(tape, node, rows, &data.tensors[MZ_CUDA_CONV_DY]));
  data.tensors[MZ_CUDA_CONV_FILTERS] = (void *)mz_cuda_parameter(tape, node->weight);
  data.tensors[MZ_CUDA_CONV_ADD] = apart || node->overwrites[0] ? nullptr : x->gradient;
  data.tensors[MZ_CUDA_CONV_RESULT] = apart ? rest_of_scratch(tape, node) : x->gradient;
  MZ_TRY(convolve(tape, node, MZ_CUDA_CONV_DATA, rows, &data));
  if (!apart) return MZ_OK;
  return mz_cuda_accumulate(mz_cuda_lane_of(tape), rest_of_scratch(tape, node), mz_cuda_gradient(x),
                            (size_t)rows * (size_t)x->stride, false);
}

/* Rows that the convolution sums although they are not live. */
static mz_status clear_dead_rows(const mz_tape *tape, void *data, size_t row_bytes, int rows) {
  if (rows == tape->rows) return MZ_OK;
  MZ_CUDA_TRY(cudaMemsetAsync((char *)data + (size_t)rows * row_bytes, 0, (size_t)(tape->rows - rows) * row_bytes,
                              mz_cuda_lane_of(tape)->stream));
  return MZ_OK;
}

static mz_status add_use(const mz_tape *tape, const mz_node *node, const mz_node *use, int rows, bool overwrite) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(tape);
  const mz_param *param = &tape->params->items[node->weight];
  const mz_tape_value *x = mz_cuda_input(tape, use, 0), *y = mz_cuda_output(tape, use);
  const size_t element = x->bf16 ? sizeof(uint16_t) : sizeof(float);
  float *scratch = rest_of_scratch(tape, node);
  mz_cuda_conv_data data = {};
  data.tensors[MZ_CUDA_CONV_X] = x->data;
  MZ_TRY(convolved_dy(tape, use, rows, &data.tensors[MZ_CUDA_CONV_DY]));
  MZ_TRY(clear_dead_rows(tape, data.tensors[MZ_CUDA_CONV_X], (size_t)x->stride * element, rows));
  MZ_TRY(clear_dead_rows(tape, data.tensors[MZ_CUDA_CONV_DY], (size_t)y->stride * element, rows));
  data.tensors[MZ_CUDA_CONV_RESULT] = scratch;
  MZ_TRY(convolve(tape, node, MZ_CUDA_CONV_WEIGHTS, rows, &data));
  MZ_TRY(mz_cuda_filters_unpack(lane, scratch, inputs_of(param), param->columns, mz_cuda_parameter_gradient(tape, node->weight),
                                overwrite));
  if (node->bias < 0) return MZ_OK;
  return mz_cuda_column_sums(lane, mz_cuda_gradient(y), (size_t)rows * (size_t)node->positions, param->columns, scratch,
                             mz_cuda_parameter_gradient(tape, node->bias), overwrite);
}

mz_status mz_cuda_conv_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(tape);
  const mz_tape_value *y = mz_cuda_output(tape, node);
  const size_t count = (size_t)rows * (size_t)y->stride;
  float *dy = mz_cuda_gradient(y);
  float *dadd = node->input_count > 1 ? mz_cuda_gradient(mz_cuda_input(tape, node, 1)) : nullptr;
  if (node->activation == MZ_RELU) MZ_TRY(mz_cuda_relu_mask(lane, mz_cuda_data(y), dy, count));
  if (dadd != nullptr && dadd != dy) MZ_TRY(mz_cuda_accumulate(lane, dy, dadd, count, node->overwrites[1]));
  if (mz_cuda_input(tape, node, 0)->gradient != nullptr) MZ_TRY(data_gradient(tape, node, rows));
  for (int u = 0; node->first_use && u < node->use_count; u++) {
    MZ_TRY(add_use(tape, node, &tape->nodes[node->uses[u]], rows, u == 0));
  }
  return MZ_OK;
}
