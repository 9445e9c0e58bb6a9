/* Courses that are fitted to runs of an invented world whose course is known: what is recovered, how far the error is from the noise,
 * what is refused, and the file. */
#include "plant.h"
#include "allocator/runs/course_file.h"
#include "base/course/course_oracle.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EPOCHS = 40, STAGES = 8, EPOCHS_A_STAGE = EPOCHS / STAGES, SEEDS = 6, CURVES_MAX = 64 };

static plant p;

/* ---- the world ---- */

static const double batches[] = {64, 256, 1024};

/* Seconds of an epoch and the share of the distance that a stage closes. Large batches take less time; they teach less in early stages
 * and more in late ones. */
static double world_seconds(int stage, double batch, double on) {
  return (2 + 0.1 * stage) * pow(64 / batch, 0.3) * pow(on, -0.8);
}
static double world_growth(int stage, double batch) {
  const double noise_scale = 32 * pow(2, stage);
  return 0.35 / (1 + batch / noise_scale);
}

static mz_curve curves[CURVES_MAX];
static int count;
static double time_noise, score_noise;

static double spread(mz_rng *rng, double by) { return 1 + by * (2 * mz_rng_f64(rng) - 1); }

/* Runs the world for `epochs` epochs. */
static void run(uint64_t seed, double batch, double on, int epochs) {
  mz_curve *curve = &curves[count++];
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, (uint32_t)on, (uint64_t)batch),
         learning = mz_rng_at(seed, MZ_RNG_TEST, 1000, (uint64_t)batch);
  assert_true(count <= CURVES_MAX);
  *curve = (mz_curve){.seed = seed, .timed = true, .learned = true, .moves = 100, .count = epochs};
  curve->epochs = calloc((size_t)epochs, sizeof *curve->epochs);
  assert_non_null(curve->epochs);
  double score = 0, wall = 0;
  for (int e = 0; e < epochs; e++) {
    const int stage = e / EPOCHS_A_STAGE;
    mz_epoch *at = &curve->epochs[e];
    const double share = 1 - pow(1 - world_growth(stage, batch), 1.0 / EPOCHS_A_STAGE);
    score += (1 - score) * share * spread(&learning, score_noise);
    const double seconds = world_seconds(stage, batch, on) * spread(&rng, time_noise);
    wall += seconds;
    *at = (mz_epoch){.number = e + 1,
                     .score = score,
                     .wall_s = wall,
                     .rounds_s = 0.9 * seconds,
                     .evaluation_s = 0.1 * seconds,
                     .batch_size = batch,
                     .amounts = {on, 0, 0.5},
                     .use = {0.8, NAN, NAN},
                     .stall = {0.1, NAN, NAN},
                     .noise_scale = 32 * pow(2, stage),
                     .plan = p.plan};
    at->plan.values[MAKERS] = (int64_t)on;
  }
}

static void forget_runs(void) {
  for (int c = 0; c < count; c++) free(curves[c].epochs);
  count = 0;
}

/* The grid: every batch size on two cores, the middle one on all. */
static void run_grid(double noise_of_time, double noise_of_score) {
  forget_runs();
  time_noise = noise_of_time;
  score_noise = noise_of_score;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    for (int b = 0; b < 3; b++) run(seed, batches[b], 2, EPOCHS);
    run(seed, 256, 1, EPOCHS);
    run(seed, 256, 4, EPOCHS);
  }
}

static mz_course_fit_options asked(void) {
  return (mz_course_fit_options){.pipeline = &p.pipeline,
                                 .env = "world",
                                 .network = "mlp 8",
                                 .learning = "0123",
                                 .epochs = EPOCHS,
                                 .prices = {1, 20, 0.1},
                                 .deadline_s = 200,
                                 .budget = 0.2,
                                 .target = 0.6,
                                 .start = 0,
                                 .ceiling = 1};
}

static mz_fitted_course fitted;

