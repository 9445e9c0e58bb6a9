/* The CUDA backend against the reference, tensor by tensor, each pass run, captured and replayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda/device/backend.h"
#include "tests/cuda/device/mirror.h"

enum { RUNS = 3 }; /* node by node, captured, replayed */

static mirror seen; /* large */

/* At one point. Gradients have no meaning where an entry is so near a kink that rounding takes it to the other side: false. */
static bool compare_at(const net_case *c, net_size size, int rows, int planned, uint64_t seed) {
  char what[128];
  net *ref = net_open(c, &mz_backend_ref, size, rows, seed), *cuda = net_open(c, cuda_backend(), size, planned, seed);
  bool decided = true;
  snprintf(what, sizeof what, "%s, width %d, board %d x %d, %d rows of %d", c->name, size.width, size.board.height,
           size.board.width, rows, planned);
  for (int r = 0; r < rows; r++) {
    net_set_row(ref, r, r);
    net_set_row(cuda, r, r);
  }
  net_run(ref, rows);
  for (int run = 0; run < RUNS; run++) {
    net_run(cuda, rows);
    const net *host = mirror_open(&seen, cuda);
    values_agree(host, ref, what, rows);
    assert_true(fabs(tape_loss(cuda->tape) - tape_loss(host->tape)) <= 1e-12 * fabs(tape_loss(host->tape)));
    decided = decided && net_kinks(host, rows) == net_kinks(ref, rows);
    if (decided) gradients_agree(host, ref, what, rows, gradient_tolerance(c));
    mirror_close(&seen);
  }
  net_close(cuda);
  net_close(ref);
  return decided;
}

static void compare(const net_case *c, net_size size, int rows, int planned) {
  for (uint64_t seed = 5; !compare_at(c, size, rows, planned, seed); seed++) assert_true(seed < 10);
}

static void every_case(void **state) {
  (void)state;
  static const int shapes[][3] = {{3, 2, 2}, {7, 5, 5}, {16, 16, 16}, {65, 21, 37}};
  for (int i = 0; i < NET_CASES; i++) {
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      compare(&net_cases[i], (net_size){.width = shapes[k][0]}, shapes[k][1], shapes[k][2]);
  }
}

static void boards(void **state) {
  (void)state;
  static const mz_board sizes[] = {{2, 2}, {3, 3}, {6, 7}};
  for (int i = 0; i < BOARD_CASES; i++) {
    for (int b = 0; b < 3; b++) {
      const int group = 1 + (i + b) % 3, groups = 1 + (b + i) % 3;
      const net_size size = {.width = 16 + 16 * (b % 2), .board = sizes[b], .group = group};
      compare(&board_cases[i], size, groups * group, (groups + b % 2) * group);
    }
  }
}

/* Hidden layers in heads, and consistency of projections. */
static void projections(void **state) {
  (void)state;
  const net_size size = {.width = 16, .board = {3, 3}, .group = PROJECTED_GROUP};
  compare(&board_cases[BOARD_CASES - 1], size, 2 * PROJECTED_GROUP, 2 * PROJECTED_GROUP);
}

/* Returns ‖gradient − ref's‖ / ‖ref's‖ over all parameters. */
static double gradients_off(const net *host, const net *ref) {
  const float *x = (const float *)host->gradients;
  const double *y = (const double *)ref->gradients;
  double error = 0, square = 0;
  for (int64_t i = 0; i < ref->params.size; i++) {
    error += (x[i] - y[i]) * (x[i] - y[i]);
    square += y[i] * y[i];
  }
  return sqrt(error / square);
}

/* Convolutions of bfloat16 are near, by the rounding of what they multiply. */
static void boards_in_halves(void **state) {
  (void)state;
  const net_case *c = &board_cases[BOARD_CASES - 1];
  const net_size size = {.width = 16, .board = {6, 7}, .group = 2, .bf16 = true};
  net *ref = net_open(c, &mz_backend_ref, size, 4, 5), *cuda = net_open(c, cuda_backend(), size, 4, 5);
  for (int r = 0; r < 4; r++) {
    net_set_row(ref, r, r);
    net_set_row(cuda, r, r);
  }
  net_run(ref, 4);
  for (int run = 0; run < RUNS; run++) {
    net_run(cuda, 4);
    const double loss = tape_loss(cuda->tape), wanted = tape_loss(ref->tape);
    assert_true(loss != wanted); /* they do round */
    assert_true(fabs(loss - wanted) <= 1e-2 * wanted);
    const net *host = mirror_open(&seen, cuda);
    const double off = gradients_off(host, ref);
    if (!(off > 0 && off <= 5e-2)) fail_msg("bf16: gradients are off by %g", off);
    mirror_close(&seen);
  }
  net_close(cuda);
  net_close(ref);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_case),
      cmocka_unit_test(boards),
      cmocka_unit_test(projections),
      cmocka_unit_test(boards_in_halves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
