/* report.html: the data in it, what it may contain, and what is said of files that cannot be read. */
#include "tests/muzero/report_cases.h"

/* ---- a run ---- */

static void a_run_becomes_series(void **unused) {
  (void)unused;
  cJSON *data = data_of_run(TEST_DATA "/report/run");
  const cJSON *run = at(data, "runs.0");
  assert_string_equal(string(run, "name"), "run");
  assert_string_equal(string(run, "env"), "cartpole");
  assert_string_equal(string(run, "score_name"), "mean return");
  assert_near(number(run, "target"), 475);
  assert_near(number(run, "cores"), 2);
  assert_near(number(run, "phases"), 12);
  assert_near(number(run, "stride"), 1);
  assert_int_equal(size_at(run, "columns.loss"), 12);
  assert_near(number(run, "columns.env_steps.-1"), 61440);
  assert_near(number(run, "columns.own_s.-1"), 12 * 0.3);
  assert_near(number(run, "columns.learner_wait.0"), 0.03183);
  assert_string_equal(string(run, "last.digest"), "f1013db3a4a00b20");
  assert_true(cJSON_IsNull(at(run, "columns.score.0"))); /* not evaluated there */
  assert_near(number(run, "columns.score.1"), 18.61);
  assert_near(number(run, "plan.mcts_storage_size.4"), 1);
  assert_near(number(run, "plan.mcts_storage_size.5"), 16);
  assert_near(number(run, "sums.cpu_s"), 12 * 0.55);
  assert_int_equal(size_at(run, "warnings"), 1);
  assert_near(number(run, "warnings.0.count"), 2);
  assert_near(number(run, "warnings.0.first"), 6);
  cJSON_Delete(data);
}

static void the_ledger_becomes_decisions_and_stages(void **unused) {
  (void)unused;
  cJSON *data = data_of_run(TEST_DATA "/report/run");
  const cJSON *ledger = at(data, "runs.0.ledger");
  assert_string_equal(string(ledger, "strategy"), "greedy");
  static const char *const actions[] = {"begin", "keep",    "try",  "wait", "confirm", "try",
                                        "wait",  "confirm", "keep", "try",  "revert",  "keep"};
  assert_int_equal(size_at(ledger, "decisions"), 12);
  for (int i = 0; i < 12; i++) {
    const cJSON *decision = cJSON_GetArrayItem(at(ledger, "decisions"), i);
    assert_string_equal(string(decision, "action"), actions[i]);
  }
  assert_near(number(ledger, "decisions.11.phase"), 11); /* two kept phases are one row */
  assert_near(number(ledger, "decisions.11.until"), 12);
  assert_near(number(ledger, "decisions.11.count"), 2);
  assert_near(number(ledger, "decisions.2.next.cpu_actor"), 2);
  assert_near(number(ledger, "left_out"), 0);
  assert_int_equal(size_at(ledger, "series.phase"), 12);
  assert_true(cJSON_IsNull(at(ledger, "series.predicted.0")));
  assert_true(number(ledger, "series.low.1") < number(ledger, "series.predicted.1"));
  assert_near(number(ledger, "busy.actor.3"), 0.6 / 0.3); /* seconds by wall time are threads */
  assert_near(number(ledger, "wait_in.learner.3"), 0.06 / 0.3);
  assert_string_equal(string(ledger, "stages.0.threads"), "cpu_actor");
  assert_null(cJSON_GetObjectItemCaseSensitive(at(ledger, "stages.3"), "threads")); /* no knob sets them */
  cJSON_Delete(data);
}

static void windows_without_work_hold_no_times(void **unused) {
  (void)unused;
  put_file(in_folder("idle"), "metrics.jsonl", "{\"event\":\"phase\",\"phase\":1,\"wall_s\":1}\n");
  put_file(
      in_folder("idle"), "ledger.jsonl",
      "{\"event\":\"open\",\"strategy\":\"fixed\",\"pipeline\":{\"knobs\":[],\"stages\":[{\"name\":\"actor\",\"threads\":-1}]}}\n"
      "{\"event\":\"decision\",\"phase\":1,\"action\":\"keep\",\"observed\":null,\"window\":{\"units\":0,\"wall_s\":0,"
      "\"stages\":{\"actor\":[0,0,0,0,0,0]},\"usage\":{\"wall_s\":0.5}}}\n");
  cJSON *data = data_of_run(in_folder("idle"));
  assert_true(cJSON_IsNull(at(data, "runs.0.ledger.busy.actor.0")));
  cJSON_Delete(data);
}

