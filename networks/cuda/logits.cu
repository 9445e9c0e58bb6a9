#include "networks/cuda/logits.cuh"
#include "networks/cuda/row_team.cuh"
#include "networks/math/value.h"
#include "base/maths/maths_inline.h"

template <typename Team> static __device__ float largest_of(const Team &team, const float *x) {
  return team.join(mz_cuda_max(), -(float)INFINITY, [=](int c) { return x[c]; });
}

template <typename Team>
static __global__ void softmax(mz_cuda_matrix m, const float *__restrict__ all_x, float *__restrict__ all_y) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x);
  const float max = largest_of(team, x);
  const float inverse = 1.0f / team.sum([=](int c) { return mz_expf_inline(x[c] - max); });
  team.store(team.row_of(all_y), [=](int c) { return mz_expf_inline(x[c] - max) * inverse; });
}

/* The mean of bins min, min + step, …, through h⁻¹ if `transform`. */
template <typename Team>
static __global__ void expectation(mz_cuda_matrix m, const float *__restrict__ all_x, float *__restrict__ y, float min,
                                   float step, bool transform) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x);
  const float max = largest_of(team, x);
  const float sum = team.sum([=](int c) { return mz_expf_inline(x[c] - max); });
  const float weighted = team.sum([=](int c) { return mz_expf_inline(x[c] - max) * mz_bin_inline(min, step, (float)c); });
  const float mean = weighted / sum;
  mz_cuda_column_store(team, y, transform ? mz_h_inverse_inline(mean) : mean);
}

/* Let S = Σ exp(x − max) and T = Σ target; then −Σ target · log softmax = T log S + Σ target (max − x), a sum without
 * cancellation. The gradient is factor · weight · (T · softmax − target). dx: NULL where none is wanted. */
template <typename Team>
static __global__ void softmax_xent(mz_cuda_matrix m, const float *__restrict__ all_x, const float *__restrict__ all_targets,
                                    const float *__restrict__ row_weights, float *__restrict__ entropy,
                                    float *__restrict__ all_dx, float factor) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x), *const target = team.row_of(all_targets);
  const float max = largest_of(team, x);
  const float total = team.sum([=](int c) { return mz_expf_inline(x[c] - max); });
  const float target_total = team.sum([=](int c) { return target[c]; });
  const float distance = team.sum([=](int c) { return target[c] * (max - x[c]); });
  mz_cuda_column_store(team, entropy, target_total * mz_logf_inline(total) + distance);
  if (all_dx == nullptr) return;
  const float normaliser = target_total / total, scale = factor * row_weights[(size_t)team.row() * MZ_LANES];
  team.store(team.row_of(all_dx), [=](int c) { return (mz_expf_inline(x[c] - max) * normaliser - target[c]) * scale; });
}

mz_status mz_cuda_softmax_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(softmax), mz_cuda_data(x), mz_cuda_data(y));
}

mz_status mz_cuda_expectation_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const float step = mz_bin_step_inline(node->support_min, node->support_max, x->columns);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(expectation), mz_cuda_data(x), mz_cuda_data(y), node->support_min,
                          step, node->transform);
}

mz_status mz_cuda_softmax_xent_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(softmax_xent), mz_cuda_data(x),
                          mz_cuda_data(mz_cuda_input(tape, node, 1)), mz_cuda_data(mz_cuda_input(tape, node, 2)), mz_cuda_data(y),
                          mz_cuda_gradient(x), node->factor);
}
