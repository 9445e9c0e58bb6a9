/* Runs on a simulated machine that an agent plans by stages: its course is fitted to that machine; in shadow it is shown what a real run
 * shows, changes nothing and is recorded; it drives where that record says that it may. */
#include "simulated_world.h"
#include "staged_agent.h"
#include "allocator/runs/course_file.h"

enum { STAGES = 4, STAGE_EPOCHS = 6, COURSE_EPOCHS = STAGES * STAGE_EPOCHS };
#define MACHINE "sim:cores=8"
#define COURSE_ENV "allocation:course=course.json"

static char folder[64], home[512];
static mz_simulated_runs *world;
static mz_fitted_course fitted;

/* ---- the course and its agent ---- */

static void fit_course(mz_simulated_runs *runs, mz_fitted_course *out) {
  const mz_run_ask ask = {
      .batch_open = true, .deadline_s = 100, .budget = 1, .target = TARGET, .epochs = COURSE_EPOCHS, .env = "cartpole"};
  expect_ok(mz_simulated_runs_fit_course(runs, &runs->settings, &ask, STAGES, out));
}

/* The plan with the fewest cores of a batch size. */
static int plan_of(double rows) {
  int found = -1;
  for (int p = 0; p < fitted.course.plans; p++) {
    const mz_course_plan *plan = fitted.course.plan;
    if (plan[p].batch_size != rows) continue;
    if (found < 0 || plan[p].amounts[MZ_COURSE_CORES] < plan[found].amounts[MZ_COURSE_CORES]) found = p;
  }
  assert_true(found >= 0);
  return found;
}

static double allowed_rows(int stage) { return ROWS[(stage / 2 + 1) % BATCHES]; } /* 256, 256, 64, 64 */

/* In each stage every plan but one provably breaks the deadline. */
static void write_course_of_one_way(void) {
  for (int s = 0; s < STAGES; s++)
    for (int p = 0; p < fitted.course.plans; p++) fitted.course.cell[s][p].seconds = p == plan_of(allowed_rows(s)) ? 1 : 5000;
  fitted.course.score = world->start;
  expect_ok(mz_course_prepare(&fitted.course, "test"));
  expect_ok(mz_course_file_write("course.json", &fitted, &world->place.outset.pipeline));
}

static int setup(void **unused) {
  (void)unused;
  make_folder(folder);
  assert_non_null(getcwd(home, sizeof home));
  assert_int_equal(chdir(folder), 0);
  world = runs_on(MACHINE);
  fit_course(world, &fitted);
  write_course_of_one_way();
  train_policy(COURSE_ENV, "policy");
  return 0;
}

static int teardown(void **unused) {
  (void)unused;
  mz_simulated_runs_close(world);
  assert_int_equal(chdir(home), 0);
  drop_folder(folder);
  return 0;
}

/* ---- runs ---- */

static const char *const shadow_sets[] = {"allocate.policy=policy", "batch_schedule=0:256", NULL};
static const char *const driving_sets[] = {"allocate.policy=policy", "allocate.shadow=shadow", NULL};

typedef struct outcome {
  int phases;
  double scores[EPOCHS + 1], cores[EPOCHS + 1], wall_s[EPOCHS + 1]; /* of each phase */
  char reason[16];
} outcome;

static mz_status open_run(mz_simulated_runs *runs, const char *dir, const char *strategy, const char *const *more,
                          mz_simulated_whole **out) {
  enum { SETS_MAX = 8 };
  const char *sets[SETS_MAX];
  char refused[MZ_MESSAGE_MAX];
  int count = 0;
  while (*more) sets[count++] = *more++;
  const mz_run_options run = {
      .env = "cartpole", .dir = dir, .sets = sets, .set_count = count, .allocate = strategy, .seed = 2, .seed_given = true};
  return mz_simulated_whole_open(out, &(mz_simulated_whole_options){.runs = runs, .run = &run, .noise_seed = 7}, refused);
}

static outcome play(const char *dir, const char *strategy, const char *const *sets) {
  mz_simulated_whole *whole;
  outcome out = {0};
  expect_ok(open_run(world, dir, strategy, sets, &whole));
  for (bool ended = false; !ended; out.phases++) {
    cJSON *block;
    assert_true(out.phases <= EPOCHS);
    expect_ok(mz_simulated_whole_advance(whole, &block, &ended));
    out.scores[out.phases] = mz_json_number_or_nan(block, "score");
    out.wall_s[out.phases] = mz_json_number_or_nan(block, "wall_s");
    out.cores[out.phases] = mz_json_number_or_nan(block, "reserved_core_s") / out.wall_s[out.phases];
    snprintf(out.reason, sizeof out.reason, "%s", mz_json_text_or_empty(block, "reason"));
    cJSON_Delete(block);
  }
  mz_simulated_whole_close(whole);
  return out;
}

