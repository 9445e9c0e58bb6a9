/* Searches of small models in one kernel: what the reference's network answers, within rounding, and nothing of the neighbours. */
#include "tests/cuda/search/device_search.cuh"

enum { ROOTS = 19, SIMULATIONS = 12 };

static void the_references_answers(void **) {
  static const int sizes[][2] = {{9, 1}, {24, 1}, {33, 2}, {64, 3}}; /* width, depth */
  for (const auto &size : sizes) {
    for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
      const bool other = (size[1] + algorithm) % 2 == 0;
      const mz_turns turns = (mz_turns)((size[0] + algorithm) % 3);
      const subject s = mlp_subject(2 + size[1] * 3, turns, size[0], size[1], other ? MZ_SCALING_RMS : MZ_SCALING_MINMAX);
      const mz_search_settings settings = search_settings_of((mz_algorithm)algorithm, SIMULATIONS);
      const positions p(s.spec, ROOTS);
      device_search device(s, settings, ROOTS, true);
      expect_near(device.run(p, 0, ROOTS, 0), search_on_cpu(s, &mz_backend_ref, settings, p, 0));
    }
  }
}

static void independence(void **) {
  const subject s = mlp_subject(4, MZ_TURNS_TOLD, 40, 2);
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    mz_search_settings settings = search_settings_of((mz_algorithm)algorithm, SIMULATIONS);
    settings.max_depth = algorithm == MZ_PUCT ? 2 : 0;
    const positions p(s.spec, ROOTS);
    device_search together(s, settings, ROOTS, true), few(s, settings, 3, true);
    const findings all = together.run(p, 0, ROOTS, 0);
    expect_same(together.run(p, 0, ROOTS, 0), 0, all, 0, ROOTS);
    expect_same(few.run(p, 0, ROOTS, 0), 0, all, 0, ROOTS);
    for (int i = 0; i < ROOTS; i += 4) expect_same(together.run(p, i, 1, 0), 0, all, (size_t)i, 1);
    expect_same(few.run(p, 5, 6, 5), 0, together.run(p, 5, 6, 5), 0, 6);
  }
}

/* By the model's size; the twin's blocks have 227 KiB. */
static void which_models(void **) {
  const mz_search_settings settings = search_settings_of(MZ_GUMBEL, 1);
  mz_cuda_small_model small;
  const subject fits = mlp_subject(4, MZ_TURNS_ALTERNATE, 96), larger = mlp_subject(4, MZ_TURNS_ALTERNATE, 256),
                board = conv_subject();
  network of_fits(fits, &mz_backend_cuda, settings, 1), of_larger(larger, &mz_backend_cuda, settings, 1),
      of_board(board, &mz_backend_cuda, settings, 1);
  assert_true(mz_cuda_small_model_describe(&small, of_fits.infer));
  assert_true(small.shared_bytes > (int)sizeof(float) * 3 * 96 * 96 && small.shared_bytes <= 227 << 10);
  assert_false(mz_cuda_small_model_describe(&small, of_larger.infer));
  assert_false(mz_cuda_small_model_describe(&small, of_board.infer));
}

static void models_of_several_sizes_at_once(void **) {
  const mz_search_settings settings = search_settings_of(MZ_GUMBEL, 4);
  const subject large = mlp_subject(4, MZ_TURNS_ALTERNATE, 96), other = mlp_subject(4, MZ_TURNS_ALTERNATE, 16);
  const positions p(large.spec, 5);
  device_search of_large(large, settings, 5, true);
  const findings before = of_large.run(p, 0, 5, 0);
  device_search of_other(other, settings, 5, true);
  (void)of_other.run(p, 0, 5, 0);
  expect_same(of_large.run(p, 0, 5, 0), 0, before, 0, 5);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(the_references_answers), cmocka_unit_test(independence),
                              cmocka_unit_test(models_of_several_sizes_at_once), cmocka_unit_test(which_models)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
