/* The best ratio against a search of the goodput itself, the reuse against curves that are made up, steps, and the ledger's line. */
#include "allocator/goodput/goodput.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double goodput(double ratio, double cost_ratio, double reuse) { return (1 - exp(-ratio / reuse)) / (cost_ratio + ratio); }

static void the_best_ratio_has_the_highest_goodput(void **state) {
  (void)state;
  for (double reuse = 0.25; reuse <= 16; reuse *= 2)
    for (double cost = 0.1; cost <= 100; cost *= 3) {
      const double best = mz_goodput_best_ratio(cost, reuse), most = goodput(best, cost, reuse);
      assert_true(best > 0);
      for (double other = best / 64; other < best * 64; other *= 1.05)
        assert_true(goodput(other, cost, reuse) <= most * (1 + 1e-9));
    }
}

/* Groups as a ratio of 16 fills them, L = floor + height · e^(−p / reuse). */
static mz_goodput_evidence curve(double floor_, double height, double reuse) {
  static const double passes[MZ_GOODPUT_GROUPS] = {0, 0.15, 0.37, 0.73, 1.5, 2.9, 5.8, 11.5, 20};
  mz_goodput_evidence e = {.fresh = 4096, .trained = 4096 * 3, .fresh_s = 0.1, .trained_s = 0.3};
  for (int g = 0; g < MZ_GOODPUT_GROUPS; g++) {
    e.rows[g] = 500;
    e.passes[g] = 500 * passes[g];
    e.loss[g] = 500 * (floor_ + height * exp(-passes[g] / reuse));
  }
  return e;
}

static void clear_curves_tell_the_reuse(void **state) {
  (void)state;
  static const double reuses[] = {0.5, 1, 2, 4, 8};
  for (int i = 0; i < 5; i++) {
    const mz_goodput_evidence e = curve(2, 4, reuses[i]);
    assert_true(fabs(log2(mz_goodput_reuse(&e) / reuses[i])) < 0.25);
  }
}

static void what_tells_nothing_leaves_the_prior(void **state) {
  (void)state;
  const mz_goodput_evidence flat = curve(2, 0, 1), rising = curve(6, -4, 1);
  assert_true(fabs(mz_goodput_reuse(&flat) - 3) < 1e-9);
  assert_true(fabs(mz_goodput_reuse(&rising) - 3) < 1e-9);
  mz_goodput_evidence few = curve(2, 4, 0.5);
  for (int g = 3; g < MZ_GOODPUT_GROUPS; g++) few.rows[g] = 31;
  assert_true(fabs(mz_goodput_reuse(&few) - 3) < 1e-9);
  /* The same curve under a zigzag says less. */
  mz_goodput_evidence clear = curve(2, 4, 0.5), noisy = clear;
  for (int g = 0; g < MZ_GOODPUT_GROUPS; g++) noisy.loss[g] += g % 2 ? 500 : -500;
  assert_true(mz_goodput_reuse(&noisy) > mz_goodput_reuse(&clear) * 1.2);
  assert_true(mz_goodput_reuse(&noisy) < 3);
}

/* A flat curve at a cost of 1 has its best ratio at about 2.2. */
static mz_goodput_evidence at_ratio(double ratio) {
  mz_goodput_evidence e = curve(2, 0, 1);
  e.trained = e.fresh * ratio;
  e.fresh_s = e.fresh * 1e-5;
  e.trained_s = e.trained * 1e-5;
  return e;
}

static int judge(mz_goodput *memory, double ratio) {
  const mz_goodput_evidence e = at_ratio(ratio);
  mz_goodput_verdict v;
  mz_goodput_judge(memory, &e, &v);
  assert_true(fabs(v.ratio - ratio) < 1e-9);
  return v.step;
}

static void a_step_is_confirmed_and_then_rests(void **state) {
  (void)state;
  mz_goodput m = {0};
  assert_int_equal(judge(&m, 12), 0);
  assert_int_equal(judge(&m, 12), -1);
  assert_int_equal(judge(&m, 6), 0);
  assert_int_equal(judge(&m, 6), -1);
  for (int i = 0; i < 4; i++) assert_int_equal(judge(&m, 3), 0); /* less than 0.6 doublings off */
  assert_int_equal(judge(&m, 0.5), 0);
  assert_int_equal(judge(&m, 12), 0); /* the other way: nothing is confirmed */
  assert_int_equal(judge(&m, 0.5), 0);
  assert_int_equal(judge(&m, 0.5), 1);
  mz_goodput_evidence unknown = at_ratio(12);
  unknown.trained_s = unknown.fresh_s = 0;
  mz_goodput_verdict v;
  mz_goodput_judge(&m, &unknown, &v);
  assert_int_equal(v.step, 0);
  assert_non_null(strstr(v.reason, "costs are not known"));
}

/* From any ratio it walks to the best one and stays: a step never leads past it and back. */
static void it_comes_to_rest_near_the_best_ratio(void **state) {
  (void)state;
  for (double from = 0.01; from < 200; from *= 1.3) {
    mz_goodput m = {0};
    double ratio = from;
    int last = 0;
    for (int i = 0; i < 60; i++) {
      const int step = judge(&m, ratio);
      assert_true(step * last >= 0);
      if (step) last = step;
      ratio *= step > 0 ? 2 : step < 0 ? 0.5 : 1;
    }
    assert_true(fabs(log2(ratio / mz_goodput_best_ratio(1, 3))) <= 0.6);
  }
}

static void a_line_replays_by_itself(void **state) {
  (void)state;
  mz_goodput_record r = {.phase = 3,
                         .round = 31,
                         .training = 12,
                         .next = 6,
                         .before = {.direction = -1},
                         .evidence = at_ratio(12)},
                    back;
  mz_goodput memory = r.before;
  mz_goodput_verdict verdict;
  mz_goodput_judge(&memory, &r.evidence, &verdict);
  assert_int_equal(verdict.step, -1);
  cJSON *json = mz_goodput_to_json(&r, &verdict), *parsed;
  char *line = mz_json_line(json);
  assert_int_equal(mz_json_parse(line, strlen(line), "line", false, MZ_E_CHECKPOINT, &parsed), MZ_OK);
  assert_int_equal(mz_goodput_from_json(&back, parsed, "line", MZ_E_CHECKPOINT), MZ_OK);
  memory = back.before;
  mz_goodput_judge(&memory, &back.evidence, &verdict);
  cJSON *again = mz_goodput_to_json(&back, &verdict);
  char *same = mz_json_line(again);
  assert_string_equal(line, same);
  cJSON_DeleteItemFromObject(parsed, "passes");
  assert_int_equal(mz_goodput_from_json(&back, parsed, "line", MZ_E_CHECKPOINT), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "passes"));
  cJSON_Delete(json);
  cJSON_Delete(parsed);
  cJSON_Delete(again);
  free(line);
  free(same);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_ratio_has_the_highest_goodput), cmocka_unit_test(clear_curves_tell_the_reuse),
      cmocka_unit_test(what_tells_nothing_leaves_the_prior),    cmocka_unit_test(a_step_is_confirmed_and_then_rests),
      cmocka_unit_test(it_comes_to_rest_near_the_best_ratio),   cmocka_unit_test(a_line_replays_by_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
