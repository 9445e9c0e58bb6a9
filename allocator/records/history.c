#include "allocator/records/history.h"
#include "allocator/records/history_file.h"
#include "base/json/json.h"
#include "base/json/json_memory.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool mz_history_default_path(char *out, size_t size) {
  const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
  int length = -1;
  if (data != NULL && data[0] == '/') /* the XDG specification: a relative path is to be ignored */
    length = snprintf(out, size, "%s/muzero/history.db", data);
  else if (home != NULL && home[0] != '\0')
    length = snprintf(out, size, "%s/.local/share/muzero/history.db", home);
  return length >= 0 && (size_t)length < size;
}

mz_status mz_history_open(mz_history **out, const char *path) {
  *out = NULL;
  if (strcmp(path, "none") == 0) return MZ_OK;
  mz_history *history = NULL;
  MZ_TRY(mz_alloc(&history, 1, sizeof *history));
  const mz_status status = mz_history_file_open(&history->file, path);
  if (status == MZ_OK)
    *out = history;
  else
    free(history);
  return status;
}

mz_status mz_history_open_existing(mz_history **out, const char *path) {
  *out = NULL;
  return access(path, F_OK) != 0 && errno == ENOENT ? MZ_OK : mz_history_open(out, path);
}

void mz_history_close(mz_history *history) {
  if (history == NULL) return;
  mz_history_file_close(&history->file);
  free(history->curve);
  free(history);
}

/* ---- adding ---- */

/* Members of an observation's JSON that are kept as text. */
enum { MEMBERS = 3 };
static const struct {
  const char *key;
  mz_history_column column;
  bool optional; /* rows of earlier versions have none */
} members[MEMBERS] = {
    {"plan", MZ_COLUMN_PLAN, false}, {"stages", MZ_COLUMN_STAGES, false}, {"training", MZ_COLUMN_TRAINING, true}};

/* Texts live until the statement is reset. NAN becomes NULL. */
static int bind_all(sqlite3_stmt *s, const mz_history_row *row, char *const texts_of_members[MEMBERS]) {
  const mz_observation *o = &row->observation;
  const struct {
    mz_history_column column;
    const char *text;
  } texts[] = {
      {MZ_COLUMN_MACHINE, row->key.machine},
      {MZ_COLUMN_ENV, row->key.env},
      {MZ_COLUMN_NETWORK, row->key.network},
      {MZ_COLUMN_WORK, row->key.work},
      {MZ_COLUMN_SOURCE, row->source},
      {MZ_COLUMN_VERSION, row->version},
      {MZ_COLUMN_RUN, row->run},
  };
  const struct {
    mz_history_column column;
    double number;
  } numbers[] = {
      {MZ_COLUMN_UNIX_S, row->unix_s},     {MZ_COLUMN_UNITS, row->units},
      {MZ_COLUMN_UNIT_S, o->unit_s},       {MZ_COLUMN_ROUND_S, o->round_s},
      {MZ_COLUMN_NOISE, o->noise},         {MZ_COLUMN_CPU_S, o->cpu_s},
      {MZ_COLUMN_RSS_BYTES, o->rss_bytes}, {MZ_COLUMN_UTILISATION, row->utilisation},
      {MZ_COLUMN_OTHERS, o->others},       {MZ_COLUMN_WAITING, o->waiting},
      {MZ_COLUMN_THROTTLED, o->throttled},
  };
  int rc = sqlite3_bind_int(s, MZ_COLUMN_ROUNDS, o->rounds);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(s, MZ_COLUMN_WINDOW, row->window);
  for (size_t i = 0; rc == SQLITE_OK && i < sizeof texts / sizeof *texts; i++) {
    rc = sqlite3_bind_text(s, texts[i].column, texts[i].text, -1, SQLITE_STATIC);
  }
  for (int i = 0; rc == SQLITE_OK && i < MEMBERS; i++)
    rc = sqlite3_bind_text(s, members[i].column, texts_of_members[i], -1, SQLITE_STATIC);
  for (size_t i = 0; rc == SQLITE_OK && i < sizeof numbers / sizeof *numbers; i++) {
    rc = sqlite3_bind_double(s, numbers[i].column, numbers[i].number);
  }
  return rc;
}

