/* A search asks this of the device: one synchronisation, one copy to it and one back, no memory, one launch for each
 * simulation, or for all of a small model's. */
#include "tests/cuda/search/device_search.cuh"
#include "twin.h"

enum { ROOTS = 5, SIMULATIONS = 9 };

static void counts_of_a_search(const subject &s, mz_algorithm algorithm, bool small) {
  const mz_search_settings settings = search_settings_of(algorithm, SIMULATIONS);
  const positions p(s.spec, ROOTS);
  device_search device(s, settings, 8, small);
  findings found(ROOTS, s.spec.actions);
  for (int search = 1; search <= 4; search++) {
    const int simulations = search == 4 ? SIMULATIONS / 2 : SIMULATIONS;
    twin_counters_reset();
    check(mz_infer_set_weights(device.net.infer, device.net.weights));
    check(mz_cuda_search_run(device.search, ROOTS, p.roots.data(), simulations, found.results.data()));
    const twin_counters c = twin_counters_get();
    assert_int_equal(c.synchronizations, 1);
    assert_int_equal(c.implicit_synchronizations, 0);
    assert_int_equal(c.copies_to_host, 1);
    if (search == 1) continue;
    assert_int_equal(c.copies_to_device, search == 4 && algorithm == MZ_GUMBEL ? 2 : 1); /* a schedule is sent once */
    assert_int_equal(c.device_allocations + c.host_allocations + c.frees, 0);
    assert_int_equal(c.graph_launches, 1 + (small ? 0 : simulations)); /* the initial inference is one */
    assert_int_equal(c.launches, small ? 5 : 4); /* observations, their latents, begin, answers; all simulations */
  }
}

static void passes(void **) {
  const subject s = mlp_subject(3, MZ_TURNS_ALONE);
  counts_of_a_search(s, MZ_PUCT, false);
  counts_of_a_search(s, MZ_GUMBEL, false);
  counts_of_a_search(conv_subject(), MZ_GUMBEL, false);
}

static void small_models(void **) {
  const subject s = mlp_subject(3, MZ_TURNS_ALONE);
  counts_of_a_search(s, MZ_PUCT, true);
  counts_of_a_search(s, MZ_GUMBEL, true);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(passes), cmocka_unit_test(small_models)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
