#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
extern "C" {
#include <cmocka.h>
}
#include "tests/cuda/support/pair.cuh"
extern "C" {
#include "base/maths/rng.h"
#include "networks/tape/backend.h"
}
#include "networks/cuda/conv.cuh"
#include "networks/cuda/planned.cuh"
#include "networks/math/bf16.h"

static void check(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

/* ---- tapes ---- */

static bool always(const mz_lane *) { return true; }
static mz_status prepare_nothing(mz_tape *, mz_node *) { return MZ_OK; }
static void release_nothing(mz_tape *, mz_node *) {}

/* Plans a tape of floats, and runs nothing. */
static const mz_backend *planner(void) {
  static mz_backend backend;
  backend.name = "planner";
  backend.halves = always;
  backend.element_size = sizeof(float);
  backend.prepare = prepare_nothing;
  backend.release = release_nothing;
  return &backend;
}

bool pair_is_device(const mz_tape *tape) { return tape->lane.backend == planner(); }

void pair_lane_open(mz_cuda_lane *lane, size_t workspace_bytes) {
  *lane = {};
  OK(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
  assert_int_equal(cublasLtCreate(&lane->blas), CUBLAS_STATUS_SUCCESS);
  assert_int_equal(cudnnCreate(&lane->dnn), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cudnnSetStream(lane->dnn, lane->stream), CUDNN_STATUS_SUCCESS);
  OK(cudaMalloc(&lane->workspace, workspace_bytes));
  lane->workspace_bytes = workspace_bytes;
  lane->halves = true;
}

void pair_lane_close(mz_cuda_lane *lane) {
  mz_cuda_planned_free(lane);
  OK(cudaFree(lane->workspace));
  assert_int_equal(cudnnDestroy(lane->dnn), CUDNN_STATUS_SUCCESS);
  assert_int_equal(cublasLtDestroy(lane->blas), CUBLAS_STATUS_SUCCESS);
  OK(cudaStreamDestroy(lane->stream));
}

static size_t count_of(const tape_pair *pair, int value) {
  return (size_t)pair->own_case->rows * (size_t)pair->reference->values[value].stride;
}

static bool is_tested(const tape_pair *pair, const mz_node *node) { return node->op == pair->op->op; }

static bool is_bf16(const tape_pair *pair, int value) { return pair->device->values[value].bf16; }

static size_t element_bytes(const tape_pair *pair, int value, bool gradient) {
  return is_bf16(pair, value) && !gradient ? sizeof(uint16_t) : sizeof(float);
}

static void *stand_in(tape_pair *pair, const void *host, size_t bytes) {
  if (host == nullptr) return nullptr;
  void *&own = pair->memory[host];
  if (own == nullptr) OK(cudaMalloc(&own, bytes));
  return own;
}

static void upload(const tape_pair *pair, void *to, const void *from, size_t bytes) {
  OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, pair->lane.stream));
  OK(cudaStreamSynchronize(pair->lane.stream));
}

static void download(const tape_pair *pair, void *to, const void *from, size_t bytes) {
  OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, pair->lane.stream));
  OK(cudaStreamSynchronize(pair->lane.stream));
}

static void move_to_device(tape_pair *pair) {
  mz_tape *tape = pair->device;
  for (int i = 0; i < tape->node_count; i++) {
    mz_tape_value *value = &tape->values[i];
    value->data = stand_in(pair, value->data, count_of(pair, i) * element_bytes(pair, i, false));
    value->gradient = stand_in(pair, value->gradient, count_of(pair, i) * sizeof(float));
  }
  for (int i = 0; i < tape->index_count; i++) {
    tape->indices[i] = (int32_t *)stand_in(pair, tape->indices[i], (size_t)tape->rows * sizeof(int32_t));
  }
  tape->lane.own = &pair->lane;
}

/* ---- numbers ---- */

/* bf16: one that bf16 has, so that rounding leaves it alone. */
static std::vector<float> make_up(mz_rng *rng, size_t count, bool bf16) {
  std::vector<float> numbers(count);
  for (float &x : numbers) {
    x = mz_rng_normal(rng);
    if (bf16) x = mz_f32_of_bf16(mz_bf16_of_f32(x));
  }
  return numbers;
}

