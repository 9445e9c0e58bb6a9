/* The allocator from the command line: strategies, limits, why, what-if, profile, compare. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"

static void refused(process *p, int status, const char *says) {
  assert_status(p, status);
  assert_says(p->err, says);
  process_free(p);
}

static void test_refusals(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--allocate", "demnad", NULL);
  refused(&p, 3, "demand");
  process_run(&p, "train", "tictactoe", TINY, "--set", "limits.cpu_min=4", "--set", "limits.cpu_max=2", NULL);
  refused(&p, 3, "limits.cpu_min");
  process_run(&p, "train", "tictactoe", TINY, "--set", "limits.memory_max=4MiB", NULL);
  refused(&p, 3, "limits.memory_max: the run may need");
  process_run(&p, "train", "go", "--run", "too-large", "--set", "network.channels=1024", "--set", "limits.memory_max=1GiB", NULL);
  assert_says(p.err, "network and moments");
  refused(&p, 3, "lower network.channels to ");
  assert_int_not_equal(access(process_path("too-large"), F_OK), 0);
  process_run(&p, "train", "cartpole", "--run", "too-long", "--set", "replay.capacity=4e9", "--set", "limits.memory_max=1GiB",
              NULL);
  refused(&p, 3, "lower replay.capacity to ");
  assert_int_not_equal(access(process_path("too-long"), F_OK), 0);
  process_run(&p, "train", "tictactoe", TINY, "--set", "devices.learning=cpu:7", NULL);
  refused(&p, 3, "devices.learning");
  process_run(&p, "train", "tictactoe", TINY, "--set", "allocate.start=plane", NULL);
  refused(&p, 3, "plain");
  process_run(&p, "why", "nosuch", NULL);
  refused(&p, 5, "nosuch");
}

/* One thing learned, whoever allocates, on one device or two. */
static void test_same_digest_under_every_strategy(void **state) {
  (void)state;
  static const char *const strategies[] = {"fixed", "demand", "greedy", "random"};
  enum { STRATEGIES = 4 };
  char first[17] = "";
  for (int i = 0; i <= STRATEGIES; i++) {
    process p = {0};
    if (i < STRATEGIES)
      process_run(&p, "train", "tictactoe", TINY, "--seed", "5", "--json", "--rounds", "12", "--allocate", strategies[i], "--set",
                  "allocate.start=plain", NULL);
    else
      process_run(&p, "train", "tictactoe", TINY, "--seed", "5", "--json", "--rounds", "12", "--set", "devices.cpu=0,1", "--set",
                  "devices.learning=cpu:1", NULL);
    if (i == STRATEGIES && p.status == 3) { /* a machine with one core has no core 1 */
      process_free(&p);
      continue;
    }
    assert_status(&p, 0);
    cJSON *done = lines_at(p.out, -1);
    if (!first[0]) snprintf(first, sizeof first, "%s", lines_string(done, "digest"));
    assert_string_equal(lines_string(done, "digest"), first);
    cJSON_Delete(done);
    process_free(&p);
  }
  process p = {0};
  process_shell(&p, "cat runs/tictactoe/*/ledger.jsonl | grep -c '\"next\":{\"'");
  assert_true(atoi(p.out) > 0); /* plans did change */
  process_free(&p);
}

static void test_why_and_what_if(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "w", "--rounds", "12", "--set", "allocate.start=plain", "--set",
              "allocate.gain_min=1", NULL); /* no trials: their windows are longer */
  assert_status(&p, 0);
  process_run(&p, "why", "w", "--json", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 7); /* the beginning, and six phases of two rounds */
  for (int i = 0; i < 7; i++) {
    cJSON *decision = lines_at(p.out, i);
    assert_int_equal((int)lines_number(decision, "phase"), i);
    assert_string_equal(lines_string(decision, "strategy"), "greedy");
    assert_keys(decision, "predictor", "predicted", "low", "high", "observed", "candidates", "reason", "reverted", "plan", "next",
                "action", NULL);
    cJSON_Delete(decision);
  }
  process_run(&p, "why", "w", "--phase", "3", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "Phase 3");
  process_run(&p, "why", "w", "--phase", "99", NULL);
  refused(&p, 3, "there is no decision after phase 99; the nearest is after phase 6");
  process_run(&p, "what-if", "w", "--phase", "99", NULL);
  refused(&p, 3, "the last is after phase 6");
  process_run(&p, "what-if", "w", "--phase", "4", "--set", "cpu_actor=1", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(answer, "replayed"), 5);
  assert_int_equal((int)lines_number(answer, "differences"), 0); /* the ledger replays byte for byte */
  cJSON_Delete(answer);
  process_run(&p, "what-if", "w", "--set", "cpu_acter=1", NULL);
  refused(&p, 3, "--set cpu_acter=1: unknown knob 'cpu_acter'; did you mean 'cpu_actor'?");
  process_run(&p, "what-if", "w", "--set", "learning_rate=0.1", NULL);
  refused(&p, 3,
          "unknown knob 'learning_rate'; the knobs of a plan are cpu_actor, batch_actor, learner_threads, mcts_storage_size, "
          "batch_buffer_size, devices.selfplay, devices.reanalyze, devices.learning, replay.raw_bytes");
  /* The keys of train's --set, and the names that records have. */
  static const char *const same[] = {"devices.learning=0", "learning_device=0"};
  for (int i = 0; i < 2; i++) {
    process_run(&p, "what-if", "w", "--set", same[i], NULL);
    assert_status(&p, 0);
  }
  process_run(&p, "what-if", "w", "--set", "learning_device=9", NULL);
  refused(&p, 3, "devices.learning goes from 0 to 0");
  process_run(&p, "why", "w", "--phase", "3", NULL);
  assert_says(p.out, "devices.learning cpu:0");
  assert_null(strstr(p.out, "learning_device"));
  /* Resumed under another strategy: the ledger continues. */
  process_run(&p, "resume", "w", "--rounds", "16", "--allocate", "fixed", NULL);
  assert_status(&p, 0);
  process_run(&p, "what-if", "w", "--json", NULL);
  assert_status(&p, 0);
  answer = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(answer, "differences"), 0);
  assert_int_equal((int)lines_number(answer, "replayed"), 7 + 3);
  cJSON_Delete(answer);
  process_free(&p);
}

