#include "networks/cuda/conv.cuh"
#include "networks/cuda/direct_conv.cuh"
#include "networks/cuda/filters.cuh"
#include "networks/cuda/finish.cuh"
#include "networks/cuda/forms.cuh"
#include "networks/cuda/gradients.cuh"
#include "networks/cuda/planned.cuh"
#include <stdio.h>

enum { TAPS = MZ_KERNEL * MZ_KERNEL, DIRECTIONS = 3, SCRATCH_ALIGNMENT = 256 };

typedef struct conv {
  mz_cuda_convolution *convolutions[DIRECTIONS]; /* NULL: not needed */
} conv;

static conv *conv_of(const mz_node *node) { return (conv *)node->prepared; }

static int inputs_of(const mz_param *param) { return param->rows / TAPS; }

/* ---- planning ---- */

/* Whether the sum is written over what is added. cuDNN does not promise that its graphs may. */
static bool adds_in_place(const mz_tape *tape, const mz_node *node) {
  return node->input_count > 1 && mz_cuda_input(tape, node, 1)->data == mz_cuda_output(tape, node)->data;
}

/* Gradients that are added up lie where the sum goes, too, so that data's graphs add nothing. */
static mz_cuda_convolution_settings settings_of(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  const mz_param *param = &tape->params->items[node->weight];
  const bool whole = direction == MZ_CUDA_CONV_FORWARD && !adds_in_place(tape, node);
  mz_cuda_convolution_settings settings = {};
  settings.rows = tape->rows;
  settings.any_rows = !tape->with_backward;
  settings.graph.direction = direction;
  settings.graph.board = param->conv;
  settings.graph.inputs = inputs_of(param);
  settings.graph.outputs = param->columns;
  settings.graph.bf16 = mz_cuda_input(tape, node, 0)->bf16;
  settings.graph.bf16_out = whole && mz_cuda_output(tape, node)->bf16;
  settings.graph.bias = whole && node->bias >= 0;
  settings.graph.add = whole && node->input_count > 1;
  settings.graph.relu = whole && node->activation == MZ_RELU;
  return settings;
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

/* Whether there is more to do than to convolve. */
static bool has_rest(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  if (direction == MZ_CUDA_CONV_DATA) return !node->overwrites[0];
  return direction == MZ_CUDA_CONV_FORWARD &&
         (node->bias >= 0 || node->input_count > 1 || node->activation == MZ_RELU || mz_cuda_output(tape, node)->bf16);
}

/* Whether the convolution goes to scratch first and kernels of ours put the result into place. */
static bool goes_apart(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  const bool is_fused = direction == MZ_CUDA_CONV_FORWARD && !adds_in_place(tape, node) &&
                        mz_cuda_convolution_form(conv_of(node)->convolutions[direction]) == MZ_CUDA_CONV_FUSED;
  return has_rest(tape, node, direction) && !is_fused;
}

static const char *form_name(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction) {
  if (mz_cuda_convolution_form(conv_of(node)->convolutions[direction]) == MZ_CUDA_CONV_DIRECT) return "direct";
  return goes_apart(tape, node, direction) ? "cudnn + kernel" : "cudnn fused";
}

static void tell(const mz_tape *tape, const mz_node *node, const mz_cuda_convolution_settings *settings) {
  static const char *const directions[] = {"", ", gradient of data", ", gradient of weights"};
  const mz_cuda_conv_graph_settings *graph = &settings->graph;
  if (!mz_cuda_tells_forms()) return;
  fprintf(stderr, "convolution of %d x %d boards, %d to %d channels, %d rows%s%s: %s\n", graph->board.height, graph->board.width,
          graph->inputs, graph->outputs, settings->rows, graph->bf16 ? ", bf16" : "", directions[graph->direction],
          form_name(tape, node, graph->direction));
}

static mz_status plan(mz_tape *tape, mz_node *node, mz_cuda_direction direction) {
  const mz_cuda_convolution_settings settings = settings_of(tape, node, direction);
  MZ_TRY(mz_cuda_planned_take(mz_cuda_lane_of(tape), &settings, &conv_of(node)->convolutions[direction]));
  tell(tape, node, &settings);
  return MZ_OK;
}

/* forward_apart, data_apart: whether the directions go apart. */
static void claim_scratch(mz_tape *tape, const mz_node *node, bool forward_apart, bool data_apart) {
  const mz_param *param = &tape->params->items[node->weight];
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const size_t rows = (size_t)tape->rows, rounded = rounded_bytes(tape, node);
  size_t rest = 0;
  const auto need = [&rest](size_t bytes) { rest = bytes > rest ? bytes : rest; };
  if (forward_apart) need(rows * (size_t)y->stride * sizeof(float));
  if (data_apart) need(rows * (size_t)x->stride * sizeof(float));
  if (node->first_use) {
    need((size_t)param->rows * (size_t)param->columns * sizeof(float));
    need(mz_cuda_column_sums_scratch(rows * (size_t)node->positions, param->columns));
  }
  mz_tape_claim_scratch(tape, rounded + rest);
}

void mz_cuda_conv_claim(mz_tape *tape, const mz_node *node, bool sends_gradient) {
  claim_scratch(tape, node, has_rest(tape, node, MZ_CUDA_CONV_FORWARD),
                node->backward && sends_gradient && has_rest(tape, node, MZ_CUDA_CONV_DATA));
}

mz_status mz_cuda_conv_prepare(mz_tape *tape, mz_node *node) {
  conv *own = nullptr;
  MZ_TRY(mz_alloc(&own, 1, sizeof *own));
  node->prepared = own;
  MZ_TRY(plan(tape, node, MZ_CUDA_CONV_FORWARD));
  if (sends_gradient(tape, node)) MZ_TRY(plan(tape, node, MZ_CUDA_CONV_DATA));
  if (node->first_use) MZ_TRY(plan(tape, node, MZ_CUDA_CONV_WEIGHTS));
  claim_scratch(tape, node, goes_apart(tape, node, MZ_CUDA_CONV_FORWARD),
                sends_gradient(tape, node) && goes_apart(tape, node, MZ_CUDA_CONV_DATA));
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

const char *mz_cuda_conv_form_name(const mz_tape *tape, const mz_node *node) {
  return form_name(tape, node, MZ_CUDA_CONV_FORWARD);
}

/* ---- forward ---- */

static mz_status convolve(const mz_tape *tape, const mz_node *node, mz_cuda_direction direction, int rows,
                          const mz_cuda_conv_data *data) {
  mz_cuda_convolution *c = conv_of(node)->convolutions[direction];
  if (mz_cuda_convolution_form(c) != MZ_CUDA_CONV_DIRECT) return mz_cuda_convolution_run(c, mz_cuda_lane_of(tape), rows, data);
  const mz_cuda_conv_graph_settings graph = settings_of(tape, node, direction).graph;
  return mz_cuda_direct_conv_run(mz_cuda_lane_of(tape), &graph, rows, data);
}

static mz_status finish_rows(const mz_tape *tape, const mz_node *node, int rows, const float *sums, const float *bias,
                             const float *add) {
  const mz_tape_value *y = mz_cuda_output(tape, node);
  const mz_cuda_finish finish = {sums,
                                 bias,
                                 add,
                                 node->activation == MZ_RELU,
                                 y->bf16,
                                 y->data,
                                 (size_t)rows * (size_t)y->stride,
                                 tape->params->items[node->weight].columns};
  return mz_cuda_finish_run(mz_cuda_lane_of(tape), &finish);
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