static int insert(mz_history_file *file, mz_history_row *row, char *const texts[MEMBERS]) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_INSERT];
  int rc = bind_all(s, row, texts);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  if (rc == SQLITE_DONE) row->id = sqlite3_last_insert_rowid(file->db);
  sqlite3_reset(s); /* repeats rc */
  sqlite3_clear_bindings(s);
  return rc;
}

/* free() each text. */
static mz_status texts_of(const mz_pipeline *pipeline, const mz_observation *observation, char *texts[MEMBERS]) {
  cJSON *json = mz_observation_to_json(pipeline, observation);
  bool all = true;
  for (int i = 0; i < MEMBERS; i++) {
    texts[i] = mz_json_line(cJSON_GetObjectItemCaseSensitive(json, members[i].key));
    all = all && texts[i] != NULL;
  }
  cJSON_Delete(json);
  return all ? MZ_OK : mz_fail(MZ_E_MEMORY, "history: no memory to write a row");
}

mz_status mz_history_add(mz_history *history, const mz_pipeline *pipeline, mz_history_row *row) {
  row->id = 0;
  if (history == NULL || !isfinite(row->observation.unit_s) || row->observation.unit_s <= 0.0) return MZ_OK;
  mz_history_file *file = &history->file;
  mz_history_file_follow(file);
  if (!file->writable) return MZ_OK;
  char *texts[MEMBERS];
  const mz_status status = texts_of(pipeline, &row->observation, texts);
  if (status == MZ_OK) {
    int rc;
    do rc = insert(file, row, texts);
    while (rc != SQLITE_DONE && mz_history_file_recover(file, rc));
  }
  for (int i = 0; i < MEMBERS; i++) free(texts[i]);
  return status;
}

/* ---- reading ---- */

static double number_at(sqlite3_stmt *s, mz_history_column column) {
  return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN : sqlite3_column_double(s, column);
}

static const char *text_at(sqlite3_stmt *s, mz_history_column column) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text != NULL ? text : "";
}

static mz_status add_parsed(cJSON *object, const char *name, const char *text) {
  cJSON *json = NULL;
  MZ_TRY(mz_json_parse(text, strlen(text), name, false, MZ_E_CHECKPOINT, &json));
  if (cJSON_AddItemToObject(object, name, json)) return MZ_OK;
  cJSON_Delete(json);
  return mz_fail(MZ_E_MEMORY, "history: no memory to read a row");
}

static mz_status read_observation(const mz_pipeline *pipeline, sqlite3_stmt *s, mz_observation *out) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "unit_s", number_at(s, MZ_COLUMN_UNIT_S));
  cJSON_AddNumberToObject(json, "round_s", number_at(s, MZ_COLUMN_ROUND_S));
  cJSON_AddNumberToObject(json, "noise", number_at(s, MZ_COLUMN_NOISE));
  cJSON_AddNumberToObject(json, "rounds", number_at(s, MZ_COLUMN_ROUNDS));
  cJSON_AddNumberToObject(json, "cpu_s", number_at(s, MZ_COLUMN_CPU_S));
  cJSON_AddNumberToObject(json, "rss_bytes", number_at(s, MZ_COLUMN_RSS_BYTES));
  cJSON_AddNumberToObject(json, "others", number_at(s, MZ_COLUMN_OTHERS));
  cJSON_AddNumberToObject(json, "waiting", number_at(s, MZ_COLUMN_WAITING));
  cJSON_AddNumberToObject(json, "throttled", number_at(s, MZ_COLUMN_THROTTLED));
  mz_status status = MZ_OK;
  for (int i = 0; i < MEMBERS && status == MZ_OK; i++)
    if (!members[i].optional || sqlite3_column_type(s, members[i].column) != SQLITE_NULL)
      status = add_parsed(json, members[i].key, text_at(s, members[i].column));
  if (status == MZ_OK) status = mz_observation_from_json(pipeline, out, json, "history", MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  return mz_json_memory_failed() ? mz_fail(MZ_E_MEMORY, "history: no memory to read a row") : status;
}

