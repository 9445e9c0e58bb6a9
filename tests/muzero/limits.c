/* When a run stops: each limit, the room that limits of time leave for the closing evaluation, and what a stop records. */
#include "muzero/limits.h"
#include "muzero/run.h"
#include "testing.h"
#include <math.h>
#include <time.h>

static const mz_allocation_settings free_of_limits;

static void each_limit_is_met_when_reached(void **unused) {
  (void)unused;
  const mz_spent spent = {.counters = {.rounds = 10, .updates = 20, .env_steps = 30},
                          .invocation_s = 4,
                          .wall_s = 5,
                          .cost = 6,
                          .game_s = NAN,
                          .closing_games = 100};
  mz_allocation_settings a = {.deadline = 5.5};
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 11, .updates = 21, .env_steps = 31, .for_s = 4.1}, &a, &spent),
                   MZ_GOES_ON);
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 10}, &a, &spent), MZ_REASON_ROUNDS);
  assert_int_equal(mz_limits_met(&(mz_limits){.updates = 20}, &a, &spent), MZ_REASON_UPDATES);
  assert_int_equal(mz_limits_met(&(mz_limits){.env_steps = 30}, &a, &spent), MZ_REASON_ENV_STEPS);
  assert_int_equal(mz_limits_met(&(mz_limits){.for_s = 4}, &a, &spent), MZ_REASON_TIME);
  a.deadline = 5;
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 11}, &a, &spent), MZ_REASON_TIME);
  a = (mz_allocation_settings){.budget = 6};
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 11}, &a, &spent), MZ_REASON_BUDGET);
  mz_spent asked = spent;
  asked.stop = true;
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 10}, &free_of_limits, &asked), MZ_REASON_INTERRUPTED);
}

/* 100 games of 40 ms take the last 4 of 12 s. */
static void time_is_left_for_the_closing_evaluation(void **unused) {
  (void)unused;
  const mz_limits limits = {.for_s = 12};
  mz_spent spent = {.invocation_s = 7.9, .game_s = 0.04, .closing_games = 100};
  assert_int_equal(mz_limits_met(&limits, &free_of_limits, &spent), MZ_GOES_ON);
  spent.invocation_s = 8.1;
  assert_int_equal(mz_limits_met(&limits, &free_of_limits, &spent), MZ_REASON_TIME);
  spent.closing_games = 0;
  assert_int_equal(mz_limits_met(&limits, &free_of_limits, &spent), MZ_GOES_ON);

  const mz_allocation_settings deadline = {.deadline = 12}, budget = {.budget = 12};
  spent = (mz_spent){.wall_s = 8.1, .game_s = 0.04, .closing_games = 100};
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &deadline, &spent), MZ_REASON_TIME);
  spent = (mz_spent){.cost = 7, .price_s = 1.3, .game_s = 0.04, .closing_games = 100};
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &budget, &spent), MZ_REASON_BUDGET);
  spent.price_s = 1.2;
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &budget, &spent), MZ_GOES_ON);
}

/* A run shall end within its deadline: --for stops it when the time has passed. */
static void deadline_and_budget_leave_room_for_another_round(void **unused) {
  (void)unused;
  const mz_allocation_settings deadline = {.deadline = 12}, budget = {.budget = 24};
  mz_spent spent = {
      .invocation_s = 7, .wall_s = 7, .cost = 14, .price_s = 2, .round_s = 1.1, .game_s = 0.04, .closing_games = 100};
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &deadline, &spent), MZ_REASON_TIME);
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &budget, &spent), MZ_REASON_BUDGET);
  assert_int_equal(mz_limits_met(&(mz_limits){.for_s = 12}, &free_of_limits, &spent), MZ_GOES_ON);
  spent.round_s = 0.9;
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &deadline, &spent), MZ_GOES_ON);
  assert_int_equal(mz_limits_met(&(mz_limits){.rounds = 1}, &budget, &spent), MZ_GOES_ON);
}

static void games_take_longer_on_fewer_cores(void **unused) {
  (void)unused;
  assert_true(mz_limits_game_s(0.5, 4, 1) == 2);
  assert_true(mz_limits_game_s(0.5, 3, 2) == 0.75);
  assert_true(mz_limits_game_s(0.5, 2, 2) == 0.5);
  assert_true(mz_limits_game_s(0.5, 1, 2) == 0.5); /* not sooner: what a second core brings was not seen */
  assert_true(mz_limits_game_s(0.5, 0, 2) == 0.5);
  assert_true(isnan(mz_limits_game_s(NAN, 2, 1)));
}

