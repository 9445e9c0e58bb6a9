/* Runs that an agent plans by stages: in shadow it changes nothing and is recorded; it drives once a record says that it may; resumed and
 * repeated runs are the same; what is refused. The course is made up so that limits allow, in each stage, one plan that the run can take, and
 * one of a batch size that its shards do not divide. */
#include "testing.h"
#include "allocator/runs/course_file.h"
#include "muzero/run.h"
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
static mz_status open_game(mz_run **out, const char *dir, const char *const *more, const char *plans) {
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

static void play_to(mz_run *run, int64_t rounds) {
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = rounds};
  while (reason == MZ_GOES_ON) {
    mz_phase phase;
    expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  }
}

static void train_game(const char *dir, int64_t rounds, const char *const *more, const char *plans) {
  mz_run *run;
  expect_ok(open_game(&run, dir, more, plans));
  play_to(run, rounds);
  mz_run_close(run);
}

static void refused(const char *const *more, const char *says) {
  mz_run *run;
  assert_int_equal(open_game(&run, "refused", more, NULL), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
  assert_false(mz_file_exists("refused"));
}

/* ---- the course and its agent ---- */

static void fill_course(mz_course *c, double seconds) {
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
static void make_course(void) {
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

static void train_policy(const char *env, const char *dir) {
  static const char *const sets[] = {"num_games=4",          "batch_size=16",    "shards=2",
                                     "simulations=8",        "network.width=16", "replay.min_fill=16",
                                     "train.phase_rounds=2", "eval.games=2",     "loop_count=2"};
  mz_run *run;
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = sizeof sets / sizeof sets[0],
                                  .seed = 1,
                                  .seed_given = true,
                                  .threads = 1};
  expect_ok(mz_run_open(&run, &options));
  play_to(run, 4);
  mz_run_close(run);
}

/* A process reads a course once: the agent of one that is changed later is trained by another process. */
static void train_on_a_course_that_will_change(void) {
  const pid_t child = fork();
  int status;
  if (child == 0) {
    static mz_fitted_course first;
    fill_course(&first.course, 10);
    expect_ok(mz_course_file_write("changed.json", &first, &pipeline));
    train_policy("allocation:course=changed.json", "stale");
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static int setup(void **unused) {
  (void)unused;
  make_folder(folder);
  assert_non_null(getcwd(home, sizeof home));
  assert_int_equal(chdir(folder), 0);
  train_on_a_course_that_will_change();
  make_course();
  train_policy(COURSE_ENV, "policy");
  return 0;
}

static int teardown(void **unused) {
  (void)unused;
  assert_int_equal(chdir(home), 0);
  drop_folder(folder);
  return 0;
}

static const char *const shadow_sets[] = {"allocate.policy=policy", "allocate.strategy=fixed", NULL};
static const char *const driving_sets[] = {"allocate.policy=policy", "allocate.strategy=staged", "allocate.shadow=record.jsonl",
                                           NULL};

/* ---- lines ---- */

typedef struct lines {
  int stages, sums, opens;
  mz_stage_record stage[2 * STAGES];
  mz_stages_record sum;
} lines;

static mz_status take_line(void *context, const char *line, size_t length, int64_t number) {
  lines *l = context;
  cJSON *json;
  (void)number;
  expect_ok(mz_json_parse(line, length, "ledger", false, MZ_E_CHECKPOINT, &json));
  const char *event = mz_json_text_or_empty(json, "event");
  if (strcmp(event, "stage") == 0) expect_ok(mz_stage_record_from_json(&l->stage[l->stages++], json, "ledger", MZ_E_CHECKPOINT));
  if (strcmp(event, "stages") == 0) {
    expect_ok(mz_stages_record_from_json(&l->sum, json, "ledger", MZ_E_CHECKPOINT));
    l->sums++;
  }
  l->opens += strcmp(event, "open") == 0;
  cJSON_Delete(json);
  return MZ_OK;
}

static lines lines_of(const char *run) {
  char path[256];
  lines l = {0};
  expect_ok(mz_ledger_path(run, path, sizeof path));
  expect_ok(mz_ledger_read(path, take_line, &l));
  return l;
}

/* ---- shadow ---- */

static void in_shadow_the_agent_is_recorded_and_changes_nothing(void **unused) {
  (void)unused;
  train_game("plain", ROUNDS, (const char *[]){"allocate.strategy=fixed", NULL}, NULL);
  train_game("shadow", ROUNDS, shadow_sets, NULL);
  assert_int_equal(digest_of_run("shadow"), digest_of_run("plain"));
  const lines l = lines_of("shadow");
  assert_int_equal(l.stages, STAGES);
  assert_int_equal(l.sums, 1);
  assert_int_equal(l.opens, 1);
  double sum = 0;
  for (int s = 0; s < STAGES; s++) {
    const mz_stage_record *r = &l.stage[s];
    assert_int_equal(r->state.stage, s);
    assert_int_equal(r->round, s * ROUNDS / STAGES);
    assert_int_equal(r->chosen, -1);
    assert_false(r->drives);
    assert_int_equal(r->mask, 1u << allowed[s] | 1u << UNFIT);
    assert_int_equal(r->offered, 1u << allowed[s]);
    assert_true(r->mask >> r->plans[MZ_DECIDER_POLICY] & 1);
    assert_true(mz_course_state_valid(&fitted.course, &r->state));
    assert_true(r->regrets[MZ_DECIDER_POLICY] >= 0);
    assert_true(s == 0 || (r->state.seconds > l.stage[s - 1].state.seconds && r->state.cost > l.stage[s - 1].state.cost));
    sum += r->regrets[MZ_DECIDER_POLICY];
  }
  assert_float_equal(l.sum.regrets[MZ_DECIDER_POLICY], sum, 1e-9);
  assert_true(l.sum.complete && l.sum.stages == STAGES);
  assert_true(l.sum.early > 0 && l.sum.early < 1);
  assert_float_equal(l.sum.early * l.sum.cost, l.stage[STAGES / 2].state.cost, 1e-9);
}

static void a_ledger_with_stages_replays(void **unused) {
  (void)unused;
  mz_replayed replayed;
  char path[256];
  expect_ok(mz_ledger_path("shadow", path, sizeof path));
  expect_ok(mz_ledger_replay(path, INT64_MAX, &replayed));
  assert_int_equal(replayed.differences, 0);
  mz_replayed_free(&replayed);
}

static void a_resumed_run_continues_its_stages(void **unused) {
  (void)unused;
  mz_run *run;
  const mz_run_options options = {.threads = 1};
  train_game("stopped", 3 * PHASE_ROUNDS, shadow_sets, NULL);
  lines l = lines_of("stopped");
  assert_int_equal(l.stages, 2);
  assert_int_equal(l.sums, 1);
  assert_false(l.sum.complete);
  assert_true(isnan(l.sum.early));
  expect_ok(mz_run_resume(&run, "stopped", &options, 0));
  play_to(run, ROUNDS);
  mz_run_close(run);
  l = lines_of("stopped");
  assert_int_equal(l.stages, STAGES);
  assert_true(l.sum.complete);
  for (int s = 0; s < STAGES; s++) assert_int_equal(l.stage[s].state.stage, s);
  assert_float_equal(l.sum.regrets[MZ_DECIDER_STATIC], l.stage[STAGES - 1].sums[MZ_DECIDER_STATIC], 1e-12);

  /* What is past the course is not planned. */
  expect_ok(mz_run_resume(&run, "stopped", &options, 0));
  play_to(run, ROUNDS + 2 * PHASE_ROUNDS);
  mz_run_close(run);
  assert_int_equal(lines_of("stopped").stages, STAGES);

  const char *const late[] = {"allocate.policy=policy"};
  const mz_run_options with = {.threads = 1, .sets = late, .set_count = 1};
  assert_int_equal(mz_run_resume(&run, "plain", &with, 0), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "accompanies a run from its beginning"));
}

/* ---- driving ---- */

/* Writes a record of a shadow run. */
static void write_record(const mz_stages_record *record) {
  cJSON *json = mz_stages_record_to_json(record);
  char *line = mz_json_line(json);
  FILE *file = fopen("record.jsonl", "w");
  assert_non_null(file);
  fprintf(file, "%s\n", line);
  fclose(file);
  free(line);
  cJSON_Delete(json);
}

static void without_a_record_the_agent_may_not_drive(void **unused) {
  (void)unused;
  mz_stages_record record = lines_of("shadow").sum;
  refused((const char *[]){"allocate.strategy=staged", NULL}, "allocate.strategy staged: needs --set allocate.policy=RUN");
  refused((const char *[]){"allocate.policy=policy", "allocate.strategy=staged", NULL},
          "no shadow run shows yet that the agent may drive; a run with --set allocate.policy=policy and another strategy");
  refused((const char *[]){"allocate.policy=policy", "allocate.strategy=staged", "allocate.shadow=plain", NULL},
          "plain has no record of all stages");
  refused(driving_sets, "record.jsonl");
  record.regrets[MZ_DECIDER_STATIC] = 0.5;
  record.regrets[MZ_DECIDER_POLICY] = 0.6;
  write_record(&record);
  refused(driving_sets, "0.6, is above that of a fixed plan, 0.5");
  record.regrets[MZ_DECIDER_POLICY] = 0.5;
  record.policy++;
  write_record(&record);
  refused(driving_sets, "recorded another agent, or another course");
  record.policy--;
  record.drives = true;
  write_record(&record);
  refused(driving_sets, "in record.jsonl the agent drove");
  record.drives = false;
  record.complete = false;
  write_record(&record);
  refused(driving_sets, "has no record of all stages");
  record.complete = true;
  write_record(&record);
}

static void expect_in_force(const mz_run *run, int plan) {
  const int knob = mz_pipeline_knob(&pipeline, "batch_buffer_size");
  assert_int_equal(mz_allocator_plan(run->steer->allocator)->values[knob], 1 + plan);
  assert_int_equal(mz_plan_of_knobs(&run->workers.knobs).values[knob], 1 + plan);
  assert_int_equal(run->state.settings.learning.batch_size, rows_of[plan]);
}

static void an_agent_that_drives_moves_plan_and_batch_size_between_stages(void **unused) {
  (void)unused;
  mz_run *run;
  expect_ok(open_game(&run, "driven", driving_sets, NULL));
  for (int s = 0; s < STAGES; s++) {
    expect_in_force(run, allowed[s]);
    play_to(run, (s + 1) * ROUNDS / STAGES);
  }
  mz_run_close(run);
  const lines l = lines_of("driven");
  assert_int_equal(l.stages, STAGES);
  for (int s = 0; s < STAGES; s++) {
    assert_true(l.stage[s].drives);
    assert_int_equal(l.stage[s].chosen, allowed[s]);
    if (s > 0) assert_float_equal(fitted.course.plan[l.stage[s].state.plan].batch_size, rows_of[allowed[s - 1]], 0);
  }
  assert_true(l.sum.complete && l.sum.drives);
  assert_int_not_equal(digest_of_run("driven"), digest_of_run("plain")); /* batches of other sizes learn otherwise */
}

static void a_driven_run_is_the_same_when_it_is_resumed(void **unused) {
  (void)unused;
  const mz_run_options options = {.threads = 1};
  mz_run *run;
  train_game("halted", 3 * PHASE_ROUNDS, driving_sets, NULL);
  for (int phases = 4; phases <= EPOCHS; phases += 2) {
    expect_ok(mz_run_resume(&run, "halted", &options, 0));
    play_to(run, phases * PHASE_ROUNDS);
    mz_run_close(run);
  }
  assert_int_equal(digest_of_run("halted"), digest_of_run("driven"));
  assert_int_equal(lines_of("halted").stages, STAGES);
}

static void a_driven_run_can_be_repeated(void **unused) {
  (void)unused;
  mz_plan_list plans[2];
  const mz_bounds bounds = {.cpu_max = 1e6, .memory_max = 0x1p60};
  train_game("repeated", ROUNDS, (const char *[]){NULL}, "driven");
  assert_int_equal(digest_of_run("repeated"), digest_of_run("driven"));
  expect_ok(mz_plan_list_read(&plans[0], "driven/ledger.jsonl", &pipeline, &bounds));
  expect_ok(mz_plan_list_read(&plans[1], "repeated/ledger.jsonl", &pipeline, &bounds));
  assert_int_equal(plans[0].count, STAGES);
  assert_int_equal(plans[1].count, STAGES);
  for (int i = 0; i < STAGES; i++) {
    assert_int_equal(plans[1].items[i].round, plans[0].items[i].round);
    assert_int_equal(plans[1].items[i].batch, plans[0].items[i].batch);
    assert_true(mz_plan_equal(&pipeline, &plans[1].items[i].plan, &plans[0].items[i].plan));
  }
  assert_int_equal(lines_of("repeated").stages, 0);
  for (int i = 0; i < 2; i++) mz_plan_list_deinit(&plans[i]);
}

/* ---- refusals ---- */

static void agents_of_other_runs_are_refused(void **unused) {
  (void)unused;
  mz_fitted_course other = fitted;
  refused((const char *[]){"allocate.policy=plain", NULL}, "plain is a run of tictactoe; takes one of allocation:course=FILE");
  refused((const char *[]){"allocate.policy=nowhere", NULL}, "allocate.policy: ");
  train_policy("allocation", "builtin");
  refused((const char *[]){"allocate.policy=builtin", NULL}, "built-in course");
  refused((const char *[]){"allocate.policy=policy", "network.width=8", NULL}, "another network");
  refused((const char *[]){"allocate.policy=policy", "learning_rate=0.01", NULL}, "another hash of the settings");
  refused((const char *[]){"allocate.policy=policy", "prices.core_hour=2", NULL}, "nearest valid value: 1");
  refused((const char *[]){"allocate.policy=policy", "allocate.objective=goodput", NULL}, "allocate.objective");
  const char *const scheduled[] = {driving_sets[0], driving_sets[1], driving_sets[2], "batch_schedule=2:32", NULL};
  refused(scheduled, "batch_schedule: 2:32: the agent of allocate.policy moves the batch size");

  snprintf(other.env, sizeof other.env, "gomoku");
  expect_ok(mz_course_file_write("course.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=policy", NULL}, "another environment (gomoku) than this one's (tictactoe)");
  other = fitted;
  other.error = (mz_course_fit_error){.seconds = 0.3, .score = 0.1};
  expect_ok(mz_course_file_write("course.json", &other, &pipeline));
  refused(driving_sets, "an error of 30 % in seconds and 10 % in scores");
  expect_ok(mz_course_file_write("course.json", &fitted, &pipeline));

  other = fitted;
  fill_course(&other.course, 20);
  expect_ok(mz_course_file_write("changed.json", &other, &pipeline));
  refused((const char *[]){"allocate.policy=stale", NULL}, "stale was trained on another course");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_shadow_the_agent_is_recorded_and_changes_nothing),
      cmocka_unit_test(a_ledger_with_stages_replays),
      cmocka_unit_test(a_resumed_run_continues_its_stages),
      cmocka_unit_test(without_a_record_the_agent_may_not_drive),
      cmocka_unit_test(an_agent_that_drives_moves_plan_and_batch_size_between_stages),
      cmocka_unit_test(a_driven_run_is_the_same_when_it_is_resumed),
      cmocka_unit_test(a_driven_run_can_be_repeated),
      cmocka_unit_test(agents_of_other_runs_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
