/* Runs whose environment Python processes play, by a stand-in for Gymnasium (tests/envs/stand_in). */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--history none --preset " TEST_DATA "/cli/tiny.json"
#define ODD "gym:Odd-v0,reward_min=0,reward_max=1,return_min=0,return_max=10,late=1"

static void shell(process *p, int status, const char *command) {
  char text[2048];
  snprintf(text, sizeof text, "M=\"$MUZERO\"; %s", command);
  process_shell(p, text);
  assert_status(p, status);
}

static void test_the_number_of_workers_changes_nothing(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "for w in 1 2 3; do $M train gym:Pole-v0,workers=$w " TINY " --run by$w --rounds 12 --threads $w || exit 9; done && "
        "for w in 2 3; do test $($M inspect by1 --digest) = $($M inspect by$w --digest) || exit 9; done");
  shell(&p, 0, "for w in 1 2; do $M train 'spiel:walk(players=2),workers='$w " TINY " --run walk$w --rounds 12 || exit 9; done");
  shell(&p, 0, "test $($M inspect walk1 --digest) = $($M inspect walk2 --digest)");
  process_free(&p);
}

/* The second resume, too. */
static void test_a_run_keeps_ranges_and_timeout(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train gym:Pole-v0,timeout=77 " TINY
        " --run kept --rounds 2 && sed -n '/\"env_ranges\"/,/]/p' kept/config.json >first && test $(wc -l <first) -gt 2 && "
        "for n in 3 4; do $M resume kept --rounds $n --history none && grep -q '\"env_timeout\": *77' kept/config.json && "
        "sed -n '/\"env_ranges\"/,/]/p' kept/config.json | cmp - first || exit 9; done");
  process_free(&p);
}

/* Gymnasium's environments have no copies: what follows a resume is always the same, but not what would have been. */
static void test_a_resume_that_is_not_exact_is_said(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M train gym:Pole-v0 " TINY " --run short --rounds 6");
  assert_says(p.err, "gym:Pole-v0: its games cannot be saved: 'muzero resume' begins those in play anew");
  shell(&p, 0, "cp -r short again && $M resume short --rounds 12 --history none");
  assert_says(p.err, "gym:Pole-v0: the games that were in play begin anew");
  shell(&p, 0, "$M resume again --rounds 12 --history none && test $($M inspect short --digest) = $($M inspect again --digest)");
  shell(&p, 0, "test $($M inspect short --digest) != $($M inspect by1 --digest)");
  shell(&p, 0, "$M inspect short");
  assert_says(p.out, "games in play are not saved: resume begins them anew");
  shell(&p, 0, "$M inspect short --json");
  cJSON *json = lines_at(p.out, 0);
  assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "saves_games")));
  assert_true(lines_number(json, "lost_workers") == 0);
  cJSON_Delete(json);
  /* OpenSpiel's states are their histories. */
  shell(&p, 0, "$M train 'spiel:walk(players=2)' " TINY " --run walk --rounds 6");
  assert_null(strstr(p.err, "anew"));
  shell(&p, 0, "$M resume walk --rounds 12 --history none && test $($M inspect walk --digest) = $($M inspect walk1 --digest)");
  assert_null(strstr(p.err, "anew"));
  shell(&p, 0, "$M inspect walk --json");
  json = lines_at(p.out, 0);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "saves_games")));
  cJSON_Delete(json);
  process_free(&p);
}

static void test_the_options_are_listed(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M envs gym:Pole-v0");
  assert_says(p.out, "options, as in gym:Pole-v0,workers=2\n  workers      processes;");
  assert_says(p.out, "\n  timeout      seconds, by default 60,");
  assert_says(p.out, "others go to gymnasium.make");
  shell(&p, 3, "$M envs gym:Pole-v0,timeout=0");
  assert_says(p.err, "timeout: 0 is outside of 0.05 … 86400; nearest valid value: 0.05");
  process_free(&p);
}

static void assert_lost(const char *line, double workers, double games, double rounds) {
  cJSON *json = lines_at(line, -1);
  const cJSON *counters = cJSON_GetObjectItem(json, "counters");
  const double is[3] = {lines_number(json, "lost_workers"), lines_number(json, "lost_games"),
                        lines_number(counters ? counters : json, "rounds")};
  if (is[0] != workers || is[1] != games || is[2] != rounds)
    fail_msg("%g workers and %g games lost after %g rounds, not %g, %g, %g", is[0], is[1], is[2], workers, games, rounds);
  cJSON_Delete(json);
}