static bool any_bf16(const tape_pair *pair) {
  for (int i = 0; i < pair->device->node_count; i++) {
    if (is_bf16(pair, i)) return true;
  }
  return false;
}

/* Columns beyond the value's are 0, as everywhere on a tape. */
static void clear_padding(const tape_pair *pair, int value, std::vector<float> &numbers) {
  const mz_tape_value *v = &pair->reference->values[value];
  for (size_t i = 0; i < numbers.size(); i++) {
    if ((int)(i % (size_t)v->stride) >= v->columns) numbers[i] = 0.0f;
  }
}

static bool is_written_by_tested(const tape_pair *pair, int value) {
  for (int i = 0; i < pair->device->node_count; i++) {
    const mz_node *node = &pair->device->nodes[i];
    for (int k = 0; k < node->input_count && is_tested(pair, node); k++) {
      if (node->inputs[k] == value && node->overwrites[k]) return true;
    }
  }
  return false;
}

static void make_up_values(tape_pair *pair) {
  mz_rng rng = mz_rng_at(21, MZ_RNG_TEST, 0, 0);
  const bool bf16 = any_bf16(pair);
  pair->data.resize((size_t)pair->device->node_count);
  pair->seeds.resize(pair->data.size());
  pair->wanted.resize(pair->data.size());
  pair->found.resize(pair->data.size());
  for (int i = 0; i < pair->device->node_count; i++) {
    const bool given = !is_tested(pair, &pair->device->nodes[i]);
    if (given) pair->data[(size_t)i] = make_up(&rng, count_of(pair, i), bf16);
    if (pair->device->values[i].gradient != nullptr && !is_written_by_tested(pair, i)) {
      pair->seeds[(size_t)i] = make_up(&rng, count_of(pair, i), bf16);
    }
    clear_padding(pair, i, pair->data[(size_t)i]);
    clear_padding(pair, i, pair->seeds[(size_t)i]);
  }
  for (int i = 0; i < pair->device->index_count; i++) {
    pair->indices.emplace_back();
    for (int r = 0; r < pair->own_case->rows; r++) {
      pair->indices.back().push_back((int32_t)mz_rng_below(&rng, (uint32_t)pair->own_case->table_rows));
      pair->reference->indices[i][r] = pair->indices.back().back();
    }
  }
}

static void make_up_weights(tape_pair *pair) {
  std::vector<float> plain((size_t)pair->params.size);
  mz_params_init(&pair->params, 5, plain.data());
  const bool bf16 = any_bf16(pair);
  for (float &x : plain) x = bf16 ? mz_f32_of_bf16(mz_bf16_of_f32(x)) : x;
  pair->weights.assign(plain.begin(), plain.end());
  pair->gradients.assign(plain.size(), 0.0);
  float *values = (float *)stand_in(pair, &pair->weights, plain.size() * sizeof(float));
  float *packed = (float *)stand_in(pair, &pair->params, plain.size() * sizeof(float));
  upload(pair, values, plain.data(), plain.size() * sizeof(float));
  for (int i = 0; i < pair->params.count; i++) {
    const mz_param *param = &pair->params.items[i];
    const size_t bytes = (size_t)param->rows * (size_t)param->stride * sizeof(float);
    if (param->conv.height > 0) {
      check(mz_cuda_conv_pack(&pair->lane, param, values + param->offset, bf16, packed + pair->device->layout[i]));
    } else {
      OK(cudaMemcpyAsync(packed + pair->device->layout[i], values + param->offset, bytes, cudaMemcpyDeviceToDevice,
                         pair->lane.stream));
    }
  }
  pair->device->weights = packed;
  pair->device->gradients = stand_in(pair, &pair->gradients, plain.size() * sizeof(float));
  pair->reference->weights = pair->weights.data();
  pair->reference->gradients = pair->gradients.data();
}

/* ---- life ---- */

