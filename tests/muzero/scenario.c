#include "muzero/compare/scenario.h"
#include "tests/muzero/testing.h"

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
  expect_ok(mz_scenario_parse(&s, "quota=1.5@2-3;memory=62.5%@3", 4));
  assert_true(mz_scenario_at(&s, MZ_SCENARIO_QUOTA, 2) == 1.5 && mz_scenario_at(&s, MZ_SCENARIO_MEMORY, 2) == 0);
  assert_true(mz_scenario_at(&s, MZ_SCENARIO_QUOTA, 3) == 1.5 && mz_scenario_at(&s, MZ_SCENARIO_MEMORY, 3) == 62.5);
  assert_false(mz_scenario_alike(&s, 1, 2) || mz_scenario_alike(&s, 2, 3) || mz_scenario_alike(&s, 3, 4));
  assert_true(mz_scenario_alike(&s, 1, 4));
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
      {"core=1@1", "at character 1: takes THING@FIRST-LAST of cores=N, quota=N, neighbour=N, stream=N, memory=N%"},
      {"cores=0@1", "at character 7: cores takes 1 … 4, whole"},
      {"cores=1.5@1", "at character 7: cores takes 1 … 4, whole"},
      {"quota=4.5@1", "at character 7: quota takes 0.1 … 4"},
      {"quota=0.01@1", "at character 7: quota takes 0.1 … 4"},
      {"memory=60@1", "at character 8: memory takes 1% … 99%"},
      {"memory=100%@1", "at character 8: memory takes 1% … 99%"},
      {"memory=nan%@1", "at character 8: memory takes 1% … 99%"},
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(clauses_hold_for_their_blocks),
                                     cmocka_unit_test(what_cannot_be_is_named_with_its_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
