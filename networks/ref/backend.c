/* The reference backend: double, plain loops, textbook formulas in the order one would derive them. What the others are checked
 * against; never fast. */
#include "networks/tape/backend.h"
#include "base/maths/maths.h"
#include "networks/ref/access.h"
#include "networks/ref/conv.h"
#include "networks/ref/graph.h"
#include "networks/ref/halving.h"
#include "networks/ref/linear.h"
#include "networks/ref/norm.h"
#include <math.h>

/* One row of the operands at hand. */
typedef struct row_view {
  const double *x;
  double *y;
  int columns;
} row_view;

static row_view row_at(mz_tape *tape, const mz_node *node, int r) {
  const mz_value x = node->inputs[0];
  return (row_view){mz_ref_data(tape, x, r), mz_ref_data(tape, node->output, r), tape->values[x].columns};
}

static int argmin(const double *x, int n) {
  int best = 0;
  for (int i = 1; i < n; i++) best = x[i] < x[best] ? i : best;
  return best;
}

static int argmax(const double *x, int n) {
  int best = 0;
  for (int i = 1; i < n; i++) best = x[i] > x[best] ? i : best;
  return best;
}

static const double minmax_epsilon = 1e-5;

static void minmax(row_view row) {
  const double min = row.x[argmin(row.x, row.columns)], max = row.x[argmax(row.x, row.columns)];
  for (int i = 0; i < row.columns; i++) row.y[i] = (row.x[i] - min) / (max - min + minmax_epsilon);
}

/* y_i = (x_i − x_a) / s, s = x_b − x_a + ε: ∂y_i/∂x_i = 1/s, ∂y_i/∂x_a = (y_i − 1)/s, ∂y_i/∂x_b = −y_i/s. */
static void minmax_backward(row_view row, const double *dy, double *dx) {
  const int a = argmin(row.x, row.columns), b = argmax(row.x, row.columns);
  const double s = row.x[b] - row.x[a] + minmax_epsilon;
  for (int i = 0; i < row.columns; i++) {
    dx[i] += dy[i] / s;
    dx[a] += dy[i] * (row.y[i] - 1.0) / s;
    dx[b] -= dy[i] * row.y[i] / s;
  }
}

static const double rms_epsilon = 1e-5;

static double mean_square(row_view row) {
  double sum = 0.0;
  for (int i = 0; i < row.columns; i++) sum += row.x[i] * row.x[i];
  return sum / row.columns;
}

static void rms(row_view row) {
  const double root = sqrt(mean_square(row) + rms_epsilon);
  for (int i = 0; i < row.columns; i++) row.y[i] = row.x[i] / root;
}

/* y_i = x_i / s, s = √(Σ x² / n + ε): ∂y_i/∂x_j = δ_ij / s − x_i x_j / (n s³). */
static void rms_backward(row_view row, const double *dy, double *dx) {
  const double s = sqrt(mean_square(row) + rms_epsilon);
  double product = 0.0;
  for (int i = 0; i < row.columns; i++) product += dy[i] * row.x[i];
  for (int i = 0; i < row.columns; i++) dx[i] += dy[i] / s - row.x[i] * product / (row.columns * s * s * s);
}

static double log_sum_exp(const double *x, int n) {
  const double max = x[argmax(x, n)];
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += mz_exp(x[i] - max);
  return max + mz_log(sum);
}

static void softmax(row_view row) {
  const double normaliser = log_sum_exp(row.x, row.columns);
  for (int i = 0; i < row.columns; i++) row.y[i] = mz_exp(row.x[i] - normaliser);
}

static double h_inverse(double x) {
  const double epsilon = 0.001;
  const double q = (sqrt(1.0 + 4.0 * epsilon * (fabs(x) + 1.0 + epsilon)) - 1.0) / (2.0 * epsilon);
  return (x < 0.0 ? -1.0 : 1.0) * (q * q - 1.0);
}

static void expectation(const mz_node *node, row_view row) {
  const double normaliser = log_sum_exp(row.x, row.columns);
  double mean = 0.0;
  for (int i = 0; i < row.columns; i++) {
    const double bin = node->support_min + ((double)node->support_max - node->support_min) * i / (row.columns - 1);
    mean += mz_exp(row.x[i] - normaliser) * bin;
  }
  row.y[0] = node->transform ? h_inverse(mean) : mean;
}

static void xent(row_view row, const double *target) {
  const double normaliser = log_sum_exp(row.x, row.columns);
  row.y[0] = 0.0;
  for (int i = 0; i < row.columns; i++) row.y[0] -= target[i] * (row.x[i] - normaliser);
}

/* Adds the gradient of factor · weight · −Σ target_i log p_i: factor · weight · (p_i Σ target − target_i). */
static void xent_backward(const mz_node *node, row_view row, const double *target, double weight, double *dx) {
  const double normaliser = log_sum_exp(row.x, row.columns);
  double total = 0.0;
  for (int i = 0; i < row.columns; i++) total += target[i];
  for (int i = 0; i < row.columns; i++) dx[i] += node->factor * weight * (mz_exp(row.x[i] - normaliser) * total - target[i]);
}

