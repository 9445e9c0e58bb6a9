/* Comparisons without running anything: arms from text, cells as numbers, and what may be claimed from planted cells. */
#include "muzero/compare/arm.h"
#include "base/maths/rng.h"
#include "muzero/compare/series.h"
#include "muzero/compare/summary.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static mz_arm arms[MZ_ARMS_MAX + 1];
static int count;

static void test_arms(void **state) {
  (void)state;
  assert_int_equal(
      mz_arms_parse("default,rule,fixed:cpu_actor=2,mcts_storage_size=16,demand,greedy:learning_rate=0.1", 2, arms, &count),
      MZ_OK);
  assert_int_equal(count, 5);
  assert_string_equal(arms[2].name, "fixed:cpu_actor=2,mcts_storage_size=16");
  assert_string_equal(arms[2].sets[arms[2].set_count - 1], "mcts_storage_size=16");
  assert_string_equal(arms[0].strategy, "fixed");
  assert_string_equal(arms[0].sets[0], "allocate.start=plain");
  assert_string_equal(arms[1].sets[0], "allocate.start=auto");
  assert_string_equal(arms[3].strategy, "demand");
  assert_true(arms[3].exact && arms[3].adapts && !arms[2].adapts);
  assert_false(arms[4].exact); /* another learning rate learns something else */
  assert_int_equal(mz_arms_parse("rule,oversubscribed", 4, arms, &count), MZ_OK);
  bool eight = false;
  for (int i = 0; i < arms[1].set_count; i++) eight |= strcmp(arms[1].sets[i], "cpu_actor=8") == 0;
  assert_true(eight);
}

static void refused(const char *text, const char *says) {
  assert_int_equal(mz_arms_parse(text, 2, arms, &count), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
}

static void test_arms_refused(void **state) {
  (void)state;
  refused("rule,demnad", "demand");
  refused("rule,defualt", "default");
  refused("rule,qwertz",
          "there is no arm 'qwertz'; there are default, oversubscribed, rule, fixed:k=v,…, random, demand, greedy");
  refused("rule,fixed:cpu_acter=2", "cpu_actor");
  refused("cpu_actor=2,rule", "fixed:cpu_actor=2");
  refused("rule,rule", "twice");
  refused("rule", "two arms");
  refused("rule,,demand", "empty");
}

/* Cells of seeds × blocks in which arm a takes seconds[a] a block with 3 % of noise; the last arm is the first one's twin. */
static cJSON *planted(const double *seconds, int arm_count, int seeds, int blocks, bool drift) {
  cJSON *all = cJSON_CreateArray();
  for (int s = 0; s < seeds; s++) {
    cJSON *seed = cJSON_CreateObject(), *cells;
    cJSON_AddNumberToObject(seed, "seed", s + 1);
    cells = cJSON_AddArrayToObject(seed, "cells");
    for (int a = 0; a < arm_count; a++) {
      cJSON *cell = cJSON_CreateObject(), *list;
      cJSON_AddStringToObject(cell, "arm", arms[a].name);
      cJSON_AddStringToObject(cell, "run", "nowhere");
      cJSON_AddNullToObject(cell, "crashed");
      list = cJSON_AddArrayToObject(cell, "blocks");
      for (int b = 0; b < blocks; b++) {
        mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, (uint32_t)(s * 1000 + b), (uint64_t)a);
        cJSON *block = cJSON_CreateObject();
        double wall = seconds[a] * (drift ? 1 + b : 1) * exp(0.03 * mz_rng_normal(&rng));
        cJSON_AddNumberToObject(block, "rounds", 10 * (b + 1));
        cJSON_AddNumberToObject(block, "wall_s", wall);
        cJSON_AddNumberToObject(block, "cpu_s", 1.5 * wall);
        cJSON_AddNumberToObject(block, "reserved_core_s", 2 * wall);
        cJSON_AddNumberToObject(block, "gib_s", 0.1 * wall);
        cJSON_AddNumberToObject(block, "cost", 0.01 * wall);
        cJSON_AddNumberToObject(block, "score", b == blocks - 1 ? 1 : 0.5);
        mz_json_add_u64_hex(block, "digest", (uint64_t)(s * 1000 + b));
        cJSON_AddNumberToObject(block, "changes", arms[a].adapts && b == 1);
        cJSON_AddStringToObject(block, "reason", b == blocks - 1 ? "score" : "");
        cJSON_AddItemToArray(list, block);
      }
      cJSON_AddItemToArray(cells, cell);
    }
    cJSON_AddItemToArray(all, seed);
  }
  return all;
}

