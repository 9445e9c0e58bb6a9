/* eval: every opponent, two runs, openings, the ladder; what is printed, and what is refused. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"

static void train(const char *env, const char *run, const char *seed) {
  process p = {0};
  process_run(&p, "train", env, TINY, "--run", run, "--seed", seed, "--set", "checkpoint.spaced=1", NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static int make_runs(void **state) {
  if (process_make_folder(state) != 0) return -1;
  train("tictactoe", "agent", "1");
  train("tictactoe", "rival", "2");
  train("cartpole", "pole", "1");
  train("allocation", "plans", "1");
  return 0;
}

static void test_eval(void **state) {
  (void)state;
  process p = {0};
  static const char *const opponents[] = {"random", "rule", "perfect", "mcts:5", "./agent"};
  for (size_t i = 0; i < sizeof opponents / sizeof opponents[0]; i++) {
    process_run(&p, "eval", "agent", "--opponent", opponents[i], "--games", "10", "--json", NULL);
    assert_status(&p, 0);
    cJSON *result = lines_at(p.out, 0);
    assert_keys(result, "mean_return", "std", "ci95", "by_seat", "sims", "elo", "elo_ci95", NULL);
    const double points = lines_number(result, "points");
    const cJSON *interval = cJSON_GetObjectItem(result, "points_ci95");
    assert_true(points == (lines_number(result, "win") + 0.5 * lines_number(result, "draw")) / 10);
    assert_true(interval->child->valuedouble <= points && points <= interval->child->next->valuedouble);
    assert_string_equal(lines_string(result, "opponent"), opponents[i]);
    assert_int_equal((int)(lines_number(result, "win") + lines_number(result, "draw") + lines_number(result, "loss")), 10);
    cJSON_Delete(result);
  }
  process_run(&p, "eval", "agent", "--opponent", "all", "--json", NULL);
  assert_status(&p, 0);
  cJSON *result = lines_at(p.out, 0);
  assert_true(lines_number(result, "games") > 10);
  assert_string_equal(lines_string(result, "score_name"), "share of lines not lost");
  assert_true(lines_number(result, "score") == 1 - lines_number(result, "loss") / lines_number(result, "games"));
  cJSON_Delete(result);
  process_run(&p, "eval", "pole", "--games", "3", "--sims", "2", "--json", NULL);
  assert_status(&p, 0);
  result = lines_at(p.out, 0);
  assert_int_equal((int)lines_number(result, "sims"), 2);
  assert_true(lines_number(result, "mean_return") >= 1);
  assert_true(lines_number(result, "std") >= 0);
  assert_int_equal((int)(lines_number(result, "win") + lines_number(result, "draw") + lines_number(result, "loss")), 0);
  cJSON_Delete(result);

  process_run(&p, "eval", "agent", "--opponent", "prefect", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "perfect");
  process_run(&p, "eval", "agent", "--opponent", "./pole", NULL); /* both are named, with what they play */
  assert_status(&p, 3);
  assert_says(p.err, "./pole: plays cartpole, but agent plays tictactoe");
  process_run(&p, "eval", "agent", "--opponent", "./nosuch", NULL);
  assert_status(&p, 5);
  process_free(&p);
}

/* One game says nothing of others, and of every line nothing is left to chance. */
static void test_no_interval(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "eval", "agent", "--games", "1", NULL);
  assert_status(&p, 0);
  assert_says(p.out, ", standard deviation 0, 1 game\n");
  assert_says(p.out, "  moves first  1 game: ");
  assert_null(strstr(p.out, "±"));
  process_run(&p, "eval", "agent", "--games", "1", "--json", NULL);
  cJSON *result = lines_at(p.out, 0);
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(result, "ci95")));
  cJSON_Delete(result);
  process_run(&p, "eval", "pole", "--opponent", "random", "--games", "1", "--sims", "1", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "cartpole, 1 simulation a move\n");
  assert_null(strstr(p.out, "±"));
  process_run(&p, "eval", "agent", "--opponent", "all", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "  mean return  ");
  assert_null(strstr(p.out, "±"));
  process_free(&p);
}

