#include "networks/cuda/losses.cuh"
#include "networks/math/expectation.h"

enum { THREADS = 256, TERMS = 64 };

/* ---- rows ---- */

/* Losses of one column each; for sums with their rows' weights. NULL: there is none, as of the reward at step 0. */
typedef struct terms {
  const float *loss[TERMS], *weight[TERMS];
  size_t count;
} terms;

static __device__ float entry(const float *column, int row) { return column[(size_t)row * MZ_LANES]; }

/* Blocks of row i write column i. */
static __global__ void columns_of(terms t, int rows, float *__restrict__ columns) {
  const int r = (int)mz_cuda_thread(), i = (int)blockIdx.y;
  if (r >= rows) return;
  columns[(size_t)i * (size_t)rows + (size_t)r] = t.loss[i] == nullptr ? 0.0f : entry(t.loss[i], r);
}

static terms terms_of(const mz_tape *tape, const mz_loss *loss) {
  terms t = {};
  static_assert(MZ_CUDA_LOSS_KINDS * (MZ_UNROLL_MAX + 1) <= TERMS, "every step's losses fit");
  for (int k = 0; k <= loss->unroll; k++) {
    const mz_value losses[MZ_CUDA_LOSS_KINDS] = {loss->policy_loss[k], loss->value_loss[k], loss->reward_loss[k]};
    for (int i = 0; i < (k == 0 ? MZ_CUDA_LOSS_KINDS - 1 : (int)MZ_CUDA_LOSS_KINDS); i++)
      t.loss[t.count + (size_t)i] = mz_cuda_data(&tape->values[losses[i]]);
    t.count += MZ_CUDA_LOSS_KINDS;
  }
  return t;
}

mz_status mz_cuda_loss_columns(const mz_tape *tape, const mz_loss *loss, int rows, float *columns) {
  const terms t = terms_of(tape, loss);
  const dim3 blocks(mz_cuda_blocks((size_t)rows, THREADS).x, (unsigned)t.count);
  MZ_CUDA_TRY(mz_launch(columns_of, blocks, dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, t, rows, columns));
  return MZ_OK;
}

/* ---- what predictions mean ---- */

static __global__ void expectations(mz_support support, const float *__restrict__ logits, int rows, int stride,
                                    float *__restrict__ values) {
  const int r = (int)mz_cuda_thread();
  if (r >= rows) return;
  values[r] =
      mz_expectation_inline(support.min, support.max, support.bins, support.transform, logits + (size_t)r * (size_t)stride);
}

mz_status mz_cuda_expectations(const mz_cuda_lane *lane, const mz_support *support, const float *logits, int rows,
                               float *values) {
  MZ_CUDA_TRY(mz_launch(expectations, mz_cuda_blocks((size_t)rows, THREADS), dim3(THREADS), 0, lane->stream, *support, logits,
                        rows, mz_padded(support->bins), values));
  return MZ_OK;
}

static __global__ void column_spreads(const float *__restrict__ x, int rows, int columns, int stride, double *__restrict__ out) {
  const int c = (int)mz_cuda_thread();
  double sum = 0.0, squares = 0.0;
  if (c >= columns) return;
  for (int r = 0; r < rows; r++) {
    const double entry_ = x[(size_t)r * (size_t)stride + (size_t)c];
    sum = sum + entry_;
    squares = squares + entry_ * entry_;
  }
  const double variance = squares / rows - sum / rows * (sum / rows);
  out[c] = variance > 0.0 ? sqrt(variance) : 0.0;
}

static __global__ void mean_of(const double *__restrict__ entries, int count, double *out) {
  double sum = 0.0;
  for (int i = 0; i < count; i++) sum = sum + entries[i];
  *out = sum / count;
}

mz_status mz_cuda_spread(const mz_cuda_lane *lane, const float *x, int rows, int columns, double *columns_spread,
                         double *spread) {
  MZ_CUDA_TRY(mz_launch(column_spreads, mz_cuda_blocks((size_t)columns, THREADS), dim3(THREADS), 0, lane->stream, x, rows,
                        columns, mz_padded(columns), columns_spread));
  MZ_CUDA_TRY(mz_launch(mean_of, dim3(1), dim3(1), 0, lane->stream, columns_spread, columns, spread));
  return MZ_OK;
}

/* ---- totals ---- */

/* A block for each term: its threads multiply, one adds in the order of rows. */
static __global__ void term_sums(terms t, int rows, double *__restrict__ sums) {
  __shared__ double products[THREADS];
  const int i = (int)blockIdx.x, own = (int)threadIdx.x;
  double sum = 0.0;
  for (int from = 0; from < rows; from += THREADS) {
    const int count = rows - from < THREADS ? rows - from : (int)THREADS;
    if (own < count) products[own] = (double)entry(t.weight[i], from + own) * (double)entry(t.loss[i], from + own);
    __syncthreads();
    for (int r = 0; r < count && own == 0; r++) sum = sum + products[r];
    __syncthreads();
  }
  if (own == 0) sums[i] = sum;
}

int mz_cuda_loss_count(const mz_tape *tape) {
  int count = 0;
  for (int i = 0; i < tape->node_count; i++) count += mz_node_traits(&tape->nodes[i])->is_loss;
  return count;
}

mz_status mz_cuda_loss_sums(const mz_tape *tape, int rows, double *sums) {
  terms t = {};
  for (int i = 0, left = mz_cuda_loss_count(tape); left > 0; i++) {
    const mz_node *node = &tape->nodes[i];
    if (!mz_node_traits(node)->is_loss) continue;
    t.loss[t.count] = mz_cuda_data(mz_cuda_output(tape, node));
    t.weight[t.count++] = mz_cuda_data(mz_cuda_input(tape, node, 2));
    if (--left > 0 && t.count < TERMS) continue;
    MZ_CUDA_TRY(mz_launch(term_sums, dim3((unsigned)t.count), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, t, rows, sums));
    sums += t.count;
    t = {};
  }
  return MZ_OK;
}

double mz_cuda_loss_total(const mz_tape *tape, const double *sums) {
  double loss = 0.0;
  for (int i = 0; i < tape->node_count; i++) {
    if (mz_node_traits(&tape->nodes[i])->is_loss) loss += (double)tape->nodes[i].factor * *sums++;
  }
  return loss;
}
