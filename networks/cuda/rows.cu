#include "networks/cuda/rows.cuh"
#include "networks/cuda/lanes.cuh"
#include "networks/math/scaling.h"
#include "networks/math/value.h"
#include "base/maths/maths_inline.h"
#include <limits.h>

/* A matrix of rows. */
typedef struct matrix {
  int rows, columns, stride;
} matrix;

static matrix matrix_of(const mz_tape_value *value, int rows) { return {rows, value->columns, value->stride}; }

template <typename T> static __device__ T *row_at(T *data, const matrix &m, const mz_cuda_team &team) {
  return data + (size_t)team.row * (size_t)m.stride;
}

/* The thread's columns. Entries at and beyond m.columns are padding. */
#define EACH_COLUMN(c) MZ_UNROLL(8) for (int c = team.lane; c < m.stride; c += MZ_SUM_LANES)
#define EACH_ENTRY(c) MZ_UNROLL(8) for (int c = team.lane; c < m.columns; c += MZ_SUM_LANES)

/* A value of one column: the entry, and zeros behind it. */
static __device__ void store_column(float *y, const mz_cuda_team &team, float x) {
  if (team.live) y[(size_t)team.row * MZ_SUM_LANES + (size_t)team.lane] = team.lane == 0 ? x : 0.0f;
}

static __device__ float row_max(const float *x, const matrix &m, const mz_cuda_team &team) {
  float max = -INFINITY;
  EACH_ENTRY(c) max = fmaxf(max, x[c]);
  return mz_cuda_lanes_max(max);
}

static __device__ float row_min(const float *x, const matrix &m, const mz_cuda_team &team) {
  float min = INFINITY;
  EACH_ENTRY(c) min = fminf(min, x[c]);
  return mz_cuda_lanes_min(min);
}

/* ---- minmax ---- */

static __global__ void minmax(const float *__restrict__ all_x, float *__restrict__ all_y, matrix m) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team);
  float *y = row_at(all_y, m, team);
  const float min = row_min(x, m, team), inverse = mz_minmax_inverse_inline(min, row_max(x, m, team));
  if (!team.live) return;
  EACH_COLUMN(c) y[c] = c < m.columns ? (x[c] - min) * inverse : 0.0f;
}

/* Let s = max − min + ε; then dx = dy / s, and besides the minimum gets Σ dy (y − 1) / s, the maximum −Σ dy y / s. The first of
 * several extremes gets it. */
static __global__ void minmax_backward(const float *__restrict__ all_x, const float *__restrict__ all_y,
                                       const float *__restrict__ all_dy, float *__restrict__ all_dx, matrix m, bool overwrite) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team), *y = row_at(all_y, m, team), *dy = row_at(all_dy, m, team);
  float *dx = row_at(all_dx, m, team);
  const float min = row_min(x, m, team), max = row_max(x, m, team), inverse = mz_minmax_inverse_inline(min, max);
  float sum = 0.0f, weighted = 0.0f;
  int at_min = INT_MAX, at_max = INT_MAX;
  EACH_ENTRY(c) {
    const float d = dy[c];
    sum = sum + d;
    weighted = weighted + d * y[c];
    if (x[c] == min && c < at_min) at_min = c;
    if (x[c] == max && c < at_max) at_max = c;
  }
  const float total = mz_cuda_lanes_sum(sum), total_weighted = mz_cuda_lanes_sum(weighted);
  at_min = mz_cuda_lanes_first(at_min);
  at_max = mz_cuda_lanes_first(at_max);
  if (at_min == INT_MAX) at_min = 0; /* a NaN in the row */
  if (at_max == INT_MAX) at_max = 0;
  if (!team.live) return;
  EACH_COLUMN(c) {
    const float scaled = dy[c] * inverse;
    float d = overwrite ? scaled : dx[c] + scaled;
    if (c == at_min) d = d + (total_weighted - total) * inverse;
    if (c == at_max) d = d - total_weighted * inverse;
    dx[c] = d;
  }
}

/* ---- rms ---- */

