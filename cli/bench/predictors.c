#include "allocator/predictors/contest.h"
#include "allocator/predictors/pretrained.h"
#include "allocator/pretraining/practice.h"
#include "allocator/records/history.h"
#include "base/log.h"
#include "cli/bench/bench.h"
#include <math.h>
#include <stdlib.h>

/* The plans of every pipeline in the history that has enough of them, each predicted from the others. */
enum { PLANS_MIN = 8, FOLDS = 10 };

/* How what is predicted lies to what is known. */
typedef enum split { SPLIT_FOLDS, SPLIT_FEW, SPLIT_THREADS, SPLITS } split;
static const char *const split_names[SPLITS] = {"tenths", "few known", "most threads"};
enum { KNOWN_FEW = 4, BEYOND_SHARE = 4, BEYOND_MIN = 3, SITUATION_SEED = 1000003 };

typedef struct measured {
  mz_pipeline pipeline;
  mz_lessons lessons;
  mz_contest_room *room;
  mz_pretrained *pretrained;
  mz_observation observations[MZ_DRIFT_WINDOWS_MAX];
} measured;

static mz_status read_lessons(measured *m, int count) {
  mz_lessons_init(&m->lessons, &m->pipeline, fmax(1, mz_pipeline_cores(&m->pipeline)), m->observations, count);
  m->lessons.pretrained = m->pretrained;
  return mz_pretrained_prepare(m->pretrained, &m->pipeline);
}

static int64_t threads_of(const mz_pipeline *p, const mz_plan *plan) {
  int64_t sum = 0;
  for (int s = 0; s < p->stage_count; s++) sum += mz_stage_threads(p, s, plan);
  return sum;
}

/* Marks the quarter of the plans that have most threads, or all but the few that were measured first. */
static bool mark(const mz_lessons *l, split how, bool *left_out) {
  int beyond = 0;
  for (int i = 0; i < l->count; i++) {
    int above = 0;
    for (int j = 0; j < l->count; j++)
      above += threads_of(l->pipeline, &l->items[j].plan) > threads_of(l->pipeline, &l->items[i].plan);
    left_out[i] = how == SPLIT_FEW ? i < l->count - KNOWN_FEW : above < l->count / BEYOND_SHARE;
    beyond += left_out[i];
  }
  return beyond >= BEYOND_MIN && l->count - beyond >= BEYOND_MIN;
}

/* Every predictor's errors where plans are split so; returns how many predictors there are, 0 where there are too few plans. */
static int judge_split(const measured *m, split how, mz_contender contenders[MZ_PREDICTORS_MAX]) {
  bool left_out[MZ_DRIFT_PLANS_MAX];
  int count = 0;
  if (m->lessons.count < PLANS_MIN || !mark(&m->lessons, how, left_out)) return 0;
  for (; mz_predictors[count]; count++) {
    if (how == SPLIT_FOLDS)
      mz_contest_judge(&m->lessons, mz_predictors[count], FOLDS, m->room, &contenders[count]);
    else
      mz_contest_judge_beyond(&m->lessons, mz_predictors[count], left_out, m->room, &contenders[count]);
  }
  return count;
}

/* ---- what was measured ---- */

static void add_row(cJSON *rows, const mz_history_key *key, const mz_lessons *l, split how, const mz_contender *c, bool drives) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddItemToArray(rows, row);
  cJSON_AddStringToObject(row, "env", key->env);
  cJSON_AddStringToObject(row, "work", key->work);
  cJSON_AddNumberToObject(row, "plans", l->count);
  cJSON_AddNumberToObject(row, "noise", mz_lessons_noise(l));
  cJSON_AddStringToObject(row, "predicted", split_names[how]);
  cJSON_AddStringToObject(row, "predictor", c->predictor->name);
  cJSON_AddNumberToObject(row, "error", c->error);
  cJSON_AddNumberToObject(row, "mape", c->mape);
  cJSON_AddNumberToObject(row, "median_ape", c->median_ape);
  cJSON_AddNumberToObject(row, "tau", c->tau);
  cJSON_AddNumberToObject(row, "regret", c->regret);
  cJSON_AddNumberToObject(row, "held", c->held);
  cJSON_AddStringToObject(row, "drives", drives ? "yes" : "");
}

static void judge_all(const mz_history_key *key, const measured *m, cJSON *rows) {
  for (int how = 0; how < SPLITS; how++) {
    mz_contender contenders[MZ_PREDICTORS_MAX] = {0};
    const int count = judge_split(m, (split)how, contenders), winner = mz_contest_winner(contenders, count);
    for (int i = 0; i < count; i++) add_row(rows, key, &m->lessons, (split)how, &contenders[i], i == winner);
  }
}

static mz_status judge_key(mz_history *history, const mz_history_key *key, measured *m, cJSON *rows) {
  bool found;
  mz_history_row *read = NULL;
  int count = 0;
  MZ_TRY(mz_history_pipeline(history, key, &m->pipeline, &found));
  if (!found) return MZ_OK;
  MZ_TRY(mz_history_read(history, key, &m->pipeline, MZ_DRIFT_WINDOWS_MAX, &read, &count));
  for (int i = 0; i < count; i++) m->observations[i] = read[i].observation;
  free(read);
  MZ_TRY(read_lessons(m, count));
  judge_all(key, m, rows);
  return MZ_OK;
}

/* ---- simulated situations ---- */