/* Of a run of 12 rounds, two a phase: the phases that decisions belong to (NULL: any; trials have longer windows), and its digest. */
static void run_windows(const char *name, const char *window, const char *strategy, const char *phases, char digest[64]) {
  process p = {0};
  char set[64], found[256] = "";
  snprintf(set, sizeof set, "allocate.window=%s", window);
  process_run(&p, "train", "tictactoe", TINY, "--run", name, "--rounds", "12", "--set", set, "--allocate", strategy, "--json",
              NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  snprintf(digest, 64, "%s", lines_string(done, "digest"));
  cJSON_Delete(done);
  process_run(&p, "why", name, "--json", NULL);
  assert_status(&p, 0);
  for (int i = 0; i < lines_count(p.out); i++) {
    cJSON *decision = lines_at(p.out, i);
    snprintf(found + strlen(found), sizeof found - strlen(found), "%d ", (int)lines_number(decision, "phase"));
    cJSON_Delete(decision);
  }
  if (phases) assert_string_equal(found, phases);
  process_run(&p, "what-if", name, "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(answer, "differences"), 0);
  cJSON_Delete(answer);
  process_free(&p);
}

/* Windows are no phases, and no result depends on them. */
static void test_windows_shorter_and_longer_than_phases(void **state) {
  (void)state;
  enum { RUNS = 6 };
  char digest[RUNS][64];
  run_windows("w2", "2", "fixed", "0 1 2 3 4 5 6 ", digest[0]);
  run_windows("w1", "1", "fixed", "0 1 1 2 2 3 3 4 4 5 5 6 6 ", digest[1]);
  run_windows("w5", "5", "fixed", "0 3 5 ", digest[2]);
  run_windows("g1", "1", "greedy", NULL, digest[3]);
  run_windows("g2", "2", "greedy", NULL, digest[4]);
  run_windows("d1", "1", "demand", NULL, digest[5]);
  for (int i = 1; i < RUNS; i++) assert_string_equal(digest[i], digest[0]);
  process p = {0};
  process_run(&p, "why", "w1", "--phase", "3", "--json", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 2);
  process_shell(&p, "grep -c '\"predictions\":[0-9]*,\"predictions_held\"' w1/ledger.jsonl");
  assert_true(atoi(p.out) >= 8 && atoi(p.out) < 12); /* neither the beginning nor what came before anything was measured */
  process_run(&p, "why", "w1", NULL);
  assert_says(p.out, "windows fell within the 90 % interval that was predicted for each");
  process_run(&p, "what-if", "w1", "--phase", "3", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(answer, "replayed"), 7); /* with both of phase 3 */
  cJSON_Delete(answer);
  process_free(&p);
}

static void test_profile_fills_the_history(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--plans", "4", "--passes", "2", "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1), *plan;
  assert_keys(done, "plans", "noise", "best", "best_s", "default_s", "ratio", "ratio_low", "ratio_high", NULL);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "plans")), 7);
  int again = 0;
  cJSON_ArrayForEach(plan, cJSON_GetObjectItem(done, "plans")) {
    const cJSON *seconds = cJSON_GetObjectItem(plan, "again_s");
    if (seconds) assert_int_equal(cJSON_GetArraySize(seconds), 5);
    again += seconds != NULL;
  }
  assert_in_range(again, 2, 6); /* the default and at most five others; plans that are the same count once */
  assert_int_equal(lines_count(p.out), 2 * 7 + 5 * again + 1);
  cJSON_Delete(done);
  /* A run of the same work finds the rows. */
  process_run(&p, "train", "tictactoe", TINY, "--run", "p", "--history", "h.db", NULL);
  assert_status(&p, 0);
  process_shell(&p, "grep -c '\"history\":\\[{' p/ledger.jsonl");
  assert_status(&p, 0);
  process_free(&p);
}

