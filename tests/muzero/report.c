/* report.html: the data in it, what it may contain, and what is said of files that cannot be read. */
#include "muzero/report/report.h"
#include "testing.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

static char folder[64];

static int begin(void **unused) {
  (void)unused;
  make_folder(folder);
  return 0;
}
static int end(void **unused) {
  (void)unused;
  drop_folder(folder);
  return 0;
}

/* ---- helpers ---- */

static const char *in_folder(const char *name) {
  static char paths[4][512];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static char *page_of(const char *const *runs, int count) {
  const char *path = in_folder("page.html");
  expect_ok(mz_report_write(path, runs, count));
  uint8_t *text;
  size_t size;
  expect_ok(mz_file_read(path, 0, &text, &size));
  assert_int_equal(strlen((char *)text), size);
  return (char *)text;
}

static cJSON *data_of(const char *page) {
  static const char opening[] = "<script type=\"application/json\" id=\"data\">";
  const char *from = strstr(page, opening);
  assert_non_null(from);
  from += sizeof opening - 1;
  const char *to = strstr(from, "</script>");
  assert_non_null(to);
  cJSON *data;
  expect_ok(mz_json_parse(from, (size_t)(to - from), "page", false, MZ_E_INTERNAL, &data));
  return data;
}

static cJSON *data_of_run(const char *dir) {
  char *page = page_of(&dir, 1);
  cJSON *data = data_of(page);
  free(page);
  return data;
}

/* "runs.0.columns.loss.-1": numbers are places in an array, from the end where negative. */
static const cJSON *at(const cJSON *json, const char *path) {
  char part[64];
  for (const char *p = path; *p;) {
    const size_t length = strcspn(p, ".");
    snprintf(part, sizeof part, "%.*s", (int)length, p);
    const int size = cJSON_GetArraySize(json), place = atoi(part);
    json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, place < 0 ? size + place : place)
                               : cJSON_GetObjectItemCaseSensitive(json, part);
    if (!json) fail_msg("%s: nothing at '%s'", path, part);
    p += length + (p[length] == '.');
  }
  return json;
}
static double number(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsNumber(item)) fail_msg("%s: no number", path);
  return item->valuedouble;
}
static const char *string(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsString(item)) fail_msg("%s: no string", path);
  return item->valuestring;
}
static int size_at(const cJSON *json, const char *path) { return cJSON_GetArraySize(at(json, path)); }

static void assert_near(double value, double wanted) {
  if (!(fabs(value - wanted) <= 1e-6 * fmax(1, fabs(wanted)))) fail_msg("%.9g, wanted %.9g", value, wanted);
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) count++;
  return count;
}

static void put_file(const char *dir, const char *name, const char *text) {
  char path[512];
  expect_ok(mz_file_mkdirs(dir));
  expect_ok(mz_path_join(path, sizeof path, dir, name));
  expect_ok(mz_file_write_atomic(path, text, strlen(text)));
}

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

/* ---- the page ---- */

static void no_text_becomes_markup(void **unused) {
  (void)unused;
  static const char name[] = "<script>alert(1)<";
  const char *dir = in_folder(name), *plain = TEST_DATA "/report/run";
  put_file(dir, "metrics.jsonl", "{\"event\":\"phase\",\"phase\":1,\"warning\":\"</script><img src=x onerror=alert(2)>\"}\n");
  put_file(dir, "config.json", "{\"env\":\"<!-- <script>\",\"seed\":\"]]>\"}\n");
  char *page = page_of(&dir, 1), *usual = page_of(&plain, 1);
  assert_int_equal(count_of(page, "<"), count_of(usual, "<")); /* all of them are the page's own */
  cJSON *data = data_of(page);
  assert_string_equal(string(data, "runs.0.name"), name);
  assert_string_equal(string(data, "runs.0.env"), "<!-- <script>");
  assert_string_equal(string(data, "runs.0.warnings.0.text"), "</script><img src=x onerror=alert(2)>");
  cJSON_Delete(data);
  free(page);
  free(usual);
}