static __device__ float rms_inverse(const float *x, const matrix &m, const mz_cuda_team &team) {
  float sum = 0.0f;
  EACH_ENTRY(c) sum = sum + x[c] * x[c];
  return mz_rms_inverse_inline(mz_cuda_lanes_sum(sum), m.columns);
}

static __global__ void rms(const float *__restrict__ all_x, float *__restrict__ all_y, matrix m) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team);
  float *y = row_at(all_y, m, team);
  const float inverse = rms_inverse(x, m, team);
  if (!team.live) return;
  EACH_COLUMN(c) y[c] = x[c] * inverse;
}

/* dx = (dy − y · mean(dy · y)) / √(mean x² + ε). */
static __global__ void rms_backward(const float *__restrict__ all_x, const float *__restrict__ all_y,
                                    const float *__restrict__ all_dy, float *__restrict__ all_dx, matrix m, bool overwrite) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team), *y = row_at(all_y, m, team), *dy = row_at(all_dy, m, team);
  float *dx = row_at(all_dx, m, team);
  float product = 0.0f;
  EACH_ENTRY(c) product = product + dy[c] * y[c];
  const float mean = mz_cuda_lanes_sum(product) / (float)m.columns, inverse = rms_inverse(x, m, team);
  if (!team.live) return;
  EACH_COLUMN(c) {
    const float d = (dy[c] - y[c] * mean) * inverse;
    dx[c] = overwrite ? d : dx[c] + d;
  }
}

/* ---- logits ---- */

static __global__ void softmax(const float *__restrict__ all_x, float *__restrict__ all_y, matrix m) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team);
  float *y = row_at(all_y, m, team);
  const float max = row_max(x, m, team);
  float sum = 0.0f;
  EACH_ENTRY(c) sum = sum + mz_expf_inline(x[c] - max);
  const float inverse = 1.0f / mz_cuda_lanes_sum(sum);
  if (!team.live) return;
  EACH_COLUMN(c) y[c] = c < m.columns ? mz_expf_inline(x[c] - max) * inverse : 0.0f;
}

/* The mean of bins min, min + step, …, through h⁻¹ if `transform`. */
static __global__ void expectation(const float *__restrict__ all_x, float *__restrict__ y, matrix m, float min, float step,
                                   bool transform) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team);
  const float max = row_max(x, m, team);
  float sum = 0.0f, weighted = 0.0f;
  EACH_ENTRY(c) {
    const float e = mz_expf_inline(x[c] - max);
    sum = sum + e;
    weighted = weighted + e * mz_bin_inline(min, step, (float)c);
  }
  const float mean = mz_cuda_lanes_sum(weighted) / mz_cuda_lanes_sum(sum);
  store_column(y, team, transform ? mz_h_inverse_inline(mean) : mean);
}

/* Let S = Σ exp(x − max) and T = Σ target; then −Σ target · log softmax = T log S + Σ target (max − x), a sum without cancellation.
 * The gradient is factor · weight · (T · softmax − target). dx: NULL where none is wanted. */
static __global__ void softmax_xent(const float *__restrict__ all_x, const float *__restrict__ all_targets,
                                    const float *__restrict__ row_weights, float *__restrict__ entropy,
                                    float *__restrict__ all_dx, matrix m, float factor) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team), *target = row_at(all_targets, m, team);
  const float max = row_max(x, m, team);
  float sum = 0.0f, target_sum = 0.0f, distance = 0.0f;
  EACH_ENTRY(c) {
    sum = sum + mz_expf_inline(x[c] - max);
    target_sum = target_sum + target[c];
    distance = distance + target[c] * (max - x[c]);
  }
  const float total = mz_cuda_lanes_sum(sum), target_total = mz_cuda_lanes_sum(target_sum);
  store_column(entropy, team, target_total * mz_logf_inline(total) + mz_cuda_lanes_sum(distance));
  if (!team.live || all_dx == nullptr) return;
  float *dx = row_at(all_dx, m, team);
  const float normaliser = target_total / total, scale = factor * row_weights[(size_t)team.row * MZ_SUM_LANES];
  EACH_COLUMN(c) dx[c] = c < m.columns ? (mz_expf_inline(x[c] - max) * normaliser - target[c]) * scale : 0.0f;
}

