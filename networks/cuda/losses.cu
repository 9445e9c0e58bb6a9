#include "networks/cuda/losses.cuh"
#include "networks/cuda/categorical.cuh"

enum { THREADS = 256, TERMS = 64 };

static __device__ float entry(const float *column, int row) { return column[(size_t)row * MZ_LANES]; }

/* ---- totals ---- */

/* Losses of one column each, with their rows' weights. */
typedef struct terms {
  const float *loss[TERMS], *weight[TERMS];
} terms;

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
  int count = 0;
  for (int i = 0, left = mz_cuda_loss_count(tape); left > 0; i++) {
    const mz_node *node = &tape->nodes[i];
    if (!mz_node_traits(node)->is_loss) continue;
    t.loss[count] = mz_cuda_data(mz_cuda_output(tape, node));
    t.weight[count++] = mz_cuda_data(mz_cuda_input(tape, node, 2));
    if (--left > 0 && count < TERMS) continue;
    MZ_CUDA_TRY(mz_launch(term_sums, dim3((unsigned)count), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, t, rows, sums));
    sums += count;
    count = 0;
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

/* ---- rows ---- */

enum { STEPS = MZ_UNROLL_MAX + 1, KINDS = 3 }; /* policy, value, reward */

/* By kind and step; NULL: there is none, as of the reward at step 0. */
typedef struct step_losses {
  const float *at[KINDS][STEPS];
} step_losses;

/* Blocks of row k are step k's. */
static __global__ void read_steps(step_losses losses, int rows, mz_cuda_loss_rows to) {
  const int r = (int)mz_cuda_thread(), k = (int)blockIdx.y;
  if (r >= rows) return;
  const int64_t place = k * to.batch_rows + to.first + r;
  const float *const reward = losses.at[2][k];
  to.policy[place] = entry(losses.at[0][k], r);
  to.value[place] = entry(losses.at[1][k], r);
  to.reward[place] = reward == nullptr ? 0.0f : entry(reward, r);
}

mz_status mz_cuda_loss_read(const mz_tape *tape, const mz_loss *loss, int rows, const mz_cuda_loss_rows *to) {
  const dim3 blocks(mz_cuda_blocks((size_t)rows, THREADS).x, (unsigned)loss->unroll + 1);
  step_losses losses = {};
  for (int k = 0; k <= loss->unroll; k++) {
    losses.at[0][k] = mz_cuda_data(&tape->values[loss->policy_loss[k]]);
    losses.at[1][k] = mz_cuda_data(&tape->values[loss->value_loss[k]]);
    losses.at[2][k] = k == 0 ? nullptr : mz_cuda_data(&tape->values[loss->reward_loss[k]]);
  }
  MZ_CUDA_TRY(mz_launch(read_steps, blocks, dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, losses, rows, *to));
  return MZ_OK;
}

/* ---- values ---- */

/* As the kernel of MZ_OP_EXPECTATION, but that results lie side by side. */
static __global__ void expectation(mz_cuda_matrix m, const float *__restrict__ all_x, float *__restrict__ values, float min,
                                   float step, bool transform) {
  const mz_cuda_narrow_team team(m, nullptr);
  const float mean = mz_cuda_expectation_of(team, team.row_of(all_x), min, step);
  if (team.is_first()) values[team.row()] = transform ? mz_h_inverse_inline(mean) : mean;
}

mz_status mz_cuda_support_expectation(const mz_tape *tape, const mz_support *support, mz_value logits, int rows, float *values) {
  const mz_tape_value *x = &tape->values[logits];
  const mz_cuda_matrix m = {rows, x->columns, x->stride};
  const float step = mz_bin_step_inline(support->min, support->max, support->bins);
  MZ_CUDA_TRY(mz_launch(expectation, mz_cuda_team_blocks(rows), dim3(mz_cuda_narrow_team::THREADS), 0,
                        mz_cuda_lane_of(tape)->stream, m, mz_cuda_data(x), values, support->min, step, support->transform));
  return MZ_OK;
}

/* ---- spread ---- */

/* The standard deviation of a column, of which rows are gone through in order. */
static __device__ double deviation_of(const float *column, int rows, int stride) {
  double sum = 0.0, squares = 0.0;
  for (int r = 0; r < rows; r++) {
    const double x = (double)column[(size_t)r * (size_t)stride];
    sum = sum + x;
    squares = squares + x * x;
  }
  const double variance = squares / rows - sum / rows * (sum / rows);
  return variance > 0.0 ? sqrt(variance) : 0.0;
}

/* One block: a thread for each column, of which one adds in order. */
static __global__ void spread_of(const float *__restrict__ x, int rows, int columns, int stride, double *__restrict__ spread) {
  __shared__ double deviations[THREADS];
  const int own = (int)threadIdx.x;
  double total = 0.0;
  for (int from = 0; from < columns; from += THREADS) {
    const int count = columns - from < THREADS ? columns - from : (int)THREADS;
    if (own < count) deviations[own] = deviation_of(x + from + own, rows, stride);
    __syncthreads();
    for (int c = 0; c < count && own == 0; c++) total = total + deviations[c];
    __syncthreads();
  }
  if (own == 0) *spread = total / columns;
}

mz_status mz_cuda_latent_spread(const mz_tape *tape, mz_value latent, int rows, double *spread) {
  const mz_tape_value *x = &tape->values[latent];
  MZ_CUDA_TRY(mz_launch(spread_of, dim3(1), dim3(THREADS), 0, mz_cuda_lane_of(tape)->stream, mz_cuda_data(x), rows, x->columns,
                        x->stride, spread));
  return MZ_OK;
}