static void mse(row_view row, const double *target) {
  row.y[0] = 0.0;
  for (int i = 0; i < row.columns; i++) row.y[0] += (row.x[i] - target[i]) * (row.x[i] - target[i]) / row.columns;
}

static void mse_backward(const mz_node *node, row_view row, const double *target, double weight, double *dx) {
  for (int i = 0; i < row.columns; i++) dx[i] += node->factor * weight * 2.0 * (row.x[i] - target[i]) / row.columns;
}

static const double gelu_slope = 0.79788456080286535588; /* √(2/π) */

/* (1 + tanh u)/2 = 1/(1 + e^(−2u)), u = √(2/π) (x + 0.044715 x³). */
static double gelu_share(double x) { return 1.0 / (1.0 + mz_exp(-2.0 * gelu_slope * (x + 0.044715 * x * x * x))); }

/* y = x s(x); s' = s (1 − s) · 2u'. */
static double gelu_derivative(double x) {
  const double share = gelu_share(x);
  return share + x * share * (1.0 - share) * 2.0 * gelu_slope * (1.0 + 3.0 * 0.044715 * x * x);
}

static mz_status prepare(mz_tape *tape, mz_node *node) {
  (void)tape;
  (void)node;
  return MZ_OK;
}

static void release(mz_tape *tape, mz_node *node) {
  (void)tape;
  (void)node;
}

static void forward_row(mz_tape *tape, const mz_node *node, int r) {
  const row_view row = row_at(tape, node, r);
  switch (node->op) {
    case MZ_OP_LINEAR: mz_ref_linear(tape, node, r); break;
    case MZ_OP_ADD:
      for (int i = 0; i < row.columns; i++) row.y[i] = row.x[i] + mz_ref_data(tape, node->inputs[1], r)[i];
      break;
    case MZ_OP_RELU:
      for (int i = 0; i < row.columns; i++) row.y[i] = row.x[i] < 0.0 ? 0.0 : row.x[i];
      break;
    case MZ_OP_MINMAX: minmax(row); break;
    case MZ_OP_RMS: rms(row); break;
    case MZ_OP_POOL: mz_ref_pool(tape, node, r); break;
    case MZ_OP_BROADCAST: mz_ref_broadcast(tape, node, r); break;
    case MZ_OP_SOFTMAX: softmax(row); break;
    case MZ_OP_EXPECTATION: expectation(node, row); break;
    case MZ_OP_SOFTMAX_XENT: xent(row, mz_ref_data(tape, node->inputs[1], r)); break;
    case MZ_OP_MSE: mse(row, mz_ref_data(tape, node->inputs[1], r)); break;
    case MZ_OP_PLANES: mz_ref_planes(tape, node, r); break;
    case MZ_OP_CONV: mz_ref_conv(tape, node, r); break;
    case MZ_OP_ACTION_MAP: mz_ref_action_map(tape, node, r); break;
    case MZ_OP_AFFINE: mz_ref_affine(tape, node, r); break;
    case MZ_OP_GELU:
      for (int i = 0; i < row.columns; i++) row.y[i] = row.x[i] * gelu_share(row.x[i]);
      break;
    case MZ_OP_LAYER_NORM: mz_ref_layer_norm(tape, node, r); break;
    case MZ_OP_TYPED_LINEAR: mz_ref_typed_linear(tape, node, r); break;
    case MZ_OP_GATHER: mz_ref_gather(tape, node, r); break;
    case MZ_OP_CONCAT: mz_ref_concat(tape, node, r); break;
    case MZ_OP_EDGE_ATTENTION: mz_ref_edge_attention(tape, node, r); break;
    case MZ_OP_MASKED_POOL: mz_ref_masked_pool(tape, node, r); break;
    case MZ_OP_SCALE:
      for (int i = 0; i < row.columns; i++) row.y[i] = (double)node->factor * row.x[i];
      break;
    case MZ_OP_PATCHES: mz_ref_patches(tape, node, r); break;
    case MZ_OP_MEAN_POOL: mz_ref_mean_pool(tape, node, r); break;
    case MZ_OP_NORM:           /* goes over groups of rows */
    case MZ_OP_SCALE_GRADIENT: /* shares its input's data */
    case MZ_OP_TO_BF16:        /* never: this backend has none */
    case MZ_OP_INPUT: break;
  }
}

static mz_status forward(mz_tape *tape, mz_node *node, int rows) {
  if (node->op == MZ_OP_NORM) {
    mz_ref_norm(tape, node, rows);
    return MZ_OK;
  }
  for (int r = 0; r < rows; r++) forward_row(tape, node, r);
  return MZ_OK;
}

