#include "networks/cuda/graphs.cuh"
#include "networks/cuda/quads.cuh"
#include "base/maths/maths_inline.h"

/* Channels of a value of `positions`. */
static int channels_of(const mz_tape_value *value, int positions) { return value->columns / positions; }

/* ---- gather: a thread for four channels of a position ---- */

/* index: [rows][positions]. */
static __global__ void gather(unsigned count, const float *__restrict__ x, const int32_t *__restrict__ index,
                              float *__restrict__ y, int positions, int channels, int x_stride) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned at = i * MZ_QUAD / (unsigned)channels, c = i * MZ_QUAD % (unsigned)channels;
  const int from = index[at];
  const float *row = x + (size_t)(at / (unsigned)positions) * (size_t)x_stride;
  mz_quad_store(y + (size_t)i * MZ_QUAD, from < 0 ? mz_quad_of(0.0f) : mz_quad_load(row + (size_t)from * (size_t)channels + c));
}

/* A thread for four channels of what was chosen from goes over the positions that chose it, in order. */
static __global__ void gather_backward(unsigned count, const float *__restrict__ dy, const int32_t *__restrict__ index,
                                       float *__restrict__ dx, int positions, int channels, int x_stride, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned entry = i * MZ_QUAD, row = entry / (unsigned)x_stride, in_row = entry % (unsigned)x_stride;
  const int own = (int)(in_row / (unsigned)channels);
  const unsigned c = in_row % (unsigned)channels;
  const int32_t *chosen = index + (size_t)row * (size_t)positions;
  const float *from = dy + (size_t)row * (size_t)(positions * channels) + c;
  float4 sum = overwrite ? mz_quad_of(0.0f) : mz_quad_load(dx + entry);
  for (int p = 0; p < positions; p++) {
    if (chosen[p] == own) sum = mz_quad_add(sum, mz_quad_load(from + (size_t)p * (size_t)channels));
  }
  mz_quad_store(dx + entry, sum);
}

mz_status mz_cuda_gather_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows) / MZ_QUAD, gather, mz_cuda_data(x), tape->indices[node->index_input],
                          mz_cuda_data(y), node->positions, channels_of(y, node->positions), x->stride);
}

mz_status mz_cuda_gather_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(x, rows) / MZ_QUAD, gather_backward, mz_cuda_gradient(y),
                          tape->indices[node->index_input], mz_cuda_gradient(x), node->positions, channels_of(y, node->positions),
                          x->stride, node->overwrites[0]);
}

/* ---- concat: a thread for four channels of a position of the result ---- */

/* The parts by their data or their gradients (NULL: not wanted). */
typedef struct parts {
  float *at[MZ_NODE_INPUTS];
  unsigned channels[MZ_NODE_INPUTS]; /* 0: there is none */
  int overwrite[MZ_NODE_INPUTS];
} parts;

static __global__ void concat(unsigned count, parts from, float *y, unsigned width) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  unsigned c = i * MZ_QUAD % width;
  const size_t position = i * MZ_QUAD / width;
  MZ_UNROLL(3) for (int k = 0; k < MZ_NODE_INPUTS; k++) {
    if (c < from.channels[k]) {
      mz_quad_store(y + (size_t)i * MZ_QUAD, mz_quad_load(from.at[k] + position * from.channels[k] + c));
      return;
    }
    c -= from.channels[k];
  }
}

static __global__ void concat_backward(unsigned count, const float *dy, parts to, unsigned width) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  unsigned c = i * MZ_QUAD % width;
  const size_t position = i * MZ_QUAD / width;
  MZ_UNROLL(3) for (int k = 0; k < MZ_NODE_INPUTS; k++) {
    if (c < to.channels[k]) {
      float *const dx = to.at[k];
      if (dx != nullptr)
        mz_quad_accumulate(dx + position * to.channels[k] + c, mz_quad_load(dy + (size_t)i * MZ_QUAD), to.overwrite[k]);
      return;
    }
    c -= to.channels[k];
  }
}

