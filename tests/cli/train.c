/* train, resume and inspect on tiny runs: what they print, and that the runs are what they say. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"

static void digest_of(const char *run, char out[17]) {
  process p = {0};
  process_run(&p, "inspect", run, "--digest", NULL);
  assert_status(&p, 0);
  assert_int_equal(strlen(p.out), 17);
  memcpy(out, p.out, 16);
  out[16] = 0;
  process_free(&p);
}

static void test_json_lines(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "json", "--seed", "3", "--json", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.err, "");
  assert_int_equal(lines_count(p.out), 3); /* two phases of two rounds, and the end */
  for (int i = 0; i < 2; i++) {
    cJSON *phase = lines_at(p.out, i);
    assert_string_equal(lines_string(phase, "event"), "phase");
    assert_int_equal((int)lines_number(phase, "phase"), i + 1);
    assert_int_equal((int)lines_number(phase, "rounds"), 2 * (i + 1));
    assert_keys(phase, "digest", "env_steps", "sims", "updates", "wall_s", "score", "loss", "env_steps_per_s", "sims_per_s",
                "updates_per_s", "rss_bytes", "plan", NULL);
    cJSON_Delete(phase);
  }
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  assert_string_equal(lines_string(done, "run"), "json");
  assert_string_equal(lines_string(done, "reason"), "rounds");
  assert_int_equal((int)lines_number(done, "env_steps"), 4 * 3 * 4);
  assert_int_equal((int)lines_number(done, "seed"), 3);
  assert_keys(done, "score", "wall_s", "updates", NULL);
  char digest[17];
  digest_of("json", digest);
  assert_string_equal(lines_string(done, "digest"), digest);
  cJSON_Delete(done);
  process_free(&p);
}

/* A run's end in words, and the commands to continue with, which a shell takes as they are printed. */
static void test_the_end_and_what_to_type_next(void **state) {
  (void)state;
  static const char *const names[] = {"it's $HOME", "a\\nb", "-dash", "new\nline\033[2J", "a\xff b"};
  process p = {0};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    process_run(&p, "train", "tictactoe", TINY, "--run", names[i], NULL);
    assert_status(&p, 0);
    assert_null(strchr(p.out, '\033'));
    assert_says(p.out, "the limit of rounds is reached\n");
    assert_says(p.out, "\nscore: share of points against itself\n");
    assert_says(p.out, " (share of points against itself) after ");
    char *play = strstr(p.out, "  play    "), *line = strstr(p.out, "  measure ");
    assert_true(play && line);
    play[strcspn(play, "\n")] = 0;
    assert_int_equal(setenv("MZ_PLAY", play + strlen("  play    "), 1), 0);
    line += strlen("  measure ");
    line[strcspn(line, "\n")] = 0;
    assert_int_equal(setenv("MZ_NEXT", line, 1), 0);
    process_shell(&p, "exec bash -c \"$MZ_NEXT\"");
    assert_status(&p, 0);
    assert_says(p.out, "100 games");
    assert_says(p.out, "(share of points against random)");
    process_shell(&p, "printf quit | bash -c \"$MZ_PLAY\"");
    assert_status(&p, 0);
    assert_says(p.out, "against the agent");
  }
  process_run(&p, "train", "cartpole", TINY, "--run", "alone", NULL); /* nobody can play against it */
  assert_status(&p, 0);
  assert_says(p.out, " (mean return) after ");
  assert_says(p.out, " watch alone\n");
  assert_null(strstr(p.out, " play alone"));
  process_run(&p, "train", "tictactoe", TINY, "--run", "lines", "--set", "eval.opponent=all", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "score_name"), "share of lines not lost");
  cJSON_Delete(done);
  process_run(&p, "train", "tictactoe", TINY, "--run", "budget", "--set", "limits.budget=1e-9", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "the budget is spent\n  score");
  process_free(&p);
}

static void test_no_updates_is_said(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "idle", "--set", "loop_count=0", "--json", NULL);
  assert_status(&p, 0);
  assert_says(p.err, "warning: loop_count=0: self-play only");
  process_run(&p, "resume", "idle", "--rounds", "6", NULL);
  assert_status(&p, 0);
  assert_says(p.err, "warning: loop_count=0: self-play only");
  process_free(&p);
}

