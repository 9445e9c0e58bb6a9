/* Learning curves in the history: kept, continued, chosen by what they have in common. */
#include "tests/allocator/history_fixture.h"
#include "allocator/records/curve_history.h"

static const mz_curve_key KEY = {"machine", "bread", "ovens", "1111111111111111", "2222222222222222"};

static mz_curve run_of(const char *name, uint64_t seed) {
  mz_curve curve = {.seed = seed, .moves = 5120};
  snprintf(curve.run, sizeof curve.run, "%s", name);
  snprintf(curve.source, sizeof curve.source, "run");
  return curve;
}

static mz_epoch epoch_of(int number) {
  return (mz_epoch){.number = number,
                    .score = number % 2 ? 10 * number : NAN,
                    .wall_s = 1.5 * number,
                    .rounds_s = 1,
                    .evaluation_s = 0.5,
                    .batch_size = 128,
                    .amounts = {2, 0, 0.25},
                    .use = {0.75, 0, 1},
                    .stall = {0.5, NAN, 0},
                    .noise_scale = 300,
                    .plan = bakery_plan()};
}

static int64_t keep(mz_history *history, const mz_curve_key *key, const char *name, int epochs) {
  const mz_pipeline p = bakery();
  const mz_curve run = run_of(name, 7);
  int64_t id = 0;
  assert_int_equal(mz_history_begin_curve(history, key, &run, false, &id), MZ_OK);
  assert_true(id > 0);
  for (int e = 1; e <= epochs; e++) {
    const mz_epoch epoch = epoch_of(e);
    assert_int_equal(mz_history_add_epoch(history, &p, id, &epoch), MZ_OK);
  }
  return id;
}

static int read_curves(mz_history *history, const mz_curve_key *key, int max, mz_curve **curves) {
  const mz_pipeline p = bakery();
  int count = 0;
  assert_int_equal(mz_history_curves(history, key, &p, max, curves, &count), MZ_OK);
  return count;
}

static void test_a_curve_comes_back_as_it_was(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  keep(history, &KEY, "runs/a", 3);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  const mz_curve *c = &curves[0];
  assert_string_equal(c->run, "runs/a");
  assert_string_equal(c->source, "run");
  assert_true(c->seed == 7 && c->moves == 5120 && c->timed && c->learned);
  assert_int_equal(c->count, 3);
  const mz_epoch wanted = epoch_of(3), *e = &c->epochs[2];
  assert_true(e->number == 3 && e->score == 30 && e->wall_s == 4.5 && e->rounds_s == 1 && e->evaluation_s == 0.5);
  assert_true(e->batch_size == 128 && e->noise_scale == 300 && e->closing_s == 0);
  assert_true(e->amounts[2] == 0.25 && e->use[0] == 0.75 && e->stall[0] == 0.5 && isnan(e->stall[1]));
  assert_true(mz_plan_equal(&p, &e->plan, &wanted.plan));
  assert_true(isnan(c->epochs[1].score));
  assert_true(mz_curve_best(c, 2) == 10 && mz_curve_best(c, 3) == 30);
  assert_int_equal(mz_curve_reaches(c, 11), 3);
  assert_int_equal(mz_curve_reaches(c, 31), 0);
  assert_int_equal(mz_curve_length(c), 3);
  assert_true(mz_curve_is_steady(c, &p));
  curves[0].epochs[1].batch_size = 256;
  assert_false(mz_curve_is_steady(c, &p));
  mz_curves_free(curves, 1);
  mz_history_close(history);
}

static void test_a_resumed_run_continues_its_curve(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  const int64_t id = keep(history, &KEY, "runs/a", 4);
  const mz_curve same = run_of("runs/a", 7), other = run_of("runs/a", 8);
  int64_t again, another;
  assert_int_equal(mz_history_begin_curve(history, &KEY, &same, true, &again), MZ_OK);
  assert_true(again == id);
  mz_epoch epoch = epoch_of(4);
  epoch.score = 99; /* it was stopped in the fourth, or before that was saved */
  assert_int_equal(mz_history_add_epoch(history, &p, again, &epoch), MZ_OK);
  assert_int_equal(mz_history_begin_curve(history, &KEY, &other, true, &another), MZ_OK);
  assert_true(another != id);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1); /* the other has no epochs */
  assert_int_equal(curves[0].count, 4);
  assert_true(curves[0].epochs[3].score == 99);
  mz_curves_free(curves, 1);
  mz_history_close(history);
}

/* A run was lost in its ninth epoch, and continues from its third, slower than before. */
static void test_epochs_that_a_resumed_run_has_not_passed_again_are_not_of_it(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  const mz_curve same = run_of("runs/a", 7);
  mz_history *history = open_history("history.db");
  const int64_t id = keep(history, &KEY, "runs/a", 9);
  int64_t again;
  assert_int_equal(mz_history_begin_curve(history, &KEY, &same, true, &again), MZ_OK);
  for (int e = 4; e <= 5; e++) {
    mz_epoch epoch = epoch_of(e);
    epoch.wall_s += 100;
    assert_int_equal(mz_history_add_epoch(history, &p, again, &epoch), MZ_OK);
  }
  assert_true(again == id);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  assert_int_equal(curves[0].count, 5);
  assert_int_equal(mz_curve_length(&curves[0]), 5);
  mz_curves_free(curves, 1);
  mz_history_close(history);
  run_sql("history.db", "UPDATE epochs SET wall_s = 1 WHERE number = 5"); /* as earlier versions left them */
  history = open_history("history.db");
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  assert_int_equal(mz_curve_length(&curves[0]), 4);
  mz_curves_free(curves, 1);
  mz_history_close(history);
}

