#include "muzero/compare/violations.h"
#include <math.h>

static const double ROUNDING = 1e-9; /* of sums of seconds */

static void add_limit(cJSON *o, const char *key, double value) { cJSON_AddNumberToObject(o, key, value > 0 ? value : NAN); }

static bool exceeds(double value, double limit) { return limit > 0 && value > limit * (1 + ROUNDING); }

static void judge_arm(cJSON *arm, const mz_allocation_settings *s, double score) {
  double late_s = 0;
  int deadline = 0, budget = 0, missed = 0, refused = 0;
  const cJSON *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(arm, "by_seed")) {
    const bool began = !cJSON_IsString(cJSON_GetObjectItemCaseSensitive(row, "refused"));
    refused += !began;
    const double wall_s = mz_json_number_or_nan(row, "wall_s");
    deadline += exceeds(wall_s, s->deadline);
    late_s = exceeds(wall_s, s->deadline) ? fmax(late_s, wall_s - s->deadline) : late_s;
    budget += exceeds(mz_json_number_or_nan(row, "cost"), s->budget);
    missed += began && isfinite(score) && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "reached"));
  }
  cJSON *o = cJSON_AddObjectToObject(arm, "violations");
  cJSON_AddNumberToObject(o, "deadline", deadline);
  cJSON_AddNumberToObject(o, "budget", budget);
  cJSON_AddNumberToObject(o, "score", missed);
  cJSON_AddNumberToObject(o, "refused", refused);
  cJSON_AddNumberToObject(o, "late_s", late_s);
}

void mz_violations_add(cJSON *summary, const mz_allocation_settings *s, double score) {
  cJSON *arm;
  if (!(s->deadline > 0) && !(s->budget > 0) && !isfinite(score)) return;
  cJSON *limits = cJSON_AddObjectToObject(summary, "limits");
  add_limit(limits, "deadline_s", s->deadline);
  add_limit(limits, "budget", s->budget);
  cJSON_AddNumberToObject(limits, "score", score);
  cJSON_ArrayForEach(arm, cJSON_GetObjectItemCaseSensitive(summary, "arms")) judge_arm(arm, s, score);
}
