#include "networks/cuda/elements.cuh"
#include "networks/cuda/gradients.cuh"
#include "networks/cuda/quads.cuh"
#include "networks/math/gelu.h"

enum { THREADS = 256 };

/* ---- functions of one or two elements ---- */

struct sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct relu {
  __device__ float operator()(float x) const { return mz_relu_of(x); }
};
struct gelu {
  __device__ float operator()(float x) const { return mz_gelu_inline(x); }
};
/* Gradients: of what forward read or wrote, and dy. */
struct relu_gradient {
  __device__ float operator()(float y, float dy) const { return y > 0.0f ? dy : 0.0f; }
};
struct gelu_gradient {
  __device__ float operator()(float x, float dy) const { return dy * mz_gelu_derivative_inline(x); }
};
struct scaling {
  float factor;
  __device__ float operator()(float dy) const { return factor * dy; }
};

template <typename F> static __device__ float4 each(F f, float4 a) { return make_float4(f(a.x), f(a.y), f(a.z), f(a.w)); }
template <typename F> static __device__ float4 each(F f, float4 a, float4 b) {
  return make_float4(f(a.x, b.x), f(a.y, b.y), f(a.z, b.z), f(a.w, b.w));
}

/* ---- kernels over quads ---- */

template <typename F> static __global__ void map(F f, const float4 *x, float4 *y, unsigned count) {
  const unsigned i = mz_cuda_thread();
  if (i < count) y[i] = each(f, x[i]);
}

template <typename F> static __global__ void map_two(F f, const float4 *a, const float4 *b, float4 *y, unsigned count) {
  const unsigned i = mz_cuda_thread();
  if (i < count) y[i] = each(f, a[i], b[i]);
}

static __device__ void store(float4 *dx, unsigned i, float4 d, bool overwrite) { dx[i] = overwrite ? d : each(sum(), dx[i], d); }

template <typename F> static __global__ void accumulate(F f, const float4 *dy, float4 *dx, unsigned count, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i < count) store(dx, i, each(f, dy[i]), overwrite);
}

template <typename F>
static __global__ void accumulate_two(F f, const float4 *x, const float4 *dy, float4 *dx, unsigned count, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i < count) store(dx, i, each(f, x[i], dy[i]), overwrite);
}

/* Both summands may be the same value: the second is written after the first. */
static __global__ void distribute(const float4 *dy, float4 *da, float4 *db, unsigned count, bool overwrite_a, bool overwrite_b) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const float4 d = dy[i];
  if (da != nullptr) store(da, i, d, overwrite_a);
  if (db != nullptr) store(db, i, d, overwrite_b);
}

/* ---- nodes ---- */

/* Quads of the output's live rows, and who runs them. */
typedef struct shape {
  unsigned count;
  dim3 blocks;
  cudaStream_t stream;
} shape;

static shape shape_of(const mz_tape *tape, const mz_node *node, int rows) {
  const unsigned count = mz_cuda_entries(mz_cuda_output(tape, node), rows) / MZ_QUAD;
  return {count, mz_cuda_blocks(count, THREADS), mz_cuda_lane_of(tape)->stream};
}

static float4 *quads_of(void *data) { return (float4 *)data; }

template <typename F> static mz_status run_map(F f, mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(map<F>, s.blocks, dim3(THREADS), 0, s.stream, f, quads_of(x->data), quads_of(y->data), s.count));
  return MZ_OK;
}

template <typename F> static mz_status run_accumulate(F f, mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(accumulate<F>, s.blocks, dim3(THREADS), 0, s.stream, f, quads_of(y->gradient), quads_of(x->gradient),
                        s.count, node->overwrites[0]));
  return MZ_OK;
}

/* seen: what forward read or wrote. */
template <typename F> static mz_status run_accumulate_two(F f, mz_tape *tape, mz_node *node, void *seen, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(accumulate_two<F>, s.blocks, dim3(THREADS), 0, s.stream, f, quads_of(seen), quads_of(y->gradient),
                        quads_of(x->gradient), s.count, node->overwrites[0]));
  return MZ_OK;
}

mz_status mz_cuda_add_forward(mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *a = mz_cuda_input(tape, node, 0), *b = mz_cuda_input(tape, node, 1), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(map_two<sum>, s.blocks, dim3(THREADS), 0, s.stream, sum(), quads_of(a->data), quads_of(b->data),
                        quads_of(y->data), s.count));
  return MZ_OK;
}

mz_status mz_cuda_add_backward(mz_tape *tape, mz_node *node, int rows) {
  const shape s = shape_of(tape, node, rows);
  const mz_tape_value *a = mz_cuda_input(tape, node, 0), *b = mz_cuda_input(tape, node, 1), *y = mz_cuda_output(tape, node);
  MZ_CUDA_TRY(mz_launch(distribute, s.blocks, dim3(THREADS), 0, s.stream, quads_of(y->gradient), quads_of(a->gradient),
                        quads_of(b->gradient), s.count, node->overwrites[0], node->overwrites[1]));
  return MZ_OK;
}

mz_status mz_cuda_relu_forward(mz_tape *tape, mz_node *node, int rows) { return run_map(relu(), tape, node, rows); }

mz_status mz_cuda_relu_backward(mz_tape *tape, mz_node *node, int rows) {
  return run_accumulate_two(relu_gradient(), tape, node, mz_cuda_output(tape, node)->data, rows);
}

mz_status mz_cuda_gelu_forward(mz_tape *tape, mz_node *node, int rows) { return run_map(gelu(), tape, node, rows); }

mz_status mz_cuda_gelu_backward(mz_tape *tape, mz_node *node, int rows) {
  return run_accumulate_two(gelu_gradient(), tape, node, mz_cuda_input(tape, node, 0)->data, rows);
}

mz_status mz_cuda_to_bf16_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_round_to_bf16(mz_cuda_lane_of(tape), mz_cuda_data(x), (uint16_t *)y->data, mz_cuda_entries(y, rows));
}

mz_status mz_cuda_to_bf16_backward(mz_tape *tape, mz_node *node, int rows) {
  return run_accumulate(scaling{1.0f}, tape, node, rows);
}

mz_status mz_cuda_scale_forward(mz_tape *tape, mz_node *node, int rows) {
  return run_map(scaling{node->factor}, tape, node, rows);
}

mz_status mz_cuda_scale_gradient_backward(mz_tape *tape, mz_node *node, int rows) {
  return run_accumulate(scaling{node->factor}, tape, node, rows);
}
