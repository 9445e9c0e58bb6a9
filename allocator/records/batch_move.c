#include "allocator/records/batch_move.h"
#include "base/json/fields.h"

cJSON *mz_batch_move_to_json(const mz_batch_move *move) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "batch_size");
  cJSON_AddNumberToObject(o, "phase", (double)move->phase);
  cJSON_AddNumberToObject(o, "round", (double)move->round);
  cJSON_AddStringToObject(o, "by", move->by);
  cJSON_AddNumberToObject(o, "from", (double)move->from);
  cJSON_AddNumberToObject(o, "to", (double)move->to);
  return o;
}

mz_status mz_batch_move_from_json(mz_batch_move *out, const cJSON *json, const char *where, mz_status code) {
  mz_batch_move m = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_whole(&f, "phase", 0, MZ_WHOLE_MAX, &m.phase));
  MZ_TRY(mz_fields_whole(&f, "round", 0, MZ_WHOLE_MAX, &m.round));
  MZ_TRY(mz_fields_text(&f, "by", m.by, sizeof m.by));
  MZ_TRY(mz_fields_whole(&f, "from", 1, MZ_WHOLE_MAX, &m.from));
  MZ_TRY(mz_fields_whole(&f, "to", 1, MZ_WHOLE_MAX, &m.to));
  *out = m;
  return MZ_OK;
}