static void parse_with_twin(const char *text) {
  assert_int_equal(mz_arms_parse(text, 2, arms, &count), MZ_OK);
  arms[count] = arms[0];
  snprintf(arms[count++].name, sizeof arms[0].name, "A/A");
}

static cJSON *summarise(cJSON *seeds) {
  cJSON *plan = cJSON_Parse("{\"format\":1,\"env\":\"x\"}"), *summary;
  assert_int_equal(mz_compare_summarise(plan, seeds, arms, count, &summary), MZ_OK);
  cJSON_Delete(plan);
  cJSON_Delete(seeds);
  return summary;
}

static const cJSON *ratio(const cJSON *summary, const char *a, const char *b, const char *metric) {
  const cJSON *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItem(summary, "ratios")) {
    if (strcmp(cJSON_GetObjectItem(row, "a")->valuestring, a) == 0 &&
        strcmp(cJSON_GetObjectItem(row, "b")->valuestring, b) == 0 &&
        strcmp(cJSON_GetObjectItem(row, "metric")->valuestring, metric) == 0)
      return row;
  }
  fail_msg("no ratio %s / %s of %s", a, b, metric);
  return NULL;
}
static double ratio_of(const cJSON *row) { return cJSON_GetObjectItem(row, "ratio")->valuedouble; }
static bool claimed(const cJSON *row) { return cJSON_IsString(cJSON_GetObjectItem(row, "claim")); }

static void test_many_arms_have_all_their_ratios(void **state) {
  (void)state;
  enum { ARMS = 15 };
  char text[ARMS * 32] = "greedy";
  double seconds[ARMS + 1];
  for (int i = 1; i < ARMS; i++) {
    const size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, ",greedy:allocate.window=%d", i);
  }
  parse_with_twin(text);
  for (int i = 0; i <= ARMS; i++) seconds[i] = 1 + i;
  cJSON *summary = summarise(planted(seconds, count, 1, 2, false));
  for (int a = 1; a < ARMS; a++)
    for (int b = 0; b < a; b++) ratio(summary, arms[a].name, arms[b].name, "cost");
  cJSON_Delete(summary);
}

static void test_claims(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double seconds[] = {1, 1.5, 1, 1};
  cJSON *summary = summarise(planted(seconds, count, 3, 12, true));
  const cJSON *faster = ratio(summary, "greedy", "default", "wall_s"), *same = ratio(summary, "greedy", "rule", "wall_s");
  assert_true(fabs(ratio_of(faster) - 1 / 1.5) < 0.02);
  assert_true(claimed(faster));
  assert_true(claimed(ratio(summary, "greedy", "default", "block_s")));
  assert_true(claimed(ratio(summary, "greedy", "default", "wall_settled_s")));
  assert_false(claimed(same));
  assert_int_equal(cJSON_GetObjectItem(faster, "n")->valueint, 36);
  assert_int_equal(cJSON_GetObjectItem(ratio(summary, "greedy", "default", "wall_settled_s"), "n")->valueint, 18);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(summary, "same_digest")));
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(summary, "arms")), 3); /* the twin is no arm */
  cJSON_Delete(summary);
}