static void test_targets_beyond_the_range_are_said_once(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "clamped", "--rounds", "16", "--set", "train.phase_rounds=1", "--set",
              "network.value_range=0.01", NULL);
  assert_status(&p, 0);
  const char *said = strstr(p.err, "warning: clamped_targets: ");
  assert_non_null(said);
  assert_says(said, "network.reward_range and network.value_range widen it");
  assert_null(strstr(said + 10, "clamped_targets"));
  process_run(&p, "train", "tictactoe", TINY, "--run", "not_clamped", "--rounds", "16", "--set", "train.phase_rounds=1", NULL);
  assert_status(&p, 0);
  assert_null(strstr(p.err, "clamped_targets"));
  process_run(&p, "train", "tictactoe", TINY, "--run", "soon_over", "--rounds", "6", "--set", "train.phase_rounds=1", "--set",
              "network.value_range=0.01", NULL);
  assert_status(&p, 0);
  assert_null(strstr(p.err, "clamped_targets"));
  process_free(&p);
}

static void test_a_score_out_of_reach_is_said(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "far", "--set", "train.target=1.5", NULL);
  assert_status(&p, 0);
  assert_says(p.err, "warning: train.target=1.5: never reached; the score of tictactoe is 1 at the most");
  process_run(&p, "train", "tictactoe", TINY, "--run", "near", "--until", "1", "--rounds", "4", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.err, "");
  process_free(&p);
}

static void test_plain_lines_without_a_terminal(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, NULL);
  assert_status(&p, 0);
  assert_null(strchr(p.out, '\033'));
  assert_says(p.out, "\nphase 2: rounds 4");
  assert_says(p.out, "score");
  assert_says(p.out, " resume runs/tictactoe/"); /* a directory was made up, and is named */
  assert_says(p.out, " eval runs/tictactoe/");
  process_shell(&p, "ls runs/tictactoe/*/LATEST");
  assert_status(&p, 0);
  process_free(&p);
}

static void test_existing_run(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "twice", NULL);
  assert_status(&p, 0);
  char before[17], after[17];
  digest_of("twice", before);
  process_run(&p, "train", "tictactoe", TINY, "--run", "twice", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "resume twice");
  digest_of("twice", after);
  assert_string_equal(before, after);
  process_free(&p);
}

static void test_resume_goes_on_exactly(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "whole", "--rounds", "7", NULL);
  assert_status(&p, 0);
  process_run(&p, "train", "tictactoe", TINY, "--run", "parts", "--rounds", "3", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "parts", "--rounds", "7", "--threads", "3", "--set", "mcts_storage_size=2", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "reason"), "rounds");
  cJSON_Delete(done);
  char whole[17], parts[17];
  digest_of("whole", whole);
  digest_of("parts", parts);
  assert_string_equal(whole, parts);
  process_run(&p, "inspect", "--diff", "whole", "parts", "--json", NULL);
  assert_status(&p, 0);
  cJSON *diff = lines_at(p.out, 0);
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(diff, "phase")));
  cJSON_Delete(diff);
  process_free(&p);
}

