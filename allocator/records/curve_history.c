#include "allocator/records/curve_history.h"
#include "allocator/records/history_file.h"
#include "base/json/json.h"
#include "base/json/json_memory.h"
#include "base/machine/clock.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_COLUMNS = 5, RESOURCE_NUMBERS = 3 }; /* amount, use, stall */

static int bind_texts(sqlite3_stmt *s, int first, const char *const *texts, int count) {
  int rc = SQLITE_OK;
  for (int i = 0; rc == SQLITE_OK && i < count; i++) rc = sqlite3_bind_text(s, first + i, texts[i], -1, SQLITE_TRANSIENT);
  return rc;
}

static int bind_key(sqlite3_stmt *s, const mz_curve_key *key) {
  const char *const columns[KEY_COLUMNS] = {key->machine, key->env, key->network, key->learning, key->timing};
  return bind_texts(s, 1, columns, KEY_COLUMNS);
}

static void seed_text(uint64_t seed, char out[17]) { snprintf(out, 17, "%016" PRIx64, seed); }

static int finish(sqlite3_stmt *s, int rc) {
  sqlite3_reset(s); /* repeats rc */
  sqlite3_clear_bindings(s);
  return rc;
}

/* ---- adding ---- */

/* *id: 0 where there is none. */
static int find_run(mz_history_file *file, const mz_curve_key *key, const mz_curve *curve, int64_t *id) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_FIND_RUN];
  char seed[17];
  seed_text(curve->seed, seed);
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = bind_texts(s, KEY_COLUMNS + 1, (const char *const[]){curve->run, seed}, 2);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  *id = rc == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
  return finish(s, rc == SQLITE_ROW ? SQLITE_DONE : rc);
}

static int begin_run(mz_history_file *file, const mz_curve_key *key, const mz_curve *curve, int64_t *id) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_BEGIN_RUN];
  char seed[17];
  seed_text(curve->seed, seed);
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = sqlite3_bind_double(s, 6, mz_clock_unix_s());
  if (rc == SQLITE_OK) rc = bind_texts(s, 7, (const char *const[]){curve->source, MUZERO_VERSION, curve->run, seed}, 4);
  if (rc == SQLITE_OK) rc = sqlite3_bind_double(s, 11, curve->moves);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  if (rc == SQLITE_DONE) *id = sqlite3_last_insert_rowid(file->db);
  return finish(s, rc);
}

/* *id: of the run's own row where it resumes and has one, otherwise of a new one. */
static int place_run(mz_history_file *file, const mz_curve_key *key, const mz_curve *curve, bool resumes, int64_t *id) {
  *id = 0;
  const int rc = resumes ? find_run(file, key, curve, id) : SQLITE_DONE;
  return rc == SQLITE_DONE && *id == 0 ? begin_run(file, key, curve, id) : rc;
}

/* A curve that epochs are added to, with what its row is made of: it may have to be begun again in another file. */
struct mz_begun_curve {
  mz_curve_key key;
  mz_curve curve;  /* without epochs */
  int64_t id, row; /* as the caller knows it; in the file that is open */
  int generation;  /* of that file */
};

mz_status mz_history_begin_curve(mz_history *history, const mz_curve_key *key, const mz_curve *curve, bool resumes, int64_t *id) {
  *id = 0;
  if (history == NULL) return MZ_OK;
  mz_history_file *file = &history->file;
  mz_history_file_follow(file);
  if (!file->writable) return MZ_OK;
  if (history->curve == NULL) MZ_TRY(mz_alloc(&history->curve, 1, sizeof *history->curve));
  int rc;
  do rc = place_run(file, key, curve, resumes, id);
  while (rc != SQLITE_DONE && mz_history_file_recover(file, rc));
  *history->curve = (struct mz_begun_curve){.key = *key, .curve = *curve, .id = *id, .row = *id, .generation = file->generation};
  history->curve->curve.epochs = NULL;
  history->curve->curve.count = 0;
  return MZ_OK;
}

/* In a file that took the old one's place another run may have the same number. */
static int follow_run(mz_history_file *file, struct mz_begun_curve *c) {
  if (c->generation == file->generation) return SQLITE_DONE;
  const int rc = place_run(file, &c->key, &c->curve, true, &c->row);
  if (rc == SQLITE_DONE) c->generation = file->generation;
  return rc;
}

/* NULL: no memory; free(). */
static char *resources_text(const mz_epoch *epoch) {
  cJSON *o = cJSON_CreateObject();
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    const double numbers[RESOURCE_NUMBERS] = {epoch->amounts[r], epoch->use[r], epoch->stall[r]};
    cJSON_AddItemToObject(o, mz_course_resource_names[r], cJSON_CreateDoubleArray(numbers, RESOURCE_NUMBERS));
  }
  char *text = o != NULL ? mz_json_line(o) : NULL;
  cJSON_Delete(o);
  return text;
}

