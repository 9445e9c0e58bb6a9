/* The state of a run in the terms of its course, from what was measured; the ledger's lines. */
#include "allocator/runs/stage_progress.h"
#include "allocator/runs/stage_record.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static mz_course course, means;

static int setup(void **unused) {
  (void)unused;
  mz_course_builtin(&course);
  means = course;
  means.spread = 0;
  return mz_course_prepare(&means, "means") == MZ_OK ? 0 : -1;
}

/* ---- states ---- */

static mz_epoch epoch_with(double score, double use, double noise_scale) {
  return (mz_epoch){
      .score = score, .use = {use, NAN, 1}, .stall = {NAN, NAN, 0}, .noise_scale = noise_scale, .batch_size = 64, .amounts = {2}};
}

/* A run that does what the course's means say is in the states that the course goes through. */
static void a_run_as_the_means_say_is_in_the_states_of_the_course(void **unused) {
  (void)unused;
  mz_course_state measured, expected;
  mz_course_begin(&means, 0, &measured);
  mz_course_begin(&means, 0, &expected);
  for (int s = 0; s < course.stages; s++) {
    const int plan = s % course.plans;
    const mz_course_cell *cell = &course.cell[s][plan];
    mz_stage_progress progress = {.score = NAN};
    mz_course_step(&means, &expected, plan);
    for (int e = 0; e < 3; e++) {
      mz_epoch epoch = epoch_with(e == 2 ? expected.score : NAN, 0, expected.noise_scale);
      memcpy(epoch.use, cell->use, sizeof epoch.use);
      memcpy(epoch.stall, cell->stall, sizeof epoch.stall);
      mz_stage_progress_add(&progress, &epoch);
    }
    const mz_stage_end end = {.plan = plan, .seconds = expected.seconds, .cost = expected.cost};
    mz_stage_progress_end(&progress, &course, &end, &measured);
    assert_int_equal(measured.stage, expected.stage);
    assert_int_equal(measured.plan, expected.plan);
    assert_float_equal(measured.score, expected.score, 1e-9);
    assert_float_equal(measured.slope, expected.slope, 1e-9);
    assert_float_equal(measured.noise_scale / expected.noise_scale, 1, 1e-9);
    assert_float_equal(measured.pace, 1, 1e-9);
    assert_float_equal(measured.yield, 1, 1e-9);
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
      assert_float_equal(measured.use[r], expected.use[r], 1e-9);
      assert_float_equal(measured.stall[r], expected.stall[r], 1e-9);
    }
    if (s + 1 < course.stages) assert_true(mz_course_state_valid(&course, &measured));
  }
}

/* A run may do what no draw of the course does; its state stays one that the agent knows. */
static void what_was_measured_is_held_to_what_the_course_allows(void **unused) {
  (void)unused;
  mz_course_state state;
  mz_stage_progress progress = {.score = NAN};
  mz_course_begin(&means, 0, &state);
  const mz_epoch epoch = epoch_with(7, 3, NAN);
  mz_stage_progress_add(&progress, &epoch);
  mz_stage_progress_end(&progress, &course, &(mz_stage_end){.plan = 1, .seconds = 1e7, .cost = 2}, &state);
  assert_true(mz_course_state_valid(&course, &state));
  assert_float_equal(state.score, course.ceiling, 0);
  assert_float_equal(state.pace, 2, 0);
  assert_float_equal(state.yield, 4, 0);
  assert_float_equal(state.use[0], 1, 0);
  assert_float_equal(state.use[1], 0, 0);
  assert_float_equal(state.noise_scale, course.noise_scale[1], 0);

  /* Without an evaluation the score is the one from before, and it never falls. */
  mz_course_begin(&means, 0, &state);
  mz_stage_progress_end(&(mz_stage_progress){.score = NAN}, &course, &(mz_stage_end){.plan = 0, .seconds = 1, .cost = 1}, &state);
  assert_float_equal(state.score, course.score, 0);
  assert_float_equal(state.yield, 0, 0);
  mz_stage_progress_end(&(mz_stage_progress){.score = -5}, &course, &(mz_stage_end){.plan = 0, .seconds = 0.5, .cost = 2},
                        &state);
  assert_float_equal(state.score, course.score, 0);
  assert_float_equal(state.seconds, 1, 0); /* nor does time */
  assert_true(mz_course_state_valid(&course, &state));
}

