/* Courses that are fitted to runs of an invented world whose course is known: what is recovered, how far the error is from the noise,
 * what is refused, and the file. */
#include "course_world.h"
#include "base/course/course_oracle.h"

/* ---- what is recovered ---- */

static void a_known_world_is_recovered(void **unused) {
  (void)unused;
  run_grid(0.1, 0.5);
  const mz_course_fit_options options = asked();
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const mz_course *c = &fitted.course;
  assert_int_equal(c->stages, STAGES);
  for (int i = 0; i < c->plans; i++) {
    const double batch = c->plan[i].batch_size, on = c->plan[i].amounts[MZ_COURSE_CORES];
    assert_int_equal(fitted.plans[i].values[MAKERS], on);
    assert_int_equal(fitted.composed[i], batch != 256 && on != 2);
    for (int s = 0; s < STAGES; s++) {
      const double seconds = EPOCHS_A_STAGE * world_seconds(s, batch, on);
      assert_true(fabs(c->cell[s][i].seconds / seconds - 1) < (fitted.composed[i] ? 0.08 : 0.05));
      const double growth = world_growth(s, batch);
      assert_true(fabs(c->cell[s][i].growth - growth) < fmin(0.035, 0.25 * growth));
      assert_float_equal(c->cell[s][i].use[MZ_COURSE_CORES], 0.8, 1e-9);
      assert_float_equal(c->noise_scale[s], 32 * pow(2, s), 1e-9);
    }
  }
  assert_true(plan_of(c, 64, 2) >= 0 && plan_of(c, 1024, 4) >= 0);
}

/* The world as a course with the plans of the fitted one. */
static void world_of(mz_course *out) {
  *out = fitted.course;
  for (int s = 0; s < STAGES; s++)
    for (int i = 0; i < out->plans; i++) {
      const double batch = out->plan[i].batch_size, on = out->plan[i].amounts[MZ_COURSE_CORES];
      out->cell[s][i].seconds = EPOCHS_A_STAGE * world_seconds(s, batch, on);
      out->cell[s][i].growth = world_growth(s, batch);
    }
  assert_int_equal(mz_course_prepare(out, "world"), MZ_OK);
}

static double solve(const mz_course *course, mz_course_answer *answer) {
  mz_course_oracle *oracle;
  mz_course_state state;
  assert_int_equal(mz_course_oracle_create(&oracle), MZ_OK);
  mz_course_begin(course, 0, &state);
  assert_int_equal(mz_course_solve(oracle, course, &state, answer), MZ_OK);
  mz_course_oracle_free(oracle);
  return answer->value;
}

/* Plans that are best by the fitted course are hardly worse than the best in the world. */
static void what_is_best_by_the_fit_is_nearly_best_in_the_world(void **unused) {
  (void)unused;
  mz_course_fit_options options = asked();
  mz_course_answer by_fit, by_world;
  mz_course_state state;
  mz_course world;
  run_grid(0.1, 0.5);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  world_of(&world);
  world.spread = fitted.course.spread = 0;
  assert_int_equal(mz_course_prepare(&world, "world"), MZ_OK);
  assert_int_equal(mz_course_prepare(&fitted.course, "fit"), MZ_OK);
  solve(&fitted.course, &by_fit);
  const double best = solve(&world, &by_world);
  world.target *= 0.95; /* plans that reach the target by the fit may miss it by a hair */
  mz_course_begin(&world, 0, &state);
  double value = 0;
  for (int s = 0; s < STAGES; s++) value += mz_course_step(&world, &state, by_fit.plans[s]).reward;
  assert_int_equal(by_fit.violations, 0);
  assert_true(value > best - 0.05 * fabs(best));
}

static void the_error_is_near_the_noise(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0.1, 0.5);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const mz_course_fit_error *e = &fitted.error;
  assert_int_equal(e->seconds_count, SEEDS * 5 * STAGES);
  assert_int_equal(e->score_count, SEEDS * 5 * STAGES);
  assert_true(e->usable);
  assert_true(e->seconds > 0.5 * e->seconds_noise && e->seconds < 2 * e->seconds_noise);
  assert_true(e->score > 0.5 * e->score_noise && e->score < 2 * e->score_noise);

  run_grid(0, 0);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_true(fitted.error.seconds < 1e-9 && fitted.error.score < 1e-9 && fitted.error.score_noise < 1e-9);
}