/* MZ_E_CHECKPOINT: the row is of another pipeline, or makes no sense. */
static mz_status read_row(const mz_pipeline *pipeline, sqlite3_stmt *s, mz_history_row *row) {
  row->id = sqlite3_column_int64(s, 0);
  row->unix_s = number_at(s, MZ_COLUMN_UNIX_S);
  snprintf(row->source, sizeof row->source, "%s", text_at(s, MZ_COLUMN_SOURCE));
  snprintf(row->version, sizeof row->version, "%s", text_at(s, MZ_COLUMN_VERSION));
  snprintf(row->run, sizeof row->run, "%s", text_at(s, MZ_COLUMN_RUN));
  row->window = sqlite3_column_int64(s, MZ_COLUMN_WINDOW);
  row->units = number_at(s, MZ_COLUMN_UNITS);
  row->utilisation = number_at(s, MZ_COLUMN_UTILISATION);
  MZ_TRY(read_observation(pipeline, s, &row->observation));
  const double unit_s = row->observation.unit_s;
  return isfinite(unit_s) && unit_s > 0.0 ? MZ_OK : mz_fail(MZ_E_CHECKPOINT, "history: row %lld: no time", (long long)row->id);
}

static int bind_key(sqlite3_stmt *s, const mz_history_key *key) {
  const char *const columns[] = {key->machine, key->env, key->network, key->work};
  int rc = SQLITE_OK;
  for (int i = 0; rc == SQLITE_OK && i < 4; i++) rc = sqlite3_bind_text(s, i + 1, columns[i], -1, SQLITE_STATIC);
  return rc;
}

/* Newest first, into at most `max` rows. *status: MZ_E_MEMORY ends it. */
static int select_rows(mz_history_file *file, const mz_history_key *key, const mz_pipeline *pipeline, int max,
                       mz_history_row *rows, int *count, mz_status *status) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_SELECT];
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int(s, 5, max);
  *count = 0;
  *status = MZ_OK;
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(s);
    if (rc != SQLITE_ROW || *count == max) continue;
    rows[*count].key = *key;
    *status = read_row(pipeline, s, &rows[*count]);
    *count += *status == MZ_OK;
    if (*status == MZ_E_MEMORY) rc = SQLITE_DONE;
  }
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return rc;
}

/* From 1 on, in the order of their first rows. */
static void number_runs(mz_history_row *rows, int count) {
  int32_t runs = 0;
  for (int i = 0; i < count; i++) {
    int same = i - 1;
    while (same >= 0 && strcmp(rows[same].run, rows[i].run) != 0) same--;
    rows[i].observation.run = same >= 0 ? rows[same].observation.run : ++runs;
  }
}

mz_status mz_history_read(mz_history *history, const mz_history_key *key, const mz_pipeline *pipeline, int max,
                          mz_history_row **rows, int *count) {
  MZ_ASSERT(max >= 0);
  *count = 0;
  MZ_TRY(mz_alloc(rows, (size_t)max, sizeof **rows));
  if (history == NULL || history->file.db == NULL) return MZ_OK;
  int rc;
  mz_status status;
  do rc = select_rows(&history->file, key, pipeline, max, *rows, count, &status);
  while (rc != SQLITE_DONE && mz_history_file_recover(&history->file, rc));
  if (rc != SQLITE_DONE) *count = 0;
  if (status == MZ_E_MEMORY) {
    free(*rows);
    *rows = NULL;
    *count = 0;
    return status;
  }
  for (int i = 0, j = *count - 1; i < j; i++, j--) {
    const mz_history_row newer = (*rows)[i];
    (*rows)[i] = (*rows)[j];
    (*rows)[j] = newer;
  }
  number_runs(*rows, *count);
  return MZ_OK;
}

static int count_rows(mz_history_file *file, int64_t *count) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_COUNT];
  const int rc = sqlite3_step(s);
  if (rc == SQLITE_ROW) *count = sqlite3_column_int64(s, 0);
  sqlite3_reset(s);
  return rc;
}

int64_t mz_history_count(mz_history *history) {
  int64_t count = 0;
  if (history == NULL || history->file.db == NULL) return 0;
  int rc;
  do rc = count_rows(&history->file, &count);
  while (rc != SQLITE_ROW && mz_history_file_recover(&history->file, rc));
  return count;
}

/* ---- pipelines ---- */

/* *text: NULL where there is none; free(). */
static int select_pipeline(mz_history_file *file, const mz_history_key *key, char **text) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_PIPELINE];
  *text = NULL;
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  if (rc == SQLITE_ROW) *text = strdup((const char *)sqlite3_column_text(s, 0));
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}