static mz_game_lengths lengths_of(const double *means, int count) {
  mz_game_lengths lengths = {0};
  for (int i = 0; i < count; i++) mz_game_lengths_add(&lengths, means[i]);
  return lengths;
}
#define LENGTHS(...) lengths_of((const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* A run whose games had just become longer ended late: its closing ones were longer again. */
static void games_may_grow_again(void **unused) {
  (void)unused;
  const mz_game_lengths none = {0}, one = LENGTHS(20), grown = LENGTHS(20, 60), rested = LENGTHS(20, 60, 60),
                        shorter = LENGTHS(90, 60), long_ago = LENGTHS(10, 100, 100, 100, 100, 100);
  assert_true(mz_game_lengths_growth(&none, 500) == 1);
  assert_true(mz_game_lengths_growth(&one, 500) == 1);
  assert_true(mz_game_lengths_growth(&grown, 0) == 3);
  assert_true(mz_game_lengths_growth(&grown, 120) == 2); /* a game has 120 moves at the most */
  assert_true(mz_game_lengths_growth(&grown, 40) == 1);
  assert_true(mz_game_lengths_growth(&rested, 0) == 3);
  assert_true(mz_game_lengths_growth(&shorter, 0) == 1.5);
  assert_true(mz_game_lengths_growth(&long_ago, 0) == 1);
}

static void half_of_a_limit_is_for_training(void **unused) {
  (void)unused;
  mz_spent spent = {.invocation_s = 5.9, .game_s = 1, .closing_games = 100};
  assert_int_equal(mz_limits_met(&(mz_limits){.for_s = 12}, &free_of_limits, &spent), MZ_GOES_ON);
  spent.invocation_s = 6;
  assert_int_equal(mz_limits_met(&(mz_limits){.for_s = 12}, &free_of_limits, &spent), MZ_REASON_TIME);
}

static void the_nearest_limit_says_how_much_is_done(void **unused) {
  (void)unused;
  const mz_counters counters = {.rounds = 10, .updates = 20, .env_steps = 30};
  assert_true(mz_limits_fraction(&(mz_limits){.until = true, .score = 1}, &counters, 4) == 0);
  assert_true(mz_limits_fraction(&(mz_limits){.rounds = 40}, &counters, 4) == 0.25);
  assert_true(mz_limits_fraction(&(mz_limits){.rounds = 40, .updates = 40}, &counters, 4) == 0.5);
  assert_true(mz_limits_fraction(&(mz_limits){.env_steps = 40, .for_s = 8}, &counters, 4) == 0.75);
  assert_true(mz_limits_fraction(&(mz_limits){.env_steps = 40, .for_s = 2}, &counters, 4) == 1);
}

/* ---- runs ---- */

enum { EXTRA_MAX = 3 };

/* extra: up to EXTRA_MAX settings, up to the first NULL. */
static mz_run *open_run(const char *dir, const char *const extra[EXTRA_MAX]) {
  static const char *const common[] = {"num_games=4",       "moves_per_round=3", "loop_count=2",         "batch_size=16",
                                       "shards=2",          "simulations=2",     "replay.min_fill=8",    "replay.capacity=1000",
                                       "network.width=8",   "eval.games=2",      "train.phase_rounds=2", "eval.opponent=random",
                                       "eval.interval=1000"};
  enum { COMMON = sizeof common / sizeof common[0] };
  const char *sets[COMMON + EXTRA_MAX];
  memcpy(sets, common, sizeof common);
  int count = COMMON;
  for (int i = 0; i < EXTRA_MAX && extra[i]; i++) sets[count++] = extra[i];
  const mz_run_options options = {.env = "tictactoe", .dir = dir, .sets = sets, .set_count = count, .seed = 1, .threads = 1};
  mz_run *run;
  expect_ok(mz_run_open(&run, &options));
  return run;
}

static mz_phase play(mz_run *run, const mz_limits *limits, mz_reason expected) {
  mz_phase phase;
  mz_reason reason;
  expect_ok(mz_run_phase(run, limits, NULL, NULL, &phase, &reason));
  assert_int_equal(reason, expected);
  return phase;
}

static int records_of(const char *dir) {
  char path[512];
  uint8_t *text;
  size_t size;
  int lines = 0;
  expect_ok(mz_path_join(path, sizeof path, dir, "metrics.jsonl"));
  expect_ok(mz_file_read(path, 0, &text, &size));
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  free(text);
  return lines;
}

/* 0.01 pays for 36 seconds of a core: more than four tiny rounds take, and less than the machine has been up. */
static void a_budget_counts_from_the_runs_beginning(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"limits.budget=0.01"});
  const mz_limits limits = {.rounds = 4};
  assert_int_equal(play(run, &limits, MZ_GOES_ON).played, 2);
  assert_int_equal(play(run, &limits, MZ_REASON_ROUNDS).counters.rounds, 4);
  mz_run_close(run);
  drop_folder(folder);
}