static void test_eval_does_not_depend_on_threads(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "eval", "agent", "--games", "30", "--threads", "1", "--json", NULL);
  assert_status(&p, 0);
  char *one = strdup(p.out);
  process_run(&p, "eval", "agent", "--games", "30", "--threads", "3", "--json", NULL);
  assert_string_equal(p.out, one);
  process_run(&p, "eval", "agent", "--games", "30", "--seed", "2", "--json", NULL);
  assert_status(&p, 0);
  assert_string_not_equal(p.out, one);
  free(one);
  process_free(&p);
}

static cJSON *eval_json(process *p, const char *flag, const char *value, const char *flag2, const char *value2) {
  process_run(p, "eval", "agent", "--opponent", "./rival", "--json", "--games", "20", flag, value, flag2, value2, NULL);
  assert_status(p, 0);
  return lines_at(p->out, 0);
}

/* Every line of tic-tac-toe, by an agent that has hardly learned: it plays otherwise, and the same again; a run that was trained so plays
 * so by itself. */
static void test_symmetry(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "eval", "agent", "--opponent", "all", "--json", NULL);
  assert_status(&p, 0);
  char *as_it_stands = strdup(p.out);
  process_run(&p, "eval", "agent", "--opponent", "all", "--symmetry", "--json", NULL);
  assert_status(&p, 0);
  char *symmetric = strdup(p.out);
  assert_string_not_equal(symmetric, as_it_stands);
  process_run(&p, "eval", "agent", "--opponent", "all", "--symmetry", "--threads", "3", "--json", NULL);
  assert_string_equal(p.out, symmetric);
  process_run(&p, "train", "tictactoe", "--from", "agent", "--run", "images", "--rounds", "1", "--set", "eval.symmetry=on", NULL);
  assert_status(&p, 0);
  process_run(&p, "eval", "images", "--opponent", "all", "--json", NULL);
  assert_status(&p, 0);
  free(as_it_stands);
  as_it_stands = strdup(p.out);
  process_run(&p, "eval", "images", "--opponent", "all", "--symmetry", "--json", NULL);
  assert_string_equal(p.out, as_it_stands);
  free(as_it_stands);
  free(symmetric);
  process_free(&p);
}

static void test_two_runs(void **state) {
  (void)state;
  process p = {0};
  cJSON *result = eval_json(&p, "--sims", "3", "--opponent-sims", "6");
  assert_int_equal((int)lines_number(result, "sims"), 3);
  assert_int_equal((int)lines_number(result, "opponent_sims"), 6);
  assert_int_equal((int)lines_number(result, "openings"), 2); /* for nine cells */
  cJSON_Delete(result);

  /* Without openings one game a seat is repeated: an interval of two observations. */
  result = eval_json(&p, "--openings", "0", "--seed", "3");
  const cJSON *first = cJSON_GetObjectItem(result, "by_seat")->child;
  const int won = (int)lines_number(first, "win"), drawn = (int)lines_number(first, "draw");
  assert_true((won == 0 || won == 10) && (drawn == 0 || drawn == 10));
  const cJSON *interval = cJSON_GetObjectItem(result, "points_ci95");
  assert_true(interval->child->next->valuedouble - interval->child->valuedouble > 0.4);
  cJSON_Delete(result);

  process_run(&p, "eval", "agent", "--opponent", "./rival", "--openings", "3", NULL);
  assert_status(&p, 0);
  const char *const words[] = {"against ./rival with 4, after up to 3 random moves", "Elo difference", "95 %",
                               "moves second 50 games"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) assert_says(p.out, words[i]);
  process_free(&p);
}

static void test_positions(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "eval", "agent", "--positions", "40", "--opponent", "perfect", "--sims", "3", "--json", NULL);
  assert_status(&p, 0);
  cJSON *result = lines_at(p.out, 0);
  assert_keys(result, "positions", "sims", "kept", "kept_ci95", "opponent", "opponent_kept", "opponent_kept_ci95", NULL);
  assert_int_equal((int)lines_number(result, "positions"), 40);
  assert_int_equal((int)lines_number(result, "sims"), 3);
  assert_true(lines_number(result, "opponent_kept") == 1);
  const double kept = lines_number(result, "kept");
  assert_true(kept > 0 && kept < 1); /* three simulations of a network that has learned nothing */
  cJSON_Delete(result);

  char line[64]; /* alone, for people: the same share of the same positions */
  snprintf(line, sizeof line, "in %.1f %%", 100 * kept);
  process_run(&p, "eval", "agent", "--positions", "40", "--sims", "3", "--threads", "2", NULL);
  assert_status(&p, 0);
  assert_says(p.out, line);
  process_free(&p);
}

