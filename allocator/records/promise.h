/* Lines of the ledger about a run whose plan was made for the whole of it (runs/run_plan.h): what was promised before it began, and beside
 * it, limit by limit, what came of it.
 * {"event":"promise","phase":0,"round":0,"cores":2,"gpus":0,"memory_gib":0.04,"batch_size":128,"epochs":32,"deadline_s":20,"target":475,
 *  "budget":null,"seconds":[estimate,low,high],"score":[…],"cost":[…]}
 * {"event":"outcome","phase":32,"round":320,"reason":"rounds","epochs":32,"seconds":5.1,"score":500,"cost":0.0014,"in_time":true,
 *  "reached":true,"affordable":true,"seconds_within":true,"score_within":true,"cost_within":true}
 * The last three are left out where it ended after other epochs, as where its score was reached before. They have no inputs: replaying
 * them checks that they are lines that this program writes. */
#pragma once
#include "base/course/course.h"
#include "base/json/json.h"
#include "base/maths/statistics.h"

typedef struct mz_promise {
  double amounts[MZ_COURSE_RESOURCES], batch_size;
  int64_t epochs;
  double deadline_s, target, budget; /* not finite: none */
  mz_interval seconds, score, cost;
} mz_promise;

typedef struct mz_kept_promise {
  int64_t phase, round, epochs; /* at the run's end */
  char reason[24];              /* why it ended */
  double seconds, score, cost;  /* score: the best of its evaluations; NAN: none */
} mz_kept_promise;

cJSON *mz_promise_to_json(const mz_promise *promise);
mz_status mz_promise_from_json(mz_promise *out, const cJSON *json, const char *where, mz_status code);
cJSON *mz_kept_promise_to_json(const mz_promise *promise, const mz_kept_promise *kept);