/* Between two phases: no phase of no rounds is recorded, whoever asks for the end. */
static void a_stop_between_phases_records_nothing(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"eval.interval=1"});
  const mz_phase first = play(run, &(mz_limits){.rounds = 100}, MZ_GOES_ON);
  assert_int_equal(first.played, 2);
  assert_int_equal(records_of(dir), 1);

  const mz_phase late = play(run, &(mz_limits){.for_s = 1e-9}, MZ_REASON_TIME);
  assert_int_equal(late.played, 0);
  assert_false(late.evaluated); /* the state's score is known */
  assert_true(late.score == first.score && late.digest == first.digest);
  assert_int_equal(records_of(dir), 1);

  mz_run_request(run, MZ_REQUEST_STOP);
  const mz_phase stopped = play(run, &(mz_limits){.rounds = 100}, MZ_REASON_INTERRUPTED);
  assert_int_equal(stopped.played, 0);
  assert_true(stopped.score == first.score && stopped.digest == first.digest);
  assert_int_equal(records_of(dir), 1);
  mz_run_close(run);
  assert_true(digest_of_run(dir) == first.digest);
  drop_folder(folder);
}

/* A run that ends with a score ends with one of its last state. */
static void a_state_without_a_score_is_evaluated_at_the_end(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){NULL});
  assert_true(isnan(play(run, &(mz_limits){.rounds = 100}, MZ_GOES_ON).score));
  const mz_phase late = play(run, &(mz_limits){.for_s = 1e-9}, MZ_REASON_TIME);
  assert_true(late.evaluated && late.evaluation.games == 100 && isfinite(late.score));
  mz_run_close(run);
  drop_folder(folder);
}

/* Resumes the run with one setting changed, for the one phase that ends it. */
static void resume_and_play(const char *dir, const char *set, const mz_limits *limits, mz_reason expected) {
  mz_run *run;
  expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.sets = &set, .set_count = 1, .threads = 1}, false));
  play(run, limits, expected);
  mz_run_close(run);
}

/* No score is below -1, none above 1. */
static void a_target_counts_when_evaluations_in_a_row_reach_it(void **unused) {
  (void)unused;
  static const char *const low = "train.target=-1", *const high = "train.target=2";
  const mz_limits the_target = {0}, another_score = {.until = true, .score = -1};
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"eval.interval=1", low, "train.target_evaluations=3"});
  play(run, &the_target, MZ_GOES_ON);
  play(run, &(mz_limits){.rounds = 4}, MZ_REASON_ROUNDS);
  mz_run_close(run);
  resume_and_play(dir, low, &the_target, MZ_REASON_SCORE); /* the third */
  resume_and_play(dir, high, &(mz_limits){.rounds = 8}, MZ_REASON_ROUNDS);
  resume_and_play(dir, low, &(mz_limits){.rounds = 10}, MZ_REASON_ROUNDS); /* the first again */
  resume_and_play(dir, low, &(mz_limits){.rounds = 12}, MZ_REASON_ROUNDS);
  resume_and_play(dir, low, &the_target, MZ_REASON_SCORE);
  resume_and_play(dir, high, &(mz_limits){.rounds = 16}, MZ_REASON_ROUNDS);
  resume_and_play(dir, high, &another_score, MZ_REASON_SCORE); /* which is the user's: one evaluation */
  drop_folder(folder);
}

/* Tic-tac-toe has 5 to 9 moves. */
static void a_resumed_run_knows_how_long_games_were(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"eval.interval=1"});
  play(run, &(mz_limits){.rounds = 4}, MZ_GOES_ON);
  play(run, &(mz_limits){.rounds = 4}, MZ_REASON_ROUNDS);
  const mz_game_lengths before = run->lengths;
  mz_run_close(run);
  for (int i = 0; i < 2; i++) assert_true(before.last[i] >= 5 && before.last[i] <= 9);
  assert_true(before.longest >= before.last[0] && before.longest >= before.last[1]);
  expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = 1}, false));
  assert_memory_equal(&run->lengths, &before, sizeof before);
  mz_run_close(run);
  drop_folder(folder);
}

typedef struct request_at {
  mz_run *run;
  int64_t round;
  mz_request request;
} request_at;

static void request_after(void *context, const mz_progress *progress) {
  const request_at *r = context;
  for (int i = 0; i < 2; i++)
    if (progress->counters.rounds == r[i].round) mz_run_request(r[i].run, r[i].request);
}

