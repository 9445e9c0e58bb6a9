/* What is written into a ledger reads back and replays. */
#include "base/machine/clock.h"
#include "recorded.h"

/* ---- replay ---- */

static void test_every_decision_replays_byte_for_byte(void **state) {
  (void)state;
  int tried = 0, reverted = 0, refused = 0, given_up = 0;
  for (int i = 0; mz_strategies[i] != NULL; i++) {
    const run r = record(mz_strategies[i]->name, 120);
    expect_replay(INT64_MAX, 3 * 121, 0);
    tried += r.actions[MZ_DECISION_TRY];
    reverted += r.actions[MZ_DECISION_REVERT];
    refused += r.refused;
    given_up += r.given_up;
  }
  assert_true(tried > 5 && reverted > 0 && refused > 0 && given_up > 0); /* all of it was in there */
}

/* How long decisions took decides what the next ones do, and is an input like any other. */
static void test_the_time_that_decisions_took_is_replayed(void **state) {
  (void)state;
  run r = open_run("adaptive");
  int waited = 0;
  for (int i = 0; i < 60; i++) {
    r.took_s = i % 3 == 0 ? 1.0 / 3 : 0;
    waited += strstr(record_phase(&r, NULL, NULL).reason, "deciding has taken its 0.5 %") != NULL;
  }
  close_run(&r);
  assert_in_range(waited, 1, 59);
  expect_replay(INT64_MAX, 61, 0);
}

/* ---- the form ---- */

static void test_lines_have_their_keys_in_order_and_are_short(void **state) {
  (void)state;
  record("greedy", 60);
  collected c = {0};
  ok(mz_ledger_read(path, collect, &c));
  assert_int_equal(c.count, 3 * 62);
  assert_int_equal(c.phase, 180);
  print_message("longest line: %zu bytes; longest that keeps: %zu\n", c.longest, c.longest_keep);
  assert_in_range(c.longest, 500, 2600);
  assert_in_range(c.longest_keep, 500, 2000);
}

static mz_status check_keys(void *context, const char *line, size_t length, int64_t number) {
  static const char *const keys[] = {"event",     "phase",        "action",        "reverted",   "strategy", "predictor",
                                     "predicted", "low",          "high",          "observed",   "plan",     "next",
                                     "expected",  "expected_low", "expected_high", "candidates", "binding",  "reason",
                                     "ratio",     "ratio_low",    "ratio_high",    "reverts",    "round"};
  int *windows = context;
  cJSON *json = NULL;
  ok(mz_json_parse(line, length, "line", false, MZ_E_CHECKPOINT, &json));
  const cJSON *item = json->child;
  if (strcmp(item->valuestring, "decision") == 0) {
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++, item = item->next) {
      if (strcmp(item->string, "predictions") == 0) { /* from the first one on */
        assert_string_equal(item->next->string, "predictions_held");
        item = item->next->next;
      }
      assert_string_equal(item->string, keys[i]);
    }
    if (strcmp(item->string, "refused") == 0) item = item->next;
    assert_string_equal(item->string, "rounds");
    item = item->next;
    if (item != NULL && strcmp(item->string, "took_s") == 0) item = item->next;
    if (item != NULL) assert_string_equal(item->string, "window");
    if (item != NULL) assert_null(item->next);
    *windows += item != NULL;
  } else {
    assert_int_equal(number % 32, 1);
  }
  cJSON_Delete(json);
  return MZ_OK;
}

static void test_keys_are_those_of_the_contract(void **state) {
  (void)state;
  record("demand", 30);
  int windows = 0;
  ok(mz_ledger_read(path, check_keys, &windows));
  assert_int_equal(windows, 90);
}

static void test_peeking_tells_phase_and_action(void **state) {
  (void)state;
  int64_t phase = 0;
  char action[16];
  assert_true(mz_ledger_peek("{\"event\":\"decision\",\"phase\":17,\"action\":\"revert\",\"x\":1}", &phase, action));
  assert_int_equal(phase, 17);
  assert_string_equal(action, "revert");
  static const char *const others[] = {"",
                                       "{",
                                       "{\"event\":\"open\",\"format\":1}",
                                       "{\"event\":\"decision\",\"phase\":",
                                       "{\"event\":\"decision\",\"phase\":x,\"action\":\"keep\"}",
                                       "{\"event\":\"decision\",\"phase\":1,\"action\":\"keep",
                                       "{\"event\":\"decision\",\"phase\":1,\"action\":\"0123456789abcdef\"}"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) assert_false(mz_ledger_peek(others[i], &phase, action));
}

