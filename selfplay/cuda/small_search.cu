#include "selfplay/cuda/small_search.cuh"
#include "networks/cuda/quads.cuh"
extern "C" {
#include "base/maths/maths_inline.h"
#include "networks/math/scaling.h"
#include "networks/math/value.h"
}

enum { SLOTS = MZ_CUDA_SMALL_SLOTS, PARTS = MZ_CUDA_SMALL_PARTS, THREADS = 256, WARP = 32 };
static_assert(SLOTS * WARP <= THREADS, "each slot has a warp for what concerns its row alone");

#define ALL_LANES 0xffffffffu

/* ---- sums of a row by a warp, in a fixed order ---- */

template <typename F> static __device__ float warp_sum(int count, F value) {
  float sum = 0.0f;
  for (int c = (int)threadIdx.x % WARP; c < count; c += WARP) sum = sum + value(c);
  for (int half = WARP / 2; half > 0; half /= 2) sum = sum + __shfl_xor_sync(ALL_LANES, sum, half);
  return sum;
}

static __device__ float warp_max(int count, const float *x) {
  float max = -(float)INFINITY;
  for (int c = (int)threadIdx.x % WARP; c < count; c += WARP) max = fmaxf(max, x[c]);
  for (int half = WARP / 2; half > 0; half /= 2) max = fmaxf(max, __shfl_xor_sync(ALL_LANES, max, half));
  return max;
}

static __device__ float warp_min(int count, const float *x) {
  float min = (float)INFINITY;
  for (int c = (int)threadIdx.x % WARP; c < count; c += WARP) min = fminf(min, x[c]);
  for (int half = WARP / 2; half > 0; half /= 2) min = fminf(min, __shfl_xor_sync(ALL_LANES, min, half));
  return min;
}

/* ---- the network ---- */

static __device__ void load_weights(const mz_cuda_small_model &m, const float *weights, float *shared) {
  const float *from = weights + m.first_weight;
  for (int i = MZ_QUAD * (int)threadIdx.x; i < m.weights; i += MZ_QUAD * THREADS)
    mz_quad_store(shared + i, mz_quad_load(from + i));
}

/* Sums a layer's quarters. The threads of neighbouring columns read neighbouring weights; each weight serves all slots. */
static __device__ void sum_quarters(const mz_cuda_small_layer &layer, const float *weights, const float *x, float *partial) {
  const int stride = layer.to.stride;
  for (int item = (int)threadIdx.x; item < PARTS * stride; item += THREADS) {
    const int part = item / stride, column = item % stride;
    const int end = layer.inputs * (part + 1) / PARTS;
    float sum[SLOTS] = {};
    for (int i = layer.inputs * part / PARTS; i < end; i++) {
      const float w = weights[i * stride + column];
      MZ_UNROLL(4) for (int r = 0; r < SLOTS; r++) sum[r] = fmaf(x[r * layer.from.stride + i], w, sum[r]);
    }
    MZ_UNROLL(4) for (int r = 0; r < SLOTS; r++) partial[(part * SLOTS + r) * stride + column] = sum[r];
  }
}

/* Computes a layer for all slots of the block. actions: [SLOTS]. */
static __device__ void run_layer(const mz_cuda_small_model &m, const mz_cuda_small_layer &layer, float *shared,
                                 const int32_t *actions) {
  const int stride = layer.to.stride, part_size = SLOTS * stride;
  const float *partial = shared + m.partial.at;
  sum_quarters(layer, shared + layer.weight, shared + layer.from.at, shared + m.partial.at);
  __syncthreads();
  for (int item = (int)threadIdx.x; item < part_size; item += THREADS) {
    const int column = item % stride;
    float y = (partial[item] + partial[part_size + item]) + (partial[2 * part_size + item] + partial[3 * part_size + item]);
    y = y + shared[layer.bias + column];
    if (layer.table >= 0) y = y + shared[layer.table + actions[item / stride] * stride + column];
    shared[layer.to.at + item] = layer.relu ? mz_relu_of(y) : y;
  }
  __syncthreads();
}

/* Scales a row of the latent, whose padding stays 0. */
static __device__ void scale(const mz_cuda_small_model &m, float *x) {
  float shift = 0.0f, inverse;
  if (m.rms) {
    inverse = mz_rms_inverse_inline(warp_sum(m.latent_size, [=](int c) { return x[c] * x[c]; }), m.latent_size);
  } else {
    shift = warp_min(m.latent_size, x);
    inverse = mz_minmax_inverse_inline(shift, warp_max(m.latent_size, x));
  }
  for (int c = (int)threadIdx.x % WARP; c < m.latent_size; c += WARP) x[c] = (x[c] - shift) * inverse;
}