static void test_resume_refuses_what_may_not_change(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "fixed", "--seed", "2", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "fixed", "--rounds", "5", "--set", "batch_size=8", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "batch_size");
  assert_says(p.err, "an algorithmic setting may not change on resume");
  process_run(&p, "resume", "fixed", "--set", "network.width=512", NULL); /* nor would its weights fit a run made from it */
  assert_status(&p, 3);
  assert_says(p.err, "(train without --from starts a new run with it changed)");
  process_run(&p, "resume", "fixed", "--until", "2", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "1 at the most");
  process_run(&p, "resume", "fixed", "--rounds", "5", "--seed", "4", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--seed");
  process_run(&p, "resume", "fixed", "--rounds", "5", "--seed", "2", "--set", "checkpoint.keep=1", "--set", "cpu_actor=1", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static void test_from(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "parent", NULL);
  assert_status(&p, 0);
  process_run(&p, "train", "tictactoe", "--from", "parent", "--run", "child", "--set", "learning_rate=0.001", "--rounds", "6",
              "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(done, "rounds"), 6);
  cJSON_Delete(done);
  process_shell(&p, "cat child/env.json");
  assert_says(p.out, "parent");
  process_run(&p, "train", "tictactoe", "--from", "parent", "--run", "wide", "--set", "network.width=512", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--from parent: weights and games in play are taken over as they are, and network.width is ");
  assert_says(p.err, " there, not 512: leave it as it was");
  process_run(&p, "train", "tictactoe", "--from", "parent", "--run", "wide", "--set", "num_games=3", NULL);
  assert_status(&p, 3);
  assert_says(p.err, " there, not 3: leave it as it was");
  process_run(&p, "train", "cartpole", "--from", "parent", "--run", "other", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "tictactoe");
  process_free(&p);
}

/* What depends on a setting that is given does so here as in a new run: the preset's values do not count as given. */
static void test_from_with_a_preset(void **state) {
  (void)state;
  static const char *const given[] = {"batch_size=2", "replay_ratio=0.5"};
  process p = {0};
  process_shell(&p, "echo '{\"batch_size\": 16, \"shards\": 4, \"loop_count\": 2, \"simulations\": 2}' >preset.json");
  for (int i = 0; i < 2; i++) {
    process_run(&p, "train", "tictactoe", "--preset", "preset.json", "--set", given[i], "--run", "first", "--rounds", "1", NULL);
    assert_status(&p, 0);
    process_run(&p, "train", "tictactoe", "--preset", "preset.json", "--set", given[i], "--from", "first", "--run", "second",
                "--rounds", "1", NULL);
    assert_status(&p, 0);
    process_shell(&p, "cmp first/config.json second/config.json && rm -r first second");
    assert_status(&p, 0);
  }
  process_free(&p);
}

static void test_seeds(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "many", "--seed", "5", "--seeds", "3", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "scores")), 3);
  const cJSON *curve = cJSON_GetObjectItem(done, "curve");
  assert_int_equal(cJSON_GetArraySize(curve), 2);
  assert_true(lines_number(curve->child, "worst") <= lines_number(curve->child, "median"));
  assert_int_equal((int)lines_number(done, "env_steps"), 3 * 4 * 3 * 4);
  cJSON_Delete(done);
  /* each is the run of that seed alone */
  process_run(&p, "train", "tictactoe", TINY, "--run", "six", "--seed", "6", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "six", "--rounds", "4", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "nothing to do: the run already has 4 rounds (limits are totals)\n");
  char alone[17], among[17], other[17];
  digest_of("six", alone);
  digest_of("many/seed-6", among);
  digest_of("many/seed-7", other);
  assert_string_equal(alone, among);
  assert_string_not_equal(alone, other);
  process_run(&p, "train", "tictactoe", TINY, "--seed", "5", "--seeds", "2", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "median");
  assert_says(p.out, "worst");
  process_free(&p);
}

static void test_inspect(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "seen", NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", "seen", "--json", NULL);
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  assert_keys(object, "format", "config", "counters", "sections", "strategy", NULL);
  assert_string_equal(lines_string(object, "env"), "tictactoe");
  assert_int_equal((int)lines_number(cJSON_GetObjectItem(object, "counters"), "rounds"), 4);
  assert_int_equal((int)lines_number(cJSON_GetObjectItem(object, "config"), "batch_size"), 16);
  assert_keys(cJSON_GetObjectItem(object, "sections")->child, "name", "bytes", "compressed", "xxh64", NULL);
  cJSON_Delete(object);
  process_run(&p, "inspect", "seen", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "weights");
  process_run(&p, "inspect", "seen", "--verify", NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", "seen", "--digest", "--json", NULL);
  assert_status(&p, 0);
  object = lines_at(p.out, 0);
  assert_keys(cJSON_GetObjectItem(object, "parts"), "weights", "target", "optimizer", "replay", "games", "counters", NULL);
  cJSON_Delete(object);
  process_free(&p);
}

static void test_diff_names_phase_and_part(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "left", NULL);
  assert_status(&p, 0);
  /* the same until learning begins in the second phase */
  process_run(&p, "train", "tictactoe", TINY, "--run", "right", "--set", "learning_rate=0.5", NULL);
  assert_status(&p, 0);
  process_run(&p, "inspect", "--diff", "left", "right", "--json", NULL);
  assert_status(&p, 0);
  cJSON *diff = lines_at(p.out, 0);
  assert_int_equal((int)lines_number(diff, "phase"), 2);
  assert_string_equal(lines_string(diff, "part"), "weights");
  cJSON_Delete(diff);
  process_run(&p, "inspect", "--diff", "left", "right", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "phase 2");
  assert_says(p.out, "weights");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json_lines),
      cmocka_unit_test(test_the_end_and_what_to_type_next),
      cmocka_unit_test(test_no_updates_is_said),
      cmocka_unit_test(test_targets_beyond_the_range_are_said_once),
      cmocka_unit_test(test_a_score_out_of_reach_is_said),
      cmocka_unit_test(test_plain_lines_without_a_terminal),
      cmocka_unit_test(test_existing_run),
      cmocka_unit_test(test_resume_goes_on_exactly),
      cmocka_unit_test(test_resume_refuses_what_may_not_change),
      cmocka_unit_test(test_from),
      cmocka_unit_test(test_from_with_a_preset),
      cmocka_unit_test(test_seeds),
      cmocka_unit_test(test_inspect),
      cmocka_unit_test(test_diff_names_phase_and_part),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
