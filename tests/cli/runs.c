/* `runs`: what it lists, also of runs that are damaged or under way, and that it leaves them as they are. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--history", "none"

static void train(const char *run, const char *seed) {
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--seed", seed, "--run", run, NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static void shell(process *p, const char *command) {
  process_shell(p, command);
  assert_status(p, 0);
}

static bool is_null(const cJSON *object, const char *key) { return cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, key)); }
static bool is_true(const cJSON *object, const char *key) { return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key)); }

static void test_the_default_folder(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "runs", NULL);
  assert_status(&p, 5);
  assert_says(p.err, "runs: there is no such folder; `muzero train ENV` makes it");
  process_run(&p, "train", "tictactoe", TINY, NULL);
  assert_status(&p, 0);
  process_run(&p, "runs", "--json", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 1);
  cJSON *run = lines_at(p.out, 0);
  const char *name = lines_string(run, "name");
  assert_int_equal(strncmp(name, "runs/tictactoe/", 15), 0);
  process inspected = {0};
  process_run(&inspected, "inspect", name, NULL); /* the name is a RUN */
  assert_status(&inspected, 0);
  process_free(&inspected);
  cJSON_Delete(run);
  process_free(&p);
}

static void test_columns_are_of_characters(void **state) {
  (void)state;
  process p = {0};
  train("u/a", "3");
  train("u/ü", "4");
  process_run(&p, "runs", "u", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "  u/a tictactoe ");
  assert_says(p.out, "  u/ü tictactoe ");
  process_free(&p);
}

static void test_the_newest_comes_first(void **state) {
  (void)state;
  process p = {0};
  train("f/a", "3");
  train("f/sub/b", "4");
  shell(&p, "mkdir f/none; touch -d '1 hour ago' f/sub/b/checkpoints/*; touch -d '3 days ago' f/a/checkpoints/*; tar c f | cksum "
            ">before");
  process_run(&p, "runs", "f", "--json", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.err, "");
  assert_int_equal(lines_count(p.out), 2);
  cJSON *first = lines_at(p.out, 0), *second = lines_at(p.out, 1);
  assert_string_equal(lines_string(first, "name"), "f/sub/b");
  assert_string_equal(lines_string(second, "name"), "f/a");
  assert_string_equal(lines_string(second, "env"), "tictactoe");
  assert_int_equal((int)lines_number(second, "seed"), 3);
  assert_int_equal((int)lines_number(second, "rounds"), 4);
  assert_int_equal((int)lines_number(second, "env_steps"), 48);
  assert_true(lines_number(second, "score") >= 0 && lines_number(second, "score") <= 1);
  assert_true(lines_number(second, "wall_s") > 0);
  assert_true(lines_number(first, "age_s") > 3500 && lines_number(second, "age_s") > 250000);
  assert_keys(second, "updates", "best_score", "in_progress", "damage", NULL);
  assert_false(is_true(second, "in_progress"));
  assert_true(is_null(second, "damage"));
  cJSON_Delete(first);
  cJSON_Delete(second);
  process_run(&p, "runs", "f", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "wall time");
  assert_says(p.out, "\n  f/a ");
  assert_says(p.out, "3 days\n");
  process_run(&p, "runs", "f/a", NULL); /* a run is the only one in its folder */
  assert_status(&p, 0);
  assert_says(p.out, "\n  f/a ");
  process_run(&p, "runs", "f/none", "--json", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.out, "");
  assert_says(p.err, "f/none: no runs here");
  shell(&p, "tar c f | cksum | cmp - before");
  process_run(&p, "runs", "nosuch", NULL);
  assert_status(&p, 5);
  assert_says(p.err, "nosuch");
  process_free(&p);
}

/* The checkpoint that LATEST names decides; what config.json tells is shown. */
static void test_damage_is_shown(void **state) {
  (void)state;
  process p = {0};
  train("d/cut", "1");
  shell(&p,
        "cp -r d/cut d/lost; cp -r d/cut d/flipped; cp -r d/cut d/sound; truncate -s 3000 d/cut/checkpoints/round-000000004.mzc; "
        "rm d/lost/LATEST; f=d/flipped/checkpoints/round-000000004.mzc; "
        "printf XXXX | dd of=$f bs=1 seek=$(($(stat -c %s $f) / 2)) conv=notrunc status=none");
  process_run(&p, "runs", "d", "--json", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 4);
  for (int i = 0; i < 4; i++) {
    cJSON *run = lines_at(p.out, i);
    const bool sound = strcmp(lines_string(run, "name"), "d/sound") == 0;
    assert_string_equal(lines_string(run, "env"), "tictactoe");
    assert_int_equal(is_null(run, "damage"), sound);
    assert_int_equal(is_null(run, "rounds"), !sound);
    assert_int_equal(is_null(run, "score"), !sound);
    cJSON_Delete(run);
  }
  process_run(&p, "runs", "d", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "    damaged: d/cut/checkpoints/round-000000004.mzc: section '");
  assert_says(p.out, "    damaged: d/lost: no checkpoint in this directory (it has no LATEST)");
  process_free(&p);
}

static void test_a_run_that_trains(void **state) {
  (void)state;
  process training = {0}, p = {0};
  process_start(&training, "train", "tictactoe", TINY, "--run", "busy/now", "--rounds", "1000000", "--set",
                "checkpoint.interval=0", "--json", NULL);
  assert_true(process_wait_for(&training, "\"phase\""));
  for (int i = 0; i < 20; i++) { /* while checkpoints come and go */
    process_run(&p, "runs", "busy", "--json", NULL);
    assert_status(&p, 0);
    cJSON *run = lines_at(p.out, 0);
    assert_true(is_true(run, "in_progress"));
    assert_true(is_null(run, "damage"));
    cJSON_Delete(run);
  }
  process_run(&p, "runs", "busy", NULL);
  assert_says(p.out, "  in progress\n");
  char command[64];
  snprintf(command, sizeof command, "kill -KILL %d", (int)training.pid);
  shell(&p, command);
  process_wait(&training);
  process_run(&p, "runs", "busy", "--json", NULL); /* its lock went with it */
  assert_status(&p, 0);
  cJSON *run = lines_at(p.out, 0);
  assert_false(is_true(run, "in_progress"));
  cJSON_Delete(run);
  process_free(&p);
  process_free(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_default_folder),     cmocka_unit_test(test_columns_are_of_characters),
      cmocka_unit_test(test_the_newest_comes_first), cmocka_unit_test(test_damage_is_shown),
      cmocka_unit_test(test_a_run_that_trains),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
