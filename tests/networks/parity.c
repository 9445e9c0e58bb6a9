/* The cpu backend against the reference, tensor by tensor, at every instruction-set level that this processor has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/kernels.h"
#include "tests/networks/agreement.h"

/* At one point. Gradients have no meaning where an entry is so near a kink that rounding takes it to the other side: false. */
static bool compare_at(const net_case *c, net_size size, int rows, int planned, uint64_t seed) {
  net *ref = net_open(c, &mz_backend_ref, size, rows, seed);
  for (int r = 0; r < rows; r++) net_set_row(ref, r, r);
  net_run(ref, rows);
  bool decided = true;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_LAST; level++) {
    char what[128];
    snprintf(what, sizeof what, "%s, width %d, board %d x %d, %d rows of %d, %s", c->name, size.width, size.board.height,
             size.board.width, rows, planned, mz_isa_name(level));
    net *cpu = net_open(c, &mz_backend_cpu, size, planned, seed);
    for (int r = 0; r < rows; r++) net_set_row(cpu, r, r);
    for (int run = 0; run < 2; run++) { /* a tape has no memory of earlier runs */
      net_run(cpu, rows);
      values_agree(cpu, ref, what, rows);
      decided = decided && net_kinks(cpu, rows) == net_kinks(ref, rows);
      if (decided) gradients_agree(cpu, ref, what, rows, gradient_tolerance(c));
    }
    net_close(cpu);
  }
  mz_kernels_select(mz_isa_level());
  net_close(ref);
  return decided;
}

/* The planned rows may be more than the rows run. */
static void compare(const net_case *c, net_size size, int rows, int planned) {
  for (uint64_t seed = 5; !compare_at(c, size, rows, planned, seed); seed++) assert_true(seed < 10);
}

static void every_case(void **state) {
  (void)state;
  static const int shapes[][2] = {{1, 1}, {3, 2}, {7, 5}, {16, 16}, {23, 9}, {64, 16}, {65, 37}, {150, 3}, {300, 19}};
  for (int i = 0; i < NET_CASES; i++) {
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
      const char *name = net_cases[i].name;
      if (shapes[k][0] == 1 && (strcmp(name, "minmax") == 0 || strcmp(name, "rms") == 0)) continue; /* one entry: to 0, to 1 */
      compare(&net_cases[i], (net_size){.width = shapes[k][0]}, shapes[k][1], shapes[k][1]);
    }
    compare(&net_cases[i], (net_size){.width = 33}, 11, 40);
  }
}

/* Wider than our own kernel is used for. */
static void wide_layers(void **state) {
  (void)state;
  for (int i = 0; i < NET_CASES - 1; i++) {
    compare(&net_cases[i], (net_size){.width = 1040}, 13, 13);
    compare(&net_cases[i], (net_size){.width = 1040}, 6, 21);
    compare(&net_cases[i], (net_size){.width = 1030}, 6, 6);
  }
}

/* Odd and even boards, 16 to 64 channels, 1 to 9 rows in groups of 1 to 3, run on tapes planned for as many or more. */
static void boards(void **state) {
  (void)state;
  static const mz_board sizes[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}};
  for (int i = 0; i < BOARD_CASES; i++) {
    for (int b = 0; b < 4; b++) {
      for (int k = 1; k <= 4; k++) {
        const int group = 1 + (i + b + k) % 3, groups = 1 + (b + 3 * k) % (9 / group);
        const net_size size = {.width = 16 * k, .board = sizes[b], .group = group};
        compare(&board_cases[i], size, groups * group, (groups + k % 2) * group);
      }
    }
    for (int rows = 1; rows <= 9; rows++) compare(&board_cases[i], (net_size){.width = 16, .board = {3, 3}, .group = 1}, rows, 9);
  }
}

/* Hidden layers in heads, and consistency of projections. */
static void projections(void **state) {
  (void)state;
  const net_case *unrolled = &board_cases[BOARD_CASES - 1];
  for (int groups = 1; groups <= 3; groups++) {
    const net_size size = {.width = 16 * groups, .board = {3, 3}, .group = PROJECTED_GROUP};
    compare(unrolled, size, groups * PROJECTED_GROUP, 3 * PROJECTED_GROUP);
  }
}

static void run_inference_ops(const mz_backend *backend, int columns, int rows, double *softmax, double *scalars) {
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &(mz_lane){.backend = backend}, NULL, rows, false));
  const mz_value logits = mz_tape_input(tape, columns);
  const mz_value outputs[] = {mz_tape_softmax(tape, logits), mz_tape_expectation(tape, logits, -7.5f, 19.0f, false),
                              mz_tape_expectation(tape, logits, -7.5f, 19.0f, true)};
  check(mz_tape_plan(tape));
  float *dense = NULL;
  check(mz_alloc(&dense, (size_t)(rows * columns), sizeof *dense));
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < rows * columns; i++) dense[i] = 4.0f * mz_rng_normal(&rng);
  check(mz_tape_put(tape, logits, 0, dense, rows));
  check(mz_tape_forward(tape, NULL, rows));
  check(mz_tape_get(tape, outputs[0], 0, dense, rows));
  for (int i = 0; i < rows * columns; i++) softmax[i] = dense[i];
  for (int k = 1; k <= 2; k++) {
    check(mz_tape_get(tape, outputs[k], 0, dense, rows));
    for (int r = 0; r < rows; r++) scalars[(k - 1) * rows + r] = dense[r];
  }
  free(dense);
  mz_tape_free(tape);
}

static void inference_ops(void **state) {
  (void)state;
  enum { ROWS = 35, COLUMNS_MAX = 65 };
  static double softmax[2][ROWS * COLUMNS_MAX], scalars[2][2 * ROWS];
  for (int columns = 2; columns <= COLUMNS_MAX; columns += 7) {
    run_inference_ops(&mz_backend_ref, columns, ROWS, softmax[0], scalars[0]);
    for (mz_isa level = MZ_ISA_LEVEL_PLAIN; mz_kernels_select(level) && level <= MZ_ISA_LEVEL_LAST; level++) {
      run_inference_ops(&mz_backend_cpu, columns, ROWS, softmax[1], scalars[1]);
      for (int i = 0; i < ROWS * columns; i++) assert_true(fabs(softmax[1][i] - softmax[0][i]) <= 1e-6);
      for (int i = 0; i < 2 * ROWS; i++) assert_true(fabs(scalars[1][i] - scalars[0][i]) <= 2e-6 * fabs(scalars[0][i]) + 2e-5);
    }
    mz_kernels_select(mz_isa_level());
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_case),  cmocka_unit_test(wide_layers),   cmocka_unit_test(boards),
      cmocka_unit_test(projections), cmocka_unit_test(inference_ops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