/* limits.* end a run, too. */
static void test_limits_end_a_run(void **state) {
  (void)state;
  static const struct {
    const char *set, *reason;
  } cases[] = {{"limits.score=0", "score"}, {"limits.deadline=0.2s", "time"}, {"limits.budget=0.0002", "budget"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    process p = {0};
    process_run(&p, "train", "tictactoe", TINY, "--rounds", "100M", "--json", "--set", "eval.opponent=random", "--set",
                cases[i].set, NULL);
    assert_status(&p, 0);
    cJSON *done = lines_at(p.out, -1);
    assert_string_equal(lines_string(done, "reason"), cases[i].reason);
    cJSON_Delete(done);
    process_free(&p);
  }
}

/* What the system tells of the run reaches the decisions. */
static void test_sensors_are_read(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "s", "--set", "allocate.gain_min=1", NULL);
  assert_status(&p, 0);
  process_shell(&p, "tail -1 s/ledger.jsonl");
  cJSON *line = lines_at(p.out, -1);
  const cJSON *usage = cJSON_GetObjectItem(cJSON_GetObjectItem(line, "window"), "usage"), *missing;
  cJSON_ArrayForEach(missing, cJSON_GetObjectItem(usage, "missing")) {
    assert_string_not_equal(missing->valuestring, "cpu");
    assert_string_not_equal(missing->valuestring, "rss");
    assert_string_not_equal(missing->valuestring, "memory");
  }
  assert_true(lines_number(usage, "cpu_s") >= 0 && lines_number(usage, "rss_bytes") > 1e6);
  cJSON_Delete(line);
  process_free(&p);
}

/* The user's common history may be anything: a run continues without. One that was asked for may not. */
static void test_history_that_cannot_be_had(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "XDG_DATA_HOME=/proc/nosuch $MUZERO train tictactoe --preset " TEST_DATA "/cli/tiny.json --run h1");
  assert_status(&p, 0);
  assert_says(p.err, "keeps no history");
  process_run(&p, "train", "tictactoe", TINY, "--run", "h2", "--history", "/proc/nosuch/h.db", NULL);
  refused(&p, 5, "/proc/nosuch");
  process_shell(&p, "head -c 30000 /dev/urandom >junk.db; $MUZERO train tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --run h3 --history junk.db");
  assert_status(&p, 0);
  assert_says(p.err, "junk.db.damaged");
  process_free(&p);
}

static void test_compare(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", TINY, "--rounds", "8", "--seeds", "2", "--arms", "rule,default,demand,greedy", "--run",
              "c", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(done, "same_digest")));
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "arms")), 4);
  assert_keys(cJSON_GetArrayItem(cJSON_GetObjectItem(done, "arms"), 0), "name", "strategy", "wall_s", "core_s", "gpu_s", "cost",
              "score", NULL);
  assert_keys(cJSON_GetArrayItem(cJSON_GetObjectItem(done, "ratios"), 0), "a", "b", "metric", "ratio", "ci95", "claim", NULL);
  cJSON_Delete(done);
  /* The same again: nothing is left to run, and one more seed runs alone. */
  process_run(&p, "compare", "tictactoe", TINY, "--rounds", "8", "--seeds", "3", "--arms", "rule,default,demand,greedy", "--run",
              "c", "--json", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 5 * 4 + 1); /* four arms and the twin, four blocks */
  process_run(&p, "compare", "tictactoe", TINY, "--rounds", "8", "--seeds", "2", "--arms", "rule,greedy", "--run", "c", NULL);
  refused(&p, 3, "another comparison");
  process_run(&p, "compare", "tictactoe", TINY, "--arms", "rule,fixed:cpu_actor=9999999", NULL);
  refused(&p, 3, "cpu_actor");
  process_shell(&p, "grep -c '<html' c/report.html");
  assert_status(&p, 0);
  process_free(&p);
}