/* Rounds of 3 moves of one game, an evaluation of 40 moves behind every second one: the only worker is killed in its 48th to 50th
 * move, in self-play, and each time with the game that it plays. No probes, which would be moves too. */
static void test_a_run_outlives_its_workers_and_counts_them(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train " ODD ",fault=step_killed,count=count,first=47,last=49,workers=1 " TINY
        " --run k --rounds 20 --set num_games=1 --allocate fixed --json");
  assert_says(p.err, "worker 0 (process ");
  assert_says(
      p.err, "is lost in a move: killed by signal 9 (Killed); a new one takes its place (1 lost so far; before this one 0 games");
  assert_says(p.err, "(3 lost so far; before this one 2 games were truncated)");
  assert_lost(p.out, 3, 3, 20);
  shell(&p, 0, "$M inspect k --json");
  assert_lost(p.out, 3, 3, 20);
  shell(&p, 0, "$M inspect k");
  assert_says(p.out, "3 workers were lost, and 3 games truncated by that");
  /* A resumed run goes on counting; the moves are counted anew. */
  shell(&p, 0, "rm count && $M resume k --rounds 40 --allocate fixed --history none");
  assert_says(p.out, "  lost    6 workers; 6 games were truncated by that\n");
  shell(&p, 0, "$M inspect k --json");
  assert_lost(p.out, 6, 6, 40);
  shell(&p, 3, "$M train " ODD ",fault=step_killed,workers=1 " TINY " --run never");
  assert_says(p.err, "worker 0 was lost 8 times in a row without playing a move; the last time: killed by signal 9");
  process_free(&p);
}

/* Plans drawn at random change the number of processes between phases, each change is in the ledger, and results stay. */
static void test_plans_change_the_number_and_nothing_else(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M train 'spiel:walk(players=2)' " TINY " --run plain --rounds 200 --threads 2 --allocate fixed");
  shell(&p, 0,
        "$M train 'spiel:walk(players=2)' " TINY
        " --run drawn --rounds 200 --threads 2 --allocate random --set allocate.verify=off --set allocate.window=1 && "
        "test $($M inspect plain --digest) = $($M inspect drawn --digest)");
  shell(&p, 0, "grep -c '\"next\":{[^}]*\"env_workers\":[0-9]' drawn/ledger.jsonl && $M why drawn");
  assert_says(p.out, "env_workers ");
  shell(&p, 0, "grep -q '\"env\":\\[[0-9]' drawn/ledger.jsonl && ! grep -q '\"next\":{[^}]*env_workers' plain/ledger.jsonl");
  shell(&p, 0,
        "$M train 'spiel:walk(players=2)' " TINY " --run follows --rounds 200 --threads 2 --replay-plan drawn && "
        "test $($M inspect plain --digest) = $($M inspect follows --digest)");
  process_free(&p);
}

/* Prints the numbers of processes of all phases of a run, each once. */
#define NUMBERS(run) "grep -o '\"env_workers\":[0-9]*' " run "/metrics.jsonl | sort -u | tr '\n' ' '"

static void test_a_number_that_is_given_is_kept(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "$M train 'spiel:walk(players=2),workers=3' " TINY
        " --run given --rounds 60 --threads 1 --allocate random --set allocate.verify=off --set allocate.window=1 && " NUMBERS(
            "given"));
  assert_says(p.out, "\"env_workers\":3 ");
  assert_null(strstr(p.out, "\"env_workers\":1"));
  assert_null(strstr(p.out, "\"env_workers\":2"));
  /* A resumed run keeps it, unless it is given another. */
  shell(&p, 0, "cp -r given other && $M resume given --rounds 80 --history none && " NUMBERS("given"));
  assert_null(strstr(p.out, "\"env_workers\":2"));
  shell(&p, 0, "$M resume other --rounds 80 --history none --set env_workers=2 && " NUMBERS("other"));
  assert_says(p.out, "\"env_workers\":2 \"env_workers\":3 ");
  shell(&p, 0, "test $($M inspect given --digest) = $($M inspect other --digest)");
  /* Games of Gymnasium stay with their processes: the number that a run begins with, here by its limit, stays, too. */
  shell(&p, 0,
        "$M train gym:Pole-v0 " TINY
        " --run held --rounds 60 --set limits.cpu_max=1 --allocate random --set allocate.verify=off --set allocate.window=1 "
        "&& " NUMBERS("held"));
  assert_says(p.out, "\"env_workers\":1 ");
  assert_null(strstr(p.out, "\"env_workers\":2"));
  process_free(&p);
}

