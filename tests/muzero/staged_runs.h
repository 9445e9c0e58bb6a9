/* Runs of tic-tac-toe, a course made up for them, and agents of it: for tests of runs that are planned by stages. Limits of the course
 * allow, in each stage, one plan that the runs can take, and one of a batch size that their shards do not divide. */
#pragma once
#include "staged_agent.h"
#include "allocator/runs/course_file.h"
#include "muzero/steering/steer_state.h"
#include <math.h>
#include <sys/wait.h>

enum { STAGES = 4, EPOCHS = 8, PHASE_ROUNDS = 2, ROUNDS = EPOCHS * PHASE_ROUNDS, BATCH = 16, PLANS = 4, UNFIT = 3 };
static const int allowed[STAGES] = {0, 2, 1, 2};
static const double rows_of[PLANS] = {BATCH, BATCH, 2 * BATCH, 1.5 * BATCH};
#define COURSE_ENV "allocation:course=course.json"

static const char *const game_sets[] = {"num_games=4",
                                        "moves_per_round=3",
                                        "loop_count=2",
                                        "batch_size=16",
                                        "shards=2",
                                        "simulations=4",
                                        "unroll_steps=2",
                                        "td_steps=3",
                                        "network.width=16",
                                        "network.value_bins=5",
                                        "network.reward_bins=3",
                                        "network.value_range=1",
                                        "network.reward_range=1",
                                        "replay.min_fill=8",
                                        "replay.capacity=1000",
                                        "eval.games=4",
                                        "train.phase_rounds=2",
                                        "train.target=1e9",
                                        "allocate.window=2",
                                        "watchdog.time=0",
                                        "allocate.share=off"};
enum { GAME_SETS = sizeof game_sets / sizeof game_sets[0], MORE_MAX = 4 };

static char folder[64], home[512];
static mz_fitted_course fitted;
static mz_pipeline pipeline;

/* ---- runs ---- */

/* Opens a new run of tic-tac-toe with further settings, up to a NULL. */
static inline mz_status open_game(mz_run **out, const char *dir, const char *const *more, const char *plans) {
  const char *sets[GAME_SETS + MORE_MAX];
  int count = GAME_SETS;
  memcpy(sets, game_sets, sizeof game_sets);
  while (*more) sets[count++] = *more++;
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = count,
                                  .seed = 3,
                                  .seed_given = true,
                                  .threads = 1,
                                  .plans = plans};
  return mz_run_open(out, &options);
}

static inline void train_game(const char *dir, int64_t rounds, const char *const *more, const char *plans) {
  mz_run *run;
  expect_ok(open_game(&run, dir, more, plans));
  play_to(run, rounds);
  mz_run_close(run);
}

static inline void refused(const char *const *more, const char *says) {
  mz_run *run;
  assert_int_equal(open_game(&run, "refused", more, NULL), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
  assert_false(mz_file_exists("refused"));
}

/* ---- the course and its agent ---- */

static inline void fill_course(mz_course *c, double seconds) {
  *c = (mz_course){.stages = STAGES,
                   .plans = PLANS,
                   .prices = {1, 20, 0.1},
                   .deadline_s = 1000,
                   .budget = 1,
                   .target = 0.5,
                   .score = -1,
                   .ceiling = 1,
                   .spread = MZ_COURSE_SPREAD};
  for (int p = 0; p < PLANS; p++) c->plan[p] = (mz_course_plan){.amounts = {1 + p, 0, 0.1}, .batch_size = rows_of[p]};
  for (int s = 0; s < STAGES; s++) {
    c->noise_scale[s] = 32;
    for (int p = 0; p < PLANS; p++) {
      const bool too_slow = p != UNFIT && p != allowed[s];
      c->cell[s][p] = (mz_course_cell){.seconds = too_slow ? 5000 : seconds, .growth = 0.2};
    }
  }
  expect_ok(mz_course_prepare(c, "test"));
}

/* Fits nothing, but makes the file that a fit would make: for the pipeline and the settings of such runs. */
static inline void make_course(void) {
  mz_run *run;
  mz_curve_key key;
  expect_ok(open_game(&run, "first", (const char *[]){NULL}, NULL));
  pipeline = *mz_steer_pipeline(run->steer);
  mz_curve_key_of(&key, &run->steer->key, &run->settings);
  fill_course(&fitted.course, 10);
  snprintf(fitted.env, sizeof fitted.env, "%s", key.env);
  snprintf(fitted.network, sizeof fitted.network, "%s", key.network);
  snprintf(fitted.learning, sizeof fitted.learning, "%s", key.learning);
  fitted.epochs = EPOCHS;
  fitted.error = (mz_course_fit_error){.seconds = 0.05, .score = 0.05, .usable = true};
  for (int p = 0; p < PLANS; p++) {
    fitted.plans[p] = *mz_allocator_plan(run->steer->allocator);
    fitted.plans[p].values[mz_pipeline_knob(&pipeline, "batch_buffer_size")] = 1 + p;
  }
  mz_run_close(run);
  expect_ok(mz_course_file_write("course.json", &fitted, &pipeline));
}

/* A process reads a course once: the agent of one that is changed later is trained by another process. */
static inline void train_on_a_course_that_will_change(void) {
  const pid_t child = fork();
  int status;
  if (child == 0) {
    static mz_fitted_course first;
    fill_course(&first.course, 10);
    expect_ok(mz_course_file_write("changed.json", &first, &pipeline));
    train_policy("allocation:course=changed.json", "stale");
    expect_ok(mz_course_file_write("narrowed.json", &first, &pipeline));
    train_policy("allocation:course=narrowed.json", "wide");
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static inline int setup(void **unused) {
  (void)unused;
  make_folder(folder);
  assert_non_null(getcwd(home, sizeof home));
  assert_int_equal(chdir(folder), 0);
  train_on_a_course_that_will_change();
  make_course();
  train_policy(COURSE_ENV, "policy");
  return 0;
}

static inline int teardown(void **unused) {
  (void)unused;
  assert_int_equal(chdir(home), 0);
  drop_folder(folder);
  return 0;
}

static const char *const shadow_sets[] = {"allocate.policy=policy", "allocate.strategy=fixed", NULL};
static const char *const driving_sets[] = {"allocate.policy=policy", "allocate.strategy=staged", "allocate.shadow=record.jsonl",
                                           NULL};

/* A record by which the agent may drive. */
static inline mz_stages_record good_record(void) {
  mz_loaded *policy;
  expect_ok(mz_loaded_open(&policy, "policy"));
  const mz_stages_record record = {.course = fitted.course.digest,
                                   .policy = mz_loaded_digest(policy),
                                   .complete = true,
                                   .stages = STAGES,
                                   .score = 0.5,
                                   .regrets = {0.5, 0.5, 0},
                                   .early = 0.5};
  mz_loaded_close(policy);
  return record;
}
