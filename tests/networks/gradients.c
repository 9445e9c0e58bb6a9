/* Gradients of the reference backend against central differences: every op, and the whole K = 5 loss.
 *
 * Points away from kinks: at every perturbed point the pattern of active ReLUs and the places of each row's minimum and
 * maximum (read off the tape) must be those of the unperturbed one, so no difference quotient straddles a kink; if one does,
 * another point is taken.
 *
 * SCALE_GRADIENT is no derivative, so the differences of the whole loss are taken with what it stops held constant: a second,
 * plain implementation of model and loss, in which the scaled value is f·x + (1 − f)·(x at the unperturbed point). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/board_cases.h"

enum { ROWS = 4, WIDTH = 12, CHANNELS = 16, GROUP = 2 };
static const double step = 1e-5, tolerance = 1e-6;

/* Relative to the largest derivative of its tensor: a central difference has an absolute error of about 1e-10. */
static void compare(const mz_param *param, const double *gradient, const double *difference) {
  double largest = 0.0, worst = 0.0, square = 0.0, square_error = 0.0;
  for (int r = 0; r < param->rows; r++) {
    for (int c = 0; c < param->columns; c++) {
      const int64_t at = param->offset + (int64_t)r * param->stride + c;
      const double error = fabs(gradient[at] - difference[at]);
      largest = fmax(largest, fabs(difference[at]));
      worst = fmax(worst, error);
      square += difference[at] * difference[at];
      square_error += error * error;
    }
  }
  if (!(worst <= tolerance * largest) || !(sqrt(square_error) <= tolerance * sqrt(square))) {
    fail_msg("%s: gradients differ from central differences by %g of %g", param->name, worst, largest);
  }
}

static void padding_is_zero(const mz_param *param, const double *gradient) {
  for (int r = 0; r < param->rows; r++) {
    for (int c = param->columns; c < param->stride; c++) {
      assert_true(gradient[param->offset + (int64_t)r * param->stride + c] == 0.0);
    }
  }
}

static double loss_at(net *n, uint64_t *pattern) {
  check(mz_tape_forward(n->tape, n->values, ROWS));
  *pattern = net_kinks(n, ROWS);
  return tape_loss(n->tape);
}

/* false: a kink is in between. */
static bool central_difference(net *n, int64_t at, uint64_t pattern, double *difference) {
  double *value = (double *)n->values + at;
  const double saved = *value;
  uint64_t above_pattern, below_pattern;
  *value = saved + step;
  const double above = loss_at(n, &above_pattern);
  *value = saved - step;
  const double below = loss_at(n, &below_pattern);
  *value = saved;
  *difference = (above - below) / (2.0 * step);
  return above_pattern == pattern && below_pattern == pattern;
}

static net *open_at_example(const net_case *c, net_size size, uint64_t seed) {
  net *n = net_open(c, &mz_backend_ref, size, ROWS, seed);
  for (int r = 0; r < ROWS; r++) net_set_row(n, r, r);
  net_run(n, ROWS);
  return n;
}

/* Differences all entries of small tensors, and every `skip`-th of a convolution's; the others are set to the gradient they should
 * have. false: a kink is too near. */
static bool differences_of(net *n, const mz_param *param, double scale, uint64_t pattern, double *differences) {
  const int skip = param->conv.height > 0 ? 7 : 1; /* prime to 9, the taps, and to 16, the channels */
  for (int i = 0; i < param->rows * param->columns; i++) {
    const int64_t at = param->offset + (int64_t)(i / param->columns) * param->stride + i % param->columns;
    differences[at] = ((const double *)n->gradients)[at];
    if (i % skip != 0) continue;
    if (!central_difference(n, at, pattern, &differences[at])) return false;
    differences[at] *= scale;
  }
  return true;
}

