/* A root's result does not depend on the roots beside it, on its slot, or on what was searched before. */
#include "tests/cuda/search/device_search.cuh"

enum { ROOTS = 40, SIMULATIONS = 12 };

static void expect_independence(const subject &s, mz_algorithm algorithm) {
  const mz_search_settings settings = search_settings_of(algorithm, SIMULATIONS);
  const positions p(s.spec, ROOTS);
  device_search together(s, settings, ROOTS), few(s, settings, 7), one(s, settings, 1);
  const findings all = together.run(p, 0, ROOTS, 0);
  for (int i = 0; i < ROOTS; i += 5) {
    expect_same(one.run(p, i, 1, 0), 0, all, (size_t)i, 1);
    expect_same(together.run(p, i, 3, 0), 0, all, (size_t)i, 3); /* other slots */
  }
  expect_same(few.run(p, 0, ROOTS, 0), 0, all, 0, ROOTS); /* in tiles */
  const findings shorter = together.run(p, 3, 20, SIMULATIONS / 2);
  device_search unused(s, settings, 7); /* has never searched with more simulations */
  expect_same(unused.run(p, 3, 20, SIMULATIONS / 2), 0, shorter, 0, 20);
  expect_same(together.run(p, 0, ROOTS, 0), 0, all, 0, ROOTS);
}

static void vectors(void **) {
  const subject s = mlp_subject(3, MZ_TURNS_ALTERNATE); /* the halving schedule of half as many simulations is no prefix */
  expect_independence(s, MZ_PUCT);
  expect_independence(s, MZ_GUMBEL);
}

static void boards(void **) { expect_independence(conv_subject(), MZ_GUMBEL); }

static void thousands(void **) {
  enum { MANY = MZ_SEARCHER_SLOTS_MAX, LAST = 17 };
  const subject s = mlp_subject(2, MZ_TURNS_ALTERNATE, 8);
  const mz_search_settings settings = search_settings_of(MZ_GUMBEL, 3);
  const positions p(s.spec, MANY);
  device_search together(s, settings, MANY), few(s, settings, LAST);
  expect_same(together.run(p, 0, MANY, 0), MANY - LAST, few.run(p, MANY - LAST, LAST, 0), 0, LAST);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(boards), cmocka_unit_test(thousands)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
