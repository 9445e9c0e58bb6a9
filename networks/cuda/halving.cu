#include "networks/cuda/halving.cuh"
#include "networks/cuda/quads.cuh"
extern "C" {
#include "networks/tape/halving.h"
}

enum { THREADS = 256, TAPS = MZ_KERNEL * MZ_KERNEL };

/* A node's shape: a row of the input has `stride` entries, a position of it `channels`, a position of the output `padded`. */
typedef struct halving {
  mz_board board, half;
  int stride, channels, padded;
} halving;

static halving halving_of(const mz_tape *tape, const mz_node *node) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return {node->board, mz_halved(node->board), x->stride, x->columns / (node->board.height * node->board.width),
          y->columns / node->positions};
}

/* An entry's number in [rows][height][width][channels], taken apart. */
typedef struct place {
  size_t row;
  int y, x, channel;
} place;

static __device__ place place_of(unsigned entry, mz_board board, int channels) {
  place p;
  const unsigned at = entry / (unsigned)channels, line = at / (unsigned)board.width;
  p.channel = (int)(entry % (unsigned)channels);
  p.x = (int)(at % (unsigned)board.width);
  p.y = (int)(line % (unsigned)board.height);
  p.row = line / (unsigned)board.height;
  return p;
}

/* Returns where the window of the output's `p` sees the board through `tap`, as an entry of the row; −1: beside the board. */
static __device__ int seen_through(halving h, place p, int tap) {
  const int y = 2 * p.y + tap / MZ_KERNEL - 1, x = 2 * p.x + tap % MZ_KERNEL - 1;
  return y < 0 || y >= h.board.height || x < 0 || x >= h.board.width ? -1 : (y * h.board.width + x) * h.channels;
}

/* ---- forward: a thread for an entry of the output ---- */

static __global__ void patches(const float *__restrict__ x, float *__restrict__ y, unsigned count, halving h) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, h.half, h.padded);
  const int seen = p.channel < TAPS * h.channels ? seen_through(h, p, p.channel / h.channels) : -1;
  y[i] = seen < 0 ? 0.0f : x[p.row * (size_t)h.stride + (size_t)(seen + p.channel % h.channels)];
}

static __global__ void mean_pool(const float *__restrict__ x, float *__restrict__ y, unsigned count, halving h) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i, h.half, h.channels);
  const float *row = x + p.row * (size_t)h.stride + (size_t)p.channel;
  float sum = 0.0f;
  for (int tap = 0; tap < TAPS; tap++) {
    const int seen = seen_through(h, p, tap);
    if (seen >= 0) sum = sum + row[seen];
  }
  y[i] = sum * mz_halving_share(h.board, p.y, p.x);
}

typedef void forward_kernel(const float *__restrict__ x, float *__restrict__ y, unsigned count, halving h);

static mz_status run_forward(forward_kernel *kernel, mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(y, rows);
  MZ_CUDA_TRY(mz_launch(kernel, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, mz_cuda_data(x),
                        mz_cuda_data(y), count, halving_of(tape, node)));
  return MZ_OK;
}

mz_status mz_cuda_patches_forward(mz_tape *tape, mz_node *node, int rows) { return run_forward(patches, tape, node, rows); }

mz_status mz_cuda_mean_pool_forward(mz_tape *tape, mz_node *node, int rows) { return run_forward(mean_pool, tape, node, rows); }

/* ---- backward: a thread for four channels of the input goes over the windows that see it, in order ---- */

static __device__ float4 patch_part(const float *dy, halving h, int y, int x, int tap, size_t window, int channel) {
  (void)y;
  (void)x;
  return mz_quad_load(dy + window * (size_t)h.padded + (size_t)(tap * h.channels + channel));
}

static __device__ float4 mean_part(const float *dy, halving h, int y, int x, int tap, size_t window, int channel) {
  (void)tap;
  return mz_quad_scale(mz_quad_load(dy + window * (size_t)h.padded + (size_t)channel), mz_halving_share(h.board, y, x));
}

template <bool MEAN>
static __global__ void backward(const float *__restrict__ dy, float *__restrict__ dx, unsigned count, halving h, bool overwrite) {
  const unsigned i = mz_cuda_thread();
  if (i >= count) return;
  const place p = place_of(i * MZ_QUAD, h.board, h.channels);
  float4 sum = overwrite ? mz_quad_of(0.0f) : mz_quad_load(dx + i * MZ_QUAD);
  for (int y = p.y / 2; y <= (p.y + 1) / 2 && y < h.half.height; y++) {
    for (int x = p.x / 2; x <= (p.x + 1) / 2 && x < h.half.width; x++) {
      const int tap = (p.y + 1 - 2 * y) * MZ_KERNEL + p.x + 1 - 2 * x;
      const size_t window = (p.row * (size_t)h.half.height + (size_t)y) * (size_t)h.half.width + (size_t)x;
      sum = mz_quad_add(sum,
                        MEAN ? mean_part(dy, h, y, x, tap, window, p.channel) : patch_part(dy, h, y, x, tap, window, p.channel));
    }
  }
  mz_quad_store(dx + i * MZ_QUAD, sum);
}

template <bool MEAN> static mz_status run_backward(mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const unsigned count = mz_cuda_entries(x, rows) / MZ_QUAD;
  MZ_CUDA_TRY(mz_launch(backward<MEAN>, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream,
                        mz_cuda_gradient(y), mz_cuda_gradient(x), count, halving_of(tape, node), node->overwrites[0]));
  return MZ_OK;
}

mz_status mz_cuda_patches_backward(mz_tape *tape, mz_node *node, int rows) { return run_backward<false>(tape, node, rows); }

mz_status mz_cuda_mean_pool_backward(mz_tape *tape, mz_node *node, int rows) { return run_backward<true>(tape, node, rows); }