static void what_is_missing_is_left_out(void **unused) {
  (void)unused;
  put_file(in_folder("bare"), "metrics.jsonl", "{\"event\":\"phase\",\"phase\":1,\"loss\":null}\n{\"event\":\"phase\",\"ph");
  cJSON *data = data_of_run(in_folder("bare"));
  const cJSON *run = at(data, "runs.0");
  assert_near(number(run, "phases"), 1); /* the torn line was being written */
  assert_true(cJSON_IsNull(at(run, "ledger")));
  assert_true(cJSON_IsNull(at(run, "columns.loss.0")));
  assert_true(cJSON_IsNull(at(run, "sums.cost")));
  assert_null(cJSON_GetObjectItemCaseSensitive(run, "env"));
  cJSON_Delete(data);
}

static void runs_with_one_name_show_their_paths(void **unused) {
  (void)unused;
  const char *const runs[] = {TEST_DATA "/report/run", TEST_DATA "/report/../report/run/", TEST_DATA "/report/comparison"};
  char *page = page_of(runs, 3);
  cJSON *data = data_of(page);
  assert_string_equal(string(data, "runs.0.name"), runs[0]);
  assert_string_equal(string(data, "runs.1.name"), runs[1]);
  assert_string_equal(string(data, "comparisons.0.name"), "comparison");
  cJSON_Delete(data);
  free(page);
}

static void seeds_of_a_folder_are_runs_of_it(void **unused) {
  (void)unused;
  static const char line[] = "{\"event\":\"phase\",\"phase\":1,\"score\":0.5,\"evaluated\":true}\n";
  put_file(in_folder("seeds/seed-10"), "metrics.jsonl", line);
  put_file(in_folder("seeds/seed-9"), "metrics.jsonl", line);
  put_file(in_folder("seeds/seed-9"), "config.json", "{\"env\":\"tictactoe\",\"settings\":{\"eval\":{\"opponent\":\"all\"}}}");
  put_file(in_folder("seeds/seed-11"), "config.json", "{}"); /* no phase has ended */
  put_file(in_folder("seeds/other"), "metrics.jsonl", line);
  cJSON *data = data_of_run(in_folder("seeds"));
  assert_int_equal(size_at(data, "runs"), 2);
  assert_string_equal(string(data, "runs.0.name"), "seeds/seed-9");
  assert_string_equal(string(data, "runs.1.name"), "seeds/seed-10");
  assert_string_equal(string(data, "runs.1.folder"), "seeds");
  assert_string_equal(string(data, "runs.0.score_name"), "share of lines not lost");
  assert_null(cJSON_GetObjectItemCaseSensitive(at(data, "runs.1"), "score_name")); /* its environment is not known */
  cJSON_Delete(data);
}

/* ---- many records ---- */

enum { MANY = 25003 };

static void write_many(const char *dir) {
  char path[512];
  expect_ok(mz_file_mkdirs(dir));
  snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
  FILE *metrics = fopen(path, "w");
  snprintf(path, sizeof path, "%s/ledger.jsonl", dir);
  FILE *ledger = fopen(path, "w");
  assert_true(metrics && ledger);
  for (int i = 1; i <= MANY; i++) {
    fprintf(metrics, "{\"event\":\"phase\",\"phase\":%d,\"wall_s\":%d,\"loss\":%d,\"score\":%d,\"evaluated\":%s}\n", i, 2 * i, i,
            i, i % 26 == 1 ? "true" : "false");
    fprintf(ledger, "{\"event\":\"decision\",\"phase\":%d,\"action\":\"%s\",\"observed\":1,\"window\":{\"wall_s\":1}}\n", i,
            i % 2 ? "try" : "revert");
  }
  assert_int_equal(fclose(metrics), 0);
  assert_int_equal(fclose(ledger), 0);
}

