#include "allocator/machine/truth.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <string.h>

static const double NICE_WEIGHT = 0.1;      /* of threads of niceness 10 against 0 (Linux, sched_prio_to_weight: 110 / 1024) */
static const double UNPROBED_SHARE = 0.004; /* of the fold of a round of CartPole, measured: 0.3 to 0.4 % */

/* Minimises Σ ((fixed / batch + item) / seconds − 1)², neither below 0. */
static void fit(const double *batch, const double *seconds, int count, mz_sim_truth *out) {
  double xx = 0, x1 = 0, x = 0, n = 0, ones = 0; /* of rows (1 / batch, 1) / seconds against 1 */
  for (int i = 0; i < count; i++) {
    const double one = 1 / seconds[i], call = one / batch[i];
    xx += call * call, x1 += call * one, x += call, n += one * one, ones += one;
  }
  const double determinant = xx * n - x1 * x1;
  double fixed = determinant > 1e-12 * xx * n ? (x * n - x1 * ones) / determinant : 0;
  double item = fixed > 0 ? (ones - x1 * fixed) / n : ones / n;
  if (fixed < 0) fixed = 0;
  if (item < 0) item = 0, fixed = x / xx;
  out->fixed_s = fixed;
  out->item_s = item;
}

/* ---- from probes ---- */

mz_status mz_sim_truth_from_probes(const mz_pipeline *pipeline, mz_sim_truth out[MZ_STAGES_MAX]) {
  double unit_s = 0;
  memset(out, 0, MZ_STAGES_MAX * sizeof *out);
  for (int s = 0; s < pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &pipeline->stages[s];
    out[s] = (mz_sim_truth){
        .serial = stage->serial, .lockstep = mz_stage_shares_items(pipeline, s), .weight = stage->gives_way ? NICE_WEIGHT : 1};
    const mz_probes *probes = &stage->probes[MZ_DEVICE_CPU];
    if (mz_probes_count(probes) == 0) continue;
    fit(probes->batch, probes->cpu_s, mz_probes_count(probes), &out[s]);
    unit_s += stage->items * (out[s].fixed_s + out[s].item_s);
  }
  if (!(unit_s > 0)) return mz_fail(MZ_E_CONFIG, "%s: no stage was probed: there is nothing to simulate", pipeline->name);
  for (int s = 0; s < pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &pipeline->stages[s];
    if (mz_probes_count(&stage->probes[MZ_DEVICE_CPU]) == 0 && stage->items > 0)
      out[s].item_s = UNPROBED_SHARE * unit_s / stage->items;
  }
  return MZ_OK;
}

/* ---- from a run ---- */

typedef struct samples {
  double *values; /* room for one of each observation */
  int count;
} samples;

/* Gathers the cost of a stage's items in calls of `batch`, or their number where batch is 0. */
static void gather(const mz_pipeline *p, int s, const mz_observation *seen, int count, int64_t batch, samples *out) {
  out->count = 0;
  for (int i = 0; i < count; i++) {
    const mz_stage_sample *stage = &seen[i].stages[s];
    if (!(stage->items > 0) || !(stage->cpu_s > 0)) continue;
    if (batch == 0)
      out->values[out->count++] = stage->items;
    else if (mz_stage_batch(p, s, &seen[i].plan) == batch)
      out->values[out->count++] = stage->cpu_s / stage->items;
  }
}

/* Returns the least batch above `after` of which something was seen; 0: none. */
static int64_t next_batch(const mz_pipeline *p, int s, const mz_observation *seen, int count, int64_t after) {
  int64_t next = 0;
  for (int i = 0; i < count; i++) {
    const int64_t batch = mz_stage_batch(p, s, &seen[i].plan);
    const bool worked = seen[i].stages[s].items > 0 && seen[i].stages[s].cpu_s > 0;
    if (worked && batch > after && (next == 0 || batch < next)) next = batch;
  }
  return next;
}

static void fit_stage(mz_pipeline *p, int s, const mz_observation *seen, int count, samples *room, mz_sim_truth *out) {
  gather(p, s, seen, count, 0, room);
  if (room->count == 0) return;
  p->stages[s].items = mz_median(room->values, room->count);
  out->costs = 0;
  for (int64_t batch = 0; out->costs < MZ_SIM_COSTS_MAX && (batch = next_batch(p, s, seen, count, batch)) > 0; out->costs++) {
    gather(p, s, seen, count, batch, room);
    out->batch[out->costs] = (double)batch;
    out->batch_s[out->costs] = mz_median(room->values, room->count);
  }
  fit(out->batch, out->batch_s, out->costs, out);
}

mz_status mz_sim_truth_fit(mz_pipeline *pipeline, const mz_observation *seen, int count, mz_sim_truth out[MZ_STAGES_MAX]) {
  samples room = {0};
  bool any = false;
  MZ_TRY(mz_alloc(&room.values, (size_t)count + 1, sizeof *room.values));
  for (int s = 0; s < pipeline->stage_count; s++) {
    if (pipeline->stages[s].apart) continue;
    fit_stage(pipeline, s, seen, count, &room, &out[s]);
    out[s].lockstep = mz_stage_shares_items(pipeline, s);
    out[s].weight = pipeline->stages[s].gives_way ? NICE_WEIGHT : 1;
    any = any || out[s].costs > 0;
  }
  free(room.values);
  return any ? MZ_OK : mz_fail(MZ_E_CONFIG, "%s: no stage was seen at work: there is nothing to simulate", pipeline->name);
}

double mz_sim_truth_item_s(const mz_sim_truth *truth, double batch) {
  const int last = truth->costs - 1;
  if (truth->costs == 0) return truth->fixed_s / batch + truth->item_s;
  if (batch <= truth->batch[0]) return truth->batch_s[0];
  for (int i = 1; i <= last; i++) {
    if (batch > truth->batch[i]) continue;
    const double along = log(batch / truth->batch[i - 1]) / log(truth->batch[i] / truth->batch[i - 1]);
    return truth->batch_s[i - 1] * pow(truth->batch_s[i] / truth->batch_s[i - 1], along);
  }
  return truth->batch_s[last];
}