/* A run that takes twice as long as the others of its settings is a surprise of half its time. */
static void an_error_that_is_large_makes_a_course_unusable(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++)
    for (int e = 0; e < curves[c].count; e++) curves[c].epochs[e].rounds_s *= (double)curves[c].seed;
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_true(fitted.error.seconds > MZ_FIT_ERROR_MAX);
  assert_false(fitted.error.usable);

  forget_runs();
  for (int b = 0; b < 3; b++) run(7, batches[b], 2, EPOCHS);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(fitted.error.score_count, 0); /* one seed foretells no other */
  assert_true(isnan(fitted.error.seconds) && isnan(fitted.error.score_noise));
  assert_false(fitted.error.usable);
}

/* Short runs on other cores are enough for their times: what is learned does not depend on them. */
static void short_runs_tell_the_time_of_long_ones(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  forget_runs();
  time_noise = score_noise = 0;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    for (int b = 0; b < 3; b++) run(seed, batches[b], 2, EPOCHS);
    run(seed, 256, 4, 2 * EPOCHS_A_STAGE);
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  for (int b = 0; b < 3; b++) {
    const int at = plan_of(&fitted.course, batches[b], 4);
    assert_true(at >= 0);
    for (int s = 0; s < STAGES; s++)
      assert_float_equal(fitted.course.cell[s][at].seconds, EPOCHS_A_STAGE * world_seconds(s, batches[b], 4), 1e-6);
  }
}

/* A run that changes its batch size tells the time of both, each in its stages, and nothing of what one size learns from the beginning. */
static void runs_that_change_tell_the_time_of_their_stages(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  forget_runs();
  time_noise = score_noise = 0;
  for (int b = 0; b < 2; b++) run(1, batches[b], 2, EPOCHS);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const mz_fitted_course before = fitted;
  run(2, 64, 4, EPOCHS);
  for (int e = EPOCHS / 2; e < EPOCHS; e++) {
    mz_epoch *at = &curves[count - 1].epochs[e];
    const double ratio = world_seconds(e / EPOCHS_A_STAGE, 256, 4) / world_seconds(e / EPOCHS_A_STAGE, 64, 4);
    at->batch_size = 256;
    at->rounds_s *= ratio;
    at->evaluation_s *= ratio;
    at->score = 0.9;
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  for (int b = 0; b < 2; b++) {
    const int at = plan_of(&fitted.course, batches[b], 4), on_two = plan_of(&fitted.course, batches[b], 2);
    assert_true(at >= 0 && on_two >= 0);
    for (int s = 0; s < STAGES; s++)
      assert_float_equal(fitted.course.cell[s][at].seconds, EPOCHS_A_STAGE * world_seconds(s, batches[b], 4), 1e-6);
  }
  const int late = plan_of(&fitted.course, 256, 2), was = plan_of(&before.course, 256, 2);
  for (int s = 0; s < STAGES; s++)
    assert_float_equal(fitted.course.cell[s][late].growth, before.course.cell[s][was].growth, 1e-9);
}

/* Profiles stop runs that have reached the target: the others alone would tell that it is reached by few. */
static void runs_that_ended_at_the_target_count_on(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0.5);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const mz_fitted_course whole = fitted;
  for (int c = 0; c < count; c++) {
    const int reached = mz_curve_reaches(&curves[c], options.target);
    if (curves[c].seed <= SEEDS / 2 && reached > 0) curves[c].count = reached;
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const int at = plan_of(&fitted.course, 64, 2), before = plan_of(&whole.course, 64, 2);
  double left = 1, left_before = 1;
  for (int s = 0; s < STAGES; s++) {
    left *= 1 - fitted.course.cell[s][at].growth;
    left_before *= 1 - whole.course.cell[s][before].growth;
  }
  assert_true(1 - left >= options.target); /* as the course counts scores, from 0 to 1 */
  assert_true(left >= left_before);
  assert_true(fitted.error.score_count < whole.error.score_count);
}

/* Plans that others beat in everything are no choice. */
static void beaten_plans_are_left_out(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++)
    for (int e = 0; e < curves[c].count; e++)
      if (curves[c].epochs[e].amounts[MZ_COURSE_CORES] == 4) curves[c].epochs[e].rounds_s *= 8;
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(plan_of(&fitted.course, 256, 4), -1);
  assert_true(plan_of(&fitted.course, 256, 2) >= 0);
}

static void many_plans_are_thinned(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  forget_runs();
  time_noise = score_noise = 0;
  for (int b = 0; b < 4; b++)
    for (int u = 0; u < 10; u++) run(1, 32 << b, 1 + u, EPOCHS);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(fitted.course.plans, MZ_COURSE_PLANS_MAX);
  assert_true(plan_of(&fitted.course, 256, 10) >= 0); /* the quickest */
  assert_true(plan_of(&fitted.course, 256, 1) >= 0);  /* the cheapest */
}