static void test_too_little_for_a_claim(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double seconds[] = {1, 1.5, 1, 1};
  cJSON *summary = summarise(planted(seconds, count, 1, 13, false));
  assert_false(claimed(ratio(summary, "greedy", "default", "wall_s"))); /* 13 blocks; 14 are asked for */
  cJSON_Delete(summary);
  summary = summarise(planted(seconds, count, 1, 1, false)); /* one block says nothing of the noise */
  const cJSON *noise = cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "sentences"), 1);
  assert_non_null(strstr(noise->valuestring, "how much two runs alike differ is not known"));
  cJSON_Delete(summary);
  /* Arms that learn differently are paired by seed: nine are too few, ten do. */
  parse_with_twin("rule,greedy:learning_rate=0.1");
  const double two[] = {1.5, 1, 1.5};
  for (int seeds = 9; seeds <= 10; seeds++) {
    summary = summarise(planted(two, count, seeds, 4, false));
    const cJSON *row = ratio(summary, arms[1].name, "rule", "wall_s");
    assert_int_equal(cJSON_GetObjectItem(row, "n")->valueint, seeds);
    assert_int_equal(claimed(row), seeds == 10);
    cJSON_Delete(summary);
  }
}

/* Runs that learn otherwise have blocks of their own number: each is halved for itself. */
static void test_second_halves_are_each_arms_own(void **state) {
  (void)state;
  parse_with_twin("rule,greedy:learning_rate=0.1");
  const double two[] = {1, 1, 1};
  cJSON *all = planted(two, count, 4, 30, false), *seed, *block;
  cJSON_ArrayForEach(seed, all) {
    cJSON *greedy = cJSON_GetArrayItem(cJSON_GetObjectItem(seed, "cells"), 1);
    for (int b = 0; b < 20; b++) cJSON_DeleteItemFromArray(cJSON_GetObjectItem(greedy, "blocks"), 10);
    cJSON_ArrayForEach(block, cJSON_GetObjectItem(greedy, "blocks"))
        cJSON_SetNumberValue(cJSON_GetObjectItem(block, "wall_s"), 1);
  }
  cJSON *summary = summarise(all);
  assert_float_equal(ratio_of(ratio(summary, arms[1].name, "rule", "wall_settled_s")), 1.0 / 3, 0.01); /* 5 blocks, 15 */
  cJSON_Delete(summary);
}

/* A twin that differs from its arm by 20 % forbids a claim of 10 %. */
static void test_noise_forbids(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double quiet[] = {1, 1.1, 1, 1}, noisy[] = {1, 1.1, 1, 1.2};
  cJSON *summary = summarise(planted(quiet, count, 3, 12, false));
  assert_true(claimed(ratio(summary, "greedy", "default", "wall_s")));
  cJSON_Delete(summary);
  summary = summarise(planted(noisy, count, 3, 12, false));
  assert_false(claimed(ratio(summary, "greedy", "default", "wall_s")));
  cJSON_Delete(summary);
}

/* Blocks that hold ever more work make those before the plan settled the cheaper ones: no time was gained by tuning. */
static void test_tuning_is_never_negative(void **state) {
  (void)state;
  parse_with_twin("rule,greedy");
  const double seconds[] = {1, 1, 1};
  cJSON *summary = summarise(planted(seconds, count, 2, 12, true));
  const cJSON *greedy = cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "arms"), 1), *cell;
  assert_true(cJSON_GetObjectItem(greedy, "tuning_s")->valuedouble == 0);
  cJSON_ArrayForEach(cell, cJSON_GetObjectItem(greedy, "by_seed"))
      assert_true(cJSON_GetObjectItem(cell, "tuning_s")->valuedouble == 0);
  cJSON_Delete(summary);
}

/* Every ratio says what is claimed, or why nothing is. */
static void test_why_nothing_is_claimed(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double seconds[] = {1, 1.5, 1, 1};
  cJSON *summary = summarise(planted(seconds, count, 1, 13, false));
  const cJSON *few = ratio(summary, "greedy", "default", "core_reserved_s"), *same = ratio(summary, "greedy", "rule", "wall_s"),
              *row;
  assert_string_equal(cJSON_GetObjectItem(few, "unclaimed")->valuestring, "13 paired blocks are too few: a claim needs 14");
  assert_string_equal(cJSON_GetObjectItem(same, "unclaimed")->valuestring, "the interval holds 1");
  cJSON_ArrayForEach(row, cJSON_GetObjectItem(summary, "ratios"))
      assert_int_equal(claimed(row), cJSON_IsNull(cJSON_GetObjectItem(row, "unclaimed")));
  cJSON_Delete(summary);
}