static bool compare_at(const net_case *c, net_size size, uint64_t seed) {
  net *n = open_at_example(c, size, seed);
  double *differences = NULL;
  check(mz_alloc(&differences, (size_t)n->params.size, sizeof *differences));
  uint64_t pattern;
  bool smooth = true;
  loss_at(n, &pattern);
  for (int p = 0; p < n->params.count && smooth; p++) {
    const mz_param *param = &n->params.items[p];
    if (param->statistic > 0) continue; /* no derivative: tests/networks/norm.c */
    smooth = differences_of(n, param, p < 2 ? n->scale_of_first : 1.0, pattern, differences);
    if (smooth) compare(param, n->gradients, differences);
    padding_is_zero(param, n->gradients);
  }
  free(differences);
  net_close(n);
  return smooth;
}

static void compare_case(const net_case *c, net_size size) {
  for (uint64_t seed = 1; !compare_at(c, size, seed); seed++) assert_true(seed < 9);
}

static void every_op(void **state) {
  (void)state;
  for (int i = 0; i < NET_CASES - 1; i++) compare_case(&net_cases[i], (net_size){.width = WIDTH});
}

static void every_op_on_boards(void **state) {
  (void)state;
  for (int i = 0; i < BOARD_CASES - 1; i++) {
    const mz_board board = i % 2 == 0 ? (mz_board){3, 3} : (mz_board){2, 4};
    compare_case(&board_cases[i], (net_size){.width = CHANNELS, .board = board, .group = GROUP});
  }
}

/* ---- the second implementation ---- */

enum { LATENT = WIDTH + 3, UNROLL = 5, LONGEST = 32 };

typedef struct plain {
  const mz_params *params;
  const double *values;
  double stopped[ROWS][UNROLL][LATENT]; /* latents at the unperturbed point */
  bool record;                          /* fill `stopped` rather than use it */
  uint64_t pattern;
} plain;

static int find(const plain *p, const char *name) {
  const int index = mz_params_find(p->params, name);
  assert_true(index >= 0);
  return index;
}

static void dense(plain *p, const char *name, const double *x, int action, bool relu, double *y) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  const mz_param *w = &p->params->items[find(p, full)];
  snprintf(full, sizeof full, "%s.bias", name);
  const mz_param *b = &p->params->items[find(p, full)];
  for (int j = 0; j < w->columns; j++) {
    y[j] = p->values[b->offset + j];
    for (int i = 0; i < w->rows; i++) y[j] += x[i] * p->values[w->offset + i * w->stride + j];
    if (action >= 0) y[j] += p->values[p->params->items[find(p, "dynamics.0.action")].offset + action * w->stride + j];
    if (!relu) continue;
    p->pattern = mz_hash_combine(p->pattern, y[j] > 0.0);
    y[j] = y[j] > 0.0 ? y[j] : 0.0;
  }
}

static void stack(plain *p, const char *part, const double *x, int action, int layers, bool relu_last, double *y) {
  double in[LONGEST], out[LONGEST];
  memcpy(in, x, sizeof in);
  for (int i = 0; i < layers; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s.%d", part, i);
    dense(p, name, in, i == 0 ? action : -1, relu_last || i < layers - 1, out);
    memcpy(in, out, sizeof in);
  }
  memcpy(y, in, sizeof in);
}

static void scale_to_unit(plain *p, double *x) {
  int low = 0, high = 0;
  for (int i = 0; i < LATENT; i++) {
    if (x[i] < x[low]) low = i;
    if (x[i] > x[high]) high = i;
  }
  p->pattern = mz_hash_combine(mz_hash_combine(p->pattern, (uint64_t)low), (uint64_t)high);
  const double min = x[low], max = x[high];
  for (int i = 0; i < LATENT; i++) x[i] = (x[i] - min) / (max - min + 1e-5);
}

static double cross_entropy(const double *logits, const double *target, int n) {
  double sum = 0.0, loss = 0.0;
  for (int i = 0; i < n; i++) sum += exp(logits[i]);
  for (int i = 0; i < n; i++) loss -= target[i] * log(exp(logits[i]) / sum);
  return loss;
}