static void refused(mz_simulated_runs *runs, const char *const *sets, const char *says) {
  mz_simulated_whole *whole;
  assert_int_equal(open_run(runs, "refused", "staged", sets, &whole), MZ_E_CONFIG);
  assert_null(whole);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
}

/* ---- lines ---- */

/* Nothing but its stages and their sum is in the ledger of a simulated run. */
static lines whole_lines_of(const char *dir) {
  const lines l = lines_of(dir);
  assert_true(l.stages > 0 && l.sums == 1 && l.all == l.stages + 1);
  return l;
}

/* Writes the record of `shadow` with other regrets. */
static void write_regrets(const char *path, double policy, double fixed) {
  mz_stages_record sum = whole_lines_of("shadow").sum;
  sum.regrets[MZ_DECIDER_POLICY] = policy;
  sum.regrets[MZ_DECIDER_STATIC] = fixed;
  write_record_to(path, &sum);
}

/* ---- tests ---- */

static void a_course_is_fitted_to_the_machine(void **unused) {
  (void)unused;
  mz_fitted_course *own = calloc(1, sizeof *own);
  assert_non_null(own);
  fit_course(world, own);
  assert_string_equal(own->simulated, MACHINE);
  assert_true(own->error.usable);
  double least = INFINITY, most = 0;
  for (int p = 0; p < own->course.plans; p++) {
    const mz_course_cell *cell = &own->course.cell[0][p];
    least = fmin(least, own->course.plan[p].amounts[MZ_COURSE_CORES]);
    most = fmax(most, own->course.plan[p].amounts[MZ_COURSE_CORES]);
    assert_true(cell->use[MZ_COURSE_CORES] > 0 && cell->use[MZ_COURSE_CORES] <= 1);
    assert_true(own->course.plan[p].amounts[MZ_COURSE_MEMORY] > 0);
  }
  assert_true(least == 1 && most == 8);
  for (int s = 1; s < STAGES; s++) assert_true(own->course.noise_scale[s] > own->course.noise_scale[s - 1]);
  mz_fitted_course *read = calloc(1, sizeof *read);
  assert_non_null(read);
  expect_ok(mz_course_file_write("own.json", own, &world->place.outset.pipeline));
  expect_ok(mz_course_file_read(read, "own.json", &world->place.outset.pipeline));
  assert_string_equal(read->simulated, MACHINE);
  free(read);
  free(own);
}

static void in_shadow_the_agent_is_recorded_and_changes_nothing(void **unused) {
  (void)unused;
  const outcome plain = play(NULL, "fixed", (const char *[]){"batch_schedule=0:256", NULL}),
                shadow = play("shadow", "fixed", shadow_sets);
  assert_string_equal(plain.reason, "score");
  assert_string_equal(shadow.reason, "score");
  assert_int_equal(plain.phases, shadow.phases);
  for (int p = 0; p < plain.phases; p++) assert_true(plain.scores[p] == shadow.scores[p] && plain.wall_s[p] == shadow.wall_s[p]);
  const lines l = whole_lines_of("shadow");
  assert_int_equal(l.stages, (shadow.phases + STAGE_EPOCHS - 1) / STAGE_EPOCHS); /* the course ends with the run, at the score */
  assert_true(l.stages == 3 && shadow.phases < COURSE_EPOCHS);
  for (int s = 0; s < l.stages; s++) {
    const mz_stage_record *r = &l.stage[s];
    assert_true(r->state.stage == s && r->phase == s * STAGE_EPOCHS);
    assert_true(r->chosen == -1 && !r->drives);
    assert_int_equal(r->mask, 1u << plan_of(allowed_rows(s)));
    assert_int_equal(r->plans[MZ_DECIDER_POLICY], plan_of(allowed_rows(s)));
    assert_true(mz_course_state_valid(&fitted.course, &r->state));
    if (s == 0) continue;
    double logs = 0;
    for (int e = 1; e <= STAGE_EPOCHS; e++) logs += log2(noise_scale_at((s - 1) * STAGE_EPOCHS + e, 256)) / STAGE_EPOCHS;
    assert_float_equal(r->state.noise_scale, exp2(logs), 1e-6);
    assert_true(r->state.use[MZ_COURSE_CORES] > 0 && r->state.use[MZ_COURSE_CORES] < 1);
    assert_true(r->state.stall[MZ_COURSE_CORES] > 0 && r->state.stall[MZ_COURSE_CORES] < 1);
    assert_true(r->state.pace > 0 && r->state.yield > 0 && r->state.seconds > l.stage[s - 1].state.seconds);
  }
  assert_true(l.sum.complete && !l.sum.drives && l.sum.score >= TARGET && l.sum.violations == 0);
}

