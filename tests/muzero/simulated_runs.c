/* Whole runs on a simulated machine, planned and played through in a world that is made up: deadlines buy cores, limits end runs in time,
 * and what a seed draws is the same for every arm. */
#include "simulated_world.h"

static mz_run_planning *plan_within(mz_simulated_runs *r, double deadline_s) {
  const mz_run_ask ask = {
      .deadline_s = deadline_s, .target = TARGET, .budget = INFINITY, .batch_open = true, .epochs_open = true, .env = "cartpole"};
  mz_run_planning *planning;
  expect_ok(mz_simulated_runs_plan(r, &r->settings, &ask, &planning));
  return planning;
}

static void deadlines_buy_cores(void **state) {
  (void)state;
  mz_simulated_runs *r = runs_on("sim:cores=64,gpus=2,numa=2");
  mz_run_planning *loose = plan_within(r, INFINITY);
  assert_true(loose->feasible);
  const double longest = loose->best.seconds.high;
  mz_run_planning *tight = plan_within(r, longest / 4), *never = plan_within(r, longest / 1e4);
  assert_true(tight->feasible && tight->best.seconds.high <= longest / 4);
  assert_true(loose->best.amounts[MZ_COURSE_CORES] == 1 && tight->best.amounts[MZ_COURSE_CORES] > 1);
  assert_true(tight->best.cost.high > loose->best.cost.high);
  assert_true(!never->feasible && never->shortfall.deadline_s > longest / 1e4);
  /* evaluations do not get shorter with cores */
  const mz_run_plan *t = &tight->best;
  assert_true(t->seconds.estimate > t->epochs * (EVALUATION_S + OTHER_S));
  mz_settings settings = r->settings;
  const mz_run_ask ask = {.batch_open = true, .epochs_open = true};
  mz_run_plan_apply(t, &r->place.outset.pipeline, &ask, &settings);
  assert_string_equal(settings.placement.selfplay, "cpu:0");
  const int learning = (int)t->knobs.values[MZ_KNOB_LEARNING_DEVICE];
  assert_string_equal(settings.placement.learning, r->place.outset.pipeline.devices[learning].name);
  assert_true(settings.allocation.cpu_max == t->amounts[MZ_COURSE_CORES]);
  assert_int_equal(settings.train.rounds, t->epochs * settings.train.phase_rounds);
  mz_run_planning_free(loose), mz_run_planning_free(tight), mz_run_planning_free(never);
  mz_simulated_runs_close(r);
}

/* A seed that has run learns as it did; another one as one that has, in all batch sizes the same. */
static void seeds_learn_as_real_ones(void **state) {
  (void)state;
  enum { OTHERS = 40 };
  mz_simulated_runs *r = runs_on("sim:cores=4");
  const mz_curve *small, *large;
  bool drawn[SEEDS + 1] = {false};
  for (uint64_t seed = 1; seed <= SEEDS + OTHERS; seed++) {
    expect_ok(mz_simulated_runs_find_curve(r, seed, ROWS[0], &small));
    expect_ok(mz_simulated_runs_find_curve(r, seed, ROWS[1], &large));
    assert_true(small->seed == large->seed && small->epochs[0].batch_size == ROWS[0] && large->epochs[0].batch_size == ROWS[1]);
    if (seed <= SEEDS)
      assert_true(small->seed == seed);
    else
      drawn[small->seed] = true;
  }
  r->learned[0].epochs[0].batch_size = 128; /* seed 1 has no run in batches of 64 any more */
  int seeds = 0;
  for (int i = 1; i <= SEEDS; i++) seeds += drawn[i];
  assert_true(seeds > SEEDS / 2);
  assert_int_equal(mz_simulated_runs_find_curve(r, 1, ROWS[0], &small), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "--grid batch_size=64"));
  /* of slow runs the pace is above 1 */
  expect_ok(mz_simulated_runs_find_curve(r, SEEDS, ROWS[0], &small));
  expect_ok(mz_simulated_runs_find_curve(r, 2, ROWS[0], &large));
  assert_true(mz_simulated_runs_pace(r, small) > 1 && mz_simulated_runs_pace(r, large) < 1);
  mz_simulated_runs_close(r);
}

/* ---- runs ---- */

typedef struct outcome {
  bool refused, reached;
  double wall_s, cost, rounds, score;
  char reason[16], why[MZ_MESSAGE_MAX];
} outcome;

