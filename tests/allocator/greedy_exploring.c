/* Greedy where nothing promises to be better. */
#include "greedy_stand.h"

/* At the best plan that it knows it asks for a neighbour's trial, but only after a while, and for one that was never measured. */
static void test_it_explores_when_nothing_is_better(void **state) {
  (void)state;
  int explored = 0, others = 0;
  for (uint64_t seed = 0; seed < 40; seed++) {
    stand s;
    stand_init(&s, seed);
    const mz_window window = {.units = 1};
    s.plan = ask(&s).plan;
    s.situation.window = &window;
    if (ask(&s).change) continue; /* from there another is better still */
    uint64_t memory[MZ_STRATEGY_MEMORY_MAX / 8] = {0};
    mz_proposal p = {0};
    int quiet = 0;
    for (; quiet < 20 && !p.change; quiet++) mz_strategy_greedy.propose(&s.situation, memory, &p);
    if (!p.change) continue; /* every neighbour is plainly slower */
    explored++;
    assert_true(quiet > 1 && p.demanded);
    assert_non_null(strstr(p.reason, "explores"));
    assert_true(mz_plan_distance(&s.random.pipeline, &s.plan, &p.plan) <= 1);
    assert_true(may_be(&s, &p.plan));
    const mz_plan first = p.plan;
    int undone = 0; /* it was not kept: the plan in force is the same */
    for (p.change = false; undone < 40 && !p.change; undone++) mz_strategy_greedy.propose(&s.situation, memory, &p);
    assert_true(undone > quiet);        /* patience grows */
    s.situation.explored_enough = true; /* nothing is explored as long as that has cost its share, and patience does not grow */
    for (int i = 0; i < 20; i++) assert_false((mz_strategy_greedy.propose(&s.situation, memory, &p), p.change));
    s.situation.explored_enough = false;
    assert_true((mz_strategy_greedy.propose(&s.situation, memory, &p), p.change));
    s.model.plan_count = 1; /* the first was measured: another is tried, or none */
    s.model.plans[0].plan = first;
    s.model.plans[0].count = 1;
    assert_true(mz_analytic_measured(&s.model, &first));
    uint64_t fresh[MZ_STRATEGY_MEMORY_MAX / 8] = {0};
    mz_proposal other = {0};
    for (int i = 0; i < 20 && !other.change; i++) mz_strategy_greedy.propose(&s.situation, fresh, &other);
    assert_false(other.change && mz_plan_equal(&s.random.pipeline, &other.plan, &first));
    others += other.change;
  }
  assert_true(explored >= 10 && others >= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_explores_when_nothing_is_better)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
