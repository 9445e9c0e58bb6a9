/* The page's data, as JSON made from the files of a run or a comparison. Keys that a file lacks are left out or null. No
 * series has more than MZ_POINTS_MAX points: longer ones are thinned, and "stride" says how many records a point stands for. */
#pragma once
#include "base/json/json.h"

enum { MZ_POINTS_MAX = 2000 };

/* Returns how many of `count` records a point stands for. */
static inline int64_t mz_report_stride(int64_t count) {
  return count > MZ_POINTS_MAX ? (count + MZ_POINTS_MAX - 1) / MZ_POINTS_MAX : 1;
}

/* DIR/metrics.jsonl, config.json, env.json, ledger.jsonl:
 * {"name","path","env","score_name","seed","strategy","target","version","isa","cores","phases":n,"stride":k,"last":{…the last record},
 *  "sums":{"cpu_s":…,"cost":…},"columns":{"wall_s":[…],…},"plan":{"cpu_actor":[…],…},
 *  "warnings":[{"text","first","count"}],"ledger":{…}|null}
 * Columns are named as in metrics.jsonl; "own_s" is wall time in phases only, without waiting for one's turn in a comparison.
 * A point of a series stands for `stride` phases: counters, times, the plan and the score as they were at its end (the score only
 * where an evaluation fell into it), shares and losses as means. */
mz_status mz_report_run(const char *dir, const char *name, cJSON **out);

/* Adds to `runs` those in DIR/seed-N that have metrics, in the order of the seeds, each with "folder": name. *found: how many. */
mz_status mz_report_seeds(const char *dir, const char *name, cJSON *runs, int *found);

/* {"strategy","stages":[{"name","threads":the knob's name}],"series":{"phase":[…],"predicted","low","high","observed"},
 *  "busy":{"actor":[…],…},"wait_in":{…},"wait_out":{…},"stride":k,
 *  "decisions":[{"phase","until","count","action",…}],"left_out":n}
 * The action "begin" is where an invocation began, before anything was measured.
 * Decisions to keep the plan that follow one another are one entry with `count` and `until`; of the others the newest
 * MZ_POINTS_MAX. busy, wait_in and wait_out are threads, as means over the phase. */
mz_status mz_report_ledger(const char *path, cJSON **out);

/* DIR/compare.json as it is, with "name", "blocks" thinned ("blocks_stride"), and "curves": every arm's run of the first seed. */
mz_status mz_report_comparison(const char *dir, const char *name, cJSON **out);

/* *out NULL where there is no such file. */
mz_status mz_report_json(const char *path, cJSON **out);
/* Member by path, "settings.train.target"; NULL when it is not there. */
const cJSON *mz_report_member(const cJSON *object, const char *path);
/* A number of it; NAN for anything else. */
double mz_report_number(const cJSON *object, const char *path);
/* Numbers of up to seven significant digits, null where not finite: a plot needs no more. NULL when memory is out. */
cJSON *mz_report_series(double *values, int64_t count);
/* Copies of the members that are there. */
void mz_report_copy(cJSON *to, const cJSON *from, const char *const *keys, size_t key_count);
