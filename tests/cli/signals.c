/* Ctrl-C, SIGTERM, SIGUSR1, a second writer, and readers of our output who leave. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* A run without an end in sight. */
#define LONG "--preset", TEST_DATA "/cli/tiny.json", "--rounds", "100M", "--set", "eval.games=1"

static void start_long(process *p, const char *run, const char *seed) {
  process_start(p, "train", "tictactoe", LONG, "--run", run, "--seed", seed, "--json", NULL);
  assert_true(process_wait_for(p, "\"phase\":2"));
}

/* phase_rounds=1: every stop comes at a phase's end. */
static void stop_with(int signal, const char *phase_rounds) {
  process p = {0};
  char run[32];
  snprintf(run, sizeof run, "stop%d", signal);
  process_start(&p, "train", "tictactoe", LONG, "--run", run, "--json", "--set", phase_rounds, NULL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  assert_int_equal(kill(p.pid, signal), 0);
  process_wait(&p);
  assert_status(&p, 75);
  assert_says(p.err, "can be resumed");
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  assert_string_equal(lines_string(done, "reason"), "interrupted");
  const double rounds = lines_number(done, "rounds");
  cJSON_Delete(done);

  /* It continues where it stopped, and is the run that never stopped. */
  char more[32], digest[32];
  snprintf(more, sizeof more, "%.0f", rounds + 3);
  process_run(&p, "resume", run, "--rounds", more, NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", run, "--digest", NULL);
  assert_status(&p, 0);
  snprintf(digest, sizeof digest, "%s", p.out);
  char whole[40];
  snprintf(whole, sizeof whole, "%s-whole", run);
  process_run(&p, "train", "tictactoe", "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.games=1", "--run", whole,
              "--rounds", more, "--set", phase_rounds, NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", whole, "--digest", NULL);
  assert_string_equal(p.out, digest);
  process_free(&p);
}

static void test_interrupt(void **state) {
  (void)state;
  stop_with(SIGINT, "train.phase_rounds=2");
}

static void test_terminate(void **state) {
  (void)state;
  stop_with(SIGTERM, "train.phase_rounds=1");
}

/* A round that lasts: the second signal comes while it is played. */
static void test_interrupt_twice(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "train", "tictactoe", LONG, "--run", "slow", "--json", "--set", "simulations=20000", "--set",
                "moves_per_round=2000", "--set", "train.phase_rounds=1", NULL);
  /* resumable from the first moment: wait for the first checkpoint, and for the handlers behind it */
  process wait = {0};
  process_shell(&wait,
                "i=0; until [ -e slow/LATEST ] || [ $i = 600 ]; do sleep 0.05; i=$((i+1)); done; sleep 0.3; ls slow/LATEST");
  assert_status(&wait, 0);
  assert_int_equal(kill(p.pid, SIGINT), 0);
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  assert_int_equal(kill(p.pid, SIGINT), 0);
  process_wait(&p);
  assert_status(&p, 75);
  assert_null(strstr(p.out, "done"));
  process_run(&wait, "inspect", "slow", "--verify", NULL);
  assert_status(&wait, 0);
  process_free(&wait);
  process_free(&p);
}

static void test_checkpoint_on_request(void **state) {
  (void)state;
  process p = {0}, look = {0};
  process_start(&p, "train", "tictactoe", LONG, "--run", "usr1", "--json", "--set", "checkpoint.interval=1000h", "--set",
                "eval.interval=1000000", NULL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  process_shell(&look, "cat usr1/LATEST");
  assert_status(&look, 0);
  char *before = strdup(look.out);
  assert_int_equal(kill(p.pid, SIGUSR1), 0);
  setenv("BEFORE", before, 1);
  process_shell(&look, "i=0; while [ \"$(cat usr1/LATEST)\" = \"$(printf %s \"$BEFORE\")\" ] && [ $i -lt 600 ]; do sleep 0.05; "
                       "i=$((i+1)); done; cat usr1/LATEST");
  assert_string_not_equal(look.out, before);
  free(before);
  assert_int_equal(kill(p.pid, 0), 0); /* and it continues */
  assert_int_equal(kill(p.pid, SIGINT), 0);
  process_wait(&p);
  assert_status(&p, 75);
  process_free(&look);
  process_free(&p);
}

static void test_directory_in_use(void **state) {
  (void)state;
  process p = {0}, second = {0};
  start_long(&p, "shared", "1");
  process_run(&second, "resume", "shared", "--rounds", "5", NULL);
  assert_status(&second, 5);
  char pid[32];
  snprintf(pid, sizeof pid, "%d", (int)p.pid);
  assert_says(second.err, pid);
  /* reading is allowed */
  process_run(&second, "inspect", "shared", NULL);
  assert_status(&second, 0);
  kill(p.pid, SIGINT);
  process_wait(&p);
  assert_status(&p, 75);
  process_free(&second);
  process_free(&p);
}

static void test_killed_run_is_resumable(void **state) {
  (void)state;
  process p = {0};
  start_long(&p, "killed", "1");
  kill(p.pid, SIGKILL);
  process_wait(&p);
  process_run(&p, "inspect", "killed", "--verify", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "killed", "--for", "0.1s", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

/* `muzero train | head -1`: training continues without a reader, to its limit, and is no failure. */
static void train_without_a_reader(const char *run, const char *flags) {
  process p = {0};
  char command[512];
  snprintf(command, sizeof command,
           "{ $MUZERO train tictactoe --preset " TEST_DATA
           "/cli/tiny.json --rounds 60 --run %s %s; echo $? >%s.status; } | head -1",
           run, flags, run);
  process_shell(&p, command);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 1);
  assert_string_equal(p.err, "");
  snprintf(command, sizeof command, "cat %s.status; grep -c phase %s/metrics.jsonl", run, run);
  process_shell(&p, command);
  assert_string_equal(p.out, "0\n30\n");
  process_free(&p);
}

static void test_reader_leaves(void **state) {
  (void)state;
  train_without_a_reader("piped", "");
  train_without_a_reader("piped-json", "--json");
  process p = {0};
  process_shell(&p, "$MUZERO envs --json >/dev/full");
  assert_status(&p, 5);
  assert_says(p.err, "standard output");
  process_shell(&p, "$MUZERO train tictactoe --preset " TEST_DATA "/cli/tiny.json --rounds 100M --run full --json >/dev/full");
  assert_status(&p, 5); /* a disk that is full is none that left */
  assert_says(p.err, "the run is saved in full");
  process_free(&p);
}

/* A phase without end: lines say how far it is; as JSON there are none. */
static void test_long_phases_say_how_far_they_are(void **state) {
  (void)state;
  process json = {0}, plain = {0};
  process_start(&json, "train", "tictactoe", LONG, "--run", "quiet", "--set", "train.phase_rounds=1000000", "--json", NULL);
  process_start(&plain, "train", "tictactoe", LONG, "--run", "talks", "--set", "train.phase_rounds=1000000", NULL);
  assert_true(process_wait_for(&plain, "  so far: rounds "));
  char *so_far = process_output(&json);
  assert_string_equal(so_far, "");
  free(so_far);
  kill(plain.pid, SIGINT);
  kill(json.pid, SIGINT);
  process_wait(&plain);
  process_wait(&json);
  assert_status(&plain, 75);
  assert_status(&json, 75);
  for (int i = 0; i < lines_count(json.out); i++) cJSON_Delete(lines_at(json.out, i));
  process_free(&plain);
  process_free(&json);
}

/* An interrupt is said once, and a phase that had not begun has no line. */
static void test_an_interrupt_is_said_once(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "train", "tictactoe", LONG, "--run", "once", "--set", "train.phase_rounds=1", NULL);
  assert_true(process_wait_for(&p, "phase 2"));
  assert_int_equal(kill(p.pid, SIGINT), 0);
  process_wait(&p);
  assert_status(&p, 75);
  assert_says(p.err, "interrupted: once is saved and can be resumed");
  assert_null(strstr(p.out, "interrupted"));
  int phases = 0;
  long long rounds = 0;
  for (const char *at = p.out; (at = strstr(at, "\nphase ")); at++, phases++)
    assert_int_equal(sscanf(at, "\nphase %*d: rounds %lld", &rounds), 1);
  assert_int_equal(rounds, phases); /* of one round each, none twice */
  process_free(&p);
}

static void test_seeds_stop_together(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "train", "tictactoe", LONG, "--run", "many", "--seeds", "3", "--json", NULL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  kill(p.pid, SIGINT);
  process_wait(&p);
  assert_status(&p, 75);
  assert_says(p.err, "interrupted: 0 of 3 seeds are trained; `muzero resume many/seed-1` continues the one that was interrupted; "
                     "--seed 2 --seeds 2 trains the others");
  cJSON *done = lines_at(p.out, -1);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "scores")), 0); /* of a seed that is not finished there is none */
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(done, "median")) && cJSON_IsNull(cJSON_GetObjectItem(done, "worst")));
  assert_true(lines_number(done, "rounds") > 0);
  cJSON_Delete(done);
  process_shell(&p, "ls many");
  assert_string_equal(p.out, "seed-1\n");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_terminate),
      cmocka_unit_test(test_interrupt_twice),
      cmocka_unit_test(test_checkpoint_on_request),
      cmocka_unit_test(test_directory_in_use),
      cmocka_unit_test(test_killed_run_is_resumable),
      cmocka_unit_test(test_reader_leaves),
      cmocka_unit_test(test_seeds_stop_together),
      cmocka_unit_test(test_an_interrupt_is_said_once),
      cmocka_unit_test(test_long_phases_say_how_far_they_are),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