/* The machine changes from block to block: results do not notice, and each segment is told. */
static void test_compare_in_a_scenario(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", TINY, "--rounds", "12", "--seeds", "1", "--block", "1", "--arms", "rule,greedy",
              "--run", "sc", "--scenario", "cores=1@2-3;neighbour=1@3-4", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(done, "same_digest")));
  const cJSON *segments = cJSON_GetObjectItem(done, "segments");
  assert_int_equal(cJSON_GetArraySize(segments), 5);
  static const int wanted[5][4] = {{1, 1, 0, 0}, {2, 2, 1, 0}, {3, 3, 1, 1}, {4, 4, 0, 1}, {5, 6, 0, 0}};
  for (int i = 0; i < 5; i++) {
    const cJSON *segment = cJSON_GetArrayItem(segments, i), *wall = cJSON_GetObjectItem(segment, "wall_s");
    assert_int_equal((int)lines_number(segment, "first"), wanted[i][0]);
    assert_int_equal((int)lines_number(segment, "last"), wanted[i][1]);
    assert_int_equal((int)lines_number(segment, "cores"), wanted[i][2]);
    assert_int_equal((int)lines_number(segment, "neighbour"), wanted[i][3]);
    assert_true(lines_number(wall, "rule") > 0 && lines_number(wall, "greedy") > 0 && lines_number(wall, "A/A") > 0);
  }
  assert_says(lines_string(cJSON_GetObjectItem(done, "room"), "none"), "one fixed plan only");
  cJSON_Delete(done);
  process_run(&p, "compare", "tictactoe", TINY, "--arms", "rule,greedy", "--run", "little", "--scenario", "memory=5%@2", NULL);
  refused(&p, 3, "MiB at least; nearest valid value");
  process_run(&p, "compare", "tictactoe", TINY, "--arms", "rule,greedy", "--scenario", "cores=1@2-1", NULL);
  refused(&p, 3, "character 11");
  process_free(&p);
}

/* Two runs of an arm at a time. */
static void test_compare_together(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", TINY, "--rounds", "12", "--seeds", "1", "--arms", "rule,greedy", "--together", "2",
              "--run", "tg", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(done, "same_digest")));
  cJSON_Delete(done);
  assert_int_equal(process_shell(&p, "test -f tg/seed-1/arm-0/LATEST && test -f tg/seed-1/arm-0-2/LATEST && "
                                     "! cmp -s tg/seed-1/arm-0/env.json tg/seed-1/arm-0-2/env.json"),
                   0);
  process_run(&p, "compare", "cartpole", "--arms", "rule,greedy", "--together", "2", NULL);
  refused(&p, 3, "--rounds");
  process_free(&p);
}

/* An interrupt keeps the seeds that have finished; an arm that is killed is told, and the others continue. */
static void test_compare_interrupted(void **state) {
  (void)state;
  process p = {0}, other = {0};
  process_start(&p, "compare", "tictactoe", TINY, "--rounds", "40", "--seeds", "40", "--arms", "rule,greedy", "--run", "i",
                "--json", NULL);
  assert_true(process_wait_for(&p, "\"seed\":2"));
  process_run(&other, "compare", "tictactoe", TINY, "--rounds", "40", "--seeds", "40", "--arms", "rule,greedy", "--run", "i",
              NULL);
  refused(&other, 5, "i: another process compares there");
  process_free(&other);
  assert_int_equal(kill(p.pid, SIGINT), 0);
  process_wait(&p);
  assert_status(&p, 75);
  process_shell(&p, "test -f i/seed-1.json && test ! -f i/compare.json");
  assert_status(&p, 0);
  process_free(&p);
}

static void test_compare_crash(void **state) {
  (void)state;
  process p = {0};
  /* The process whose run is arm 1 of seed 1 is killed as soon as it has its run. */
  process_shell(&p, "$MUZERO compare tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --rounds 4000 --for 6s --seeds 1 --arms rule,default --run k --json >k.out & "
                    "main=$!; while [ ! -f k/seed-1/arm-1/lock ] || ! [ -s k.out ]; do sleep 0.05; done; kill -9 $(cat "
                    "k/seed-1/arm-1/lock); wait $main");
  assert_status(&p, 0);
  process_shell(&p, "tail -1 k.out");
  cJSON *done = lines_at(p.out, -1);
  const cJSON *all = cJSON_GetObjectItem(done, "arms");
  assert_says(lines_string(cJSON_GetArrayItem(all, 1), "crashed"), "signal 9");
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(all, 0), "crashed")));
  cJSON_Delete(done);
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_same_digest_under_every_strategy),
      cmocka_unit_test(test_why_and_what_if),
      cmocka_unit_test(test_windows_shorter_and_longer_than_phases),
      cmocka_unit_test(test_profile_fills_the_history),
      cmocka_unit_test(test_limits_end_a_run),
      cmocka_unit_test(test_sensors_are_read),
      cmocka_unit_test(test_history_that_cannot_be_had),
      cmocka_unit_test(test_compare),
      cmocka_unit_test(test_compare_in_a_scenario),
      cmocka_unit_test(test_compare_together),
      cmocka_unit_test(test_compare_interrupted),
      cmocka_unit_test(test_compare_crash),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