static int insert_pipeline(mz_history_file *file, const mz_history_key *key, const char *text) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_KEEP_PIPELINE];
  int rc = bind_key(s, key);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(s, 5, text, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(s);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return rc;
}

mz_status mz_history_keep_pipeline(mz_history *history, const mz_history_key *key, const mz_pipeline *pipeline) {
  if (history == NULL) return MZ_OK;
  mz_history_file *file = &history->file;
  mz_history_file_follow(file);
  if (!file->writable) return MZ_OK;
  cJSON *json = mz_pipeline_to_json(pipeline);
  char *text = json != NULL ? mz_json_line(json) : NULL, *there;
  cJSON_Delete(json);
  if (text == NULL) return mz_fail(MZ_E_MEMORY, "history: no memory to write a pipeline");
  int rc;
  do {
    rc = select_pipeline(file, key, &there);
    if (rc == SQLITE_DONE && (there == NULL || strcmp(there, text) != 0)) rc = insert_pipeline(file, key, text);
    free(there);
  } while (rc != SQLITE_DONE && mz_history_file_recover(file, rc));
  free(text);
  return MZ_OK;
}

mz_status mz_history_pipeline(mz_history *history, const mz_history_key *key, mz_pipeline *out, bool *found) {
  *found = false;
  if (history == NULL || history->file.db == NULL) return MZ_OK;
  char *text;
  int rc;
  do rc = select_pipeline(&history->file, key, &text);
  while (rc != SQLITE_DONE && mz_history_file_recover(&history->file, rc));
  if (text == NULL) return MZ_OK;
  cJSON *json = NULL;
  mz_status status = mz_json_parse(text, strlen(text), "history", false, MZ_E_CHECKPOINT, &json);
  if (status == MZ_OK) status = mz_pipeline_from_json(out, json, "history", MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  free(text);
  *found = status == MZ_OK;
  return status == MZ_E_MEMORY ? status : MZ_OK;
}

static int select_keys(mz_history_file *file, mz_history_key **keys, int *count, mz_status *status) {
  sqlite3_stmt *s = file->statements[MZ_HISTORY_KEYS];
  int rc, capacity = 0;
  free(*keys);
  *keys = NULL;
  *count = 0;
  *status = MZ_OK;
  while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
    *status = mz_reserve_one(keys, &capacity, *count, sizeof **keys);
    if (*status != MZ_OK) break;
    mz_history_key *key = &(*keys)[(*count)++];
    snprintf(key->machine, sizeof key->machine, "%s", (const char *)sqlite3_column_text(s, 0));
    snprintf(key->env, sizeof key->env, "%s", (const char *)sqlite3_column_text(s, 1));
    snprintf(key->network, sizeof key->network, "%s", (const char *)sqlite3_column_text(s, 2));
    snprintf(key->work, sizeof key->work, "%s", (const char *)sqlite3_column_text(s, 3));
  }
  sqlite3_reset(s);
  return *status == MZ_OK ? rc : SQLITE_DONE;
}

mz_status mz_history_keys(mz_history *history, mz_history_key **keys, int *count) {
  *keys = NULL;
  *count = 0;
  if (history == NULL || history->file.db == NULL) return MZ_OK;
  int rc;
  mz_status status;
  do rc = select_keys(&history->file, keys, count, &status);
  while (rc != SQLITE_DONE && mz_history_file_recover(&history->file, rc));
  if (status == MZ_OK && rc == SQLITE_DONE) return MZ_OK;
  free(*keys);
  *keys = NULL;
  *count = 0;
  return status;
}

mz_status mz_history_pipelines(mz_history *history, mz_pipeline **pipelines, int *count) {
  mz_history_key *keys = NULL;
  int key_count = 0;
  mz_status status;
  *pipelines = NULL;
  *count = 0;
  MZ_TRY_CLEANUP(mz_history_keys(history, &keys, &key_count));
  MZ_TRY_CLEANUP(mz_alloc(pipelines, (size_t)key_count, sizeof **pipelines));
  for (int i = 0; i < key_count; i++) {
    bool found;
    MZ_TRY_CLEANUP(mz_history_pipeline(history, &keys[i], &(*pipelines)[*count], &found));
    *count += found;
  }
cleanup:
  free(keys);
  return status;
}