typedef struct tally {
  double squares, mape, median_ape, tau, regret, held;
  int situations, wins, with_tau;
} tally;

static void count_in(tally *t, const mz_contender *c) {
  if (!isfinite(c->error)) return;
  t->situations++;
  t->squares += c->error * c->error;
  t->mape += c->mape;
  t->median_ape += c->median_ape;
  t->regret += c->regret;
  t->held += c->held;
  if (!isfinite(c->tau)) return;
  t->tau += c->tau;
  t->with_tau++;
}

static void judge_situation(const measured *m, tally tallies[SPLITS][MZ_PREDICTORS_MAX]) {
  for (int how = 0; how < SPLITS; how++) {
    mz_contender contenders[MZ_PREDICTORS_MAX] = {0};
    const int count = judge_split(m, (split)how, contenders), winner = mz_contest_winner(contenders, count);
    for (int i = 0; i < count; i++) count_in(&tallies[how][i], &contenders[i]);
    if (winner >= 0) tallies[how][winner].wins++;
  }
}

static void add_tally(cJSON *rows, split how, const char *predictor, const tally *t) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddItemToArray(rows, row);
  cJSON_AddStringToObject(row, "predicted", split_names[how]);
  cJSON_AddStringToObject(row, "predictor", predictor);
  cJSON_AddNumberToObject(row, "situations", t->situations);
  cJSON_AddNumberToObject(row, "error", sqrt(t->squares / t->situations));
  cJSON_AddNumberToObject(row, "mape", t->mape / t->situations);
  cJSON_AddNumberToObject(row, "median_ape", t->median_ape / t->situations);
  cJSON_AddNumberToObject(row, "tau", t->tau / t->with_tau);
  cJSON_AddNumberToObject(row, "regret", t->regret / t->situations);
  cJSON_AddNumberToObject(row, "held", t->held / t->situations);
  cJSON_AddNumberToObject(row, "wins", t->wins);
}

static mz_status judge_simulated(const mz_bench *bench, measured *m, const mz_pipeline *pipelines, int pipeline_count,
                                 cJSON *rows) {
  tally tallies[SPLITS][MZ_PREDICTORS_MAX] = {0};
  mz_practice *practice;
  const mz_practice_options options = {.pipelines = pipelines,
                                       .pipeline_count = pipeline_count,
                                       .seed = SITUATION_SEED, /* `muzero pretrain` draws others */
                                       .cores_min = bench->cores_min,
                                       .cores_max = bench->cores_max,
                                       .gpu_share = bench->gpu_share,
                                       .plans = MZ_PRACTICE_PLANS_MAX};
  mz_status status = MZ_OK;
  MZ_TRY(mz_alloc(&practice, 1, sizeof *practice));
  for (int i = 0; i < bench->situations; i++) {
    MZ_TRY_CLEANUP(mz_practice_draw(practice, &options, (uint64_t)i));
    m->pipeline = practice->pipeline;
    for (int k = 0; k < practice->count; k++) m->observations[k] = practice->seen[k];
    MZ_TRY_CLEANUP(read_lessons(m, practice->count));
    judge_situation(m, tallies);
  }
  for (int how = 0; how < SPLITS; how++)
    for (int p = 0; mz_predictors[p]; p++) add_tally(rows, (split)how, mz_predictors[p]->name, &tallies[how][p]);
cleanup:
  free(practice);
  return status;
}

/* ---- both ---- */

typedef struct subject {
  mz_history *history;
  mz_history_key *keys;
  mz_pipeline *pipelines;
  int key_count, pipeline_count;
  measured *measured;
} subject;

static mz_status open_subject(subject *it, const mz_bench *bench) {
  MZ_TRY(mz_history_open_existing(&it->history, bench->history));
  MZ_TRY(mz_history_keys(it->history, &it->keys, &it->key_count));
  MZ_TRY(mz_history_pipelines(it->history, &it->pipelines, &it->pipeline_count));
  MZ_TRY(mz_alloc(&it->measured, 1, sizeof *it->measured));
  MZ_TRY(mz_pretrained_open(&it->measured->pretrained, bench->settings.allocation.pretrained));
  return mz_contest_room_create(&it->measured->room, MZ_DRIFT_WINDOWS_MAX);
}

static void close_subject(subject *it) {
  if (it->measured) {
    mz_contest_room_free(it->measured->room);
    mz_pretrained_free(it->measured->pretrained);
  }
  free(it->measured);
  free(it->pipelines);
  free(it->keys);
  mz_history_close(it->history);
}

mz_status mz_bench_predictors(mz_bench *bench, cJSON **out) {
  subject it = {0};
  mz_status status = MZ_OK;
  cJSON *rows = cJSON_CreateArray();
  MZ_TRY_CLEANUP(open_subject(&it, bench));
  if (bench->situations > 0 && it.pipeline_count > 0)
    MZ_TRY_CLEANUP(judge_simulated(bench, it.measured, it.pipelines, it.pipeline_count, rows));
  else
    for (int i = 0; i < it.key_count; i++) MZ_TRY_CLEANUP(judge_key(it.history, &it.keys[i], it.measured, rows));
  if (cJSON_GetArraySize(rows) == 0)
    mz_log_write(MZ_LOG_INFO, "%s: no pipeline of which %d plans were measured; `muzero profile ENV` measures some",
                 bench->history, PLANS_MIN);
  *out = rows;
  rows = NULL;
cleanup:
  cJSON_Delete(rows);
  close_subject(&it);
  return status;
}
