/* Metrics of a run, as the library's structs. */
#include "base/config/config.h"
#include "muzero/library/training.h"
#include <string.h>

muzero_status muzero_run_progress(muzero_run *run, muzero_progress *out) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  MUZERO_NOT_NULL(out);
  const muzero_progress progress = mz_training_progress(call.object);
  return mz_call_end(&call, mz_call_write(out, sizeof progress, &progress, sizeof progress, __func__, "muzero_progress"));
}

static muzero_status last_record(const mz_training *training, const char *function, const cJSON **out) {
  *out = training->record;
  if (*out) return MUZERO_OK;
  return mz_failure(MUZERO_E_USAGE, "%s: no phase has ended since the run was opened; muzero_run_phase plays one", function);
}

/* Calls `visit` with every number of the record and its dotted name, until it returns true. */
typedef bool (*visit)(void *context, const char *name, double value);
static bool each_number(const cJSON *object, const char *prefix, visit found, void *context) {
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    char name[128];
    snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", item->string);
    if (cJSON_IsObject(item) && each_number(item, name, found, context)) return true;
    if (cJSON_IsNumber(item) && found(context, name, item->valuedouble)) return true;
  }
  return false;
}

enum { NUMBERS_MAX = 256 };
typedef struct search {
  const char *name;
  double value;
  char *names[NUMBERS_MAX]; /* those that were passed by */
  int count;
} search;

static bool is_wanted(void *context, const char *name, double value) {
  search *s = context;
  if (strcmp(s->name, name) == 0) {
    s->value = value;
    return true;
  }
  if (s->count < NUMBERS_MAX && (s->names[s->count] = strdup(name))) s->count++;
  return false;
}

static muzero_status find(const mz_training *training, const char *name, double *out) {
  static const char function[] = "muzero_run_metric";
  const cJSON *record;
  MUZERO_TRY(last_record(training, function, &record));
  search s = {.name = name};
  muzero_status status = MUZERO_OK;
  if (each_number(record, "", is_wanted, &s))
    *out = s.value;
  else {
    const char *nearest = mz_nearest(name, (const char *const *)s.names, s.count);
    status = mz_failure(MUZERO_E_USAGE, "%s: '%s' is no number of a phase's record%s%s%s", function, name,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  }
  for (int i = 0; i < s.count; i++) free(s.names[i]);
  return status;
}

muzero_status muzero_run_metric(muzero_run *run, const char *name, double *out) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  MUZERO_NOT_NULL(name);
  MUZERO_NOT_NULL(out);
  return mz_call_end(&call, find(call.object, name, out));
}

static muzero_status write_json(const mz_training *training, char *text, size_t size) {
  static const char function[] = "muzero_run_metrics_json";
  const cJSON *record;
  MUZERO_TRY(last_record(training, function, &record));
  char *line = mz_json_line(record);
  if (!line) return mz_failure(MUZERO_E_MEMORY, "metrics: no memory for a record");
  const muzero_status status = mz_call_write_text(text, size, line, function);
  free(line);
  return status;
}

muzero_status muzero_run_metrics_json(muzero_run *run, char *text, size_t size) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  MUZERO_NOT_NULL(text);
  return mz_call_end(&call, write_json(call.object, text, size));
}

muzero_status muzero_run_dir(muzero_run *run, char *dir, size_t size) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  MUZERO_NOT_NULL(dir);
  const mz_training *training = call.object;
  return mz_call_end(&call, mz_call_write_text(dir, size, mz_run_dir(training->run), __func__));
}