static int plan_of(const mz_course *course, double batch, double on) {
  for (int i = 0; i < course->plans; i++)
    if (course->plan[i].batch_size == batch && course->plan[i].amounts[MZ_COURSE_CORES] == on) return i;
  return -1;
}

static int setup(void **unused) {
  (void)unused;
  plant_init(&p, 4);
  return 0;
}

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
      assert_true(fabs(c->cell[s][i].growth - world_growth(s, batch)) < 0.035);
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

/* ---- the file ---- */

static char path[] = "/tmp/muzero-course-fit-XXXXXX";

static void a_file_gives_back_what_was_fitted(void **unused) {
  (void)unused;
  static mz_fitted_course again;
  static mz_course plain;
  const mz_course_fit_options options = asked();
  run_grid(0.1, 0.5);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(mz_course_file_write(path, &fitted, &p.pipeline), MZ_OK);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_OK);
  assert_memory_equal(&again.course, &fitted.course, sizeof again.course);
  assert_memory_equal(again.plans, fitted.plans, sizeof again.plans);
  assert_memory_equal(again.composed, fitted.composed, sizeof again.composed);
  assert_memory_equal(&again.error, &fitted.error, sizeof again.error);
  assert_string_equal(again.env, "world");
  assert_string_equal(again.learning, "0123");
  assert_int_equal(again.epochs, EPOCHS);

  /* Whoever reads courses reads it, too, and it is the same course. */
  char *text = calloc(1, 1 << 20);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  const size_t size = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  assert_int_equal(mz_course_read(&plain, text, size, path), MZ_OK);
  assert_int_equal(plain.digest, fitted.course.digest);
  free(text);
}

/* Writes the file with one stretch replaced, and reads it. */
static void damaged(const char *from, const char *to, const char *says) {
  static mz_fitted_course again;
  assert_int_equal(mz_course_file_write(path, &fitted, &p.pipeline), MZ_OK);
  char *text = calloc(1, 1 << 20);
  FILE *file = fopen(path, "r");
  fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  char *at = strstr(text, from);
  assert_non_null(at);
  file = fopen(path, "w");
  fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fclose(file);
  free(text);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
}

static void damaged_files_are_refused(void **unused) {
  (void)unused;
  damaged("\"fitted\"", "\"fited\"", "unknown key 'fited'");
  damaged("\"version\": 1,\n    \"env\"", "\"version\": 9,\n    \"env\"", "fitted: version 9: this program reads version 1");
  damaged("\"epochs\": 40", "\"epochs\": 4", "'epochs'");
  damaged("\"makers\"", "\"bakers\"", "bakers");
  damaged("\"composed\": [", "\"composed\": [1, ", "'composed' has");
  damaged("\"seconds_noise\"", "\"seconds_noises\"", "'seconds_noise' is missing");
  static mz_fitted_course again;
  cJSON *json = mz_course_to_json(&fitted.course);
  char *text = mz_json_page(json);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  free(text);
  cJSON_Delete(json);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "was not fitted to runs"));
  unlink(path);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_known_world_is_recovered),
      cmocka_unit_test(what_is_best_by_the_fit_is_nearly_best_in_the_world),
      cmocka_unit_test(the_error_is_near_the_noise),
      cmocka_unit_test(an_error_that_is_large_makes_a_course_unusable),
      cmocka_unit_test(short_runs_tell_the_time_of_long_ones),
      cmocka_unit_test(beaten_plans_are_left_out),
      cmocka_unit_test(many_plans_are_thinned),
      cmocka_unit_test(what_cannot_be_fitted_is_refused),
      cmocka_unit_test(pairs_that_runs_tell_nothing_of_are_named),
      cmocka_unit_test(batches_whose_score_never_rises_are_named),
      cmocka_unit_test(a_file_gives_back_what_was_fitted),
      cmocka_unit_test(damaged_files_are_refused),
  };
  const int failed = cmocka_run_group_tests(tests, setup, NULL);
  forget_runs();
  return failed;
}
