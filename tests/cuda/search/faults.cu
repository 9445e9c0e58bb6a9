/* A call of CUDA's or its libraries' that fails makes the search fail, or changes nothing where it only frees; and nothing leaks (the twin
 * looks for leaks as the program ends). */
#include "tests/cuda/search/device_search.cuh"
#include "selfplay/cuda/searcher.cuh"
#include "twin.h"
extern "C" {
#include "selfplay/search/network_search.h"
}

enum { ROOTS = 3, SIMULATIONS = 3, SEARCHES = 2 };

/* Searches from the opening of a lane to its closing. is_over: the call that shall fail is still to come after the last search. */
static mz_status search_once(const subject &s, const mz_backend *backend, const positions &p, findings *found, bool *is_over) {
  const mz_search_settings settings = search_settings_of(MZ_GUMBEL, SIMULATIONS);
  mz_lane where = {};
  where.backend = backend;
  mz_prepared *weights = nullptr;
  mz_network_search search = {};
  mz_status status = mz_prepared_create(&weights, &s.model, &where, s.values.data());
  if (status == MZ_OK) status = mz_network_search_init(&search, &s.spec, &settings, &s.model, &where, 0.97, 4);
  for (int i = 0; i < SEARCHES && status == MZ_OK; i++)
    status = mz_network_search_run(&search, weights, ROOTS, p.roots.data(), 0, found->results.data());
  *is_over = twin_fail_pending() != 0;
  mz_network_search_deinit(&search);
  mz_prepared_release(weights);
  return status;
}

static mz_backend backend_with_searcher() {
  mz_backend backend = mz_backend_cuda;
  backend.searcher = &mz_cuda_searcher;
  return backend;
}

static void every_call_fails_once(const subject &s) {
  const positions p(s.spec, ROOTS);
  const mz_backend backend = backend_with_searcher();
  bool is_over;
  findings wanted(ROOTS, s.spec.actions);
  check(search_once(s, &backend, p, &wanted, &is_over));
  int calls = 0, reported = 0;
  for (is_over = false; !is_over; calls++) {
    findings found(ROOTS, s.spec.actions);
    twin_fail_after(calls + 1);
    const mz_status status = search_once(s, &backend, p, &found, &is_over);
    twin_fail_after(0);
    assert_true(status == MZ_OK || status == MZ_E_DEVICE);
    if (status == MZ_OK)
      expect_same(found, 0, wanted, 0, ROOTS);
    else
      reported++;
  }
  assert_true(reported > 80 && reported > calls / 2);
}

static void every_call_of_passes(void **) { every_call_fails_once(mlp_subject(3, MZ_TURNS_ALTERNATE, 256)); }
static void every_call_of_a_small_model(void **) { every_call_fails_once(mlp_subject(3, MZ_TURNS_ALTERNATE)); }

static void every_allocation_of_the_host_fails_once(void **) {
  const subject s = mlp_subject(3, MZ_TURNS_ALTERNATE);
  const positions p(s.spec, ROOTS);
  const mz_backend backend = backend_with_searcher();
  findings found(ROOTS, s.spec.actions);
  bool is_over;
  int failures = 0;
  for (mz_status status = MZ_E_MEMORY; status != MZ_OK; failures++) {
    mz_alloc_fail_after(failures + 1);
    status = search_once(s, &backend, p, &found, &is_over);
    mz_alloc_fail_after(0);
    assert_true(status == MZ_OK || status == MZ_E_MEMORY);
  }
  assert_true(failures > 20);
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(every_call_of_passes), cmocka_unit_test(every_call_of_a_small_model),
                              cmocka_unit_test(every_allocation_of_the_host_fails_once)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
