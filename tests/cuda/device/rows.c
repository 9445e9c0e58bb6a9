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

static void answers_are_the_references(void **state) {
  (void)state;
  for (int b = 0; b < 3; b++) {
    open_model(boards[b], 16 + 16 * (b % 2), MZ_PRECISION_F32);
    answers cuda = ask(cuda_backend(), 16, N), ref = ask(&mz_backend_ref, 16, N);
    for (int k = 0; k < 2; k++) {
      assert_true(distance(cuda.latent[k], ref.latent[k], cuda.latents) <= 1e-5);
      assert_true(distance(cuda.policy[k], ref.policy[k], cuda.policies) <= 1e-5);
      assert_true(distance(cuda.value[k], ref.value[k], N) <= 1e-4);
    }
    assert_true(distance(cuda.reward, ref.reward, N) <= 1e-4);
    answers_free(&cuda);
    answers_free(&ref);
    close_model();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(however_requests_are_cut),
      cmocka_unit_test(answers_are_the_references),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