/* The next of the inputs that the case registered, in its order: obs; then per step policy, value, their weights, reward, its
 * weight. */
static const double *next_input(net *n, int *at, int r) {
  const mz_tape_value *value = mz_tape_at(n->tape, n->inputs[(*at)++]);
  return (const double *)value->data + (ptrdiff_t)r * value->stride;
}

static double plain_row(plain *p, net *n, int r) {
  double latent[LONGEST] = {0}, hidden[LONGEST], logits[LONGEST], loss = 0.0;
  int at = 0;
  memcpy(latent, next_input(n, &at, r), OBS * sizeof *latent);
  stack(p, "representation", latent, -1, 3, false, latent);
  scale_to_unit(p, latent);
  for (int k = 0; k <= UNROLL; k++) {
    if (k > 0) {
      double *stopped = p->stopped[r][k - 1];
      if (p->record) memcpy(stopped, latent, LATENT * sizeof *latent);
      for (int i = 0; i < LATENT; i++) latent[i] = 0.5 * latent[i] + 0.5 * stopped[i];
      stack(p, "dynamics", latent, mz_tape_index_at(n->tape, n->indices[k - 1])[r], 3, false, latent);
      scale_to_unit(p, latent);
    }
    const double share = k == 0 ? 1.0 : 1.0 / UNROLL; /* a node's factor is a float */
    const double *policy = next_input(n, &at, r), *value = next_input(n, &at, r);
    const double policy_weight = *next_input(n, &at, r), value_weight = *next_input(n, &at, r);
    stack(p, "prediction", latent, -1, 2, true, hidden);
    dense(p, "policy", hidden, -1, false, logits);
    loss += (float)share * policy_weight * cross_entropy(logits, policy, NET_ACTIONS);
    dense(p, "value", hidden, -1, false, logits);
    loss += (float)(share * 0.25) * value_weight * cross_entropy(logits, value, NET_BINS);
    if (k == 0) continue;
    const double *reward = next_input(n, &at, r);
    dense(p, "reward", latent, -1, false, logits);
    loss += (float)(share * 1.5) * *next_input(n, &at, r) * cross_entropy(logits, reward, 5);
  }
  return loss;
}

static double plain_loss(plain *p, net *n) {
  double loss = 0.0;
  p->pattern = 0;
  for (int r = 0; r < ROWS; r++) loss += plain_row(p, n, r);
  return loss;
}

static void whole_loss(void **state) {
  (void)state;
  const net_case *unrolled = &net_cases[NET_CASES - 1];
  assert_string_equal(unrolled->name, "unrolled loss");
  net *n = open_at_example(unrolled, (net_size){.width = WIDTH}, 1);
  plain p = {.params = &n->params, .values = n->values, .record = true};
  const double loss = plain_loss(&p, n);
  const uint64_t pattern = p.pattern;
  p.record = false;
  assert_true(fabs(loss - tape_loss(n->tape)) <= 1e-12 * loss); /* the two forwards agree */

  double *differences = NULL, *values = n->values;
  check(mz_alloc(&differences, (size_t)n->params.size, sizeof *differences));
  for (int i = 0; i < n->params.count; i++) {
    const mz_param *param = &n->params.items[i];
    for (int64_t at = param->offset; at < param->offset + (int64_t)param->rows * param->stride; at++) {
      if ((at - param->offset) % param->stride >= param->columns) continue;
      const double saved = values[at];
      values[at] = saved + step;
      const double above = plain_loss(&p, n);
      assert_true(p.pattern == pattern);
      values[at] = saved - step;
      const double below = plain_loss(&p, n);
      assert_true(p.pattern == pattern);
      values[at] = saved;
      differences[at] = (above - below) / (2.0 * step);
    }
    compare(param, n->gradients, differences);
    padding_is_zero(param, n->gradients);
  }
  free(differences);
  net_close(n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op),
      cmocka_unit_test(every_op_on_boards),
      cmocka_unit_test(whole_loss),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
