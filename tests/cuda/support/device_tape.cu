#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
extern "C" {
#include <cmocka.h>
}
#include "tests/cuda/support/device_tape.cuh"
#include "tests/cuda/support/ops.cuh"

mz_cuda_lane device_lane_open(void) {
  mz_cuda_lane lane = {};
  OK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
  return lane;
}

void device_lane_close(mz_cuda_lane *lane) {
  OK(cudaStreamSynchronize(lane->stream));
  mz_cuda_staging_free(&lane->staging);
  OK(cudaStreamDestroy(lane->stream));
}

void device_upload(const mz_cuda_lane *lane, void *to, const void *from, size_t bytes) {
  OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, lane->stream));
  OK(cudaStreamSynchronize(lane->stream));
}

void device_download(const mz_cuda_lane *lane, void *to, const void *from, size_t bytes) {
  OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, lane->stream));
  OK(cudaStreamSynchronize(lane->stream));
}

/* ---- memory ---- */

static const mz_tape_value *host_value(const device_tape *device, int value) { return &device->host->tape->values[value]; }

static size_t row_bytes(const mz_tape_value *value) {
  return (size_t)value->stride * (value->bf16 ? sizeof(uint16_t) : sizeof(float));
}

static size_t gradient_row_bytes(const mz_tape_value *value) { return (size_t)value->stride * sizeof(float); }

/* Memory for what the host has at `host`: made the first time, so that values which share theirs do so here. */
static void *stand_in(device_tape *device, const void *host, size_t bytes) {
  if (host == nullptr) return nullptr;
  void *&own = device->memory[host];
  if (own == nullptr) OK(cudaMalloc(&own, bytes));
  return own;
}

static void put(device_tape *device, void *to, const void *from_host, size_t bytes_of_row, int from, int rows) {
  if (from_host == nullptr) return;
  OK(cudaMemsetAsync(to, 0xff, bytes_of_row * (size_t)device->tape.rows, device->lane.stream));
  device_upload(&device->lane, to, (const char *)from_host + bytes_of_row * (size_t)from, bytes_of_row * (size_t)rows);
}

void device_tape_put_data(device_tape *device, int value, int from, int rows) {
  put(device, device->values[value].data, host_value(device, value)->data, row_bytes(host_value(device, value)), from, rows);
}

void device_tape_put_gradient(device_tape *device, int value, int from, int rows) {
  put(device, device->values[value].gradient, host_value(device, value)->gradient, gradient_row_bytes(host_value(device, value)),
      from, rows);
}

void device_tape_put_index(device_tape *device, int list, int from, int rows) {
  put(device, device->tape.indices[list], device->host->tape->indices[list],
      (size_t)device->tape.index_lengths[list] * sizeof(int32_t), from, rows);
}

void device_tape_spoil_data(device_tape *device, int value) {
  const size_t bytes = row_bytes(host_value(device, value)) * (size_t)device->tape.rows;
  OK(cudaMemsetAsync(device->values[value].data, 0xff, bytes, device->lane.stream));
}

void device_tape_spoil_gradient(device_tape *device, int value) {
  const size_t bytes = gradient_row_bytes(host_value(device, value)) * (size_t)device->tape.rows;
  OK(cudaMemsetAsync(device->values[value].gradient, 0xff, bytes, device->lane.stream));
}

static std::vector<unsigned char> get(device_tape *device, const void *from, size_t bytes) {
  std::vector<unsigned char> to(bytes);
  device_download(&device->lane, to.data(), from, bytes);
  return to;
}

std::vector<unsigned char> device_tape_data(device_tape *device, int value) {
  return get(device, device->values[value].data, row_bytes(host_value(device, value)) * (size_t)device->tape.rows);
}

std::vector<unsigned char> device_tape_gradient(device_tape *device, int value) {
  return get(device, device->values[value].gradient, gradient_row_bytes(host_value(device, value)) * (size_t)device->tape.rows);
}

std::vector<float> device_tape_parameter_gradient(device_tape *device, int param) {
  const mz_param *item = &device->tape.params->items[param];
  std::vector<float> to((size_t)item->rows * (size_t)item->stride);
  device_download(&device->lane, to.data(), (const float *)device->tape.gradients + item->offset, to.size() * sizeof(float));
  return to;
}

/* ---- tapes ---- */

void device_tape_open(device_tape *device, const net *host) {
  const mz_tape *tape = host->tape;
  device->host = host;
  device->lane = device_lane_open();
  device->tape = *tape;
  device->nodes.assign(tape->nodes, tape->nodes + tape->node_count);
  device->values.assign(tape->values, tape->values + tape->node_count);
  device->tape.nodes = device->nodes.data();
  device->tape.values = device->values.data();
  device->tape.lane.own = &device->lane;
  device->tape.scratch = nullptr;
  for (mz_tape_value &value : device->values) {
    value.data = stand_in(device, value.data, row_bytes(&value) * (size_t)tape->rows);
    value.gradient = stand_in(device, value.gradient, gradient_row_bytes(&value) * (size_t)tape->rows);
  }
  for (int i = 0; i < tape->index_count; i++) {
    const size_t count = (size_t)tape->rows * (size_t)tape->index_lengths[i];
    device->tape.indices[i] = (int32_t *)stand_in(device, tape->indices[i], count * sizeof(int32_t));
  }
  const void *values = host->packed != nullptr ? host->packed : host->values;
  const size_t packed = (size_t)mz_backend_layout(host->backend, &host->params, nullptr) * sizeof(float);
  device->tape.weights = stand_in(device, values, packed);
  device->tape.gradients = stand_in(device, host->gradients, (size_t)host->params.size * sizeof(float));
  device_upload(&device->lane, (void *)device->tape.weights, values, packed);
  for (mz_node &node : device->nodes) {
    const cuda_op *op = cuda_op_of(node.op);
    node.prepared = nullptr;
    if (op != nullptr && op->prepare != nullptr) check(op->prepare(&device->tape, &node));
  }
}

void device_tape_close(device_tape *device) {
  for (mz_node &node : device->nodes) {
    if (node.prepared != nullptr) cuda_op_of(node.op)->release(&node);
  }
  for (const auto &own : device->memory) OK(cudaFree(own.second));
  device->memory.clear();
  device_lane_close(&device->lane);
}
