#include "networks/cuda/rows.cuh"
#include "networks/cuda/row_team.cuh"
#include "networks/math/scaling.h"

/* ---- minmax ---- */

template <typename Team>
static __global__ void minmax(mz_cuda_matrix m, const float *__restrict__ all_x, float *__restrict__ all_y) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x);
  const auto entry = [=](int c) { return x[c]; };
  const float min = team.join(mz_cuda_min(), (float)INFINITY, entry), max = team.join(mz_cuda_max(), -(float)INFINITY, entry);
  const float inverse = mz_minmax_inverse_inline(min, max);
  team.store(team.row_of(all_y), [=](int c) { return (x[c] - min) * inverse; });
}

/* Let s = max − min + ε; then dx = dy / s, and besides the minimum gets Σ dy (y − 1) / s, the maximum −Σ dy y / s. The first of
 * several extremes gets it. */
template <typename Team>
static __global__ void minmax_backward(mz_cuda_matrix m, const float *__restrict__ all_x, const float *__restrict__ all_y,
                                       const float *__restrict__ all_dy, float *__restrict__ all_dx, bool overwrite) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x), *const y = team.row_of(all_y), *const dy = team.row_of(all_dy);
  float *const dx = team.row_of(all_dx);
  const auto entry = [=](int c) { return x[c]; };
  const float min = team.join(mz_cuda_min(), (float)INFINITY, entry), max = team.join(mz_cuda_max(), -(float)INFINITY, entry);
  const float inverse = mz_minmax_inverse_inline(min, max);
  const int least = team.join(mz_cuda_lesser(), INT_MAX, [=](int c) { return x[c] == min ? c : INT_MAX; });
  const int most = team.join(mz_cuda_lesser(), INT_MAX, [=](int c) { return x[c] == max ? c : INT_MAX; });
  const int at_min = least == INT_MAX ? 0 : least, at_max = most == INT_MAX ? 0 : most; /* 0: there is a NaN in the row */
  const float total = team.sum([=](int c) { return dy[c]; }), weighted = team.sum([=](int c) { return dy[c] * y[c]; });
  team.store(dx, [=](int c) {
    const float scaled = dy[c] * inverse;
    float d = overwrite ? scaled : dx[c] + scaled;
    if (c == at_min) d = d + (weighted - total) * inverse;
    if (c == at_max) d = d - weighted * inverse;
    return d;
  });
}

/* ---- rms ---- */

template <typename Team> static __device__ float rms_inverse(const Team &team, const float *x) {
  return mz_rms_inverse_inline(team.sum([=](int c) { return x[c] * x[c]; }), team.m.columns);
}

template <typename Team>
static __global__ void rms(mz_cuda_matrix m, const float *__restrict__ all_x, float *__restrict__ all_y) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x);
  const float inverse = rms_inverse(team, x);
  team.store(team.row_of(all_y), [=](int c) { return x[c] * inverse; });
}

/* dx = (dy − y · mean(dy · y)) / √(mean x² + ε). */
template <typename Team>
static __global__ void rms_backward(mz_cuda_matrix m, const float *__restrict__ all_x, const float *__restrict__ all_y,
                                    const float *__restrict__ all_dy, float *__restrict__ all_dx, bool overwrite) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x), *const y = team.row_of(all_y), *const dy = team.row_of(all_dy);
  float *const dx = team.row_of(all_dx);
  const float mean = team.sum([=](int c) { return dy[c] * y[c]; }) / (float)m.columns, inverse = rms_inverse(team, x);
  team.store(dx, [=](int c) {
    const float d = (dy[c] - y[c] * mean) * inverse;
    return overwrite ? d : dx[c] + d;
  });
}

/* ---- mse ---- */

template <typename Team>
static __global__ void mse(mz_cuda_matrix m, const float *__restrict__ all_x, const float *__restrict__ all_targets,
                           float *__restrict__ y) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x), *const target = team.row_of(all_targets);
  const float sum = team.sum([=](int c) {
    const float off = x[c] - target[c];
    return off * off;
  });
  mz_cuda_column_store(team, y, sum / (float)m.columns);
}

template <typename Team>
static __global__ void mse_backward(mz_cuda_matrix m, const float *__restrict__ all_x, const float *__restrict__ all_targets,
                                    const float *__restrict__ row_weights, float *__restrict__ all_dx, float factor,
                                    bool overwrite) {
  __shared__ float shared[Team::SHARED];
  const Team team(m, shared);
  const float *const x = team.row_of(all_x), *const target = team.row_of(all_targets);
  float *const dx = team.row_of(all_dx);
  const float scale = 2.0f * factor * row_weights[(size_t)team.row() * MZ_LANES] / (float)m.columns;
  team.store(dx, [=](int c) {
    const float d = (x[c] - target[c]) * scale;
    return overwrite ? d : dx[c] + d;
  });
}

/* ---- nodes ---- */

mz_status mz_cuda_minmax_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(minmax), mz_cuda_data(x), mz_cuda_data(y));
}

mz_status mz_cuda_minmax_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(minmax_backward), mz_cuda_data(x), mz_cuda_data(y),
                          mz_cuda_gradient(y), mz_cuda_gradient(x), node->overwrites[0]);
}

mz_status mz_cuda_rms_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(rms), mz_cuda_data(x), mz_cuda_data(y));
}

mz_status mz_cuda_rms_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(rms_backward), mz_cuda_data(x), mz_cuda_data(y),
                          mz_cuda_gradient(y), mz_cuda_gradient(x), node->overwrites[0]);
}

mz_status mz_cuda_mse_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *target = mz_cuda_input(tape, node, 1), *y = mz_cuda_output(tape, node);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(mse), mz_cuda_data(x), mz_cuda_data(target), mz_cuda_data(y));
}

mz_status mz_cuda_mse_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *target = mz_cuda_input(tape, node, 1);
  return mz_cuda_rows_run(tape, node, rows, MZ_CUDA_BOTH_TEAMS(mse_backward), mz_cuda_data(x), mz_cuda_data(target),
                          mz_cuda_data(mz_cuda_input(tape, node, 2)), mz_cuda_gradient(x), node->factor, node->overwrites[0]);
}
