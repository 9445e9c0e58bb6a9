/* NumPy's RandomState against draws that NumPy wrote down (tests/data/envs/make_random_state.py). */
#include "envs/numpy_random_state.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Checks the draws that `answers` lists; `below` is 0 for words. Returns their count. */
static int check_integers(mz_random_state *state, const char *answers, uint32_t below) {
  int count = 0;
  char *end;
  for (;; count++, answers = end) {
    const uint64_t expected = strtoull(answers, &end, 10);
    if (end == answers) return count;
    const uint32_t drawn = below ? mz_random_state_below(state, below) : mz_random_state_u32(state);
    assert_int_equal(drawn, expected);
  }
}

static int check_doubles(mz_random_state *state, const char *answers) {
  int count = 0;
  char *end;
  for (;; count++, answers = end) {
    const double expected = strtod(answers, &end);
    if (end == answers) return count;
    assert_true(mz_random_state_f64(state) == expected);
  }
}

static void draws_are_numpys(void **unused) {
  (void)unused;
  FILE *file = fopen(TEST_DATA "/envs/random_state.txt", "r");
  assert_non_null(file);
  static mz_random_state state;
  char line[1024];
  int checked = 0;
  while (fgets(line, sizeof line, file)) {
    uint32_t number;
    int at = 0;
    if (sscanf(line, "seed %" SCNu32, &number) == 1) {
      mz_random_state_seed(&state, number);
    } else if (sscanf(line, "skip %" SCNu32, &number) == 1) {
      while (number-- > 0) (void)mz_random_state_u32(&state);
    } else if (sscanf(line, "randint %" SCNu32 "%n", &number, &at) == 1 ||
               sscanf(line, "choice %" SCNu32 "%n", &number, &at) == 1) {
      checked += check_integers(&state, line + at, number);
    } else if (strncmp(line, "words", 5) == 0) {
      checked += check_integers(&state, line + 5, 0);
    } else if (strncmp(line, "rand ", 5) == 0) {
      checked += check_doubles(&state, line + 4);
    } else {
      assert_int_equal(line[0], '#');
    }
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(checked, 5 * 2 * 11 * 12);
}

static void a_copy_draws_the_same(void **unused) {
  (void)unused;
  static mz_random_state state, copy;
  mz_random_state_seed(&state, 3);
  for (int i = 0; i < 1000; i++) (void)mz_random_state_u32(&state);
  copy = state;
  for (int i = 0; i < 1000; i++) assert_int_equal(mz_random_state_u32(&state), mz_random_state_u32(&copy));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(draws_are_numpys), cmocka_unit_test(a_copy_draws_the_same)};
  return cmocka_run_group_tests_name("numpy_random_state", tests, NULL, NULL);
}