static void long_runs_are_thinned(void **unused) {
  (void)unused;
  write_many(in_folder("many"));
  cJSON *data = data_of_run(in_folder("many"));
  const cJSON *run = at(data, "runs.0");
  const int stride = (int)number(run, "stride"), points = size_at(run, "columns.phase");
  assert_int_equal(stride, 13);
  assert_int_equal(points, (MANY + 12) / 13);
  assert_true(points <= 2000);
  assert_near(number(run, "phases"), MANY);
  assert_near(number(run, "columns.phase.0"), 13); /* as at its end */
  assert_near(number(run, "columns.loss.0"), 7);   /* mean of 1 … 13 */
  assert_near(number(run, "columns.score.0"), 1);  /* the one evaluation in it */
  assert_true(cJSON_IsNull(at(run, "columns.score.1")));
  assert_near(number(run, "columns.wall_s.-1"), 2 * MANY);
  assert_int_equal(size_at(run, "ledger.decisions"), 2000);
  assert_near(number(run, "ledger.left_out"), MANY - 2000);
  assert_near(number(run, "ledger.decisions.-1.phase"), MANY);
  assert_true(size_at(run, "ledger.series.observed") <= 2000);
  cJSON_Delete(data);
}

/* ---- a comparison ---- */

static void a_comparison_is_shown_with_its_curves(void **unused) {
  (void)unused;
  cJSON *data = data_of_run(TEST_DATA "/report/comparison");
  const cJSON *comparison = at(data, "comparisons.0");
  assert_int_equal(size_at(data, "runs"), 0);
  assert_int_equal(size_at(comparison, "arms"), 4);
  assert_int_equal(size_at(comparison, "curves"), 3); /* the crashed arm has none */
  assert_string_equal(string(comparison, "curves.2.name"), "greedy");
  assert_near(number(comparison, "curves.2.columns.env_steps.-1"), 61440);
  assert_int_equal(size_at(comparison, "blocks"), 6);
  assert_near(number(comparison, "blocks_stride"), 1);
  assert_non_null(strstr(string(comparison, "ratios.0.claim"), "less wall time"));
  cJSON_Delete(data);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* A line far above every score would leave nothing of the curve. */
static void a_run_without_a_target_shows_none(void **unused) {
  (void)unused;
  char path[600];
  expect_ok(mz_file_mkdirs(in_folder("aimless")));
  snprintf(path, sizeof path, "%s/metrics.jsonl", in_folder("aimless"));
  write_text(path, "{\"event\":\"phase\",\"phase\":1,\"score\":7}\n");
  snprintf(path, sizeof path, "%s/config.json", in_folder("aimless"));
  write_text(path, "{\"env\":\"catch\",\"settings\":{\"train\":{\"target\":1000000000}}}");
  cJSON *data = data_of_run(in_folder("aimless"));
  assert_string_equal(string(data, "runs.0.env"), "catch");
  assert_null(cJSON_GetObjectItemCaseSensitive(at(data, "runs.0"), "target"));
  cJSON_Delete(data);
}

/* Where it was made, another comparison may stand by now. */
static void a_comparison_that_was_moved_keeps_its_curves(void **unused) {
  (void)unused;
  char run[512], path[600], text[700];
  for (int i = 0; i < 2; i++) {
    snprintf(run, sizeof run, "%s/seed-1/arm-0", in_folder(i == 0 ? "made" : "moved"));
    expect_ok(mz_file_mkdirs(run));
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    write_text(path,
               i == 0 ? "{\"event\":\"phase\",\"phase\":1,\"loss\":7}\n" : "{\"event\":\"phase\",\"phase\":1,\"loss\":5}\n");
  }
  snprintf(path, sizeof path, "%s/compare.json", in_folder("moved"));
  snprintf(text, sizeof text, "{\"arms\":[{\"name\":\"rule\",\"by_seed\":[{\"run\":\"%s/seed-1/arm-0\"}]}]}", in_folder("made"));
  write_text(path, text);
  cJSON *data = data_of_run(in_folder("moved"));
  assert_int_equal(size_at(data, "comparisons.0.curves"), 1);
  assert_near(number(data, "comparisons.0.curves.0.columns.loss.0"), 5);
  cJSON_Delete(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_run_becomes_series),
                                     cmocka_unit_test(the_ledger_becomes_decisions_and_stages),
                                     cmocka_unit_test(windows_without_work_hold_no_times),
                                     cmocka_unit_test(what_is_missing_is_left_out),
                                     cmocka_unit_test(runs_with_one_name_show_their_paths),
                                     cmocka_unit_test(seeds_of_a_folder_are_runs_of_it),
                                     cmocka_unit_test(long_runs_are_thinned),
                                     cmocka_unit_test(a_comparison_is_shown_with_its_curves),
                                     cmocka_unit_test(a_run_without_a_target_shows_none),
                                     cmocka_unit_test(a_comparison_that_was_moved_keeps_its_curves)};
  return cmocka_run_group_tests(tests, begin, end);
}
