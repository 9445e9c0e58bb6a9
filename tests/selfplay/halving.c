/* Sequential halving: mctx's seq_halving_test by hand, and every schedule that make_trees.py wrote with mctx. */
#include "base/file/file.h"
#include "base/json/json.h"
#include "selfplay/search/score.h"
#include "tests/selfplay/table_model.h"

static void expect(int considered, int simulations, const int32_t *visits) {
  int32_t *got = malloc((size_t)simulations * sizeof *got);
  assert_non_null(got);
  mz_halving_schedule(considered, simulations, got);
  for (int i = 0; i < simulations; i++)
    if (got[i] != visits[i])
      fail_msg("m = %d, n = %d: before simulation %d: %d visits, not %d", considered, simulations, i, got[i], visits[i]);
  free(got);
}

static void test_a_power_of_two(void **state) {
  (void)state;
  expect(8, 24, (const int32_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  expect(8, 47, (const int32_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1,  1,  1,  1,  2,  2,  2,  2,  3,  3,  3,  3,  4,  4,  5, 5,
                                  6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 16, 16, 17});
}

static void test_too_few_simulations(void **state) {
  (void)state;
  expect(8, 2, (const int32_t[]){0, 0});
  expect(8, 13, (const int32_t[]){0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2});
}

static void test_no_power_of_two(void **state) {
  (void)state;
  expect(7, 24, (const int32_t[]){0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8});
}

static void test_one_action_or_none_takes_every_simulation(void **state) {
  (void)state;
  const int32_t counting[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  expect(0, 16, counting);
  expect(1, 16, counting);
}

static void test_all_that_mctx_lists(void **state) {
  (void)state;
  uint8_t *text;
  size_t size;
  cJSON *rows, *row;
  assert_int_equal(mz_file_read(TEST_DATA "/selfplay/halving.json", 0, &text, &size), MZ_OK);
  assert_int_equal(mz_json_parse((const char *)text, size, "halving.json", false, MZ_E_CONFIG, &rows), MZ_OK);
  assert_true(cJSON_GetArraySize(rows) > 100);
  cJSON_ArrayForEach(row, rows) {
    int32_t visits[64];
    const int considered = cJSON_GetObjectItem(row, "considered")->valueint,
              simulations = cJSON_GetObjectItem(row, "simulations")->valueint;
    const cJSON *entry = NULL, *list = cJSON_GetObjectItem(row, "visits");
    int count = 0;
    assert_true(simulations <= 64 && cJSON_GetArraySize(list) == simulations);
    cJSON_ArrayForEach(entry, list) visits[count++] = entry->valueint;
    expect(considered, simulations, visits);
  }
  cJSON_Delete(rows);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_power_of_two),      cmocka_unit_test(test_too_few_simulations),
      cmocka_unit_test(test_no_power_of_two),     cmocka_unit_test(test_one_action_or_none_takes_every_simulation),
      cmocka_unit_test(test_all_that_mctx_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
