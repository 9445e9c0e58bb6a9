/* Node functions' access to a tape on a device: every value, gradient and index list, the weights and the gradients are there. */
#pragma once
#include "networks/cuda/check.cuh"
#include "networks/cuda/lane.cuh"
#include "networks/cuda/launch.cuh"
extern "C" {
#include "networks/tape/tape_state.h"
}
#include <stdint.h>

static inline mz_cuda_lane *mz_cuda_lane_of(const mz_tape *tape) { return (mz_cuda_lane *)tape->lane.own; }

static inline const mz_tape_value *mz_cuda_input(const mz_tape *tape, const mz_node *node, int k) {
  return &tape->values[node->inputs[k]];
}
static inline const mz_tape_value *mz_cuda_output(const mz_tape *tape, const mz_node *node) {
  return &tape->values[node->output];
}

/* Data and gradient of a value; NULL where none is planned. */
static inline float *mz_cuda_data(const mz_tape_value *value) { return (float *)value->data; }
static inline float *mz_cuda_gradient(const mz_tape_value *value) { return (float *)value->gradient; }

/* Entries of the leading rows of a value, padding included: kernels count them in 32 bits, which divide several times as fast. */
static inline unsigned mz_cuda_entries(const mz_tape_value *value, int rows) {
  const size_t count = (size_t)rows * (size_t)value->stride;
  MZ_ASSERT(count <= UINT32_MAX / 2);
  return (unsigned)count;
}

/* param −1: NULL. */
static inline const float *mz_cuda_parameter(const mz_tape *tape, int param) {
  return param < 0 ? nullptr : (const float *)tape->weights + tape->layout[param];
}
static inline float *mz_cuda_parameter_gradient(const mz_tape *tape, int param) {
  return (float *)tape->gradients + tape->params->items[param].offset;
}

/* Blocks of `threads` in which each of `count` has a thread. */
static inline dim3 mz_cuda_blocks(size_t count, int threads) {
  return dim3((unsigned)((count + (size_t)threads - 1) / (size_t)threads));
}

/* The number of a thread in its grid. */
static inline __device__ unsigned mz_cuda_thread(void) { return blockIdx.x * blockDim.x + threadIdx.x; }

/* Enqueues a kernel on the tape's lane with a thread for each of `count`, which is its first argument. */
template <typename... Parameters, typename... Arguments>
static inline mz_status mz_cuda_run_each(const mz_tape *tape, unsigned count, void (*kernel)(Parameters...),
                                         Arguments... arguments) {
  enum { THREADS_OF_BLOCK = 256 };
  const dim3 blocks = mz_cuda_blocks(count, THREADS_OF_BLOCK);
  MZ_CUDA_TRY(mz_launch(kernel, blocks, dim3(THREADS_OF_BLOCK), 0, mz_cuda_lane_of(tape)->stream, count, arguments...));
  return MZ_OK;
}

/* Unrolls the next loop so that its loads wait together. */
#ifdef __CUDACC__
#define MZ_PRAGMA(text) _Pragma(#text)
#define MZ_UNROLL(n) MZ_PRAGMA(unroll n)
#else
#define MZ_UNROLL(n)
#endif
