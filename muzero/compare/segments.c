#include "muzero/compare/segments.h"
#include <math.h>

static const cJSON *item(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }

static int64_t blocks_played(const cJSON *seeds) {
  const cJSON *seed, *cell;
  int64_t most = 0;
  cJSON_ArrayForEach(seed, seeds) cJSON_ArrayForEach(cell, item(seed, "cells")) {
    const int64_t count = cJSON_GetArraySize(item(cell, "blocks"));
    if (count > most) most = count;
  }
  return most;
}

static bool alike(const mz_scenario *scenario, int64_t a, int64_t b) {
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    if (mz_scenario_at(scenario, thing, a) != mz_scenario_at(scenario, thing, b)) return false;
  return true;
}

/* Of the blocks that the cell played; NAN: it did not play them all. */
static double seconds_of(const cJSON *cell, int64_t first, int64_t last) {
  const cJSON *block;
  double sum = 0;
  int64_t at = 0, played = 0;
  cJSON_ArrayForEach(block, item(cell, "blocks")) {
    if (++at < first || at > last) continue;
    sum += mz_json_number_or_nan(block, "wall_s");
    played++;
  }
  return played == last - first + 1 ? sum : NAN;
}

static void add_arms(cJSON *out, const cJSON *seeds, int64_t first, int64_t last) {
  const int arms = cJSON_GetArraySize(item(cJSON_GetArrayItem(seeds, 0), "cells"));
  for (int arm = 0; arm < arms; arm++) {
    const cJSON *seed, *cell = NULL;
    double sum = 0;
    int count = 0;
    cJSON_ArrayForEach(seed, seeds) {
      cell = cJSON_GetArrayItem(item(seed, "cells"), arm);
      const double seconds = seconds_of(cell, first, last);
      if (!isfinite(seconds)) continue;
      sum += seconds;
      count++;
    }
    cJSON_AddNumberToObject(out, mz_json_text_or_empty(cell, "arm"), count > 0 ? sum / count : NAN);
  }
}

cJSON *mz_compare_segments(const mz_scenario *scenario, const cJSON *seeds) {
  const int64_t blocks = blocks_played(seeds);
  cJSON *segments = cJSON_CreateArray();
  for (int64_t first = 1, last; segments && first <= blocks; first = last + 1) {
    last = first;
    while (last < blocks && alike(scenario, first, last + 1)) last++;
    cJSON *segment = cJSON_CreateObject();
    cJSON_AddNumberToObject(segment, "first", (double)first);
    cJSON_AddNumberToObject(segment, "last", (double)last);
    for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
      cJSON_AddNumberToObject(segment, mz_scenario_thing_name(thing), mz_scenario_at(scenario, thing, first));
    add_arms(cJSON_AddObjectToObject(segment, "wall_s"), seeds, first, last);
    if (!cJSON_AddItemToArray(segments, segment)) cJSON_Delete(segment);
  }
  return segments;
}
