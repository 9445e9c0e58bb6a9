/* Bytes that are foretold of a search against those that the twin gives out, of the device's memory and pinned. */
#include "tests/cuda/search/device_search.cuh"
#include "selfplay/cuda/searcher.cuh"
#include "twin.h"
extern "C" {
#include "networks/tape/tape_state.h"
#include "selfplay/search/network_search.h"
}

enum { SLOTS = 1024, ROUNDING = 512 /* of each allocation */, SMALL = 4096 };

/* is_exact: nothing is planned that may need less than is foretold. */
static void expect_foretold(const subject &s, mz_algorithm algorithm, bool is_exact) {
  mz_backend backend = mz_backend_cuda;
  backend.searcher = &mz_cuda_searcher;
  mz_lane where = {};
  where.backend = &backend;
  const mz_search_settings settings = search_settings_of(algorithm, 6);
  const positions p(s.spec, SLOTS);
  findings found(SLOTS, s.spec.actions);
  mz_network_search search;
  mz_prepared *weights = nullptr;
  double on_lane, all;
  check(mz_prepared_create(&weights, &s.model, &where, s.values.data()));
  check(mz_network_search_lane_bytes(&s.spec, &settings, &s.model, &where, SLOTS, &on_lane));
  check(mz_network_search_bytes(&s.spec, &settings, &s.model, &where, SLOTS, &all));
  const size_t before = twin_bytes_of_device(0);
  twin_counters_reset();
  check(mz_network_search_init(&search, &s.spec, &settings, &s.model, &where, 0.97, SLOTS));
  for (int i = 0; i < 2; i++) check(mz_network_search_run(&search, weights, SLOTS, p.roots.data(), 0, found.results.data()));
  const double taken = (double)(twin_bytes_of_device(0) - before);
  const double foretold =
      on_lane - (double)mz_tape_host_bytes(search.infer->initial.tape) - (double)mz_tape_host_bytes(search.infer->recurrent.tape);
  assert_true(taken <= foretold + ROUNDING * (double)twin_counters_get().device_allocations);
  if (is_exact) assert_true(foretold <= taken + SMALL);
  /* Observations go from the host's copy, and policies come to it. */
  assert_true(all - on_lane > SLOTS * ((double)mz_spec_obs_bytes(&s.spec) + 3 * sizeof(float) * (double)s.spec.actions));
  const double pinned = mz_network_search_pinned(&s.spec, &settings, &s.model, &where, SLOTS);
  assert_true((double)twin_bytes_pinned() <= pinned + ROUNDING && pinned > all - on_lane);
  mz_network_search_deinit(&search);
  mz_prepared_release(weights);
}

/* A lane of before, with the memory that lanes keep. */
static int keep_a_lane(void **) {
  mz_lane where = {}, lane;
  where.backend = &mz_backend_cuda;
  check(mz_lane_open(&lane, &where));
  mz_lane_close(&lane);
  return 0;
}

static void vectors(void **) {
  expect_foretold(mlp_subject(4, MZ_TURNS_ALTERNATE), MZ_PUCT, true);
  expect_foretold(mlp_subject(4, MZ_TURNS_TOLD, 256), MZ_GUMBEL, true);
}

static void boards(void **) { expect_foretold(conv_subject(), MZ_GUMBEL, false); }

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(boards)};
  return cmocka_run_group_tests(tests, keep_a_lane, nullptr);
}