static parts parts_of(const mz_tape *tape, const mz_node *node, bool gradients) {
  parts p = {};
  for (int k = 0; k < node->input_count; k++) {
    const mz_tape_value *x = mz_cuda_input(tape, node, k);
    p.at[k] = gradients ? mz_cuda_gradient(x) : mz_cuda_data(x);
    p.channels[k] = (unsigned)channels_of(x, node->positions);
    p.overwrite[k] = node->overwrites[k];
  }
  return p;
}

mz_status mz_cuda_concat_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows) / MZ_QUAD, concat, parts_of(tape, node, false), mz_cuda_data(y),
                          (unsigned)channels_of(y, node->positions));
}

mz_status mz_cuda_concat_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows) / MZ_QUAD, concat_backward, mz_cuda_gradient(y),
                          parts_of(tape, node, true), (unsigned)channels_of(y, node->positions));
}

/* ---- pool: a thread for a channel of a graph goes over the positions that are present ---- */

static __device__ int count_present(const int32_t *types, int positions) {
  int count = 0;
  for (int p = 0; p < positions; p++) count += types[p] >= 0;
  return count;
}

static __global__ void masked_pool(unsigned count, const float *__restrict__ all_x, const int32_t *__restrict__ all_types,
                                   float *__restrict__ y, int positions, int channels) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned row = i / (unsigned)channels, c = i % (unsigned)channels;
  const int32_t *types = all_types + (size_t)row * (size_t)positions;
  const float *x = all_x + (size_t)row * (size_t)(positions * channels) + c;
  const int present = count_present(types, positions);
  float sum = 0.0f, largest = present > 0 ? -INFINITY : 0.0f;
  for (int p = 0; p < positions; p++) {
    if (types[p] < 0) continue;
    const float entry = x[(size_t)p * (size_t)channels];
    sum = sum + entry;
    largest = largest > entry ? largest : entry;
  }
  float *const mean = y + (size_t)row * (size_t)(2 * channels) + c;
  mean[0] = sum * (present > 0 ? 1.0f / (float)present : 0.0f);
  mean[channels] = largest;
}

/* The first of several largest gets the maximum's gradient. */
static __global__ void masked_pool_backward(unsigned count, const float *__restrict__ all_x,
                                            const int32_t *__restrict__ all_types, const float *__restrict__ y,
                                            const float *__restrict__ dy, float *__restrict__ all_dx, int positions, int channels,
                                            bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const unsigned row = i / (unsigned)channels, c = i % (unsigned)channels;
  const int32_t *types = all_types + (size_t)row * (size_t)positions;
  const size_t first = (size_t)row * (size_t)(positions * channels) + c;
  const size_t pooled = (size_t)row * (size_t)(2 * channels) + c, largest = pooled + (size_t)channels;
  const int present = count_present(types, positions);
  const float mean = dy[pooled] * (present > 0 ? 1.0f / (float)present : 0.0f);
  bool open = true;
  for (int p = 0; p < positions; p++) {
    const size_t at = first + (size_t)p * (size_t)channels;
    const bool hit = open && types[p] >= 0 && all_x[at] == y[largest];
    float d = overwrite ? 0.0f : all_dx[at];
    if (types[p] >= 0) d = d + mean;
    if (hit) d = d + dy[largest];
    open = open && !hit;
    all_dx[at] = d;
  }
}

mz_status mz_cuda_masked_pool_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows) / 2, masked_pool, mz_cuda_data(x), tape->indices[node->index_input],
                          mz_cuda_data(y), node->positions, channels_of(x, node->positions));
}

mz_status mz_cuda_masked_pool_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_run_each(tape, mz_cuda_entries(y, rows) / 2, masked_pool_backward, mz_cuda_data(x),
                          tape->indices[node->index_input], mz_cuda_data(y), mz_cuda_gradient(y), mz_cuda_gradient(x),
                          node->positions, channels_of(x, node->positions), node->overwrites[0]);
}