static void an_agent_drives_where_its_regret_was_no_worse(void **unused) {
  (void)unused;
  static const char *const sets[] = {"allocate.policy=policy", "allocate.shadow=record.jsonl", NULL};
  mz_simulated_whole *whole;
  refused(world, (const char *[]){NULL}, "needs --set allocate.policy=RUN");
  refused(world, (const char *[]){"allocate.policy=policy", NULL}, "no shadow run shows yet that the agent may drive");
  write_regrets("record.jsonl", 0.6, 0.5);
  refused(world, sets, "0.6, is above that of a fixed plan, 0.5");
  write_regrets("record.jsonl", 0.5, 0.5);
  expect_ok(open_run(world, "allowed", "staged", sets, &whole));
  mz_simulated_whole_close(whole);
}

static void regrets_of_several_runs_are_summed(void **unused) {
  (void)unused;
  static const char *const both[] = {"allocate.policy=policy", "allocate.shadow=record.jsonl:other.jsonl", NULL};
  mz_simulated_whole *whole;
  write_regrets("record.jsonl", 0.6, 0.5);
  write_regrets("other.jsonl", 0.5, 0.5);
  refused(world, both, "regret in record.jsonl:other.jsonl, 0.55, is above that of a fixed plan, 0.5");
  write_regrets("other.jsonl", 0.4, 0.5);
  expect_ok(open_run(world, "allowed by both", "staged", both, &whole));
  mz_simulated_whole_close(whole);
  refused(world, (const char *[]){both[0], "allocate.shadow=other.jsonl:", NULL}, "a colon between two");
  refused(world, (const char *[]){both[0], "allocate.shadow=other.jsonl:nothing.jsonl", NULL}, "nothing.jsonl");
}

/* It turns from batches of 256 to those of 64, and its score goes on from where it is, by the shares of the other curve. */
static void an_agent_that_drives_turns_to_other_curves(void **unused) {
  (void)unused;
  const outcome run = play("driven", "staged", driving_sets);
  const mz_curve *large, *small;
  const int turn = COURSE_EPOCHS / 2;
  expect_ok(mz_simulated_runs_find_curve(world, 2, ROWS[1], &large));
  expect_ok(mz_simulated_runs_find_curve(world, 2, ROWS[0], &small));
  assert_true(run.phases > turn);
  for (int e = 1; e <= run.phases; e++) {
    const double ceiling = world->ceiling, at_turn = mz_curve_best(large, turn), from = mz_curve_best(small, turn);
    const double score = e <= turn ? mz_curve_best(large, e)
                                   : ceiling - (ceiling - at_turn) * (ceiling - mz_curve_best(small, e)) / (ceiling - from);
    assert_float_equal(run.scores[e - 1], score, 1e-9);
    assert_true(run.cores[e - 1] <= fitted.course.plan[plan_of(e <= turn ? ROWS[1] : ROWS[0])].amounts[MZ_COURSE_CORES] + 1e-9);
  }
}

static char *bytes_of(const char *dir, size_t *size) {
  char path[256];
  uint8_t *text;
  expect_ok(mz_ledger_path(dir, path, sizeof path));
  expect_ok(mz_file_read(path, 1 << 20, &text, size));
  return (char *)text;
}

static void a_driven_run_repeats_byte_for_byte(void **unused) {
  (void)unused;
  size_t sizes[2];
  const outcome first = play("first", "staged", driving_sets), second = play("second", "staged", driving_sets);
  char *const texts[] = {bytes_of("first", &sizes[0]), bytes_of("second", &sizes[1])};
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(texts[0], texts[1], sizes[0]);
  assert_memory_equal(first.scores, second.scores, sizeof first.scores);
  assert_memory_equal(first.wall_s, second.wall_s, sizeof first.wall_s);
  free(texts[0]);
  free(texts[1]);
}

static void agents_of_other_machines_and_batches_are_refused(void **unused) {
  (void)unused;
  mz_simulated_runs *other = runs_on("sim:cores=4");
  refused(other, driving_sets, "fitted to runs on " MACHINE ", and this one is on sim:cores=4");
  mz_simulated_runs_close(other);
  static const char *const scheduled[] = {"allocate.policy=policy", "allocate.shadow=shadow", "batch_schedule=0:64", NULL};
  refused(world, scheduled, "the agent of allocate.policy moves the batch size");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_course_is_fitted_to_the_machine),
                                     cmocka_unit_test(in_shadow_the_agent_is_recorded_and_changes_nothing),
                                     cmocka_unit_test(an_agent_drives_where_its_regret_was_no_worse),
                                     cmocka_unit_test(regrets_of_several_runs_are_summed),
                                     cmocka_unit_test(an_agent_that_drives_turns_to_other_curves),
                                     cmocka_unit_test(a_driven_run_repeats_byte_for_byte),
                                     cmocka_unit_test(agents_of_other_machines_and_batches_are_refused)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
