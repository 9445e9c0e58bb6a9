#include "allocator/records/ledger.h"
#include "allocator/predictors/pretrained.h"
#include "base/json/fields.h"
#include "base/file/file.h"
#include "base/log.h"
#include <math.h>
#include <string.h>

mz_status mz_ledger_open(mz_ledger *ledger, const char *dir, uint64_t offset) {
  ledger->fd = -1;
  ledger->offset = offset;
  MZ_TRY(mz_path_join(ledger->path, sizeof ledger->path, dir, "ledger.jsonl"));
  return mz_file_open_lines(ledger->path, &ledger->offset, &ledger->fd);
}

void mz_ledger_close(mz_ledger *ledger) {
  if (mz_file_close(&ledger->fd, ledger->path) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
}

mz_status mz_ledger_sync(const mz_ledger *ledger) { return mz_file_sync(ledger->fd, ledger->path); }

/* Takes the record over. */
static mz_status append(mz_ledger *ledger, cJSON *record) {
  char *line = mz_json_line(record);
  cJSON_Delete(record);
  if (line == NULL) return mz_fail(MZ_E_MEMORY, "%s: no memory for a line", ledger->path);
  const size_t length = strlen(line);
  line[length] = '\n'; /* takes the place of the NUL */
  const mz_status status = mz_file_append(ledger->fd, ledger->path, line, length + 1);
  free(line);
  if (status == MZ_OK) ledger->offset += length + 1;
  return status;
}

/* ---- what an allocator was created with ---- */

static cJSON *settings_to_json(const mz_allocation_settings *settings) {
  mz_settings_table table = mz_allocation_table;
  table.base = 0;
  mz_allocation_settings copy = *settings;
  const mz_config config = {.tables = &table, .table_count = 1, .values = &copy};
  return mz_config_to_json(&config);
}

static cJSON *bounds_to_json(const mz_bounds *bounds) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "cpu_min", bounds->cpu_min);
  cJSON_AddNumberToObject(o, "cpu_max", bounds->cpu_max);
  cJSON_AddNumberToObject(o, "gpu_min", bounds->gpu_min);
  cJSON_AddNumberToObject(o, "gpu_max", bounds->gpu_max);
  cJSON_AddNumberToObject(o, "memory_min", bounds->memory_min);
  cJSON_AddNumberToObject(o, "memory_max", bounds->memory_max);
  return o;
}

static cJSON *history_to_json(const mz_allocator_options *options) {
  const mz_observation *used[MZ_HISTORY_USED_MAX];
  const int count = mz_allocator_history(options, used);
  cJSON *array = cJSON_CreateArray();
  for (int i = 0; i < count; i++) cJSON_AddItemToArray(array, mz_observation_to_json(options->pipeline, used[i]));
  return array;
}

mz_status mz_ledger_begin(mz_ledger *ledger, const mz_allocator_options *options, int64_t phase, int64_t round) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "open");
  cJSON_AddNumberToObject(o, "format", MZ_LEDGER_FORMAT);
  cJSON_AddNumberToObject(o, "phase", (double)phase);
  cJSON_AddNumberToObject(o, "round", (double)round);
  cJSON_AddStringToObject(o, "strategy", options->strategy != NULL ? options->strategy->name : options->settings->strategy);
  mz_json_add(o, "pipeline", mz_pipeline_to_json(options->pipeline));
  mz_json_add(o, "settings", settings_to_json(options->settings));
  mz_json_add(o, "bounds", bounds_to_json(&options->bounds));
  mz_json_add(o, "start", mz_plan_to_json(options->pipeline, &options->start));
  mz_json_add(o, "history", history_to_json(options));
  if (options->pretrained) mz_json_add_u64_hex(o, "pretrained", mz_pretrained_digest(options->pretrained));
  return append(ledger, o);
}

/* ---- decisions ---- */

mz_status mz_ledger_append_goodput(mz_ledger *ledger, const mz_goodput_record *record, const mz_goodput_verdict *verdict) {
  return append(ledger, mz_goodput_to_json(record, verdict));
}

mz_status mz_ledger_append_batch_move(mz_ledger *ledger, const mz_batch_move *move) {
  return append(ledger, mz_batch_move_to_json(move));
}

mz_status mz_ledger_append_promise(mz_ledger *ledger, const mz_promise *promise) {
  return append(ledger, mz_promise_to_json(promise));
}

mz_status mz_ledger_append_kept_promise(mz_ledger *ledger, const mz_promise *promise, const mz_kept_promise *kept) {
  return append(ledger, mz_kept_promise_to_json(promise, kept));
}

mz_status mz_ledger_append_stage(mz_ledger *ledger, const mz_stage_record *record, int plan_count) {
  return append(ledger, mz_stage_record_to_json(record, plan_count));
}

mz_status mz_ledger_append_stage_epoch(mz_ledger *ledger, const mz_epoch *epoch) {
  return append(ledger, mz_stage_epoch_to_json(epoch));
}

mz_status mz_ledger_append_stages(mz_ledger *ledger, const mz_stages_record *record) {
  return append(ledger, mz_stages_record_to_json(record));
}

mz_status mz_ledger_append(mz_ledger *ledger, const mz_pipeline *pipeline, const mz_decision *decision, const double *rounds,
                           int round_count, const mz_window *window, const char *refused) {
  cJSON *o = mz_decision_to_json(pipeline, decision);
  if (refused != NULL) cJSON_AddStringToObject(o, "refused", refused);
  mz_fields_add_numbers(o, "rounds", round_count > 0 ? rounds : &(double){0}, round_count);
  if (decision->took_s > 0) cJSON_AddNumberToObject(o, "took_s", decision->took_s);
  if (window != NULL) mz_json_add(o, "window", mz_window_to_json(pipeline, window));
  return append(ledger, o);
}
