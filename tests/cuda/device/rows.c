/* A row's result on a device depends on nothing but the row: over every bucket it has the bits that it has alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda/device/backend.h"
#include "tests/networks/board_model.h"

static void expect_same_answers(const answers *a, const answers *b) {
  for (int k = 0; k < 2; k++) {
    assert_memory_equal(a->latent[k], b->latent[k], a->latents * sizeof(float));
    assert_memory_equal(a->policy[k], b->policy[k], a->policies * sizeof(float));
    assert_memory_equal(a->value[k], b->value[k], N * sizeof(float));
  }
  assert_memory_equal(a->reward, b->reward, N * sizeof(float));
}

static void however_requests_are_cut(void **state) {
  (void)state;
  static const int ways[][2] = {{N, 1}, {16, N}, {N, 3}, {7, 5}, {N, 33}};
  for (int precision = MZ_PRECISION_F32; precision <= MZ_PRECISION_BF16; precision++) {
    open_model((mz_board){3, 3}, 16, precision);
    answers together = ask(cuda_backend(), N, N);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
      answers cut = ask(cuda_backend(), ways[i][0], ways[i][1]);
      expect_same_answers(&cut, &together);
      answers_free(&cut);
    }
    answers_free(&together);
    close_model();
  }
}

static void expect_close(const answers *a, const answers *b, double tolerance) {
  for (int k = 0; k < 2; k++) {
    assert_true(distance(a->latent[k], b->latent[k], a->latents) <= tolerance);
    assert_true(distance(a->policy[k], b->policy[k], a->policies) <= tolerance);
    assert_true(distance(a->value[k], b->value[k], N) <= 10 * tolerance);
  }
  assert_true(distance(a->reward, b->reward, N) <= 10 * tolerance);
}

static void answers_are_the_references(void **state) {
  (void)state;
  for (int b = 0; b < 3; b++) {
    for (int precision = MZ_PRECISION_F32; precision <= MZ_PRECISION_BF16; precision++) {
      open_model(boards[b], 16 + 16 * (b % 2), precision);
      answers cuda = ask(cuda_backend(), 16, N), ref = ask(&mz_backend_ref, 16, N);
      expect_close(&cuda, &ref, precision == MZ_PRECISION_F32 ? 1e-5 : 1e-2);
      answers_free(&cuda);
      answers_free(&ref);
      close_model();
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(however_requests_are_cut),
      cmocka_unit_test(answers_are_the_references),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