static void test_ladder(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "eval", "agent", "--ladder", "--games", "4", "--sims", "2", "--threads", "1", "--json", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.err, ""); /* how far it is, it says on a terminal alone */
  char *one = strdup(p.out);
  cJSON *result = lines_at(p.out, 0);
  assert_int_equal((int)lines_number(result, "games"), 4);
  assert_int_equal((int)lines_number(result, "openings"), 2);
  assert_int_equal((int)lines_number(result, "sims"), 2);
  const cJSON *rungs = cJSON_GetObjectItem(result, "ladder"), *pairs = cJSON_GetObjectItem(result, "pairs");
  assert_string_equal(lines_string(rungs->child, "name"), "random");
  assert_true(lines_number(rungs->child, "elo") == 0);
  const cJSON *last = cJSON_GetArrayItem(rungs, cJSON_GetArraySize(rungs) - 1);
  assert_string_equal(lines_string(last, "name"), "round-000000004");
  assert_keys(last, "rounds", "updates", "env_steps", "wall_s", "elo", "elo_error", "gain", "gain_error", "games", "points",
              NULL);
  assert_keys(pairs->child, "a", "b", "win", "draw", "loss", NULL);
  cJSON_Delete(result);
  process_run(&p, "eval", "agent", "--ladder", "--games", "4", "--sims", "2", "--threads", "3", "--json", NULL);
  assert_string_equal(p.out, one);
  free(one);

  process_run(&p, "eval", "agent", "--ladder", "--games", "2", NULL);
  assert_status(&p, 0);
  const char *const words[] = {"wall time", "mcts:100", "round-000000000", "round-000000004", "+0 (0)"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) assert_says(p.out, words[i]);
  process_free(&p);
}

/* LATEST names the damaged one. */
static void test_ladder_of_what_is_whole(void **state) {
  (void)state;
  process p = {0};
  assert_int_equal(process_shell(&p, "cp -r agent torn && truncate -s 100 torn/checkpoints/round-000000004.mzc && "
                                     "$MUZERO eval torn --ladder --games 2 --sims 2 --json"),
                   0);
  assert_says(p.err, "left out");
  assert_says(p.err, "round-000000004.mzc");
  cJSON *result = lines_at(p.out, 0);
  const cJSON *rungs = cJSON_GetObjectItem(result, "ladder");
  const cJSON *last = cJSON_GetArrayItem(rungs, cJSON_GetArraySize(rungs) - 1);
  assert_string_not_equal(lines_string(last, "name"), "round-000000004");
  assert_non_null(strstr(lines_string(last, "name"), "round-"));
  cJSON_Delete(result);
  assert_int_equal(process_shell(&p, "truncate -s 100 torn/checkpoints/*.mzc && $MUZERO eval torn --ladder --games 2"), 4);
  process_free(&p);
}

/* What evaluates a run in training begins with random moves too, and teaches it nothing. */
static void test_openings_in_training(void **state) {
  (void)state;
  process p = {0};
  double scores[2];
  char digests[2][17];
  for (int i = 0; i < 2; i++) {
    process_run(&p, "train", "tictactoe", TINY, "--run", i ? "opened" : "plain", "--set", "eval.opponent=rule", "--set",
                i ? "eval.openings=4" : "eval.openings=0", "--json", NULL);
    assert_status(&p, 0);
    cJSON *done = lines_at(p.out, -1);
    scores[i] = lines_number(done, "score");
    snprintf(digests[i], sizeof digests[i], "%s", lines_string(done, "digest"));
    cJSON_Delete(done);
  }
  assert_true(scores[0] != scores[1]);
  assert_string_equal(digests[0], digests[1]);
  process_free(&p);
}

