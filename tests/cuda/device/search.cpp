/* Searches over a network on a device: with the device's trees and with the CPU's, for who plans and for who reanalyzes. Those of small
 * models, which one kernel searches, are compared with the reference's. */
#include "tests/cuda/search/subject.h"
#include "tests/cuda/device/backend.h"
extern "C" {
#include "selfplay/reanalyze.h"
}

/* The device's network under trees of the CPU. */
static mz_backend host_trees(void) {
  mz_backend backend = *cuda_backend();
  backend.searcher = nullptr;
  return backend;
}

static mz_prepared *weights_of(const subject &s, const mz_lane *where) {
  mz_prepared *weights = nullptr;
  check(mz_prepared_create(&weights, &s.model, where, s.values.data()));
  return weights;
}

static findings search_over(const subject &s, const mz_backend *backend, const mz_search_settings &settings, const positions &p,
                            int slots) {
  const int n = (int)p.roots.size();
  findings found(n, s.spec.actions);
  mz_lane where = {};
  where.backend = backend;
  mz_network_search search;
  mz_prepared *weights = weights_of(s, &where);
  check(mz_network_search_init(&search, &s.spec, &settings, &s.model, &where, 0.97, slots));
  assert_true((search.device_search != nullptr) == (backend->searcher != nullptr) &&
              (search.search != nullptr) == (backend->searcher == nullptr));
  check(mz_network_search_run(&search, weights, n, p.roots.data(), 0, found.results.data()));
  mz_network_search_deinit(&search);
  mz_prepared_release(weights);
  return found;
}

static void expect_same_over(const subject &s, const mz_search_settings &settings, int roots, int slots) {
  const positions p(s.spec, roots);
  const mz_backend host = host_trees();
  expect_same(search_over(s, cuda_backend(), settings, p, slots), 0, search_over(s, &host, settings, p, slots), 0, (size_t)roots);
}

static void planning(void **) {
  expect_same_over(conv_subject(), search_settings_of(MZ_GUMBEL, 6), 9, 9);
  const subject wide = mlp_subject(4, MZ_TURNS_ALTERNATE, 256); /* more than a block's memory holds */
  expect_same_over(wide, search_settings_of(MZ_GUMBEL, 6), 9, 9);
  expect_same_over(wide, search_settings_of(MZ_PUCT, 6), 9, 4);
}

static void small_models(void **) {
  enum { ROOTS = 19 };
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    const subject s = mlp_subject(5, MZ_TURNS_ALTERNATE, 33, 2);
    const mz_search_settings settings = search_settings_of((mz_algorithm)algorithm, 12);
    const positions p(s.spec, ROOTS);
    const findings found = search_over(s, cuda_backend(), settings, p, ROOTS);
    expect_near(found, search_on_cpu(s, &mz_backend_ref, settings, p, 0));
    expect_same(search_over(s, cuda_backend(), settings, p, 3), 0, found, 0, ROOTS);
  }
}

/* More slots than are searched together: the last roots of thousands are what they are alone. */
static void thousands(void **) {
  enum { ROOTS = MZ_SEARCHER_SLOTS_MAX + 401, LAST = 17 };
  const subject s = mlp_subject(2, MZ_TURNS_ALONE, 8);
  const mz_search_settings settings = search_settings_of(MZ_PUCT, 3);
  const positions p(s.spec, ROOTS);
  positions last = p; /* its roots point into p */
  last.roots.erase(last.roots.begin(), last.roots.begin() + ROOTS - LAST);
  const findings all = search_over(s, cuda_backend(), settings, p, ROOTS + 99);
  expect_same(all, ROOTS - LAST, search_over(s, cuda_backend(), settings, last, LAST), 0, LAST);
}

static void reanalyzing(void **) {
  enum { ROWS = 11 };
  const subject s = conv_subject();
  positions p(s.spec, ROWS);
  const mz_backend backends[] = {*cuda_backend(), host_trees()};
  const mz_search_settings settings = search_settings_of(MZ_GUMBEL, 6);
  uint32_t keys[ROWS];
  float policies[2][ROWS * 10], values[2][ROWS], network_values[2][ROWS];
  for (uint32_t i = 0; i < ROWS; i++) keys[i] = 3 * i;
  for (int b = 0; b < 2; b++) {
    mz_lane where = {};
    where.backend = &backends[b];
    mz_reanalyze *r;
    mz_prepared *weights = weights_of(s, &where);
    check(mz_reanalyze_create(&r, &settings, &s.spec, &s.model, &where, 0.97, 4));
    check(mz_reanalyze_search(r, weights, 6, 40, ROWS, p.observations.data(), p.legal.data(), keys, policies[b], values[b]));
    check(mz_reanalyze_evaluate(r, weights, ROWS, p.observations.data(), network_values[b]));
    mz_reanalyze_free(r);
    mz_prepared_release(weights);
  }
  assert_memory_equal(policies[0], policies[1], sizeof policies[0]);
  assert_memory_equal(values[0], values[1], sizeof values[0]);
  assert_memory_equal(network_values[0], network_values[1], sizeof network_values[0]);
  assert_memory_not_equal(network_values[0], values[0], sizeof values[0]);
}

static void bounds_that_are_none(void **) {
  const subject s = mlp_subject(3, MZ_TURNS_ALONE);
  mz_search_settings settings = search_settings_of(MZ_PUCT, 4);
  mz_lane where = {};
  mz_network_search search;
  where.backend = cuda_backend();
  settings.q_transform = MZ_Q_MIN_MAX;
  settings.min_value = settings.max_value = 1;
  assert_int_equal(mz_network_search_init(&search, &s.spec, &settings, &s.model, &where, 0.97, 2), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "search.max_value: 1: must exceed search.min_value, which is 1");
}

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(bounds_that_are_none), cmocka_unit_test(planning), cmocka_unit_test(thousands),
                              cmocka_unit_test(small_models), cmocka_unit_test(reanalyzing)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