/* A run of three phases, each of which is evaluated; stopped in the last round of the first, and resumed, it is the same. */
static void a_stop_at_a_phases_end_leaves_its_evaluation_to_resume(void **unused) {
  (void)unused;
  const mz_limits limits = {.rounds = 6};
  char folder[64], calm[80], stopped[80];
  make_folder(folder);
  snprintf(calm, sizeof calm, "%s/calm", folder);
  snprintf(stopped, sizeof stopped, "%s/stopped", folder);
  mz_run *run = open_run(calm, (const char *[EXTRA_MAX]){"eval.interval=1"});
  const mz_phase first = play(run, &limits, MZ_GOES_ON), second = play(run, &limits, MZ_GOES_ON),
                 last = play(run, &limits, MZ_REASON_ROUNDS);
  mz_run_close(run);

  mz_phase phase;
  mz_reason reason;
  run = open_run(stopped, (const char *[EXTRA_MAX]){"eval.interval=1"});
  request_at stop[2] = {{run, 2, MZ_REQUEST_STOP}};
  expect_ok(mz_run_phase(run, &limits, request_after, stop, &phase, &reason));
  assert_int_equal(reason, MZ_REASON_INTERRUPTED);
  assert_false(phase.evaluated);
  mz_run_close(run);

  expect_ok(mz_run_resume(&run, stopped, &(mz_run_options){.threads = 1}, false));
  phase = play(run, &limits, MZ_GOES_ON);
  assert_int_equal(phase.played, 0);
  assert_true(phase.evaluated && phase.score == first.score);
  assert_true(run->best_score == first.score && run->best_rounds == 2);
  phase = play(run, &limits, MZ_GOES_ON);
  assert_int_equal(phase.played, 2);
  assert_true(phase.score == second.score);
  phase = play(run, &limits, MZ_REASON_ROUNDS);
  assert_true(phase.score == last.score && phase.digest == last.digest);
  mz_run_close(run);
  assert_int_equal(records_of(stopped), records_of(calm) + 1); /* the first phase has two */
  drop_folder(folder);
}

/* What passes before the first phase, and between two, is paid for as the phases are. */
static void a_budget_pays_for_what_is_between_phases(void **unused) {
  (void)unused;
  const struct timespec wait = {.tv_nsec = 200000000};
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"prices.core_hour=3600"});
  double phases = 0;
  for (int i = 1; i <= 2; i++) {
    nanosleep(&wait, NULL);
    phases += play(run, &(mz_limits){.rounds = 100}, MZ_GOES_ON).cost;
    assert_true(run->cost >= phases + 0.2 * i); /* a core second costs 1 */
  }
  mz_run_close(run);
  drop_folder(folder);
}

/* A checkpoint within a phase has the cost up to it: a budget is not begun anew. */
static void a_checkpoint_within_a_phase_has_its_cost(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir, (const char *[EXTRA_MAX]){"train.phase_rounds=1000", "prices.core_hour=1"});
  request_at requests[2] = {{run, 2, MZ_REQUEST_CHECKPOINT}, {run, 3, MZ_REQUEST_PAUSE}};
  mz_phase phase;
  mz_reason reason;
  expect_ok(mz_run_phase(run, &(mz_limits){.rounds = 10}, request_after, requests, &phase, &reason));
  assert_true(mz_run_is_paused(run));
  const double spent = run->cost + run->reserved.cost;
  mz_run_close(run); /* as if it were killed */
  expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = 1}, false));
  assert_int_equal(mz_run_counters(run)->rounds, 2);
  assert_true(run->cost > 0 && run->cost < spent);
  mz_run_close(run);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_limit_is_met_when_reached),
                                     cmocka_unit_test(time_is_left_for_the_closing_evaluation),
                                     cmocka_unit_test(deadline_and_budget_leave_room_for_another_round),
                                     cmocka_unit_test(games_take_longer_on_fewer_cores),
                                     cmocka_unit_test(games_may_grow_again),
                                     cmocka_unit_test(half_of_a_limit_is_for_training),
                                     cmocka_unit_test(the_nearest_limit_says_how_much_is_done),
                                     cmocka_unit_test(a_budget_counts_from_the_runs_beginning),
                                     cmocka_unit_test(a_budget_pays_for_what_is_between_phases),
                                     cmocka_unit_test(a_stop_between_phases_records_nothing),
                                     cmocka_unit_test(a_state_without_a_score_is_evaluated_at_the_end),
                                     cmocka_unit_test(a_target_counts_when_evaluations_in_a_row_reach_it),
                                     cmocka_unit_test(a_resumed_run_knows_how_long_games_were),
                                     cmocka_unit_test(a_stop_at_a_phases_end_leaves_its_evaluation_to_resume),
                                     cmocka_unit_test(a_checkpoint_within_a_phase_has_its_cost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