void pair_open(tape_pair *pair, const pair_op *op, const pair_case *own_case) {
  pair->own_case = own_case;
  pair->op = op;
  pair->params = {};
  pair_lane_open(&pair->lane, 64 << 20);
  own_case->define(&pair->params);
  const mz_lane reference = {&mz_backend_ref, 0, nullptr}, device = {planner(), 0, nullptr};
  check(mz_tape_create(&pair->reference, &reference, &pair->params, own_case->rows, own_case->with_backward));
  check(mz_tape_create(&pair->device, &device, &pair->params, own_case->rows, own_case->with_backward));
  for (mz_tape *tape : {pair->reference, pair->device}) {
    own_case->record(tape);
    check(mz_tape_plan(tape));
  }
  move_to_device(pair);
  make_up_values(pair);
  make_up_weights(pair);
  for (int i = 0; i < pair->device->node_count; i++) {
    mz_node *node = &pair->device->nodes[i];
    if (is_tested(pair, node)) check(op->prepare(pair->device, node));
  }
  if (pair->device->scratch_bytes > 0) {
    pair->device->scratch = stand_in(pair, &pair->device->scratch, pair->device->scratch_bytes);
  }
}

void pair_close(tape_pair *pair) {
  for (int i = 0; i < pair->device->node_count; i++) {
    mz_node *node = &pair->device->nodes[i];
    if (node->prepared != nullptr) pair->op->release(pair->device, node);
  }
  pair->device->scratch = nullptr;
  mz_tape_free(pair->device);
  mz_tape_free(pair->reference);
  for (const auto &own : pair->memory) OK(cudaFree(own.second));
  pair_lane_close(&pair->lane);
}

/* ---- running ---- */

/* Rows from `from` on become the device's first, the rest and, where there are no numbers, everything NaN; but in gradients
 * the padding of rows, which nobody writes, stays 0. */
static void put(const tape_pair *pair, int value, bool gradient, const std::vector<float> &numbers, int from, int rows) {
  const mz_tape_value *v = &pair->device->values[value];
  const size_t size = element_bytes(pair, value, gradient), count = count_of(pair, value), stride = (size_t)v->stride;
  std::vector<unsigned char> bytes(count * size, 0xff);
  void *to = gradient ? v->gradient : v->data;
  if (to == nullptr) return;
  for (size_t i = 0; i < count; i++) {
    const bool live = i < (size_t)rows * stride && !numbers.empty(), padding = gradient && (int)(i % stride) >= v->columns;
    if (!live && !padding) continue;
    const float x = live ? numbers[(size_t)from * stride + i] : 0.0f;
    const uint16_t rounded = mz_bf16_of_f32(x);
    memcpy(&bytes[i * size], size == sizeof x ? (const void *)&x : (const void *)&rounded, size);
  }
  upload(pair, to, bytes.data(), bytes.size());
}

/* A sum may lie where its summand does: what is NaN goes first. */
static void put_all(const tape_pair *pair, bool gradient, int from, int rows) {
  const std::vector<std::vector<float>> &numbers = gradient ? pair->seeds : pair->data;
  for (bool given : {false, true}) {
    for (int i = 0; i < pair->device->node_count; i++) {
      if (numbers[(size_t)i].empty() != given) put(pair, i, gradient, numbers[(size_t)i], from, rows);
    }
  }
}

static std::vector<unsigned char> download_rows(const tape_pair *pair, int value, bool gradient, int rows) {
  const mz_tape_value *v = &pair->device->values[value];
  std::vector<unsigned char> bytes((size_t)rows * (size_t)v->stride * element_bytes(pair, value, gradient));
  download(pair, bytes.data(), gradient ? v->gradient : v->data, bytes.size());
  return bytes;
}

static void put_forward(tape_pair *pair, int from, int rows) {
  put_all(pair, false, from, rows);
  for (size_t i = 0; i < pair->indices.size(); i++) {
    upload(pair, pair->device->indices[i], &pair->indices[i][(size_t)from], (size_t)rows * sizeof(int32_t));
  }
}

void pair_forward(tape_pair *pair, int from, int rows) {
  put_forward(pair, from, rows);
  for (int i = 0; i < pair->device->node_count; i++) {
    mz_node *node = &pair->device->nodes[i];
    if (!is_tested(pair, node)) continue;
    check(pair->op->forward(pair->device, node, rows));
    pair->found[(size_t)i] = download_rows(pair, i, false, rows);
  }
}