static void the_page_needs_nothing_else(void **unused) {
  (void)unused;
  const char *run = TEST_DATA "/report/run";
  char *page = page_of(&run, 1);
  static const char *const loads[] = {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest(", "innerHTML = data"};
  const char *dygraphs = strstr(page, "/*! @license"), *rest = strstr(page, "/* Elements and text.");
  assert_true(dygraphs && rest && dygraphs < rest);
  for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++) {
    const char *found = strstr(page, loads[i]);
    if (found && found >= dygraphs && found < rest)
      found = strstr(rest, loads[i]); /* Dygraphs can load data; it is not asked to */
    if (found) fail_msg("%s is in the page: %.60s", loads[i], found);
  }
  assert_non_null(strstr(
      page, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\""));
  assert_non_null(strstr(page, "The above copyright notice and this permission notice"));
  assert_null(strstr(page, ".js}}")); /* every placeholder was filled */
  assert_null(strstr(page, "{{data}}"));
  char *again = page_of(&run, 1);
  assert_string_equal(page, again);
  free(page);
  free(again);
}

/* ---- contrast: WCAG 2's relative luminance ---- */

static double luminance(const char *css, const char *name) {
  char pattern[32];
  snprintf(pattern, sizeof pattern, "--%s: #", name);
  const char *found = strstr(css, pattern);
  if (!found) fail_msg("no colour %s", name);
  const unsigned long rgb = strtoul(found + strlen(pattern), NULL, 16);
  double linear[3];
  for (int i = 0; i < 3; i++) {
    const double c = (double)(rgb >> (16 - 8 * i) & 255) / 255;
    linear[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
  }
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

static double contrast(const char *css, const char *a, const char *b) {
  const double x = luminance(css, a), y = luminance(css, b);
  return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

static void text_and_curves_have_contrast(void **unused) {
  (void)unused;
  static const char *const words[] = {"text", "muted", "bad"}, *const papers[] = {"paper", "panel"},
                           *const shapes[] = {"c1", "c2", "c3", "c4", "c5", "c6", "wait-in", "wait-out"};
  const char *run = TEST_DATA "/report/run";
  char *page = page_of(&run, 1);
  const char *themes[] = {strstr(page, ":root {"), strstr(page, ":root:not([data-print]) {")};
  for (int t = 0; t < 2; t++) {
    assert_non_null(themes[t]);
    for (int w = 0; w < 3; w++)
      for (int p = 0; p < 2; p++)
        if (contrast(themes[t], words[w], papers[p]) < 4.5) fail_msg("theme %d: %s on %s", t, words[w], papers[p]);
    for (int s = 0; s < 8; s++)
      if (contrast(themes[t], shapes[s], "paper") < 3) fail_msg("theme %d: %s", t, shapes[s]);
  }
  free(page);
}

/* ---- what cannot be read ---- */

static void expect_failure(const char *dir, mz_status wanted, const char *says) {
  const char *path = in_folder("none.html");
  const mz_status status = mz_report_write(path, &dir, 1);
  if (status != wanted || !strstr(mz_message(), says)) fail_msg("status %d: %s", status, mz_message());
  assert_false(mz_file_exists(path));
}

static void failures_name_the_file(void **unused) {
  (void)unused;
  expect_failure(in_folder("nosuch"), MZ_E_IO, "nosuch: no such directory");
  put_file(in_folder("empty"), "notes.txt", "");
  expect_failure(in_folder("empty"), MZ_E_CHECKPOINT, "neither metrics.jsonl");
  expect_failure(in_folder("empty/notes.txt"), MZ_E_IO, "not a directory");
  put_file(in_folder("torn"), "metrics.jsonl", "{\"event\":\"phase\"}\n{\"event\":\n{\"event\":\"phase\"}\n");
  expect_failure(in_folder("torn"), MZ_E_CHECKPOINT, "metrics.jsonl:2:");
  put_file(in_folder("ledger"), "metrics.jsonl", "{\"event\":\"phase\"}\n");
  put_file(in_folder("ledger"), "ledger.jsonl", "no JSON\n");
  expect_failure(in_folder("ledger"), MZ_E_CHECKPOINT, "ledger.jsonl:1:");
  put_file(in_folder("compared"), "compare.json", "[]");
  expect_failure(in_folder("compared"), MZ_E_CHECKPOINT, "not a comparison");
  const char *run = TEST_DATA "/report/run";
  assert_int_equal(mz_report_write(in_folder("nosuch/page.html"), &run, 1), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "nosuch/page.html"));
}

/* Whatever has another type than expected is skipped. */
static void odd_types_do_no_harm(void **unused) {
  (void)unused;
  put_file(in_folder("odd"), "metrics.jsonl",
           "[]\n7\n{\"event\":\"phase\",\"phase\":\"one\",\"plan\":[1,2],\"warning\":{},\"wall_s\":[],\"loss\":{}}\n");
  put_file(in_folder("odd"), "ledger.jsonl",
           "3\n{\"event\":\"open\",\"pipeline\":{\"stages\":[1,{\"threads\":99}],\"knobs\":7}}\n"
           "{\"event\":\"decision\",\"action\":7}\n{\"event\":\"decision\",\"action\":\"keep\",\"window\":{\"stages\":[],"
           "\"units\":1}}\n");
  put_file(in_folder("odd"), "config.json", "7");
  put_file(in_folder("odd"), "compare.json", "{\"arms\":{\"x\":[]},\"blocks\":3,\"name\":[]}");
  cJSON *data = data_of_run(in_folder("odd"));
  assert_near(number(data, "runs.0.phases"), 1);
  assert_int_equal(size_at(data, "runs.0.ledger.decisions"), 1);
  assert_string_equal(string(data, "comparisons.0.name"), "odd");
  cJSON_Delete(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_becomes_series),
      cmocka_unit_test(the_ledger_becomes_decisions_and_stages),
      cmocka_unit_test(windows_without_work_hold_no_times),
      cmocka_unit_test(what_is_missing_is_left_out),
      cmocka_unit_test(runs_with_one_name_show_their_paths),
      cmocka_unit_test(seeds_of_a_folder_are_runs_of_it),
      cmocka_unit_test(long_runs_are_thinned),
      cmocka_unit_test(a_comparison_is_shown_with_its_curves),
      cmocka_unit_test(no_text_becomes_markup),
      cmocka_unit_test(the_page_needs_nothing_else),
      cmocka_unit_test(text_and_curves_have_contrast),
      cmocka_unit_test(failures_name_the_file),
      cmocka_unit_test(odd_types_do_no_harm),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