static void test_digests_that_differ(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double seconds[] = {1, 1, 1, 1};
  cJSON *seeds = planted(seconds, count, 2, 5, false);
  cJSON *cell = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(seeds, 1), "cells"), 2);
  cJSON *block = cJSON_GetArrayItem(cJSON_GetObjectItem(cell, "blocks"), 3);
  cJSON_DeleteItemFromObject(block, "digest");
  mz_json_add_u64_hex(block, "digest", 99);
  mz_series series;
  int at;
  assert_int_equal(mz_series_read(&series, seeds, count), MZ_OK);
  assert_int_equal(mz_series_differ(&series, arms, &at), 1);
  assert_int_equal(at, 3);
  mz_series_free(&series);
  cJSON *summary = summarise(seeds);
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(summary, "same_digest")));
  cJSON_Delete(summary);
}

/* An arm that crashed or missed the target is shown, and nothing is claimed in its favour. */
static void test_censored_and_crashed(void **state) {
  (void)state;
  parse_with_twin("rule,default,greedy");
  const double seconds[] = {1, 1.5, 1, 1};
  cJSON *seeds = planted(seconds, count, 3, 12, false);
  cJSON *greedy = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(seeds, 0), "cells"), 2);
  cJSON *last = cJSON_GetArrayItem(cJSON_GetObjectItem(greedy, "blocks"), 11);
  cJSON_ReplaceItemInObject(last, "reason", cJSON_CreateString("rounds"));
  cJSON *rule = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(seeds, 1), "cells"), 0);
  cJSON_ReplaceItemInObject(rule, "crashed", cJSON_CreateString("killed by signal 11"));
  cJSON *summary = summarise(seeds);
  const cJSON *row = ratio(summary, "greedy", "default", "wall_s");
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(row, "censored")));
  assert_false(claimed(row));
  const cJSON *arm = cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "arms"), 0);
  assert_string_equal(cJSON_GetObjectItem(arm, "crashed")->valuestring, "killed by signal 11");
  assert_int_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "arms"), 2), "reached")->valueint, 2);
  cJSON_Delete(summary);
}

static void test_damaged_cells(void **state) {
  (void)state;
  parse_with_twin("rule,default");
  const double seconds[] = {1, 1, 1};
  static const char *const needed[] = {"wall_s", "cpu_s", "reserved_core_s", "gib_s", "cost", "rounds", "changes", "digest"};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
    cJSON *seeds = planted(seconds, count, 1, 3, false);
    cJSON *cell = cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetArrayItem(seeds, 0), "cells"), 1);
    cJSON_DeleteItemFromObject(cJSON_GetArrayItem(cJSON_GetObjectItem(cell, "blocks"), 1), needed[i]);
    mz_series series;
    assert_int_equal(mz_series_read(&series, seeds, count), MZ_E_CHECKPOINT);
    assert_non_null(strstr(mz_message(), needed[i]));
    cJSON_Delete(seeds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arms),
      cmocka_unit_test(test_arms_refused),
      cmocka_unit_test(test_many_arms_have_all_their_ratios),
      cmocka_unit_test(test_claims),
      cmocka_unit_test(test_too_little_for_a_claim),
      cmocka_unit_test(test_second_halves_are_each_arms_own),
      cmocka_unit_test(test_noise_forbids),
      cmocka_unit_test(test_tuning_is_never_negative),
      cmocka_unit_test(test_why_nothing_is_claimed),
      cmocka_unit_test(test_digests_that_differ),
      cmocka_unit_test(test_censored_and_crashed),
      cmocka_unit_test(test_damaged_cells),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