static void the_nearest_plan_has_the_batch_size_first(void **unused) {
  (void)unused;
  for (int p = 0; p < course.plans; p++) {
    const mz_course_plan *plan = &course.plan[p];
    assert_int_equal(
        mz_course_nearest_plan(&course, plan->batch_size, plan->amounts[MZ_COURSE_CORES], plan->amounts[MZ_COURSE_GPUS]), p);
  }
  const int at = mz_course_nearest_plan(&course, course.plan[0].batch_size, 1000, 0);
  assert_float_equal(course.plan[at].batch_size, course.plan[0].batch_size, 0);
}

/* ---- lines ---- */

static void stage_lines_read_back(void **unused) {
  (void)unused;
  mz_stage_record record = {.phase = 12,
                            .round = 480,
                            .course = 0xfedcba9876543210u,
                            .policy = 7,
                            .drives = true,
                            .mask = 0x00800005,
                            .offered = 4,
                            .plans = {2, 0, 23},
                            .regrets = {0.1, 1.0 / 3, 0},
                            .sums = {0.2, 2.0 / 3, 0},
                            .half_cost = NAN,
                            .chosen = 2,
                            .reason = "why"},
                  again;
  mz_course_begin(&course, 0, &record.state);
  mz_course_step(&course, &record.state, 3);
  cJSON *json = mz_stage_record_to_json(&record, MZ_COURSE_PLANS_MAX);
  assert_int_equal(mz_stage_record_from_json(&again, json, "here", MZ_E_CHECKPOINT), MZ_OK);
  assert_memory_equal(&again.state, &record.state, sizeof again.state);
  assert_true(again.course == record.course && again.policy == 7 && again.drives && again.chosen == 2);
  assert_int_equal(again.mask, record.mask);
  assert_int_equal(again.offered, record.offered);
  assert_memory_equal(again.plans, record.plans, sizeof again.plans);
  assert_memory_equal(again.sums, record.sums, sizeof again.sums);
  assert_true(isnan(again.half_cost));
  assert_string_equal(again.reason, "why");
  cJSON_DeleteItemFromObject(json, "sums");
  assert_int_equal(mz_stage_record_from_json(&again, json, "here", MZ_E_CHECKPOINT), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "here: 'sums' is missing"));
  cJSON_Delete(json);

  const mz_stages_record whole = {.phase = 40,
                                  .course = 1,
                                  .policy = 2,
                                  .complete = true,
                                  .stages = 8,
                                  .seconds = 0.1,
                                  .cost = 0.3,
                                  .score = 0.5,
                                  .violations = 2,
                                  .regrets = {1, 2, 3},
                                  .early = 0.25,
                                  .reason = "all"};
  const mz_epoch epoch = {.number = 5, .score = 0.7, .use = {0.5, NAN, 1}, .stall = {NAN, 0.1, 0}, .noise_scale = NAN};
  mz_epoch read_epoch;
  json = mz_stage_epoch_to_json(&epoch);
  assert_int_equal(mz_stage_epoch_from_json(&read_epoch, json, "here", MZ_E_CHECKPOINT), MZ_OK);
  assert_true(read_epoch.number == 5 && read_epoch.score == 0.7 && isnan(read_epoch.noise_scale));
  assert_true(read_epoch.use[0] == 0.5 && isnan(read_epoch.use[1]) && isnan(read_epoch.stall[0]) && read_epoch.stall[1] == 0.1);
  cJSON_Delete(json);

  mz_stages_record read;
  json = mz_stages_record_to_json(&whole);
  assert_int_equal(mz_stages_record_from_json(&read, json, "here", MZ_E_CHECKPOINT), MZ_OK);
  assert_true(read.complete && !read.drives && read.stages == 8 && read.violations == 2);
  assert_float_equal(read.early, 0.25, 0);
  assert_memory_equal(read.regrets, whole.regrets, sizeof whole.regrets);
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_as_the_means_say_is_in_the_states_of_the_course),
      cmocka_unit_test(what_was_measured_is_held_to_what_the_course_allows),
      cmocka_unit_test(the_nearest_plan_has_the_batch_size_first),
      cmocka_unit_test(stage_lines_read_back),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