static __device__ float expectation(const mz_cuda_small_scalar &scalar, const float *shared, int row) {
  const float *x = shared + scalar.logits.at + row * scalar.logits.stride;
  const float max = warp_max(scalar.bins, x), min = scalar.min, step = scalar.step;
  const float sum = warp_sum(scalar.bins, [=](int c) { return mz_expf_inline(x[c] - max); });
  const float mean =
      warp_sum(scalar.bins, [=](int c) { return mz_expf_inline(x[c] - max) * mz_bin_inline(min, step, (float)c); }) / sum;
  return scalar.transform ? mz_h_inverse_inline(mean) : mean;
}

/* ---- the search ---- */

/* Latents and actions that the block's slots start from; those beyond the last are 0. */
static __device__ void fetch(const mz_cuda_slots &s, const mz_cuda_small_model &m, const float *pool, float *shared,
                             int32_t *actions, int n) {
  const int first = (int)blockIdx.x * SLOTS, stride = m.latent.stride;
  for (int item = (int)threadIdx.x; item < SLOTS * stride; item += THREADS) {
    const int slot = first + item / stride;
    shared[m.latent.at + item] = slot < n ? pool[(size_t)s.in[slot] * (size_t)stride + (size_t)(item % stride)] : 0.0f;
  }
  if ((int)threadIdx.x < SLOTS) actions[threadIdx.x] = first + (int)threadIdx.x < n ? s.action[first + (int)threadIdx.x] : 0;
}

/* Stores a slot's new latent. */
static __device__ void keep_latent(const mz_cuda_slots &s, const mz_cuda_small_model &m, const float *x, float *pool, int slot) {
  float *to = pool + (size_t)s.out[slot] * (size_t)m.latent.stride;
  for (int c = (int)threadIdx.x % WARP; c < m.latent.stride; c += WARP) to[c] = x[c];
}

static __global__ void search(mz_cuda_slots s, mz_cuda_small_model m, const float *__restrict__ weights, float *pool, int n,
                              int simulations) {
  MZ_SHARED_ARRAY(float, shared);
  int32_t *const actions = (int32_t *)(shared + m.actions.at);
  const int row = (int)threadIdx.x / WARP, slot = (int)blockIdx.x * SLOTS + row; /* the warp's */
  const bool has_slot = row < SLOTS && slot < n;
  load_weights(m, weights, shared);
  for (int simulation = 0; simulation < simulations; simulation++) {
    fetch(s, m, pool, shared, actions, n);
    __syncthreads();
    for (int i = 0; i < m.layer_count; i++) {
      run_layer(m, m.layers[i], shared, actions);
      if (i != m.latent_layer) continue;
      float *const latent = shared + m.latent.at + row * m.latent.stride;
      if (has_slot) {
        scale(m, latent);
        keep_latent(s, m, latent, pool, slot);
      }
      __syncthreads();
    }
    if (has_slot) {
      const float reward = expectation(m.reward, shared, row), value = expectation(m.value, shared, row);
      const float turn = m.turn.bins > 0 ? expectation(m.turn, shared, row) : 0.0f;
      if (threadIdx.x % WARP == 0)
        mz_cuda_slot_finish(s, slot, shared + m.policy.at + row * m.policy.stride, value, reward, turn);
    }
    __syncthreads();
  }
}

mz_status mz_cuda_small_search_prepare(const mz_cuda_lane *lane) {
  MZ_CUDA_TRY(cudaFuncSetAttribute(search, cudaFuncAttributeMaxDynamicSharedMemorySize, lane->shared_bytes_max));
  return MZ_OK;
}

mz_status mz_cuda_small_search_run(const mz_cuda_lane *lane, const mz_cuda_small_model *model, const mz_cuda_slots *slots,
                                   const float *weights, float *pool, int n, int simulations) {
  MZ_CUDA_TRY(mz_launch(search, mz_cuda_blocks((size_t)n, SLOTS), dim3(THREADS), (size_t)model->shared_bytes, lane->stream,
                        *slots, *model, weights, pool, n, simulations));
  return MZ_OK;
}