static void test_curves_tell_of_time_here_and_of_learning_anywhere(void **state) {
  (void)state;
  mz_curve_key elsewhere = KEY, otherwise = KEY, strange = KEY, neither = KEY;
  snprintf(elsewhere.machine, sizeof elsewhere.machine, "another machine");
  snprintf(otherwise.learning, sizeof otherwise.learning, "3333333333333333");
  snprintf(strange.env, sizeof strange.env, "cake");
  snprintf(neither.learning, sizeof neither.learning, "3333333333333333");
  snprintf(neither.timing, sizeof neither.timing, "4444444444444444");
  mz_history *history = open_history("history.db");
  keep(history, &elsewhere, "elsewhere", 1);
  keep(history, &otherwise, "otherwise", 1);
  keep(history, &strange, "strange", 1);
  keep(history, &neither, "neither", 1);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 2);
  assert_string_equal(curves[0].run, "elsewhere");
  assert_true(curves[0].learned && !curves[0].timed);
  assert_string_equal(curves[1].run, "otherwise");
  assert_true(curves[1].timed && !curves[1].learned);
  mz_curves_free(curves, 2);
  assert_int_equal(read_curves(history, &KEY, 1, &curves), 1); /* the newest */
  assert_string_equal(curves[0].run, "otherwise");
  mz_curves_free(curves, 1);
  mz_history_close(history);
}

static void add_epoch(mz_history *history, int64_t id, int number) {
  const mz_pipeline p = bakery();
  const mz_epoch epoch = epoch_of(number);
  assert_int_equal(mz_history_add_epoch(history, &p, id, &epoch), MZ_OK);
}

/* In the new file another run has the number that the first one had in the old. */
static void test_runs_keep_apart_in_a_file_that_took_the_old_ones_place(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  const int64_t id = keep(history, &KEY, "runs/a", 2);
  take_away();
  mz_history *other = open_history("history.db");
  assert_true(keep(other, &KEY, "runs/b", 3) == id);
  for (int number = 3; number <= 4; number++) add_epoch(history, id, number);
  add_epoch(other, id, 4);
  mz_curve *curves;
  assert_int_equal(read_curves(other, &KEY, 10, &curves), 2);
  assert_string_equal(curves[0].run, "runs/b");
  assert_int_equal(curves[0].count, 4);
  assert_string_equal(curves[1].run, "runs/a");
  assert_int_equal(curves[1].count, 2);
  assert_int_equal(curves[1].epochs[0].number, 3);
  mz_curves_free(curves, 2);
  mz_history_close(history);
  mz_history_close(other);
  assert_string_equal(ask_sql("elsewhere.db", "SELECT count(*) FROM epochs"), "2");
  assert_int_equal(warnings, 0);
}

static void test_a_curve_goes_on_in_the_file_that_follows_a_damaged_one(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 2);
  const int64_t id = keep(history, &KEY, "runs/a", 2);
  assert_int_equal(wait_for(start_child(spoil, 0)), 0);
  for (int number = 3; number <= 4; number++) add_epoch(history, id, number);
  assert_int_equal(warnings, 1);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  assert_string_equal(curves[0].run, "runs/a");
  assert_int_equal(curves[0].count, 2);
  assert_int_equal(curves[0].epochs[0].number, 3);
  mz_curves_free(curves, 1);
  mz_history_close(history);
}

static void test_version_4_gets_its_tables(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 2);
  mz_history_close(history);
  run_sql("history.db", "DROP TABLE runs; DROP TABLE epochs; PRAGMA user_version = 4");
  history = open_history("history.db");
  keep(history, &KEY, "runs/a", 2);
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  mz_curves_free(curves, 1);
  assert_int_equal(read_rows(history), 2);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
}

static void test_what_makes_no_sense_is_left_out(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  keep(history, &KEY, "runs/a", 4);
  run_sql("history.db",
          "UPDATE epochs SET plan = '{\"ovens\":3}' WHERE number = 1; UPDATE epochs SET resources = '[' WHERE number = 2;"
          "UPDATE epochs SET wall_s = -1 WHERE number = 3");
  mz_curve *curves;
  assert_int_equal(read_curves(history, &KEY, 10, &curves), 1);
  assert_int_equal(curves[0].count, 1);
  assert_int_equal(curves[0].epochs[0].number, 4);
  mz_curves_free(curves, 1);
  mz_history_close(history);
  int64_t id = 5;
  const mz_curve run = run_of("runs/b", 1);
  assert_int_equal(mz_history_begin_curve(NULL, &KEY, &run, false, &id), MZ_OK); /* a run that keeps none */
  assert_true(id == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_curve_comes_back_as_it_was, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_resumed_run_continues_its_curve, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_epochs_that_a_resumed_run_has_not_passed_again_are_not_of_it, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_curves_tell_of_time_here_and_of_learning_anywhere, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_runs_keep_apart_in_a_file_that_took_the_old_ones_place, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_curve_goes_on_in_the_file_that_follows_a_damaged_one, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_version_4_gets_its_tables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_what_makes_no_sense_is_left_out, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