static char *plan_text(const mz_pipeline *pipeline, const mz_plan *plan) {
  cJSON *o = mz_plan_to_json(pipeline, plan);
  char *text = o != NULL ? mz_json_line(o) : NULL;
  cJSON_Delete(o);
  return text;
}

/* NAN becomes NULL. */
static int insert_epoch(mz_history_file *file, int64_t id, const mz_epoch *e, const char *resources, const char *plan) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_ADD_EPOCH];
  const struct {
    mz_history_epoch_column column;
    double number;
  } numbers[] = {
      {MZ_EPOCH_SCORE, e->score},
      {MZ_EPOCH_WALL_S, e->wall_s},
      {MZ_EPOCH_ROUNDS_S, e->rounds_s},
      {MZ_EPOCH_EVALUATION_S, e->evaluation_s},
      {MZ_EPOCH_CLOSING_S, e->closing_s},
      {MZ_EPOCH_BATCH_SIZE, e->batch_size},
      {MZ_EPOCH_NOISE_SCALE, e->noise_scale},
  };
  int rc = sqlite3_bind_int64(s, MZ_EPOCH_RUN, id);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int(s, MZ_EPOCH_NUMBER, e->number);
  for (size_t i = 0; rc == SQLITE_OK && i < sizeof numbers / sizeof *numbers; i++)
    rc = sqlite3_bind_double(s, numbers[i].column, numbers[i].number);
  if (rc == SQLITE_OK) rc = bind_texts(s, MZ_EPOCH_RESOURCES, (const char *const[]){resources, plan}, 2);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  return finish(s, rc);
}

/* Epochs behind this one are of an invocation that was lost: their clock is another than that of the run which goes on. */
static int end_curve(mz_history_file *file, int64_t id, int32_t last) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_END_CURVE];
  int rc = sqlite3_bind_int64(s, 1, id);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int(s, 2, last);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  return finish(s, rc);
}

mz_status mz_history_add_epoch(mz_history *history, const mz_pipeline *pipeline, int64_t id, const mz_epoch *epoch) {
  if (history == NULL || id == 0 || !isfinite(epoch->wall_s)) return MZ_OK;
  mz_history_file *file = &history->file;
  struct mz_begun_curve *curve = history->curve;
  if (curve == NULL || curve->id != id) return MZ_OK;
  mz_history_file_follow(file);
  if (!file->writable) return MZ_OK;
  char *resources = resources_text(epoch), *plan = plan_text(pipeline, &epoch->plan);
  if (resources != NULL && plan != NULL) {
    int rc;
    do {
      rc = follow_run(file, curve);
      if (rc == SQLITE_DONE) rc = insert_epoch(file, curve->row, epoch, resources, plan);
      if (rc == SQLITE_DONE) rc = end_curve(file, curve->row, epoch->number);
    } while (rc != SQLITE_DONE && mz_history_file_recover(file, rc));
  }
  const bool made = resources != NULL && plan != NULL;
  free(resources);
  free(plan);
  return made ? MZ_OK : mz_fail(MZ_E_MEMORY, "history: no memory to write an epoch");
}

/* ---- reading ---- */

