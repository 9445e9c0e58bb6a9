#include "networks/cuda/direct_conv.cuh"
#include "networks/cuda/numbers.cuh"

enum { THREADS = 128, TAPS = MZ_KERNEL * MZ_KERNEL };

typedef struct shape {
  int height, width, inputs, outputs, rows;
} shape;

/* The position that the output at `position` sees through `tap`; −1: it lies beside the board, where everything is 0. */
static __device__ int seen_through(shape s, int position, int tap) {
  const int y = position / s.width + tap / MZ_KERNEL - 1, x = position % s.width + tap % MZ_KERNEL - 1;
  return y >= 0 && y < s.height && x >= 0 && x < s.width ? y * s.width + x : -1;
}

static __device__ int positions_of(shape s) { return s.height * s.width; }

/* One element of y a thread. */
template <typename T> static __global__ void forward(const T *x, const T *filters, float *y, shape s) {
  const size_t i = mz_cuda_thread();
  const int output = (int)(i % (size_t)s.outputs), position = (int)(i / (size_t)s.outputs % (size_t)positions_of(s));
  const size_t row = i / (size_t)s.outputs / (size_t)positions_of(s);
  float sum = 0.0f;
  if (row >= (size_t)s.rows) return;
  for (int tap = 0; tap < TAPS; tap++) {
    const int seen = seen_through(s, position, tap);
    if (seen < 0) continue;
    const size_t from = (row * (size_t)positions_of(s) + (size_t)seen) * (size_t)s.inputs;
    const size_t filter = ((size_t)output * TAPS + (size_t)tap) * (size_t)s.inputs;
    for (int c = 0; c < s.inputs; c++)
      sum = fmaf(mz_number_load(x + from + (size_t)c), mz_number_load(filters + filter + (size_t)c), sum);
  }
  y[i] = sum;
}

/* One element of dx a thread: what sees it through a tap lies where it would look through the opposite one. */
template <typename T> static __global__ void data_gradient(const T *dy, const T *filters, float *dx, shape s) {
  const size_t i = mz_cuda_thread();
  const int input = (int)(i % (size_t)s.inputs), position = (int)(i / (size_t)s.inputs % (size_t)positions_of(s));
  const size_t row = i / (size_t)s.inputs / (size_t)positions_of(s);
  float sum = 0.0f;
  if (row >= (size_t)s.rows) return;
  for (int tap = 0; tap < TAPS; tap++) {
    const int seer = seen_through(s, position, TAPS - 1 - tap);
    if (seer < 0) continue;
    const size_t from = (row * (size_t)positions_of(s) + (size_t)seer) * (size_t)s.outputs;
    for (int o = 0; o < s.outputs; o++) {
      const size_t filter = ((size_t)o * TAPS + (size_t)tap) * (size_t)s.inputs + (size_t)input;
      sum = fmaf(mz_number_load(dy + from + (size_t)o), mz_number_load(filters + filter), sum);
    }
  }
  dx[i] = sum;
}

/* One element of dW a thread, over rows and positions in order. */
template <typename T> static __global__ void weight_gradient(const T *x, const T *dy, float *dw, shape s) {
  const size_t i = mz_cuda_thread();
  const int input = (int)(i % (size_t)s.inputs), tap = (int)(i / (size_t)s.inputs % TAPS);
  const size_t output = i / (size_t)s.inputs / TAPS;
  float sum = 0.0f;
  if (output >= (size_t)s.outputs) return;
  for (size_t row = 0; row < (size_t)s.rows; row++) {
    for (int position = 0; position < positions_of(s); position++) {
      const int seen = seen_through(s, position, tap);
      const size_t first = row * (size_t)positions_of(s);
      if (seen < 0) continue;
      sum = fmaf(mz_number_load(x + (first + (size_t)seen) * (size_t)s.inputs + (size_t)input),
                 mz_number_load(dy + (first + (size_t)position) * (size_t)s.outputs + output), sum);
    }
  }
  dw[i] = sum;
}

template <typename T>
static cudaError_t launch(const mz_cuda_lane *lane, mz_cuda_direction direction, shape s, const mz_cuda_conv_data *data) {
  const T *x = (const T *)data->tensors[MZ_CUDA_CONV_X], *filters = (const T *)data->tensors[MZ_CUDA_CONV_FILTERS];
  const T *dy = (const T *)data->tensors[MZ_CUDA_CONV_DY];
  float *result = (float *)data->tensors[MZ_CUDA_CONV_RESULT];
  const size_t positions = (size_t)s.rows * (size_t)s.height * (size_t)s.width;
  const dim3 block(THREADS);
  switch (direction) {
    case MZ_CUDA_CONV_FORWARD:
      return mz_launch(forward<T>, mz_cuda_blocks(positions * (size_t)s.outputs, THREADS), block, 0, lane->stream, x, filters,
                       result, s);
    case MZ_CUDA_CONV_DATA:
      return mz_launch(data_gradient<T>, mz_cuda_blocks(positions * (size_t)s.inputs, THREADS), block, 0, lane->stream, dy,
                       filters, result, s);
    case MZ_CUDA_CONV_WEIGHTS: break;
  }
  return mz_launch(weight_gradient<T>, mz_cuda_blocks((size_t)TAPS * (size_t)s.inputs * (size_t)s.outputs, THREADS), block, 0,
                   lane->stream, x, dy, result, s);
}

mz_status mz_cuda_direct_conv_run(const mz_cuda_lane *lane, const mz_cuda_conv_graph_settings *settings, int rows,
                                  const mz_cuda_conv_data *data) {
  const shape s = {settings->board.height, settings->board.width, settings->inputs, settings->outputs, rows};
  if (settings->bf16) {
    MZ_CUDA_TRY(launch<uint16_t>(lane, settings->direction, s, data));
  } else {
    MZ_CUDA_TRY(launch<float>(lane, settings->direction, s, data));
  }
  return MZ_OK;
}
