/* Room and what was captured of it, of comparisons that are made up. */
#include "muzero/compare/room.h"
#include "muzero/compare/segments.h"
#include "tests/muzero/testing.h"
#include <math.h>

enum { ARMS = 4, SEEDS = 3, BLOCKS = 20, CHANGES_AT = 11 };

/* Two fixed plans, an adaptive arm, the first one's twin. */
static mz_arm arms[ARMS] = {{.name = "a", .exact = true},
                            {.name = "b", .exact = true},
                            {.name = "adaptive", .exact = true, .adapts = true},
                            {.name = "A/A", .exact = true}};

static cJSON *block_of(double seconds) {
  static const char *const keys[] = {"cpu_s", "reserved_core_s", "gib_s", "cost", "rounds"};
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "wall_s", seconds);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) cJSON_AddNumberToObject(o, keys[i], 1);
  cJSON_AddNumberToObject(o, "changes", 1);
  cJSON_AddNumberToObject(o, "reverts", 0);
  cJSON_AddNumberToObject(o, "rss_bytes", 1000);
  cJSON_AddStringToObject(o, "digest", "0000000000000001");
  return o;
}

/* seconds[arm][segment]: of a block, with a little that differs from block to block, alike for every arm. */
static cJSON *cells_of(const double seconds[ARMS][2]) {
  cJSON *seeds = cJSON_CreateArray();
  for (int s = 0; s < SEEDS; s++) {
    cJSON *seed = cJSON_CreateObject(), *cells = cJSON_AddArrayToObject(seed, "cells");
    for (int a = 0; a < ARMS; a++) {
      cJSON *cell = cJSON_CreateObject(), *blocks = cJSON_AddArrayToObject(cell, "blocks");
      for (int b = 1; b <= BLOCKS; b++)
        cJSON_AddItemToArray(blocks, block_of(seconds[a][b >= CHANGES_AT] * (1 + 0.01 * ((b * 7 + s) % 5))));
      cJSON_AddItemToArray(cells, cell);
    }
    cJSON_AddItemToArray(seeds, seed);
  }
  return seeds;
}

static cJSON *summary_of(const double seconds[ARMS][2], double noise) {
  mz_scenario scenario;
  mz_series series;
  cJSON *seeds = cells_of(seconds), *summary = cJSON_CreateObject();
  cJSON *aa = cJSON_AddObjectToObject(summary, "noise");
  cJSON_AddItemToObject(aa, "ci95", cJSON_CreateDoubleArray((const double[]){1 - noise, 1 + noise}, 2));
  expect_ok(mz_scenario_parse(&scenario, "cores=1@11-", 2));
  expect_ok(mz_series_read(&series, seeds, ARMS));
  expect_ok(mz_compare_segments(&scenario, &series, arms, seeds, summary));
  expect_ok(mz_compare_room(&scenario, &series, arms, summary));
  mz_series_free(&series);
  cJSON_Delete(seeds);
  return summary;
}

static const cJSON *room_of(const cJSON *summary) { return cJSON_GetObjectItem(summary, "room"); }

static void half_of_what_there_is(void **state) {
  (void)state;
  cJSON *summary = summary_of((const double[ARMS][2]){{10, 15}, {12, 10}, {11, 10}, {10, 15}}, 0.03);
  const cJSON *room = room_of(summary), *captured = cJSON_GetObjectItem(room, "captured");
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(room, "none")));
  assert_true(fabs(mz_json_number_or_nan(room, "room") - 2.0 / 22) < 1e-9); /* b is the best fixed plan; a is better at first */
  assert_int_equal(cJSON_GetArraySize(captured), 1);
  assert_string_equal(mz_json_text_or_empty(captured->child, "arm"), "adaptive");
  assert_true(fabs(mz_json_number_or_nan(captured->child, "share") - 0.5) < 1e-9);
  const cJSON *ends = cJSON_GetObjectItem(captured->child, "ci95");
  assert_true(ends->child->valuedouble > 0.4 && ends->child->next->valuedouble < 0.6);
  cJSON_Delete(summary);
}

static void what_adapting_costs_is_negative(void **state) {
  (void)state;
  cJSON *summary = summary_of((const double[ARMS][2]){{10, 15}, {12, 10}, {13, 11}, {10, 15}}, 0.03);
  assert_true(fabs(mz_json_number_or_nan(cJSON_GetObjectItem(room_of(summary), "captured")->child, "share") + 1) < 1e-9);
  cJSON_Delete(summary);
}

static void less_than_the_noise_is_no_room(void **state) {
  (void)state;
  cJSON *summary = summary_of((const double[ARMS][2]){{10, 15}, {12, 10}, {11, 10}, {10, 15}}, 0.1);
  const cJSON *room = room_of(summary);
  assert_non_null(strstr(mz_json_text_or_empty(room, "none"), "no room: the best plans of the segments save 9.1 %"));
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(room, "captured")), 0);
  cJSON_Delete(summary);
  summary = summary_of((const double[ARMS][2]){{10, 10}, {12, 12}, {9, 9}, {10, 10}}, 0.01); /* one plan is best everywhere */
  assert_non_null(strstr(mz_json_text_or_empty(room_of(summary), "none"), "no room"));
  cJSON_Delete(summary);
}

static void segments_tell_every_arm(void **state) {
  (void)state;
  cJSON *summary = summary_of((const double[ARMS][2]){{10, 15}, {12, 10}, {11, 10}, {10, 15}}, 0.03);
  const cJSON *segments = cJSON_GetObjectItem(summary, "segments");
  assert_int_equal(cJSON_GetArraySize(segments), 2);
  const cJSON *last = segments->child->next, *ratios = cJSON_GetObjectItem(last, "ratios");
  assert_int_equal((int)mz_json_number_or_nan(last, "first"), CHANGES_AT);
  assert_int_equal((int)mz_json_number_or_nan(last, "cores"), 1);
  assert_true(fabs(mz_json_number_or_nan(cJSON_GetObjectItem(last, "wall_s"), "b") - 102) < 1e-9);
  assert_int_equal((int)mz_json_number_or_nan(cJSON_GetObjectItem(last, "changes"), "adaptive"), 10);
  assert_int_equal((int)mz_json_number_or_nan(cJSON_GetObjectItem(last, "rss_bytes"), "adaptive"), 1000);
  assert_int_equal(cJSON_GetArraySize(ratios), 1);
  assert_true(fabs(mz_json_number_or_nan(ratios->child, "ratio") - 10.0 / 15) < 1e-9);
  cJSON_Delete(summary);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(half_of_what_there_is), cmocka_unit_test(what_adapting_costs_is_negative),
                                     cmocka_unit_test(less_than_the_noise_is_no_room), cmocka_unit_test(segments_tell_every_arm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