std::vector<unsigned char> pair_replay(tape_pair *pair) {
  const int rows = pair->own_case->rows;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  int last = -1;
  OK(cudaStreamBeginCapture(pair->lane.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < pair->device->node_count; i++) {
    mz_node *node = &pair->device->nodes[i];
    if (!is_tested(pair, node)) continue;
    check(pair->op->forward(pair->device, node, rows));
    last = i;
  }
  OK(cudaStreamEndCapture(pair->lane.stream, &graph));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  put_forward(pair, 0, rows);
  OK(cudaGraphLaunch(executable, pair->lane.stream));
  std::vector<unsigned char> bytes = download_rows(pair, last, false, rows);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  return bytes;
}

void pair_backward(tape_pair *pair, int from, int rows) {
  put_all(pair, true, from, rows);
  OK(cudaMemsetAsync(pair->device->gradients, 0xff, pair->gradients.size() * sizeof(float), pair->lane.stream));
  for (int i = pair->device->node_count - 1; i >= 0; i--) {
    mz_node *node = &pair->device->nodes[i];
    if (is_tested(pair, node) && node->backward) check(pair->op->backward(pair->device, node, rows));
  }
}

static void put_reference(tape_pair *pair, bool gradient, int rows) {
  const std::vector<std::vector<float>> &numbers = gradient ? pair->seeds : pair->data;
  for (int i = 0; i < pair->reference->node_count; i++) {
    const mz_tape_value *v = &pair->reference->values[i];
    double *to = (double *)(gradient ? v->gradient : v->data);
    for (size_t k = 0; k < (size_t)rows * (size_t)v->stride && !numbers[(size_t)i].empty(); k++) to[k] = numbers[(size_t)i][k];
  }
}

void pair_reference_forward(tape_pair *pair, int rows) {
  put_reference(pair, false, rows);
  for (int i = 0; i < pair->reference->node_count; i++) {
    mz_node *node = &pair->reference->nodes[i];
    if (!is_tested(pair, node)) continue;
    const mz_tape_value *y = &pair->reference->values[node->output];
    mz_backend_ref.forward(pair->reference, node, rows);
    pair->wanted[(size_t)i].assign((double *)y->data, (double *)y->data + (size_t)rows * (size_t)y->stride);
    const std::vector<double> found = pair_numbers(pair, i, false, pair->found[(size_t)i]);
    memcpy(y->data, found.data(), found.size() * sizeof(double));
  }
}

void pair_reference_backward(tape_pair *pair, int rows) {
  put_reference(pair, true, rows);
  for (int i = pair->reference->node_count - 1; i >= 0; i--) {
    mz_node *node = &pair->reference->nodes[i];
    if (is_tested(pair, node) && node->backward) mz_backend_ref.backward(pair->reference, node, rows);
  }
}

/* ---- reading ---- */

std::vector<unsigned char> pair_gradient_bytes(const tape_pair *pair, int value, int rows) {
  return download_rows(pair, value, true, rows);
}

std::vector<double> pair_numbers(const tape_pair *pair, int value, bool gradient, const std::vector<unsigned char> &bytes) {
  const size_t size = element_bytes(pair, value, gradient);
  std::vector<double> numbers(bytes.size() / size);
  for (size_t i = 0; i < numbers.size(); i++) {
    uint16_t rounded;
    float x;
    memcpy(&rounded, &bytes[i * size], sizeof rounded);
    if (size == sizeof rounded) {
      x = mz_f32_of_bf16(rounded);
    } else {
      memcpy(&x, &bytes[i * size], sizeof x);
    }
    numbers[i] = x;
  }
  return numbers;
}

std::vector<double> pair_wanted_gradient(const tape_pair *pair, int value, int rows) {
  const mz_tape_value *v = &pair->reference->values[value];
  return std::vector<double>((double *)v->gradient, (double *)v->gradient + (size_t)rows * (size_t)v->stride);
}

std::vector<float> pair_parameter_gradient(const tape_pair *pair, int param) {
  const mz_param *item = &pair->params.items[param];
  std::vector<float> gradient((size_t)item->rows * (size_t)item->stride);
  download(pair, gradient.data(), (const float *)pair->device->gradients + item->offset, gradient.size() * sizeof(float));
  return gradient;
}
