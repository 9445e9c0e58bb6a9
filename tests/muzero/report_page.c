/* The page stands alone, holds no foreign markup and can be read; what cannot be shown is an error that names the file. */
#include "tests/muzero/report_cases.h"

/* ---- helpers ---- */

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) count++;
  return count;
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_text_becomes_markup), cmocka_unit_test(the_page_needs_nothing_else),
                                     cmocka_unit_test(text_and_curves_have_contrast), cmocka_unit_test(failures_name_the_file),
                                     cmocka_unit_test(odd_types_do_no_harm)};
  return cmocka_run_group_tests(tests, begin, end);
}
