#include "envs/own/findings.h"
#include "base/json/json.h"
#include <stdarg.h>
#include <string.h>

void mz_findings_add(mz_findings *findings, const char *function, const char *kind, uint64_t seed, const int32_t *actions,
                     int count, const char *format, ...) {
  for (int i = 0; i < findings->count; i++)
    if (strcmp(findings->items[i].function, function) == 0 && strcmp(findings->items[i].kind, kind) == 0) return;
  if (findings->count == MZ_FINDINGS_MAX) return;
  int32_t *const room = findings->room + (size_t)findings->count * MZ_FINDING_ACTIONS_MAX;
  mz_finding *to = &findings->items[findings->count++];
  *to = (mz_finding){.function = function, .kind = kind, .seed = seed, .actions = room, .action_count = count};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to->what, sizeof to->what, format, arguments);
  va_end(arguments);
  if (count > 0) memcpy(room, actions, (size_t)count * sizeof *actions);
}

cJSON *mz_finding_to_json(const mz_finding *finding) {
  cJSON *json = cJSON_CreateObject();
  cJSON *actions = cJSON_CreateIntArray(finding->actions, finding->action_count);
  if (json && actions && cJSON_AddStringToObject(json, "function", finding->function) &&
      cJSON_AddStringToObject(json, "kind", finding->kind) && cJSON_AddStringToObject(json, "what", finding->what)) {
    mz_json_add_u64(json, "seed", finding->seed);
    if (cJSON_GetObjectItem(json, "seed") && cJSON_AddItemToObject(json, "actions", actions)) return json;
  }
  cJSON_Delete(json);
  cJSON_Delete(actions);
  return NULL;
}