/* The games that end a run are no part of its stages. */
static void the_deadline_leaves_room_for_the_last_games(void **unused) {
  (void)unused;
  mz_course_fit_options options = asked();
  run_grid(0, 0);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_float_equal(fitted.course.deadline_s, options.deadline_s, 0);
  for (int c = 0; c < count; c++) curves[c].epochs[curves[c].count - 1].closing_s = c % 2 ? 2 : 4;
  curves[0].timed = curves[1].timed = false; /* of another machine, where they take much longer */
  for (int c = 0; c < 2; c++) curves[c].epochs[curves[c].count - 1].closing_s = 50;
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_float_equal(fitted.course.deadline_s, options.deadline_s - 3, 1e-9);
  options.deadline_s = 2.5;
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "deadline of 2.5 s: the games that end a run take 3 s; nearest valid value: above that"));
}

/* Has a curve go through its scores as if epoch e + 1 were place[e] of them. */
static void replace_epochs(mz_curve *curve, const double *place) {
  double scores[EPOCHS + 1] = {0};
  for (int e = 0; e < EPOCHS; e++) scores[e + 1] = curve->epochs[e].score;
  for (int e = 0; e < EPOCHS; e++) {
    const double at = fmin(place[e], EPOCHS);
    const int before = (int)fmin(at, EPOCHS - 1);
    curve->epochs[e].score = scores[before] + (at - before) * (scores[before + 1] - scores[before]);
  }
}

/* Runs that differ in their pace alone: stretches of e^-0.2 to e^0.2 around the typical run's. */
static void the_pace_of_runs_is_found(void **unused) {
  (void)unused;
  double place[EPOCHS];
  mz_course_fit_options options = asked();
  options.target = 0.3; /* that all reach */
  run_grid(0, 0);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_true(fitted.course.slower < 0.1 && fitted.course.faster < 0.1 && fitted.course.bursts < 0.1);
  for (int c = 0; c < count; c++) {
    for (int e = 0; e < EPOCHS; e++) place[e] = (e + 1) / exp(0.2 * ((double)curves[c].seed - 3.5) / 2.5);
    replace_epochs(&curves[c], place);
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_in_range((int)(100 * fitted.course.slower), 10, 24);
  assert_in_range((int)(100 * fitted.course.faster), 10, 24);
  assert_true(fitted.course.bursts < 0.2);
  assert_int_equal(fitted.course.ends_at_score, 1);
}

/* Runs that go half a stage and one and a half in turn, one half of them beginning with this, the other with that. */
static void uneven_runs_are_found(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++) {
    double place[EPOCHS], at = 0;
    for (int e = 0; e < EPOCHS; e++) place[e] = at += (e / EPOCHS_A_STAGE + (int)curves[c].seed) % 2 ? 0.5 : 1.5;
    replace_epochs(&curves[c], place);
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_in_range((int)(100 * fitted.course.bursts), 40, 65);
  assert_true(fitted.course.slower < 0.1 && fitted.course.faster < 0.1);
}

/* ---- refusals ---- */

static void refused(const mz_course_fit_options *options, const char *const *says) {
  assert_int_equal(mz_course_fit(&fitted, curves, count, options), MZ_E_CONFIG);
  for (; *says; says++)
    if (!strstr(mz_message(), *says)) fail_msg("'%s' does not say '%s'", mz_message(), *says);
}

static void what_cannot_be_fitted_is_refused(void **unused) {
  (void)unused;
  mz_course_fit_options options = asked();
  run_grid(0, 0);
  options.stages = 3;
  refused(&options, (const char *[]){"course of world: 3 stages: out of range; 4 … 16; nearest valid value: 4", NULL});
  options = asked();
  options.epochs = 6;
  refused(&options, (const char *[]){"6 epochs cannot be cut into 8 stages; nearest valid value: 8", NULL});
  options = asked();
  options.target = 0.99;
  refused(&options, (const char *[]){"target score 0.99: no run reached it; nearest valid value: 0.", NULL});
  options = asked();
  options.target = 0;
  refused(&options, (const char *[]){"target score 0: runs begin with 0; nearest valid value: above that, and at most 0.", NULL});
  options = asked();
  options.ceiling = 0.5;
  refused(&options, (const char *[]){"ceiling 0.5: a run reached 0.", "nearest valid value", NULL});
  options = asked();
  options.budget = 0;
  refused(&options, (const char *[]){"course of world: limits.budget 0: out of range", NULL});
  options = asked();
  forget_runs();
  refused(&options, (const char *[]){"no run with these settings was evaluated", "muzero profile world --score", NULL});
  run(1, 64, 2, EPOCHS);
  refused(&options, (const char *[]){"1 plan: nothing to decide", "--grid", NULL});
  run(1, 256, 2, EPOCHS / 2);
  refused(&options, (const char *[]){"runs are lacking: batch 256 evaluated over 40 epochs (20 at most until now)",
                                     "`muzero profile world --score --grid 'batch_size=256'`", NULL});
}

static void a_plan_that_beats_all_others_leaves_nothing_to_decide(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++)
    for (int e = 0; e < curves[c].count; e++) {
      mz_epoch *at = &curves[c].epochs[e];
      const double slower = at->batch_size == 1024 ? 1000 : at->batch_size == 256 && at->amounts[MZ_COURSE_CORES] == 1 ? 1 : 100;
      at->rounds_s *= slower;
      at->evaluation_s *= slower;
      if (at->batch_size != 256) at->score *= 0.5;
    }
  refused(&options, (const char *[]){"batches of 256 on 1 core beat the other 8 plans in seconds, cost and score", NULL});
}

