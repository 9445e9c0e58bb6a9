/* SIGHUP, with and without a terminal that goes away, and signals that come before there is a run. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <errno.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"

static void assert_resumable(const char *run) {
  process p = {0};
  process_run(&p, "inspect", run, "--verify", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", run, "--for", "0.1s", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static void assert_interrupted(const process *p) {
  assert_status(p, 75);
  cJSON *done = lines_at(p->out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  assert_string_equal(lines_string(done, "reason"), "interrupted");
  cJSON_Delete(done);
}

/* A shell sends SIGHUP after the kernel did: however many come, the run is saved. */
static void test_hangups_save_the_run(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "train", "tictactoe", TINY, "--rounds", "100M", "--set", "eval.games=1", "--run", "hup", "--json", NULL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  for (int i = 0; i < 3; i++) {
    assert_int_equal(kill(p.pid, SIGHUP), 0);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  process_wait(&p);
  assert_interrupted(&p);
  assert_says(p.err, "can be resumed");
  assert_resumable("hup");
  process_free(&p);
}

/* SIGHUP is ignored, as under nohup. */
static void test_a_hangup_that_was_ignored_stays_ignored(void **state) {
  (void)state;
  process p = {0};
  signal(SIGHUP, SIG_IGN);
  process_start(&p, "train", "tictactoe", TINY, "--rounds", "100M", "--set", "eval.games=1", "--run", "nohup", "--json", NULL);
  signal(SIGHUP, SIG_DFL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  assert_int_equal(kill(p.pid, SIGHUP), 0);
  char *so_far = process_output(&p), next[32];
  snprintf(next, sizeof next, "\"phase\":%d", lines_count(so_far) + 5);
  free(so_far);
  assert_true(process_wait_for(&p, next));
  assert_int_equal(kill(p.pid, SIGTERM), 0);
  process_wait(&p);
  assert_interrupted(&p);
  process_free(&p);
}

/* Starts a run on a terminal and closes that when something was printed. */
static int lose_terminal(const char *term, const char *run, const char *flag) {
  int terminal;
  const pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
  assert_true(pid >= 0);
  if (pid == 0) {
    setenv("TERM", term, 1);
    if (chdir(process_folder()) != 0) _exit(126);
    execl(MUZERO_BINARY, MUZERO_BINARY, "train", "tictactoe", TINY, "--rounds", "100M", "--set", "eval.games=1", "--run", run,
          flag, (char *)NULL);
    _exit(127);
  }
  char text[4096];
  for (size_t length = 0; length < 2 * sizeof text;) {
    const ssize_t got = read(terminal, text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    assert_true(got > 0);
    length += (size_t)got;
  }
  close(terminal);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void test_a_terminal_that_goes_away_does_not_lose_the_run(void **state) {
  (void)state;
  assert_int_equal(lose_terminal("xterm", "screen", "--threads=1"), 75);
  assert_resumable("screen");
  assert_int_equal(lose_terminal("dumb", "plain", "--threads=1"), 75);
  assert_resumable("plain");
  assert_int_equal(lose_terminal("dumb", "json", "--json"), 75);
  assert_resumable("json");
}

/* ---- before there is a run ---- */

static int handles(pid_t pid, int number) {
  char path[64], line[256];
  unsigned long long caught = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "SigCgt: %llx", &caught) != 1) continue;
  if (file) fclose(file);
  return (int)(caught >> (number - 1) & 1);
}

/* Starts a command that stops in the middle of opening its run, at a preset that is a pipe without a writer, sends it a signal
 * there, and puts the preset in the pipe's place, which the interrupted call then opens. */
static void signal_while_opening(process *p, int number, const char *rounds) {
  process shell = {0};
  process_shell(&shell, "rm -rf early preset.json; mkfifo preset.json && cp " TEST_DATA "/cli/tiny.json whole.json");
  assert_status(&shell, 0);
  process_free(&shell);
  process_start(p, "train", "tictactoe", "--preset", "preset.json", "--run", "early", "--rounds", rounds, "--json", NULL);
  for (int polls = 0; polls < 1000 && !handles(p->pid, number); polls++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  assert_int_equal(rename(process_path("whole.json"), process_path("preset.json")), 0);
  assert_int_equal(kill(p->pid, number), 0);
  process_wait(p);
}

static void test_stops_before_the_run_is_open(void **state) {
  (void)state;
  static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
  process p = {0};
  for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
    signal_while_opening(&p, stops[i], "100M");
    assert_interrupted(&p);
    assert_resumable("early");
  }
  process_free(&p);
}

static void test_a_request_for_a_checkpoint_before_the_run_is_open(void **state) {
  (void)state;
  process p = {0};
  signal_while_opening(&p, SIGUSR1, "4");
  assert_status(&p, 0);
  assert_resumable("early");
  process_free(&p);
}

/* ---- several runs ---- */

static void test_a_comparison_keeps_what_is_finished(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "compare", "tictactoe", TINY, "--rounds", "40", "--arms", "rule,default", "--seeds", "64", "--run",
                "compared", "--json", NULL);
  assert_true(process_wait_for(&p, "\"seed\":2"));
  assert_int_equal(kill(p.pid, SIGUSR1), 0); /* nothing to save there, and no harm */
  assert_int_equal(kill(p.pid, SIGHUP), 0);
  process_wait(&p);
  assert_status(&p, 75);
  assert_says(p.err, "the same command with --run compared resumes it");
  process_shell(&p, "test -f compared/seed-1.json && test ! -f compared/compare.json");
  assert_status(&p, 0);
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hangups_save_the_run),
      cmocka_unit_test(test_a_hangup_that_was_ignored_stays_ignored),
      cmocka_unit_test(test_a_terminal_that_goes_away_does_not_lose_the_run),
      cmocka_unit_test(test_stops_before_the_run_is_open),
      cmocka_unit_test(test_a_request_for_a_checkpoint_before_the_run_is_open),
      cmocka_unit_test(test_a_comparison_keeps_what_is_finished),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
