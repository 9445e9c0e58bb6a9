#include "allocator/predictors/contest.h"
#include "allocator/records/history.h"
#include "base/log.h"
#include "cli/bench/bench.h"
#include <math.h>
#include <stdlib.h>

/* The plans of every pipeline in the history that has enough of them, each predicted from the others. */
enum { PLANS_MIN = 8, FOLDS = 10 };

static void add_row(cJSON *rows, const mz_history_key *key, const mz_lessons *l, const mz_contender *c, bool drives) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddItemToArray(rows, row);
  cJSON_AddStringToObject(row, "env", key->env);
  cJSON_AddStringToObject(row, "work", key->work);
  cJSON_AddNumberToObject(row, "plans", l->count);
  cJSON_AddNumberToObject(row, "noise", mz_lessons_noise(l));
  cJSON_AddStringToObject(row, "predictor", c->predictor->name);
  cJSON_AddNumberToObject(row, "error", c->error);
  cJSON_AddNumberToObject(row, "mape", c->mape);
  cJSON_AddNumberToObject(row, "median_ape", c->median_ape);
  cJSON_AddNumberToObject(row, "tau", c->tau);
  cJSON_AddNumberToObject(row, "regret", c->regret);
  cJSON_AddNumberToObject(row, "held", c->held);
  cJSON_AddStringToObject(row, "drives", drives ? "yes" : "");
}

static void judge_all(const mz_history_key *key, const mz_lessons *lessons, mz_contest_room *room, cJSON *rows) {
  mz_contender contenders[MZ_PREDICTORS_MAX] = {0};
  int count = 0;
  for (; mz_predictors[count]; count++) mz_contest_judge(lessons, mz_predictors[count], FOLDS, room, &contenders[count]);
  const int winner = mz_contest_winner(contenders, count);
  for (int i = 0; i < count; i++) add_row(rows, key, lessons, &contenders[i], i == winner);
}

typedef struct measured {
  mz_pipeline pipeline;
  mz_lessons lessons;
  mz_contest_room *room;
  mz_observation observations[MZ_DRIFT_WINDOWS_MAX];
} measured;

static mz_status judge_key(mz_history *history, const mz_history_key *key, measured *m, cJSON *rows) {
  bool found;
  mz_history_row *read = NULL;
  int count = 0;
  MZ_TRY(mz_history_pipeline(history, key, &m->pipeline, &found));
  if (!found) return MZ_OK;
  MZ_TRY(mz_history_read(history, key, &m->pipeline, MZ_DRIFT_WINDOWS_MAX, &read, &count));
  for (int i = 0; i < count; i++) m->observations[i] = read[i].observation;
  free(read);
  mz_lessons_init(&m->lessons, &m->pipeline, fmax(1, mz_pipeline_cores(&m->pipeline)), m->observations, count);
  if (m->lessons.count >= PLANS_MIN) judge_all(key, &m->lessons, m->room, rows);
  return MZ_OK;
}

mz_status mz_bench_predictors(mz_bench *bench, cJSON **out) {
  mz_history *history = NULL;
  mz_history_key *keys = NULL;
  measured *m = NULL;
  int count = 0;
  mz_status status = MZ_OK;
  cJSON *rows = cJSON_CreateArray();
  MZ_TRY_CLEANUP(mz_history_open(&history, bench->history));
  MZ_TRY_CLEANUP(mz_history_keys(history, &keys, &count));
  MZ_TRY_CLEANUP(mz_alloc(&m, 1, sizeof *m));
  MZ_TRY_CLEANUP(mz_contest_room_create(&m->room, MZ_DRIFT_WINDOWS_MAX));
  for (int i = 0; i < count; i++) MZ_TRY_CLEANUP(judge_key(history, &keys[i], m, rows));
  if (cJSON_GetArraySize(rows) == 0)
    mz_log_write(MZ_LOG_INFO, "%s: no pipeline of which %d plans were measured; `muzero profile ENV` measures some",
                 bench->history, PLANS_MIN);
  *out = rows;
  rows = NULL;
cleanup:
  cJSON_Delete(rows);
  if (m) mz_contest_room_free(m->room);
  free(m);
  free(keys);
  mz_history_close(history);
  return status;
}