static void backward_row(mz_tape *tape, const mz_node *node, int r) {
  const row_view row = row_at(tape, node, r);
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  switch (node->op) {
    case MZ_OP_LINEAR: mz_ref_linear_backward(tape, node, r); break;
    case MZ_OP_ADD:
      for (int k = 0; k < node->input_count; k++) {
        double *to = mz_ref_gradient(tape, node->inputs[k], r);
        for (int i = 0; to != NULL && i < row.columns; i++) to[i] += dy[i];
      }
      break;
    case MZ_OP_RELU:
      for (int i = 0; i < row.columns; i++) dx[i] += row.x[i] > 0.0 ? dy[i] : 0.0;
      break;
    case MZ_OP_MINMAX: minmax_backward(row, dy, dx); break;
    case MZ_OP_RMS: rms_backward(row, dy, dx); break;
    case MZ_OP_POOL: mz_ref_pool_backward(tape, node, r); break;
    case MZ_OP_BROADCAST: mz_ref_broadcast_backward(tape, node, r); break;
    case MZ_OP_SCALE:
    case MZ_OP_SCALE_GRADIENT:
      for (int i = 0; i < row.columns; i++) dx[i] += node->factor * dy[i];
      break;
    case MZ_OP_SOFTMAX_XENT:
      xent_backward(node, row, mz_ref_data(tape, node->inputs[1], r), mz_ref_data(tape, node->inputs[2], r)[0], dx);
      break;
    case MZ_OP_MSE:
      mse_backward(node, row, mz_ref_data(tape, node->inputs[1], r), mz_ref_data(tape, node->inputs[2], r)[0], dx);
      break;
    case MZ_OP_CONV: mz_ref_conv_backward(tape, node, r); break;
    case MZ_OP_GELU:
      for (int i = 0; i < row.columns; i++) dx[i] += dy[i] * gelu_derivative(row.x[i]);
      break;
    case MZ_OP_LAYER_NORM: mz_ref_layer_norm_backward(tape, node, r); break;
    case MZ_OP_TYPED_LINEAR: mz_ref_typed_linear_backward(tape, node, r); break;
    case MZ_OP_GATHER: mz_ref_gather_backward(tape, node, r); break;
    case MZ_OP_CONCAT: mz_ref_concat_backward(tape, node, r); break;
    case MZ_OP_EDGE_ATTENTION: mz_ref_edge_attention_backward(tape, node, r); break;
    case MZ_OP_MASKED_POOL: mz_ref_masked_pool_backward(tape, node, r); break;
    case MZ_OP_PATCHES: mz_ref_patches_backward(tape, node, r); break;
    case MZ_OP_MEAN_POOL: mz_ref_mean_pool_backward(tape, node, r); break;
    case MZ_OP_NORM:       /* goes over groups of rows */
    case MZ_OP_ACTION_MAP: /* has no inputs */
    case MZ_OP_PLANES:     /* of an input */
    case MZ_OP_AFFINE:     /* inference only, as are the next two */
    case MZ_OP_EXPECTATION:
    case MZ_OP_SOFTMAX:
    case MZ_OP_TO_BF16: /* never: this backend has none */
    case MZ_OP_INPUT: break;
  }
}

static void parameter_gradients(mz_tape *tape, const mz_node *node, int rows) {
  switch (node->op) {
    case MZ_OP_LINEAR: mz_ref_linear_gradients(tape, node, rows); break;
    case MZ_OP_CONV: mz_ref_conv_gradients(tape, node, rows); break;
    case MZ_OP_ACTION_MAP: mz_ref_action_map_gradients(tape, node, rows); break;
    case MZ_OP_NORM: mz_ref_norm_gradients(tape, node, rows); break;
    case MZ_OP_LAYER_NORM: mz_ref_layer_norm_gradients(tape, node, rows); break;
    case MZ_OP_TYPED_LINEAR: mz_ref_typed_linear_gradients(tape, node, rows); break;
    default: MZ_ASSERT(!mz_node_traits(node)->trains);
  }
}

/* An input that is written first starts from 0, unless it takes over the output's gradient as it is. */
static void clear(mz_tape *tape, const mz_node *node, int input, int rows) {
  const mz_tape_value *v = &tape->values[node->inputs[input]];
  if (!node->overwrites[input] || v->gradient == tape->values[node->output].gradient) return;
  for (ptrdiff_t i = 0; i < (ptrdiff_t)rows * v->stride; i++) ((double *)v->gradient)[i] = 0.0;
}

static mz_status backward(mz_tape *tape, mz_node *node, int rows) {
  for (int k = 0; k < node->input_count; k++) clear(tape, node, k, rows);
  if (node->op == MZ_OP_NORM) {
    mz_ref_norm_backward(tape, node, rows);
  } else {
    for (int r = 0; r < rows; r++) backward_row(tape, node, r);
  }
  if (node->first_use) parameter_gradients(tape, node, rows);
  return MZ_OK;
}

const mz_backend mz_backend_ref = {
    .name = "ref",
    .element_size = sizeof(double),
    .prepare = prepare,
    .release = release,
    .forward = forward,
    .backward = backward,
};
