#include "tests/allocator/plant.h"

static void strategies_are_found_by_name(void **state) {
  (void)state;
  static const char *const names[] = {"fixed", "random", "demand", "greedy", "adaptive", "static", "staged"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const mz_strategy *found = NULL;
    assert_int_equal(mz_strategy_find(names[i], "allocate.strategy", &found), MZ_OK);
    assert_string_equal(found->name, names[i]);
  }
}

static void expect_message(const char *name, const char *message) {
  const mz_strategy *found = NULL;
  assert_int_equal(mz_strategy_find(name, "--allocate", &found), MZ_E_CONFIG);
  assert_null(found);
  assert_string_equal(mz_message(), message);
}

static void unknown_ones_name_the_nearest(void **state) {
  (void)state;
  expect_message("gredy", "--allocate: 'gredy' is no strategy; did you mean greedy?");
  expect_message("Fixd", "--allocate: 'Fixd' is no strategy; did you mean fixed?");
  expect_message("zzzzzzzz",
                 "--allocate: 'zzzzzzzz' is no strategy; there are fixed, random, demand, greedy, adaptive, static, staged");
  expect_message("", "--allocate: '' is no strategy; there are fixed, random, demand, greedy, adaptive, static, staged");
}

/* Whatever a strategy is told, it fills its proposal in, and keeps to its memory. */
static void every_strategy_answers(void **state) {
  (void)state;
  for (int i = 0; mz_strategies[i]; i++) {
    const mz_strategy *strategy = mz_strategies[i];
    assert_true(strategy->memory_bytes <= MZ_STRATEGY_MEMORY_MAX);
    assert_true(strategy->name[0] && strategy->summary[0] && strategy->source[0]);
    plant p;
    mz_analytic model;
    plant_init(&p, 4);
    mz_analytic_init(&model, &p.pipeline, 4);
    memset(p.strategy_memory + strategy->memory_bytes, 0xA5, sizeof p.strategy_memory - strategy->memory_bytes);
    mz_situation situation = plant_situation(&p);
    mz_champion *champion = NULL;
    if (strategy->learns) assert_int_equal(mz_champion_create(&champion, &p.pipeline, 4, NULL, NULL, 1), MZ_OK);
    situation.model = &model;
    situation.champion = champion;
    situation.window = NULL;
    for (int phase = 0; phase < 5; phase++) {
      memset(&p.proposal, 0xFF, sizeof p.proposal);
      strategy->propose(&situation, p.strategy_memory, &p.proposal);
      assert_true(p.proposal.predictor && p.proposal.predictor[0]);
      assert_non_null(p.proposal.binding);
      assert_non_null(memchr(p.proposal.reason, '\0', sizeof p.proposal.reason));
      assert_true(p.proposal.reason[0] != '\0');
      assert_in_range(p.proposal.candidate_count, 0, MZ_CANDIDATES_MAX);
      assert_true(p.proposal.change == !mz_plan_equal(&p.pipeline, &p.proposal.plan, &p.plan));
      assert_null(mz_plan_refused(&p.pipeline, &p.bounds, &p.proposal.plan));
      plant_run(&p);
      situation.window = &p.window;
    }
    mz_champion_free(champion);
    for (size_t at = strategy->memory_bytes; at < sizeof p.strategy_memory; at++) assert_int_equal(p.strategy_memory[at], 0xA5);
  }
}

static void fixed_keeps_its_plan(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 6;
  const mz_plan plan = p.plan;
  for (int i = 0; i < 50; i++) {
    const mz_proposal *proposal = plant_phase(&p, &mz_strategy_fixed);
    assert_false(proposal->change || proposal->demanded);
    assert_true(mz_plan_equal(&p.pipeline, &proposal->plan, &plan));
    assert_string_equal(proposal->predictor, "last value");
    assert_true(isnan(proposal->prediction.unit_s));
  }
}

static void fixed_predicts_from_what_was_seen(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  plant_run(&p);
  mz_analytic model;
  mz_observation observation;
  mz_analytic_init(&model, &p.pipeline, 8);
  mz_situation situation = plant_situation(&p);
  situation.model = &model;
  mz_strategy_fixed.propose(&situation, p.strategy_memory, &p.proposal);
  assert_true(isnan(p.proposal.prediction.unit_s)); /* probes alone are no observation */
  assert_true(mz_observation_from_window(&observation, &p.plan, &p.window));
  mz_analytic_fit(&model, &observation, 1);
  mz_strategy_fixed.propose(&situation, p.strategy_memory, &p.proposal);
  assert_true(p.proposal.prediction.unit_s == mz_analytic_predict(&model, &p.plan).unit_s);
  assert_true(isfinite(p.proposal.prediction.unit_s));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strategies_are_found_by_name),
      cmocka_unit_test(unknown_ones_name_the_nearest),
      cmocka_unit_test(every_strategy_answers),
      cmocka_unit_test(fixed_keeps_its_plan),
      cmocka_unit_test(fixed_predicts_from_what_was_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