static double number_at(sqlite3_stmt *s, mz_history_epoch_column column) {
  const int at = column - MZ_EPOCH_NUMBER;
  return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

static mz_status parse_at(sqlite3_stmt *s, mz_history_epoch_column column, cJSON **out) {
  const char *text = (const char *)sqlite3_column_text(s, column - MZ_EPOCH_NUMBER);
  if (text == NULL) return mz_fail(MZ_E_CHECKPOINT, "history: an epoch lacks a column");
  return mz_json_parse(text, strlen(text), "history", false, MZ_E_CHECKPOINT, out);
}

static double nth(const cJSON *list, int i) {
  const cJSON *item = cJSON_GetArrayItem(list, i);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static mz_status read_resources(sqlite3_stmt *s, mz_epoch *out) {
  cJSON *o = NULL;
  MZ_TRY(parse_at(s, MZ_EPOCH_RESOURCES, &o));
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    const cJSON *numbers = cJSON_GetObjectItemCaseSensitive(o, mz_course_resource_names[r]);
    out->amounts[r] = nth(numbers, 0);
    out->use[r] = nth(numbers, 1);
    out->stall[r] = nth(numbers, 2);
  }
  cJSON_Delete(o);
  return MZ_OK;
}

static bool is_sound(const mz_epoch *e) {
  return e->number >= 1 && e->wall_s > 0 && isfinite(e->wall_s) && e->batch_size >= 1 && e->amounts[MZ_COURSE_CORES] >= 0 &&
         e->amounts[MZ_COURSE_GPUS] >= 0;
}

/* MZ_E_CHECKPOINT: the epoch is of another pipeline, or makes no sense. */
static mz_status read_epoch(const mz_pipeline *pipeline, sqlite3_stmt *s, mz_epoch *out) {
  *out = (mz_epoch){.number = sqlite3_column_int(s, 0),
                    .score = number_at(s, MZ_EPOCH_SCORE),
                    .wall_s = number_at(s, MZ_EPOCH_WALL_S),
                    .rounds_s = number_at(s, MZ_EPOCH_ROUNDS_S),
                    .evaluation_s = number_at(s, MZ_EPOCH_EVALUATION_S),
                    .closing_s = number_at(s, MZ_EPOCH_CLOSING_S),
                    .batch_size = number_at(s, MZ_EPOCH_BATCH_SIZE),
                    .noise_scale = number_at(s, MZ_EPOCH_NOISE_SCALE)};
  MZ_TRY(read_resources(s, out));
  cJSON *plan = NULL;
  MZ_TRY(parse_at(s, MZ_EPOCH_PLAN, &plan));
  const mz_status status = mz_plan_from_json(pipeline, &out->plan, plan, "history", MZ_E_CHECKPOINT);
  cJSON_Delete(plan);
  MZ_TRY(status);
  return is_sound(out) ? MZ_OK : mz_fail(MZ_E_CHECKPOINT, "history: an epoch makes no sense");
}

/* Whether the newest epoch ends no earlier than those before it; others make no sense. */
static bool is_later(const mz_curve *curve) {
  return curve->count == 0 || curve->epochs[curve->count].wall_s >= curve->epochs[curve->count - 1].wall_s;
}

/* *status: MZ_E_MEMORY ends it. */
static int select_epochs(mz_history_file *file, const mz_pipeline *pipeline, mz_curve *curve, mz_status *status) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_EPOCHS];
  int rc = sqlite3_bind_int64(s, 1, curve->id), capacity = 0;
  *status = MZ_OK;
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(s);
    if (rc != SQLITE_ROW) continue;
    *status = mz_reserve_one(&curve->epochs, &capacity, curve->count, sizeof *curve->epochs);
    if (*status == MZ_OK) *status = read_epoch(pipeline, s, &curve->epochs[curve->count]);
    if (mz_json_memory_failed()) *status = mz_fail(MZ_E_MEMORY, "history: no memory to read an epoch");
    curve->count += *status == MZ_OK && is_later(curve);
    if (*status == MZ_E_MEMORY) rc = SQLITE_DONE;
  }
  return finish(s, rc);
}

static void read_run(sqlite3_stmt *s, mz_curve *out) {
  const char *seed = (const char *)sqlite3_column_text(s, 5);
  *out = (mz_curve){.id = sqlite3_column_int64(s, 0),
                    .timed = sqlite3_column_int(s, 1),
                    .learned = sqlite3_column_int(s, 2),
                    .seed = strtoull(seed != NULL ? seed : "", NULL, 16),
                    .moves = sqlite3_column_double(s, 6)};
  snprintf(out->run, sizeof out->run, "%s", (const char *)sqlite3_column_text(s, 3));
  snprintf(out->source, sizeof out->source, "%s", (const char *)sqlite3_column_text(s, 4));
}

static int select_runs(mz_history_file *file, const mz_curve_key *key, int max, mz_curve *curves, int *count) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_RUNS];
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int(s, KEY_COLUMNS + 1, max);
  *count = 0;
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(s);
    if (rc == SQLITE_ROW && *count < max) read_run(s, &curves[(*count)++]);
  }
  return finish(s, rc);
}

static int select_curves(mz_history_file *file, const mz_curve_key *key, const mz_pipeline *pipeline, int max, mz_curve *curves,
                         int *count, mz_status *status) {
  int found = 0, rc = select_runs(file, key, max, curves, &found);
  *count = 0;
  *status = MZ_OK;
  for (int i = 0; i < found && rc == SQLITE_DONE && *status != MZ_E_MEMORY; i++) {
    mz_curve curve = curves[i];
    rc = select_epochs(file, pipeline, &curve, status);
    if (curve.count > 0)
      curves[(*count)++] = curve;
    else
      free(curve.epochs);
  }
  return rc;
}

static void forget(mz_curve *curves, int *count) {
  for (int i = 0; i < *count; i++) free(curves[i].epochs);
  *count = 0;
}

mz_status mz_history_curves(mz_history *history, const mz_curve_key *key, const mz_pipeline *pipeline, int max, mz_curve **curves,
                            int *count) {
  *count = 0;
  MZ_TRY(mz_alloc(curves, (size_t)max, sizeof **curves));
  if (history == NULL || history->file.db == NULL) return MZ_OK;
  int rc;
  mz_status status;
  do {
    forget(*curves, count);
    rc = select_curves(&history->file, key, pipeline, max, *curves, count, &status);
  } while (rc != SQLITE_DONE && mz_history_file_recover(&history->file, rc));
  if (rc != SQLITE_DONE || status == MZ_E_MEMORY) forget(*curves, count);
  for (int i = 0, j = *count - 1; i < j; i++, j--) {
    const mz_curve newer = (*curves)[i];
    (*curves)[i] = (*curves)[j];
    (*curves)[j] = newer;
  }
  if (status != MZ_E_MEMORY) return MZ_OK;
  free(*curves);
  *curves = NULL;
  return status;
}