/* A game for one: who plays the same starts beside the agent. */
static void test_beside_others(void **state) {
  (void)state;
  process p = {0};
  static const char *const others[] = {"random", "perfect", "replan", "greedy", "static"};
  double returns[5], lead;
  for (int i = 0; i < 5; i++) {
    process_run(&p, "eval", "plans", "--opponent", others[i], "--games", "12", "--json", NULL);
    assert_status(&p, 0);
    cJSON *result = lines_at(p.out, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(result, "beside")), others[i]);
    returns[i] = lines_number(result, "beside_mean_return");
    lead = lines_number(result, "mean_return") - returns[i];
    assert_true(fabs(lines_number(result, "lead") - lead) < 1e-9);
    assert_true(lines_number(result, "lead_ci95") >= 0);
    if (i == 1) assert_true(lead <= 1e-6); /* nobody is better in any game */
    cJSON_Delete(result);
    process_free(&p);
  }
  assert_true(returns[1] > returns[2] && returns[1] > returns[3] && returns[1] > returns[4] && returns[1] > returns[0]);
  process_run(&p, "eval", "plans", "--opponent", "static", "--games", "3", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "in the same games");
  process_run(&p, "eval", "plans", "--opponent", "perfect", "--games", "3", NULL);
  assert_says(p.out, "the agent's mean return is lower by ");
  process_free(&p);
  static const refusal wrong[] = {
      {{"eval", "plans", "--opponent", "statik"}, 2, "muzero: --opponent statik: unknown; did you mean static?"},
      {{"eval", "plans", "--opponent", "zzzzzzzz"}, 2, "replan, greedy, static"},
      {{"eval", "plans", "--opponent", "rule"}, 3, "rule"},
      {{"eval", "plans", "--opponent", "all"}, 2, "played alone"},
      {{"eval", "plans", "--opponent", "./agent"}, 2, "played alone"},
      {{"eval", "plans", "--positions", "3"}, 3, "played alone"},
      {{"eval", "pole", "--opponent", "perfect"}, 3, "not known for cartpole"},
      {{"eval", "agent", "--opponent", "static"}, 2, "unknown"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

static void test_what_does_not_go_together(void **state) {
  (void)state;
  static const refusal wrong[] = {
      {{"eval", "agent", "--opponent", "rule", "--opponent-sims", "3"}, 2, "another RUN"},
      {{"eval", "pole", "--opponent-sims", "3"}, 2, "alone"},
      {{"eval", "agent", "--opponent", "all", "--openings", "2"}, 2, "--openings"},
      {{"eval", "agent", "--ladder", "--opponent", "rule"}, 2, "--ladder"},
      {{"eval", "agent", "--ladder", "--openings", "0"}, 3, "at least 1"},
      {{"eval", "agent", "--openings", "1001"}, 2, "out of range"},
      {{"eval", "pole", "--ladder"}, 3, "alone"},
      {{"eval", "nosuch", "--ladder"}, 5, "nosuch"},
      {{"eval", "agent", "--ladder", "--positions", "5"}, 2, "--positions"},
      {{"eval", "agent", "--ladder", "--symmetry"}, 2, "not with --ladder"},
      {{"eval", "pole", "--symmetry"}, 2, "cartpole has no symmetries"},
      {{"eval", "agent", "--positions", "5", "--games", "5"}, 2, "--games"},
      {{"eval", "agent", "--positions", "5", "--opponent", "all"}, 2, "all"},
      {{"eval", "pole", "--positions", "5"}, 3, "not known for cartpole"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_eval),
      cmocka_unit_test(test_no_interval),
      cmocka_unit_test(test_eval_does_not_depend_on_threads),
      cmocka_unit_test(test_symmetry),
      cmocka_unit_test(test_two_runs),
      cmocka_unit_test(test_positions),
      cmocka_unit_test(test_ladder),
      cmocka_unit_test(test_ladder_of_what_is_whole),
      cmocka_unit_test(test_openings_in_training),
      cmocka_unit_test(test_beside_others),
      cmocka_unit_test(test_what_does_not_go_together),
  };
  return cmocka_run_group_tests(tests, make_runs, process_remove_folder);
}
