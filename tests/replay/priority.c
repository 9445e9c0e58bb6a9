/* The sum tree against a plain array. */
#include "replay/batches/priority.h"
#include "tests/replay/fixtures.h"

static const int64_t sizes[] = {1, 2, 15, 16, 17, 255, 256, 257, 4095, 4097, 70000};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Mostly ordinary, some zero, some as large as can be. */
static uint32_t some_priority(mz_rng *rng) {
  uint32_t kind = mz_rng_below(rng, 8);
  return kind == 0 ? 0 : kind == 1 ? UINT32_C(1) << 31 : 1 + mz_rng_below(rng, 1u << 20);
}

static int64_t scan(const mz_priority_tree *tree, uint64_t point) {
  int64_t leaf = 0;
  for (; point >= mz_priority_tree_get(tree, leaf); leaf++) point -= mz_priority_tree_get(tree, leaf);
  return leaf;
}

static void find_agrees_with_a_linear_scan(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int s = 0; s < SIZES; s++) {
    mz_priority_tree *tree;
    ASSERT_OK(mz_priority_tree_create(&tree, sizes[s]));
    uint64_t total = 0;
    for (int64_t i = 0; i < sizes[s]; i++) {
      uint32_t priority = i == 0 ? 1 : some_priority(&rng);
      mz_priority_tree_set(tree, i, priority);
      total += priority;
    }
    assert_int_equal(mz_priority_tree_total(tree), total);
    uint64_t points[100] = {0, total - 1};
    int64_t leaves[100];
    for (int i = 2; i < 100; i++) points[i] = mz_rng_u64(&rng) % total;
    mz_priority_tree_find(tree, 100, points, leaves);
    for (int i = 0; i < 100; i++) assert_int_equal(leaves[i], scan(tree, points[i]));
    mz_priority_tree_free(tree);
  }
}

static void an_updated_tree_equals_a_rebuilt_one(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int s = 0; s < SIZES; s++) {
    mz_priority_tree *updated, *rebuilt;
    ASSERT_OK(mz_priority_tree_create(&updated, sizes[s]));
    ASSERT_OK(mz_priority_tree_create(&rebuilt, sizes[s]));
    for (int64_t i = 0; i < 3 * sizes[s]; i++)
      mz_priority_tree_set(updated, (int64_t)(mz_rng_u64(&rng) % (uint64_t)sizes[s]), some_priority(&rng));
    mz_priority_tree_set(updated, sizes[s] - 1, 77);
    for (int64_t i = sizes[s] - 1; i >= 0; i--) mz_priority_tree_set(rebuilt, i, mz_priority_tree_get(updated, i));
    uint64_t total = mz_priority_tree_total(updated);
    assert_int_equal(mz_priority_tree_total(rebuilt), total);
    assert_memory_equal(mz_priority_tree_leaves(rebuilt), mz_priority_tree_leaves(updated), (size_t)sizes[s] * sizeof(uint32_t));
    for (int i = 0; i < 1000; i++) {
      uint64_t point = mz_rng_u64(&rng) % total;
      int64_t a, b;
      mz_priority_tree_find(updated, 1, &point, &a);
      mz_priority_tree_find(rebuilt, 1, &point, &b);
      assert_int_equal(a, b);
      assert_true(mz_priority_tree_get(updated, a) > 0);
    }
    mz_priority_tree_free(updated);
    mz_priority_tree_free(rebuilt);
  }
}

/* Pearson's statistic over 50 leaves stays under its 99.99th percentile; a draw that ignored priorities gives thousands. */
static void draws_follow_the_priorities(void **state) {
  (void)state;
  enum { LEAVES = 50, DRAWS = 100000 };
  mz_priority_tree *tree;
  ASSERT_OK(mz_priority_tree_create(&tree, LEAVES));
  for (int i = 0; i < LEAVES; i++) mz_priority_tree_set(tree, i, (uint32_t)(1 + i * i));
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  static uint64_t points[DRAWS];
  static int64_t leaves[DRAWS];
  uint64_t total = mz_priority_tree_total(tree);
  for (int i = 0; i < DRAWS; i++) points[i] = (uint64_t)(mz_rng_f64(&rng) * (double)total);
  mz_priority_tree_find(tree, DRAWS, points, leaves);
  int count[LEAVES] = {0};
  for (int i = 0; i < DRAWS; i++) count[leaves[i]]++;
  double statistic = 0;
  for (int i = 0; i < LEAVES; i++) {
    double expected = (double)DRAWS * mz_priority_tree_get(tree, i) / (double)total;
    statistic += (count[i] - expected) * (count[i] - expected) / expected;
  }
  assert_true(statistic < 95);
  mz_priority_tree_free(tree);
}

static void errors_become_fixed_point_priorities(void **state) {
  (void)state;
  assert_int_equal(mz_priority_from_error(0, 0), 65536);
  assert_int_equal(mz_priority_from_error(-1e9f, 0), 65536);
  assert_int_equal(mz_priority_from_error(1, 1), 65536);
  assert_int_equal(mz_priority_from_error(-2, 1), 131072);
  assert_int_equal(mz_priority_from_error(4, 0.5), 131072);
  assert_int_equal(mz_priority_from_error(0, 1), 1); /* 0.07 units: still drawn */
  assert_int_equal(mz_priority_from_error(1e30f, 1), UINT32_C(1) << 31);
  assert_int_equal(mz_priority_from_error(NAN, 1), UINT32_C(1) << 31);
  assert_true(mz_priority_from_error(0.1f, 0.6) < mz_priority_from_error(0.2f, 0.6));
}

static void memory_that_runs_out_is_an_error(void **state) {
  (void)state;
  for (long n = 1; n <= 2; n++) {
    mz_priority_tree *tree;
    mz_alloc_fail_after(n);
    assert_int_equal(mz_priority_tree_create(&tree, 1000), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(find_agrees_with_a_linear_scan),   cmocka_unit_test(an_updated_tree_equals_a_rebuilt_one),
      cmocka_unit_test(draws_follow_the_priorities),      cmocka_unit_test(errors_become_fixed_point_priorities),
      cmocka_unit_test(memory_that_runs_out_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
