/* Runs that an agent plans by stages: in shadow it changes nothing and is recorded; it drives once a record says that it may; resumed and
 * repeated runs are the same. */
#include "staged_runs.h"

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
    assert_true(r->regrets[MZ_DECIDER_REPLAN] == 0); /* against which the others are measured */
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

  /* Stages past the course are not planned. */
  expect_ok(mz_run_resume(&run, "stopped", &options, 0));
  play_to(run, ROUNDS + 2 * PHASE_ROUNDS);
  mz_run_close(run);
  assert_int_equal(lines_of("stopped").stages, STAGES);

  const char *const late[] = {"allocate.policy=policy"};
  const mz_run_options with = {.threads = 1, .sets = late, .set_count = 1};
  assert_int_equal(mz_run_resume(&run, "plain", &with, 0), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "accompanies a run from its beginning"));
}

static bool any_batch(const void *context, double batch_size) {
  (void)context, (void)batch_size;
  return true;
}

/* In batches of another size, too: such a plan would end the run when it is put in force. */
static void plans_on_fewer_cores_than_the_least_are_not_offered(void **unused) {
  (void)unused;
  mz_run *run;
  expect_ok(open_game(&run, "cores", shadow_sets, NULL));
  for (int least = 0; least <= 2; least++) {
    const mz_bounds bounds = {.cpu_min = least, .cpu_max = 4, .memory_max = 0x1p60};
    const mz_staged_run now = {.pipeline = &pipeline, .bounds = &bounds, .batch_size = 8 * BATCH, .has_batch = any_batch};
    mz_stage_record record;
    expect_ok(mz_staged_decide(run->steer->staged, &now, &record));
    assert_int_equal(record.offered, 1u << UNFIT | (least <= 1 ? 1u << allowed[0] : 0)); /* of four cores, and of one */
  }
  mz_run_close(run);
}

/* ---- driving ---- */

static void expect_in_force(const mz_run *run, int plan) {
  const int knob = mz_pipeline_knob(&pipeline, "batch_buffer_size");
  assert_int_equal(mz_allocator_plan(run->steer->allocator)->values[knob], 1 + plan);
  assert_int_equal(mz_plan_of_knobs(&run->workers.knobs).values[knob], 1 + plan);
  assert_int_equal(run->state.settings.learning.batch_size, rows_of[plan]);
}

static void an_agent_that_drives_moves_plan_and_batch_size_between_stages(void **unused) {
  (void)unused;
  mz_run *run;
  const mz_stages_record record = good_record();
  write_record(&record);
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
  const lines halted = lines_of("halted"), driven = lines_of("driven");
  assert_int_equal(halted.stages, STAGES);
  for (int s = 0; s < STAGES; s++) /* epochs of before a stop within a stage count */
    assert_float_equal(halted.stage[s].state.score, driven.stage[s].state.score, 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_shadow_the_agent_is_recorded_and_changes_nothing),
      cmocka_unit_test(plans_on_fewer_cores_than_the_least_are_not_offered),
      cmocka_unit_test(a_ledger_with_stages_replays),
      cmocka_unit_test(a_resumed_run_continues_its_stages),
      cmocka_unit_test(an_agent_that_drives_moves_plan_and_batch_size_between_stages),
      cmocka_unit_test(a_driven_run_is_the_same_when_it_is_resumed),
      cmocka_unit_test(a_driven_run_can_be_repeated),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
