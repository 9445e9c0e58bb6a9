/* compare.json, and the curves of the runs behind it. */
#include "base/file/file.h"
#include "muzero/report/data.h"
#include <string.h>

/* The last two names of a run's path: "seed-1/arm-0". */
static const char *last_names(const char *run) {
  const char *at = run + strlen(run);
  for (int slashes = 0; at > run; at--)
    if (at[-1] == '/' && ++slashes == 2) break;
  return at;
}

/* The comparison's folder may have been moved since, or be named from another place: what lies in it comes first. A run may also be
 * named from the folder, or from where it was started. false: it is not there (any more). */
static bool find_run(const char *dir, const char *run, char *out, size_t size) {
  const struct { const char *folder, *name; } places[] = {{dir, last_names(run)}, {dir, run[0] == '/' ? NULL : run}, {"", run}};
  char metrics[640];
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    if (!places[i].name || mz_path_join(out, size, places[i].folder, places[i].name) != MZ_OK) continue;
    if (mz_path_join(metrics, sizeof metrics, out, "metrics.jsonl") == MZ_OK && mz_file_exists(metrics)) return true;
  }
  return false;
}

/* One seed: of arms that share a trajectory the others look the same, and all of them would make a page too large to open. */
static mz_status add_curves(const char *dir, cJSON *comparison) {
  cJSON *curves = cJSON_CreateArray();
  const cJSON *arm;
  cJSON_ArrayForEach(arm, cJSON_GetObjectItemCaseSensitive(comparison, "arms")) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(arm, "name");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(arm, "by_seed"), 0);
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(first, "run");
    char path[512];
    if (!cJSON_IsString(name) || !cJSON_IsString(run) || !find_run(dir, run->valuestring, path, sizeof path)) continue;
    cJSON *data;
    const mz_status status = mz_report_run(path, name->valuestring, &data);
    if (status != MZ_OK) {
      cJSON_Delete(curves);
      return status;
    }
    cJSON_AddItemToArray(curves, data);
  }
  cJSON_AddItemToObject(comparison, "curves", curves);
  return MZ_OK;
}

static void thin_blocks(cJSON *comparison) {
  cJSON *blocks = cJSON_DetachItemFromObjectCaseSensitive(comparison, "blocks");
  const int count = cJSON_GetArraySize(blocks), stride = (int)mz_report_stride(count);
  cJSON *kept = cJSON_CreateArray();
  for (int i = 0; i < count; i++) {
    cJSON *block = cJSON_DetachItemFromArray(blocks, 0);
    if (i % stride == 0)
      cJSON_AddItemToArray(kept, block);
    else
      cJSON_Delete(block);
  }
  cJSON_Delete(blocks);
  cJSON_AddItemToObject(comparison, "blocks", kept);
  cJSON_AddNumberToObject(comparison, "blocks_stride", stride);
}

mz_status mz_report_comparison(const char *dir, const char *name, cJSON **out) {
  char path[640];
  MZ_TRY(mz_path_join(path, sizeof path, dir, "compare.json"));
  cJSON *comparison;
  MZ_TRY(mz_report_json(path, &comparison));
  if (!cJSON_IsObject(comparison)) {
    cJSON_Delete(comparison);
    return mz_fail(MZ_E_CHECKPOINT, "%s: not a comparison: an object is wanted", path);
  }
  cJSON_DeleteItemFromObjectCaseSensitive(comparison, "name");
  cJSON_AddStringToObject(comparison, "name", name);
  thin_blocks(comparison);
  const mz_status status = add_curves(dir, comparison);
  if (status == MZ_OK)
    *out = comparison;
  else
    cJSON_Delete(comparison);
  return status;
}
