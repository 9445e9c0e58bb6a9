#include "muzero/compare/scenario.h"
#include "tests/muzero/testing.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static void clauses_hold_for_their_blocks(void **state) {
  (void)state;
  mz_scenario s;
  expect_ok(mz_scenario_parse(&s, "cores=1@10-19;neighbour=2@20-29;stream=3@30-;cores=2@25", 4));
  assert_int_equal(s.count, 4);
  static const struct {
    int64_t block;
    int cores, neighbours, streams;
  } wanted[] = {{1, 0, 0, 0},  {9, 0, 0, 0},  {10, 1, 0, 0}, {19, 1, 0, 0}, {20, 0, 2, 0},
                {25, 2, 2, 0}, {26, 0, 2, 0}, {29, 0, 2, 0}, {30, 0, 0, 3}, {100000, 0, 0, 3}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    assert_int_equal(mz_scenario_at(&s, MZ_SCENARIO_CORES, wanted[i].block), wanted[i].cores);
    assert_int_equal(mz_scenario_at(&s, MZ_SCENARIO_NEIGHBOUR, wanted[i].block), wanted[i].neighbours);
    assert_int_equal(mz_scenario_at(&s, MZ_SCENARIO_STREAM, wanted[i].block), wanted[i].streams);
  }
  expect_ok(mz_scenario_parse(&s, NULL, 4));
  assert_int_equal(s.count, 0);
  expect_ok(mz_scenario_parse(&s, "", 4));
  assert_int_equal(s.count, 0);
}

static void what_cannot_be_is_named_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"core=1@1", "at character 1: takes cores=N@FIRST-LAST"},
      {"cores=0@1", "at character 7: cores takes 1 … 4"},
      {"cores=5@1", "at character 7: cores takes 1 … 4"},
      {"cores=99999999999999999999@1", "at character 7: cores takes"},
      {"cores=-1@1", "at character 7: cores takes"},
      {"neighbour=65@1", "at character 11: neighbour takes 1 … 64"},
      {"cores=1", "at character 8: '@' and blocks are missing"},
      {"cores=1@", "at character 9: the first block takes 1 … 1000000"},
      {"cores=1@0-3", "at character 9: the first block takes"},
      {"cores=1@7-3", "at character 11: the last block takes 7 … 1000000"},
      {"cores=1@1-3 stream=1@2", "at character 12: ';' or the end is missing"},
      {"cores=1@1-3;;", "at character 13: takes"},
      {"cores=1@1-9;stream=1@3;cores=2@9-", "at character 24: speaks of blocks of which a clause before it says another"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mz_scenario s;
    assert_int_equal(mz_scenario_parse(&s, cases[i].text, 4), MZ_E_CONFIG);
    if (!strstr(mz_message(), cases[i].says)) fail_msg("'%s' does not say '%s'", mz_message(), cases[i].says);
  }
  char text[17 * 16] = "";
  for (int i = 1; i <= 17; i++) sprintf(text + strlen(text), "cores=1@%d;", i);
  mz_scenario s;
  assert_int_equal(mz_scenario_parse(&s, text, 4), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "at most 16"));
}

static bool is_alive(pid_t pid) { return kill(pid, 0) == 0; }

static void the_machine_is_set_and_put_back(void **state) {
  (void)state;
  mz_scenario s;
  mz_scenery scenery = {0};
  cpu_set_t all, now;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  expect_ok(mz_scenario_parse(&s, "cores=1@2;neighbour=2@2-3;stream=1@3", 64));
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (;;) pause();
  }
  const pid_t pids[] = {0, child};
  expect_ok(mz_scenario_set(&scenery, &s, 1, pids, 2));
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all));
  expect_ok(mz_scenario_set(&scenery, &s, 2, pids, 2));
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_int_equal(CPU_COUNT(&now), 1);
  const pid_t first = scenery.processes[MZ_SCENARIO_NEIGHBOUR][0], second = scenery.processes[MZ_SCENARIO_NEIGHBOUR][1];
  assert_true(is_alive(first) && is_alive(second));
  assert_int_equal(sched_getaffinity(first, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all)); /* neighbours run where they like */
  kill(second, SIGKILL);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)second, &info, WEXITED | WNOWAIT), 0);
  expect_ok(mz_scenario_set(&scenery, &s, 3, pids, 2));
  assert_int_equal(scenery.processes[MZ_SCENARIO_NEIGHBOUR][0], first);
  assert_true(is_alive(scenery.processes[MZ_SCENARIO_NEIGHBOUR][1])); /* another one */
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all));
  const pid_t streams = scenery.processes[MZ_SCENARIO_STREAM][0];
  assert_true(is_alive(streams));
  expect_ok(mz_scenario_set(&scenery, &s, 4, pids, 2));
  assert_false(is_alive(first) || is_alive(streams));
  expect_ok(mz_scenario_set(&scenery, &s, 3, pids, 2));
  mz_scenario_clear(&scenery);
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    for (int i = 0; i < MZ_SCENARIO_NEIGHBOURS_MAX; i++) assert_int_equal(scenery.processes[thing][i], 0);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(clauses_hold_for_their_blocks),
                                     cmocka_unit_test(what_cannot_be_is_named_with_its_place),
                                     cmocka_unit_test(the_machine_is_set_and_put_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
