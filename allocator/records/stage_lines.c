#include "allocator/records/stage_lines.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct reading {
  const char *path;
  mz_stage_lines *out;
} reading;

static bool begins_with(const char *line, const char *start) { return strncmp(line, start, strlen(start)) == 0; }

static mz_status read_epoch(mz_stage_lines *out, const cJSON *json, const char *where) {
  mz_epoch epoch;
  MZ_TRY(mz_stage_epoch_from_json(&epoch, json, where, MZ_E_CHECKPOINT));
  mz_stage_progress_add(&out->since, &epoch);
  return MZ_OK;
}

static mz_status read_line(void *context, const char *line, size_t length, int64_t number) {
  reading *r = context;
  char where[300];
  cJSON *json;
  const bool stage = begins_with(line, "{\"event\":\"stage\""), stages = begins_with(line, "{\"event\":\"stages\""),
             epoch = begins_with(line, "{\"event\":\"epoch\"");
  if (!stage && !stages && !epoch) return MZ_OK;
  snprintf(where, sizeof where, "%.200s:%" PRId64, r->path, number);
  MZ_TRY(mz_json_parse(line, length, where, false, MZ_E_CHECKPOINT, &json));
  const mz_status status = stage   ? mz_stage_record_from_json(&r->out->last, json, where, MZ_E_CHECKPOINT)
                           : epoch ? read_epoch(r->out, json, where)
                                   : mz_stages_record_from_json(&r->out->whole, json, where, MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  if (stage) r->out->since = (mz_stage_progress){.score = NAN};
  r->out->count += stage;
  r->out->ended = stages;
  return status;
}

mz_status mz_stage_lines_read(mz_stage_lines *out, const char *path) {
  *out = (mz_stage_lines){0};
  reading r = {.path = path, .out = out};
  return mz_ledger_read(path, read_line, &r);
}