static outcome play(mz_simulated_runs *r, const char *strategy, const char *deadline, uint64_t seed) {
  const char *const sets[] = {deadline, strcmp(strategy, "static") == 0 ? "allocate.start=plain" : "batch_schedule=0:64"};
  const mz_run_options run = {
      .env = "cartpole", .sets = sets, .set_count = 2, .allocate = strategy, .seed = seed, .seed_given = true};
  mz_simulated_whole *whole;
  outcome out = {0};
  expect_ok(
      mz_simulated_whole_open(&whole, &(mz_simulated_whole_options){.runs = r, .run = &run, .noise_seed = 3 * seed}, out.why));
  out.refused = out.why[0] != '\0';
  assert_true(out.refused == (whole == NULL));
  double before = 0;
  for (bool ended = out.refused; !ended;) {
    cJSON *block;
    expect_ok(mz_simulated_whole_advance(whole, &block, &ended));
    out.wall_s += mz_json_number_or_nan(block, "wall_s");
    out.cost += mz_json_number_or_nan(block, "cost");
    out.rounds = mz_json_number_or_nan(block, "rounds");
    out.score = mz_json_number_or_nan(block, "score");
    assert_true(isnan(out.score) || out.score >= before); /* the best so far */
    before = isnan(out.score) ? before : out.score;
    snprintf(out.reason, sizeof out.reason, "%s", mz_json_text_or_empty(block, "reason"));
    cJSON_Delete(block);
  }
  out.reached = strcmp(out.reason, "score") == 0;
  mz_simulated_whole_close(whole);
  return out;
}

/* Strategies differ in time and not in what is learned, the same again each time. */
static void arms_of_a_seed_learn_alike(void **state) {
  (void)state;
  mz_simulated_runs *r = runs_on("sim:cores=16");
  double least = INFINITY, most = 0;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    const outcome fixed = play(r, "fixed", "limits.deadline=1h", seed), greedy = play(r, "greedy", "limits.deadline=1h", seed),
                  again = play(r, "greedy", "limits.deadline=1h", seed);
    assert_true(fixed.reached && greedy.reached);
    assert_true(fixed.rounds == greedy.rounds && fixed.score == greedy.score && fixed.score >= TARGET);
    assert_true(greedy.wall_s == again.wall_s && greedy.cost == again.cost && greedy.wall_s != fixed.wall_s);
    least = fmin(least, fixed.rounds);
    most = fmax(most, fixed.rounds);
  }
  assert_true(most > least); /* seeds are drawn */
  mz_simulated_runs_close(r);
}

static void runs_end_at_their_deadline_or_do_not_begin(void **state) {
  (void)state;
  mz_simulated_runs *r = runs_on("sim:cores=16");
  mz_run_planning *loose = plan_within(r, INFINITY);
  double quickest = INFINITY;
  for (int i = 0; i < loose->count; i++)
    if (loose->choices[i].score.low >= TARGET) quickest = fmin(quickest, loose->choices[i].seconds.high);
  mz_run_planning_free(loose);
  char deadline[64], enough[64];
  snprintf(deadline, sizeof deadline, "limits.deadline=%.6fs", 0.5 * quickest);
  snprintf(enough, sizeof enough, "limits.deadline=%.6fs", 2 * quickest);
  int in_time = 0, missed = 0;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    const outcome refused = play(r, "static", deadline, seed), kept = play(r, "static", enough, seed),
                  cut = play(r, "fixed", deadline, seed);
    assert_true(refused.refused && strstr(refused.why, "a deadline of"));
    assert_true(!kept.refused);
    in_time += kept.reached && kept.wall_s <= 2 * quickest;
    missed += !cut.reached;
    assert_true(cut.reached || strcmp(cut.reason, "time") == 0);
    assert_true(cut.wall_s <= 0.5 * quickest * 1.02); /* a round, and what follows a phase, may come on top */
  }
  assert_true(in_time >= 8 && missed > 0);
  mz_simulated_runs_close(r);
}

static void what_cannot_be_played_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *set, *allocate, *says;
  } cases[] = {{"batch_schedule=0:64,9:128", "fixed", "one batch size each"},
               {"batch_schedule=0:128", "fixed", "--grid batch_size=128"},
               {"learning_rate=0.5", "fixed", "other settings than the learning curves"},
               {"limits.deadline=1h", "staged", "needs --set allocate.policy=RUN"}};
  mz_simulated_runs *r = runs_on("sim:cores=4");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mz_run_options run = {.env = "cartpole", .sets = &cases[i].set, .set_count = 1, .allocate = cases[i].allocate};
    mz_simulated_whole *whole;
    char why[MZ_MESSAGE_MAX];
    assert_int_equal(mz_simulated_whole_open(&whole, &(mz_simulated_whole_options){.runs = r, .run = &run}, why), MZ_E_CONFIG);
    assert_null(whole);
    if (!strstr(mz_message(), cases[i].says)) fail_msg("'%s' lacks '%s'", mz_message(), cases[i].says);
  }
  mz_simulated_runs_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(deadlines_buy_cores), cmocka_unit_test(seeds_learn_as_real_ones),
                                     cmocka_unit_test(arms_of_a_seed_learn_alike),
                                     cmocka_unit_test(runs_end_at_their_deadline_or_do_not_begin),
                                     cmocka_unit_test(what_cannot_be_played_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