/* ---- mse ---- */

static __global__ void mse(const float *__restrict__ all_x, const float *__restrict__ all_targets, float *__restrict__ y,
                           matrix m) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  const float *x = row_at(all_x, m, team), *target = row_at(all_targets, m, team);
  float sum = 0.0f;
  EACH_ENTRY(c) {
    const float off = x[c] - target[c];
    sum = sum + off * off;
  }
  store_column(y, team, mz_cuda_lanes_sum(sum) / (float)m.columns);
}

static __global__ void mse_backward(const float *__restrict__ all_x, const float *__restrict__ all_targets,
                                    const float *__restrict__ row_weights, float factor, float *__restrict__ all_dx, matrix m,
                                    bool overwrite) {
  const mz_cuda_team team = mz_cuda_team_of(m.rows);
  if (!team.live) return;
  const float *x = row_at(all_x, m, team), *target = row_at(all_targets, m, team);
  float *dx = row_at(all_dx, m, team);
  const float scale = 2.0f * factor * row_weights[(size_t)team.row * MZ_SUM_LANES] / (float)m.columns;
  EACH_COLUMN(c) {
    const float d = (x[c] - target[c]) * scale;
    dx[c] = overwrite ? d : dx[c] + d;
  }
}

/* ---- nodes ---- */

/* Launches a kernel over the rows of the node's first input. */
template <typename... Parameters, typename... Arguments>
static mz_status run(mz_tape *tape, int rows, void (*kernel)(Parameters...), Arguments... arguments) {
  MZ_CUDA_TRY(
      mz_launch(kernel, mz_cuda_team_blocks(rows), dim3(MZ_CUDA_LANE_THREADS), 0, mz_cuda_lane_of(tape)->stream, arguments...));
  return MZ_OK;
}

mz_status mz_cuda_minmax_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, minmax, mz_cuda_data(x), mz_cuda_data(y), matrix_of(x, rows));
}

mz_status mz_cuda_minmax_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, minmax_backward, mz_cuda_data(x), mz_cuda_data(y), mz_cuda_gradient(y), mz_cuda_gradient(x),
             matrix_of(x, rows), node->overwrites[0]);
}

mz_status mz_cuda_rms_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, rms, mz_cuda_data(x), mz_cuda_data(y), matrix_of(x, rows));
}

mz_status mz_cuda_rms_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, rms_backward, mz_cuda_data(x), mz_cuda_data(y), mz_cuda_gradient(y), mz_cuda_gradient(x),
             matrix_of(x, rows), node->overwrites[0]);
}

mz_status mz_cuda_softmax_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, softmax, mz_cuda_data(x), mz_cuda_data(y), matrix_of(x, rows));
}

mz_status mz_cuda_expectation_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  const float step = mz_bin_step_inline(node->support_min, node->support_max, x->columns);
  return run(tape, rows, expectation, mz_cuda_data(x), mz_cuda_data(y), matrix_of(x, rows), node->support_min, step,
             node->transform);
}

mz_status mz_cuda_softmax_xent_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, softmax_xent, mz_cuda_data(x), mz_cuda_data(mz_cuda_input(tape, node, 1)),
             mz_cuda_data(mz_cuda_input(tape, node, 2)), mz_cuda_data(y), mz_cuda_gradient(x), matrix_of(x, rows), node->factor);
}

mz_status mz_cuda_mse_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0), *y = mz_cuda_output(tape, node);
  return run(tape, rows, mse, mz_cuda_data(x), mz_cuda_data(mz_cuda_input(tape, node, 1)), mz_cuda_data(y), matrix_of(x, rows));
}

mz_status mz_cuda_mse_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0);
  return run(tape, rows, mse_backward, mz_cuda_data(x), mz_cuda_data(mz_cuda_input(tape, node, 1)),
             mz_cuda_data(mz_cuda_input(tape, node, 2)), node->factor, mz_cuda_gradient(x), matrix_of(x, rows),
             node->overwrites[0]);
}