/* No rectangle tells what a batch size takes on cores on which nothing else was run that was run elsewhere, too. */
static void pairs_that_runs_tell_nothing_of_are_named(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  forget_runs();
  for (uint64_t seed = 1; seed <= 2; seed++) {
    run(seed, 64, 1, EPOCHS);
    run(seed, 256, 4, EPOCHS);
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(fitted.course.plans, 2);
  assert_non_null(strstr(fitted.notes, "Left out for want of runs: batch 64 on 4 cores, batch 256 on 1 core."));
}

/* Every run has reached the target after half of the epochs and ends there. */
static void stages_that_no_run_reached_take_what_the_last_one_took(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++) {
    curves[c].count = EPOCHS / 2;
    curves[c].epochs[EPOCHS / 2 - 1].score = options.target + 0.1;
  }
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_non_null(strstr(fitted.notes, "No run was timed after stage 4 of 8: later ones take what it took."));
  for (int plan = 0; plan < fitted.course.plans; plan++)
    for (int s = STAGES / 2; s < STAGES; s++)
      assert_true(fitted.course.cell[s][plan].seconds == fitted.course.cell[STAGES / 2 - 1][plan].seconds);
}

static void batches_whose_score_never_rises_are_named(void **unused) {
  (void)unused;
  const mz_course_fit_options options = asked();
  run_grid(0, 0);
  for (int c = 0; c < count; c++)
    for (int e = 0; e < curves[c].count; e++)
      if (curves[c].epochs[e].batch_size == 1024) curves[c].epochs[e].score = 0;
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_non_null(strstr(fitted.notes, "The score never rises with batches of 1024."));
  for (int c = 0; c < count; c++)
    for (int e = 0; e < curves[c].count; e++) curves[c].epochs[e].score = 0;
  refused(&options, (const char *[]){"no score ever rises above 0", NULL});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_known_world_is_recovered),
      cmocka_unit_test(what_is_best_by_the_fit_is_nearly_best_in_the_world),
      cmocka_unit_test(the_error_is_near_the_noise),
      cmocka_unit_test(an_error_that_is_large_makes_a_course_unusable),
      cmocka_unit_test(short_runs_tell_the_time_of_long_ones),
      cmocka_unit_test(runs_that_change_tell_the_time_of_their_stages),
      cmocka_unit_test(runs_that_ended_at_the_target_count_on),
      cmocka_unit_test(beaten_plans_are_left_out),
      cmocka_unit_test(many_plans_are_thinned),
      cmocka_unit_test(the_deadline_leaves_room_for_the_last_games),
      cmocka_unit_test(the_pace_of_runs_is_found),
      cmocka_unit_test(uneven_runs_are_found),
      cmocka_unit_test(what_cannot_be_fitted_is_refused),
      cmocka_unit_test(a_plan_that_beats_all_others_leaves_nothing_to_decide),
      cmocka_unit_test(pairs_that_runs_tell_nothing_of_are_named),
      cmocka_unit_test(stages_that_no_run_reached_take_what_the_last_one_took),
      cmocka_unit_test(batches_whose_score_never_rises_are_named),
  };
  const int failed = cmocka_run_group_tests(tests, setup, NULL);
  forget_runs();
  return failed;
}
