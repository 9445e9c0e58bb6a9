/* `muzero report`, and the page as a browser builds it. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char run[] = TEST_DATA "/report/run", comparison[] = TEST_DATA "/report/comparison";

static int is_page(const char *path) {
  char start[16] = "";
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  const int whole = fread(start, 1, sizeof start - 1, file) == sizeof start - 1;
  fclose(file);
  return whole && strcmp(start, "<!DOCTYPE html>") == 0;
}

static void test_writes_into_the_run(void **state) {
  (void)state;
  process p = {0};
  char command[1024];
  snprintf(command, sizeof command, "mkdir mine && cp %s/* mine && exec $MUZERO report mine", run);
  process_shell(&p, command);
  assert_status(&p, 0);
  assert_string_equal(p.out, "mine/report.html\n");
  assert_true(is_page(process_path("mine/report.html")));
  process_free(&p);
}

static void test_several_into_a_file(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "report", run, comparison, "--out", "all.html", "--json", NULL);
  assert_status(&p, 0);
  cJSON *line = lines_at(p.out, -1);
  assert_string_equal(lines_string(line, "report"), "all.html");
  assert_true(lines_number(line, "runs") == 2);
  cJSON_Delete(line);
  assert_true(is_page(process_path("all.html")));
  process_free(&p);
}

/* A folder that train --seeds leaves is a report's argument like a run. */
static void test_seeds(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", "--preset", TEST_DATA "/cli/tiny.json", "--run", "many", "--seeds", "2", "--rounds", "2",
              NULL);
  assert_status(&p, 0);
  process_run(&p, "report", "many", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.out, "many/report.html\n");
  process_shell(&p, "grep -c '\"folder\":\"many\".*\"folder\":\"many\"' many/report.html");
  assert_status(&p, 0);
  process_free(&p);
}

static void test_wrong_input(void **state) {
  (void)state;
  static const refusal wrong[] = {
      {{"report"}, 2, "needs RUN"},
      {{"report", "--out", "x.html"}, 2, "needs RUN"},
      {{"report", "nosuch"}, 5, "nosuch"},
      {{"report", run, "nosuch"}, 5, "nosuch"},
      {{"report", run, "--ou=x.html"}, 2, "--out"},
      {{"report", run, "--out=nosuch/x.html"}, 5, "nosuch/x.html"},
      {{"report", "."}, 4, "neither metrics.jsonl"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

/* ---- in a browser ---- */

/* The page's elements once its scripts have run; skips the test where there is no Chromium. */
static char *built(const char *page) {
  process p = {0};
  char command[2048];
  if (process_shell(&p, "command -v chromium") != 0) {
    process_free(&p);
    print_message("skipped: there is no chromium to open the page in\n");
    skip();
  }
  snprintf(command, sizeof command,
           "HOME=$PWD timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/profile "
           "--virtual-time-budget=5000 --dump-dom file://$PWD/%s",
           page);
  process_shell(&p, command);
  assert_status(&p, 0);
  char *dom = strdup(p.out);
  process_free(&p);
  return dom;
}

static void test_a_browser_builds_the_page(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "report", comparison, run, "--out", "both.html", NULL);
  assert_status(&p, 0);
  process_free(&p);
  char *dom = built("both.html");
  static const char *const shown[] = {
      "<title>comparison comparison, run",
      "greedy needs 46 % less wall time than default", /* a claim */
      "broken crashed: seed 1: replay: no memory for 12 GiB",
      "Ratios with 95 % intervals",
      "0.540 [0.526, 0.551]",
      "cpu_actor 1 → 2, learner_threads 1 → 2", /* what a decision changed */
      "kept after its trial",
      "observations lie within the 90 % interval",
      "What the stages did",
      "<canvas",        /* Dygraphs drew */
      "Made by muzero", /* the last element: nothing failed before it */
  };
  for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) assert_says(dom, shown[i]);
  free(dom);
}

static void test_a_browser_runs_nothing_of_the_data(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "mkdir -p evil && cd evil && mkdir '<img src=x onerror=\"document.title=1\">' && cd '<img src='* && "
                    "printf '%s\\n' '{\"event\":\"phase\",\"phase\":1,\"wall_s\":1,\"score\":2,\"loss\":1,\"evaluated\":true,"
                    "\"plan\":{\"<b>knob</b>\":2,\"__proto__\":1}}' >metrics.jsonl && "
                    "printf '%s' '{\"env\":\"</script><script>document.title=2</script>\"}' >config.json && "
                    "exec $MUZERO report . --out ../../evil.html");
  assert_status(&p, 0);
  process_free(&p);
  char *dom = built("evil.html");
  assert_says(dom, "&lt;/script&gt;&lt;script&gt;document.title=2&lt;/script&gt;</dd>");
  assert_says(dom, "&lt;b&gt;knob&lt;/b&gt;");
  assert_null(strstr(dom, "<img"));
  assert_null(strstr(dom, "<title>1"));
  assert_null(strstr(dom, "<title>2"));
  assert_says(dom, "Made by muzero");
  free(dom);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_writes_into_the_run),
      cmocka_unit_test(test_several_into_a_file),
      cmocka_unit_test(test_wrong_input), /* while the folder holds no run */
      cmocka_unit_test(test_seeds),
      cmocka_unit_test(test_a_browser_builds_the_page),
      cmocka_unit_test(test_a_browser_runs_nothing_of_the_data),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