/* ---- continuing, going back ---- */

static void test_a_ledger_is_cut_back_to_its_offset_and_goes_on(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phases(&r, 10);
  const uint64_t offset = r.ledger.offset;
  const int64_t phase = r.shop.phase;
  record_phases(&r, 10);
  close_run(&r);

  ok(mz_ledger_open(&r.ledger, folder, offset));
  assert_int_equal(r.ledger.offset, offset);
  r.shop.phase = phase;
  const mz_plan plain = shop_plain();
  open_section(&r, &plain, NULL, 0);
  record_phases(&r, 5);
  close_run(&r);
  expect_replay(INT64_MAX, 11 + 6, 0);
  expect_replay(0, 1, 0);   /* as it began */
  expect_replay(4, 5, 0);   /* with phase 4's decision */
  expect_replay(10, 11, 0); /* the first section's: the second begins there */
  expect_replay(12, 11 + 3, 0);
  ok(mz_ledger_open(&r.ledger, folder, 0));
  mz_ledger_close(&r.ledger);
  expect_replay(INT64_MAX, 0, 0);
}

static void test_replay_leaves_the_allocator_as_it_stood(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phases(&r, 29);
  const mz_decision last = record_phase(&r, NULL, NULL);
  const mz_plan plan = *mz_allocator_plan(r.allocator);
  const mz_plan other = {.values = {2, 4, 16, 2, 1, 8}};
  const double predicted = mz_allocator_predict(r.allocator, &other).unit_s;
  mz_replayed replayed;
  ok(mz_ledger_replay(path, 30, &replayed));
  assert_memory_equal(mz_allocator_plan(replayed.allocator), &plan, sizeof plan);
  assert_true(mz_allocator_predict(replayed.allocator, &other).unit_s == predicted);
  assert_string_equal(replayed.options.pipeline->name, "print shop");
  assert_string_equal(replayed.options.settings->strategy, "greedy");
  assert_int_equal(replayed.phase, 30);
  assert_true(replayed.newest.unit_s == last.observed && last.observed > 0);
  assert_memory_equal(&replayed.newest.plan, &last.plan, sizeof plan);
  mz_replayed_free(&replayed);
  ok(mz_ledger_replay(path, 0, &replayed)); /* before the first window */
  assert_int_equal(replayed.phase, 0);
  assert_true(replayed.newest.unit_s == 0);
  mz_replayed_free(&replayed);
  close_run(&r);
}

/* ---- long ledgers ---- */

static void test_ten_thousand_decisions_are_looked_through(void **state) {
  (void)state;
  run r = open_run("fixed");
  uint64_t start = mz_clock_ns();
  record_phases(&r, 9999);
  print_message("decided and written: %.3f ms a phase\n", (double)(mz_clock_ns() - start) * 1e-6 / 9999);
  close_run(&r);
  start = mz_clock_ns();
  collected c = {0};
  ok(mz_ledger_read(path, collect, &c));
  assert_int_equal(c.count, 10001);
  assert_int_equal(c.phase, 9999);
  print_message("looked through 10,000 decisions, %.1f MB, in %.1f ms\n", (double)c.bytes * 1e-6,
                (double)(mz_clock_ns() - start) * 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(test_every_decision_replays_byte_for_byte),
      WITH_FOLDER(test_the_time_that_decisions_took_is_replayed),
      WITH_FOLDER(test_lines_have_their_keys_in_order_and_are_short),
      WITH_FOLDER(test_keys_are_those_of_the_contract),
      WITH_FOLDER(test_peeking_tells_phase_and_action),
      WITH_FOLDER(test_a_ledger_is_cut_back_to_its_offset_and_goes_on),
      WITH_FOLDER(test_replay_leaves_the_allocator_as_it_stood),
      WITH_FOLDER(test_ten_thousand_decisions_are_looked_through),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
