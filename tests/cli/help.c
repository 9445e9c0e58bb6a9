/* `--help`, `--help all` and `--help WORD` of the commands that list settings. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const commands[] = {"train", "resume", "compare", "profile"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* Rows of the table of settings; `keys` gets the first words of up to `most` of them. */
static int list_rows(const char *text, char (*keys)[64], int most) {
  const char *at = strstr(text, "  setting ");
  assert_non_null(at);
  int count = 0;
  for (at = strchr(at, '\n') + 1; *at != '\n'; at = strchr(at, '\n') + 1) {
    if (at[2] == ' ') continue; /* more of a meaning */
    if (count < most) snprintf(keys[count], sizeof keys[0], "%.*s", (int)strcspn(at + 2, " "), at + 2);
    count++;
  }
  return count;
}

/* Whether a line of the text begins with the key and a space, as a row of the table does. */
static bool has_row(const char *text, const char *key) {
  char row[160];
  snprintf(row, sizeof row, "\n  %.100s ", key);
  return strstr(text, row) != NULL;
}

static void test_short_and_whole(void **state) {
  (void)state;
  process p = {0};
  for (int c = 0; c < COMMANDS; c++) {
    char keys[20][64], tail[256];
    process_run(&p, commands[c], "--help", NULL);
    assert_status(&p, 0);
    assert_int_equal(list_rows(p.out, keys, 20), 20);
    assert_true(has_row(p.out, "learning_rate"));
    assert_false(has_row(p.out, "adam.epsilon"));
    assert_says(p.out, "\n  --set k=v"); /* flags are all shown */
    char *brief = strdup(p.out);
    process_run(&p, commands[c], "--help", "all", NULL);
    assert_status(&p, 0);
    for (int i = 0; i < 20; i++) assert_true(has_row(p.out, keys[i]));
    assert_says(p.out, "[adam|sgd]");
    assert_true(has_row(p.out, "cpu_actor"));
    assert_says(p.out, "examples:");
    const int all = list_rows(p.out, NULL, 0);
    assert_true(all > 100);
    snprintf(tail, sizeof tail, "\n20 of %d settings: `muzero %s --help all` shows every one", all, commands[c]);
    assert_says(brief, tail);
    free(brief);
    char *whole = strdup(p.out);
    process_run(&p, commands[c], "--help-all", NULL);
    assert_status(&p, 0);
    assert_string_equal(p.out, whole);
    free(whole);
  }
  process_run(&p, "eval", "--help", "all", NULL); /* has flags only */
  assert_status(&p, 0);
  assert_says(p.out, "usage: muzero eval");
  process_free(&p);
}

static void test_a_word(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "--help", "LEARNING", NULL);
  assert_status(&p, 0);
  assert_true(has_row(p.out, "learning_rate"));
  assert_true(has_row(p.out, "devices.learning"));
  assert_true(has_row(p.out, "replay.min_fill")); /* by its help: "before learning starts" */
  assert_false(has_row(p.out, "batch_size"));
  assert_null(strstr(p.out, "--json"));
  process_run(&p, "train", "tictactoe", "-h", "Sgd", NULL); /* a choice */
  assert_status(&p, 0);
  assert_true(has_row(p.out, "optimizer"));
  process_run(&p, "resume", "--help", "rounds", NULL); /* flags, too */
  assert_status(&p, 0);
  assert_says(p.out, "--rounds N");
  assert_true(has_row(p.out, "train.phase_rounds"));
  process_run(&p, "train", "--help", "n_step", NULL); /* a key of before */
  assert_status(&p, 0);
  assert_true(has_row(p.out, "td_steps"));
  assert_false(has_row(p.out, "batch_size"));
  process_run(&p, "eval", "--help", "sims", NULL); /* flags only, where there are no settings */
  assert_status(&p, 0);
  assert_true(has_row(p.out, "--sims"));
  assert_null(strstr(p.out, "--ladder"));
  assert_null(strstr(p.out, "usage:"));
  process_run(&p, "train", "--help", "--json", NULL); /* a flag is no word */
  assert_status(&p, 0);
  assert_says(p.out, "usage: muzero train");
  process_free(&p);
}

static void test_nothing_matches(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"train", "--help", "lerning_rate"}, 2, "'lerning_rate': nothing matches among the flags and settings of `muzero train`"},
      {{"train", "--help", "lerning_rate"}, 2, "did you mean 'learning_rate'?"},
      {{"compare", "--help", "symetry"}, 2, "did you mean 'symmetry'?"},
      {{"train", "--help", "rnouds"}, 2, "did you mean 'rounds'?"},
      {{"eval", "--help", "simz"},
       2,
       "nothing matches among the flags of `muzero eval`; `muzero eval --help all` shows every one"},
      {{"eval", "--help", "simz"}, 2, "did you mean 'sims'?"},
      {{"profile", "--help", "xyzzyxyzzy"}, 2, "`muzero profile --help all` shows every one\n"},
  };
  assert_refused(refusals, sizeof refusals / sizeof refusals[0]);
}

/* What a flag that is not given means differs from command to command, and what a command refuses is not listed. */
static void test_defaults(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "--help", NULL);
  assert_says(p.out, "\n  --allocate STRATEGY         greedy ");
  assert_says(p.out, "\n  --rounds N                  the preset's ");
  assert_says(p.out, "\npresets: ");
  process_run(&p, "resume", "--help", NULL);
  const char *const of_run[] = {"--set k=v", "--allocate STRATEGY", "--watchdog ACTION",
                                "--seed N",  "--rounds N",          "--until SCORE"};
  for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++) {
    char row[80];
    snprintf(row, sizeof row, "\n  %-27s the run's ", of_run[i]);
    assert_says(p.out, row);
  }
  assert_null(strstr(p.out, "presets:"));
  process_run(&p, "compare", "--help", NULL);
  assert_null(strstr(p.out, "--allocate S"));
  assert_says(p.out, "\n  --history FILE              none ");
  process_run(&p, "profile", "--help", NULL);
  assert_null(strstr(p.out, "--rounds N"));
  process_run(&p, "eval", "--help", NULL);
  assert_says(p.out, "\n  --symmetry                  as trained ");
  process_run(&p, "doctor", "--help", NULL);
  assert_null(strstr(p.out, "\n\n\n"));
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_short_and_whole),
      cmocka_unit_test(test_a_word),
      cmocka_unit_test(test_nothing_matches),
      cmocka_unit_test(test_defaults),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
