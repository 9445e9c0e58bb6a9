/* How near a backend is to the reference, tensor by tensor. Include after cmocka.h. */
#pragma once
#include "tests/networks/board_cases.h"
#include <math.h>

static const double tolerance = 1e-5;

/* ‖a − b‖ / ‖b‖ over rows × columns of two matrices. */
static inline double distance(const net *a, const void *a_data, const net *b, const void *b_data, int rows, int columns,
                              int stride) {
  double square = 0.0, square_error = 0.0;
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      const size_t at = (size_t)r * (size_t)stride + (size_t)c;
      const double x = net_element(a, a_data, at), y = net_element(b, b_data, at);
      square += y * y;
      square_error += (x - y) * (x - y);
    }
  }
  return square_error == 0.0 ? 0.0 : sqrt(square_error / square);
}

static inline void values_agree(const net *cpu, const net *ref, const char *what, int rows) {
  for (int i = 0; i < ref->tape->node_count; i++) {
    const mz_tape_value *x = &cpu->tape->values[i], *y = &ref->tape->values[i];
    const double data = distance(cpu, x->data, ref, y->data, rows, y->columns, y->stride);
    if (!(data <= tolerance)) fail_msg("%s: value %d (op %d): off by %g", what, i, (int)ref->tape->nodes[i].op, data);
  }
  assert_true(fabs(tape_loss(cpu->tape) - tape_loss(ref->tape)) <= tolerance * tape_loss(ref->tape));
}

/* Rounding grows with depth: the loss of a model on boards goes through twenty convolutions and norms; and with the points of
 * minimal filtering, where a norm over few positions amplifies it. */
static inline double gradient_tolerance(const net_case *c) {
  if (c == &board_cases[BOARD_CASES - 1]) return 10 * tolerance;
  return c >= board_cases && c < board_cases + BOARD_CASES ? 3 * tolerance : tolerance;
}

static inline void gradients_agree(const net *cpu, const net *ref, const char *what, int rows, double allowed) {
  for (int i = 0; i < ref->tape->node_count; i++) {
    const mz_tape_value *x = &cpu->tape->values[i], *y = &ref->tape->values[i];
    assert_true((x->gradient == NULL) == (y->gradient == NULL));
    /* a ReLU's own gradient is masked in place by the cpu backend; what matters of it shows upstream and in the parameters */
    if (y->gradient == NULL || ref->tape->nodes[i].activation == MZ_RELU) continue;
    const double gradient = distance(cpu, x->gradient, ref, y->gradient, rows, y->columns, y->stride);
    if (!(gradient <= allowed)) fail_msg("%s: gradient of value %d: off by %g", what, i, gradient);
  }
  for (int p = 0; p < ref->params.count; p++) {
    const mz_param *param = &ref->params.items[p];
    const float *x = (const float *)cpu->gradients + param->offset;
    const double off =
        distance(cpu, x, ref, (const double *)ref->gradients + param->offset, param->rows, param->columns, param->stride);
    if (!(off <= allowed || has_no_gradient(param))) fail_msg("%s: gradient of %s: off by %g", what, param->name, off);
    for (int i = 0; i < param->rows * param->stride; i++) {
      if (i % param->stride >= param->columns) assert_true(x[i] == 0.0f);
    }
  }
}
