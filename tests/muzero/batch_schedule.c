/* Setting batch_schedule: which ones there may be, and what they say of a phase. */
#include "muzero/batch_schedule.h"
#include "testing.h"

/* 4 updates of 32 rows a round, in 2 shards. */
static mz_status resolve(const char *schedule, mz_settings *out) {
  char pair[96];
  mz_config config = mz_settings_config(out, NULL);
  mz_config_defaults(&config);
  snprintf(pair, sizeof pair, "batch_schedule=%s", schedule);
  const char *const sets[] = {"batch_size=32", "loop_count=4", "shards=2", pair};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) expect_ok(mz_config_set_pair(&config, sets[i], "test"));
  return mz_settings_resolve(out, NULL);
}

static void sizes_hold_from_the_end_of_a_phase_on(void **unused) {
  (void)unused;
  mz_settings s;
  expect_ok(resolve("", &s));
  assert_int_equal(mz_batch_schedule_at(&s, 0), 32);
  assert_int_equal(mz_batch_schedule_at(&s, 1000), 32);
  assert_int_equal(mz_batch_schedule_largest(&s), 32);
  expect_ok(resolve("0:64,10:16", &s)); /* from the start */
  assert_int_equal(mz_batch_schedule_at(&s, 0), 64);
  expect_ok(resolve("10:128,40:16,41:64", &s));
  const int64_t expected[][2] = {{0, 32}, {9, 32}, {10, 128}, {39, 128}, {40, 16}, {41, 64}, {100000, 64}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_int_equal(mz_batch_schedule_at(&s, expected[i][0]), expected[i][1]);
  assert_int_equal(mz_batch_schedule_largest(&s), 128);
  expect_ok(mz_settings_check(&s));
}

static void wrong_schedules_are_refused_by_entry(void **unused) {
  (void)unused;
  static const struct {
    const char *schedule, *says;
  } cases[] = {
      {"10", "entry '10' is no PHASE:ROWS"},
      {"10:64,x:16", "entry 'x:16' is no PHASE:ROWS"},
      {"10:64,12:16k", "entry '12:16k' is no PHASE:ROWS"},
      {"10:64,", "10:64,: ends with a comma"},
      {",10:64", "entry '' is no PHASE:ROWS"},
      {"10:-64", "entry '10:-64' is no PHASE:ROWS"},
      {"99999999999999999999:64", "entry '99999999999999999999:64' is no PHASE:ROWS"},
      {"10:64,10:16", "entry '10:16': phases rise from entry to entry; nearest valid phase: 11"},
      {"10:64,9:16", "entry '9:16'"},
      {"10:64,12:33", "entry '12:33': batches of 33 rows do not divide into 2 shards; nearest valid value: 32"},
      {"10:64,12:48", "entry '12:48': the 128 rows that a round trains are no 1 to 4096 batches of 48; nearest valid value: 64"},
      {"10:256", "entry '10:256': the 128 rows that a round trains are no 1 to 4096 batches of 256; nearest valid value: 128"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mz_settings s;
    assert_int_equal(resolve(cases[i].schedule, &s), MZ_E_CONFIG);
    if (!strstr(mz_message(), "batch_schedule: ") || !strstr(mz_message(), cases[i].says))
      fail_msg("%s: %s", cases[i].schedule, mz_message());
  }
}

static void two_may_not_move_loop_count(void **unused) {
  (void)unused;
  mz_settings s;
  expect_ok(resolve("10:64", &s));
  s.allocation.objective = MZ_OBJECTIVE_GOODPUT;
  assert_int_equal(mz_settings_check(&s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "allocate.objective"));
}

/* The history of a batch size holds whatever led to the size. */
static void a_schedule_is_no_work(void **unused) {
  (void)unused;
  mz_settings plain, scheduled;
  expect_ok(resolve("", &plain));
  expect_ok(resolve("10:64", &scheduled));
  assert_true(mz_settings_work_hash(&plain) == mz_settings_work_hash(&scheduled));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_hold_from_the_end_of_a_phase_on),
      cmocka_unit_test(wrong_schedules_are_refused_by_entry),
      cmocka_unit_test(two_may_not_move_loop_count),
      cmocka_unit_test(a_schedule_is_no_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
