#include "allocator/machine/truth.h"
#include <math.h>
#include <string.h>

static const double NICE_WEIGHT = 0.1;      /* of threads of niceness 10 against 0 (Linux, sched_prio_to_weight: 110 / 1024) */
static const double UNPROBED_SHARE = 0.004; /* of the fold of a round of CartPole, measured: 0.3 to 0.4 % */

static bool shares_items(const mz_pipeline *pipeline, int stage) {
  bool takes = false, feeds = false;
  for (int q = 0; q < pipeline->queue_count; q++) {
    takes |= pipeline->queues[q].to == stage;
    feeds |= pipeline->queues[q].from == stage;
  }
  return takes && !feeds;
}

/* Minimises Σ ((fixed / batch + item) / seconds − 1)², neither below 0. */
static void fit(const mz_pipeline_stage *stage, mz_sim_truth *out) {
  double xx = 0, x1 = 0, x = 0, n = 0, ones = 0; /* of rows (1 / batch, 1) / seconds against 1 */
  for (int i = 0; i < MZ_PROBES_MAX && stage->probe_batch[i] > 0; i++) {
    const double one = 1 / stage->probe_s[i], call = one / stage->probe_batch[i];
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

mz_status mz_sim_truth_from_probes(const mz_pipeline *pipeline, mz_sim_truth out[MZ_STAGES_MAX]) {
  double unit_s = 0;
  memset(out, 0, MZ_STAGES_MAX * sizeof *out);
  for (int s = 0; s < pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &pipeline->stages[s];
    out[s] = (mz_sim_truth){
        .serial = stage->serial, .lockstep = shares_items(pipeline, s), .weight = stage->gives_way ? NICE_WEIGHT : 1};
    if (!(stage->probe_batch[0] > 0)) continue;
    fit(stage, &out[s]);
    unit_s += stage->items * (out[s].fixed_s + out[s].item_s);
  }
  if (!(unit_s > 0)) return mz_fail(MZ_E_CONFIG, "%s: no stage was probed: there is nothing to simulate", pipeline->name);
  for (int s = 0; s < pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &pipeline->stages[s];
    if (!(stage->probe_batch[0] > 0) && stage->items > 0) out[s].item_s = UNPROBED_SHARE * unit_s / stage->items;
  }
  return MZ_OK;
}
