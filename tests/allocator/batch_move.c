/* The ledger's line of another batch size: it reads back to the same bytes, and what it cannot be is refused. */
#include "allocator/records/batch_move.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static mz_status read_move(const char *line, mz_batch_move *out) {
  cJSON *json;
  const mz_status parsed = mz_json_parse(line, strlen(line), "test", false, MZ_E_CHECKPOINT, &json);
  assert_int_equal(parsed, MZ_OK);
  const mz_status status = mz_batch_move_from_json(out, json, "test", MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  return status;
}

static void it_reads_back(void **unused) {
  (void)unused;
  static const char line[] = "{\"event\":\"batch_size\",\"phase\":10,\"round\":100,\"by\":\"schedule\",\"from\":128,\"to\":256}";
  mz_batch_move move;
  assert_int_equal(read_move(line, &move), MZ_OK);
  assert_int_equal(move.phase, 10);
  assert_int_equal(move.round, 100);
  assert_string_equal(move.by, "schedule");
  assert_int_equal(move.from, 128);
  assert_int_equal(move.to, 256);
  cJSON *json = mz_batch_move_to_json(&move);
  char *again = mz_json_line(json);
  assert_string_equal(again, line);
  free(again);
  cJSON_Delete(json);
}

static void damage_is_refused(void **unused) {
  (void)unused;
  static const char *const lines[] = {
      "{\"event\":\"batch_size\",\"phase\":10,\"round\":100,\"by\":\"schedule\",\"from\":128}",
      "{\"event\":\"batch_size\",\"phase\":10,\"round\":100,\"by\":\"schedule\",\"from\":128,\"to\":0}",
      "{\"event\":\"batch_size\",\"phase\":-1,\"round\":100,\"by\":\"schedule\",\"from\":128,\"to\":256}",
      "{\"event\":\"batch_size\",\"phase\":10,\"round\":1.5,\"by\":\"schedule\",\"from\":128,\"to\":256}",
      "{\"event\":\"batch_size\",\"phase\":10,\"round\":100,\"by\":7,\"from\":128,\"to\":256}",
      ("{\"event\":\"batch_size\",\"phase\":10,\"round\":100,\"by\":\"somebody whose name is far too long to be one\","
       "\"from\":128,\"to\":256}"),
  };
  mz_batch_move move;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_int_equal(read_move(lines[i], &move), MZ_E_CHECKPOINT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_reads_back), cmocka_unit_test(damage_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