/* The interpreter is a script that notes its process. */
#define NOTED(file)                                                                                                              \
  "printf '#!/bin/sh\necho $$ >>$PIDS\nexec python3 \"$@\"\n' >note && chmod +x note && export PIDS=$PWD/" file                  \
  " MUZERO_PYTHON=$PWD/note && "

static void test_no_more_processes_start_than_cores_may_be_used(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        NOTED("one_pids") "$M train gym:Pole-v0 " TINY
                          " --run one_core --rounds 8 --set limits.cpu_max=1 && test $(wc -l <one_pids) -eq 1");
  shell(&p, 0,
        NOTED("one_thread_pids") "$M train gym:Pole-v0 " TINY
                                 " --run one_thread --rounds 8 --threads 1 && test $(wc -l <one_thread_pids) -eq 1");
  shell(&p, 0,
        NOTED("three_pids") "$M train gym:Pole-v0,workers=3 " TINY
                            " --run three --rounds 8 --threads 1 && test $(wc -l <three_pids) -eq 3");
  process_free(&p);
}

static int number_after(const char *text, const char *words) {
  assert_says(text, words);
  return atoi(strstr(text, words) + strlen(words));
}

/* The number that is advised fits, and the run goes through. */
static void test_their_memory_is_bounded(void **state) {
  (void)state;
  process p = {0};
  char command[256];
  static const char train[] = "$M train gym:Pole-v0,workers=64 " TINY " --run many --rounds 2";
  snprintf(command, sizeof command, "%s --set limits.memory_max=1MiB", train);
  shell(&p, 3, command);
  const int most = number_after(p.err, "the run may need ") * 3 / 4; /* MiB */
  snprintf(command, sizeof command, "%s --set limits.memory_max=%dMiB", train, most);
  shell(&p, 3, command);
  assert_says(p.err, "processes of the environment");
  const int advised = number_after(p.err, "lower env_workers to ");
  assert_in_range(advised, 1, 63);
  snprintf(command, sizeof command, "%s --set limits.memory_max=%dMiB --set env_workers=%d", train, most, advised);
  shell(&p, 0, command);
  process_free(&p);
}

/* Whoever ended may stay as a zombie where nobody waits for orphans. */
static void test_no_process_stays(void **state) {
  (void)state;
  process p = {0};
  shell(
      &p, 0,
      NOTED("pids") "$M train 'spiel:walk(players=2)' " TINY
                    " --run ends --rounds 60 --threads 2 --allocate random --set allocate.verify=off --set allocate.window=1 && "
                    "test $(wc -l <pids) -ge 2 && for p in $(cat pids); do "
                    "while grep -q '^State:[[:space:]]*[^Z]' /proc/$p/status 2>/dev/null; do sleep 0.02; done; done");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_number_of_workers_changes_nothing),
      cmocka_unit_test(test_a_run_keeps_ranges_and_timeout),
      cmocka_unit_test(test_a_resume_that_is_not_exact_is_said),
      cmocka_unit_test(test_the_options_are_listed),
      cmocka_unit_test(test_a_run_outlives_its_workers_and_counts_them),
      cmocka_unit_test(test_plans_change_the_number_and_nothing_else),
      cmocka_unit_test(test_a_number_that_is_given_is_kept),
      cmocka_unit_test(test_no_more_processes_start_than_cores_may_be_used),
      cmocka_unit_test(test_their_memory_is_bounded),
      cmocka_unit_test(test_no_process_stays),
  };
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) {
    print_message("skipped: there is no python3 of version 3.9 or later\n");
    return 77;
  }
  setenv("MUZERO_PYTHON", "python3", 1);
  setenv("PYTHONPATH", STAND_INS, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
