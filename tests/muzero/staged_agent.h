/* An agent of a course that plans runs by stages, and what ledgers tell of it: for tests of real and of simulated runs. */
#pragma once
#include "testing.h"
#include "allocator/records/ledger.h"
#include "allocator/records/stage_lines.h"
#include "muzero/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void train_policy(const char *env, const char *dir) {
  static const char *const sets[] = {"num_games=4",          "batch_size=16",    "shards=2",
                                     "simulations=8",        "network.width=16", "replay.min_fill=16",
                                     "train.phase_rounds=2", "eval.games=2",     "loop_count=2"};
  mz_run *run;
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = sizeof sets / sizeof sets[0],
                                  .seed = 1,
                                  .seed_given = true,
                                  .threads = 1};
  expect_ok(mz_run_open(&run, &options));
  play_to(run, 4);
  mz_run_close(run);
}

enum { STAGE_LINES_MAX = 16 };
typedef struct lines {
  int all, stages, sums, opens; /* lines of any event, and of each */
  mz_stage_record stage[STAGE_LINES_MAX];
  mz_stages_record sum;
} lines;

static inline mz_status take_line(void *context, const char *line, size_t length, int64_t number) {
  lines *l = context;
  cJSON *json;
  (void)number;
  expect_ok(mz_json_parse(line, length, "ledger", false, MZ_E_CHECKPOINT, &json));
  const char *event = mz_json_text_or_empty(json, "event");
  l->all++;
  if (strcmp(event, "stage") == 0) {
    assert_true(l->stages < STAGE_LINES_MAX);
    expect_ok(mz_stage_record_from_json(&l->stage[l->stages++], json, "ledger", MZ_E_CHECKPOINT));
  }
  if (strcmp(event, "stages") == 0) {
    expect_ok(mz_stages_record_from_json(&l->sum, json, "ledger", MZ_E_CHECKPOINT));
    l->sums++;
  }
  l->opens += strcmp(event, "open") == 0;
  cJSON_Delete(json);
  return MZ_OK;
}

static inline lines lines_of(const char *run) {
  char path[256];
  lines l = {0};
  expect_ok(mz_ledger_path(run, path, sizeof path));
  expect_ok(mz_ledger_read(path, take_line, &l));
  return l;
}

/* Writes a record of a shadow run. */
static inline void write_record_to(const char *path, const mz_stages_record *record) {
  cJSON *json = mz_stages_record_to_json(record);
  char *line = mz_json_line(json);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "%s\n", line);
  fclose(file);
  free(line);
  cJSON_Delete(json);
}
static inline void write_record(const mz_stages_record *record) { write_record_to("record.jsonl", record); }
