/* Joins the bounds that the user sets with those of the machine, and computes how much of them a plan takes. */
#include "allocator/pipeline/allocation_settings.h"
#include <math.h>

/* ---- resolving ---- */

static mz_status fail_pair(const char *low_key, double low, const char *high_key, double high) {
  return mz_fail(MZ_E_CONFIG, "%s: %.12g exceeds %s %.12g; lower the one or raise the other", low_key, low, high_key, high);
}

/* Refuses bounds that no machine could meet. 0 as an upper limit is none. */
static mz_status check_settings(const mz_allocation_settings *s) {
  if (s->cpu_max > 0 && s->cpu_min > s->cpu_max) return fail_pair("limits.cpu_min", s->cpu_min, "limits.cpu_max", s->cpu_max);
  if (s->gpu_max > 0 && s->gpu_min > s->gpu_max) {
    return fail_pair("limits.gpu_min", (double)s->gpu_min, "limits.gpu_max", (double)s->gpu_max);
  }
  if (s->memory_max > 0 && s->memory_min > s->memory_max) {
    return fail_pair("limits.memory_min", (double)s->memory_min, "limits.memory_max", (double)s->memory_max);
  }
  if (s->cpu_max > 0 && s->cpu_max < 1) {
    return mz_fail(MZ_E_CONFIG, "limits.cpu_max: %.12g cores; a run takes one core at least; nearest valid value: 1", s->cpu_max);
  }
  if (!(s->low < s->high)) {
    return mz_fail(MZ_E_CONFIG, "allocate.low: %.12g is not below allocate.high %.12g; lower the one or raise the other", s->low,
                   s->high);
  }
  if (s->objective == MZ_OBJECTIVE_COST && s->core_hour == 0 && s->gib_hour == 0) {
    return mz_fail(
        MZ_E_CONFIG,
        "allocate.objective: cost, but prices.core_hour and prices.gib_hour are 0, so that plans cost nothing, however "
        "long they take; set one of them, or use allocate.objective=time");
  }
  return MZ_OK;
}

static mz_status check_granted(const char *key, double least, double granted, const char *unit) {
  if (least <= granted) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: %.12g exceeds the %.12g %s granted by %.12g; nearest valid value: %.12g", key, least, granted,
                 unit, least - granted, granted);
}

/* 0 is no limit. */
static double least_known(double a, double b) { return a > 0 && (b <= 0 || a < b) ? a : b; }

mz_status mz_bounds_resolve(mz_bounds *out, const mz_allocation_settings *settings, const mz_grants *grants) {
  MZ_TRY(check_settings(settings));
  const double granted = least_known(grants->memory_bytes, floor(MZ_FREE_SHARE * grants->available_bytes));
  const double memory = granted > 0 ? granted : MZ_BYTES_UNBOUNDED;
  MZ_TRY(check_granted("limits.cpu_min", settings->cpu_min, grants->cores, "cores"));
  MZ_TRY(check_granted("limits.gpu_min", (double)settings->gpu_min, grants->gpus, "GPUs"));
  MZ_TRY(check_granted("limits.memory_min", (double)settings->memory_min, memory, "bytes"));
  *out = (mz_bounds){
      .cpu_min = settings->cpu_min,
      .cpu_max = least_known(settings->cpu_max, grants->cores),
      .gpu_min = (double)settings->gpu_min,
      .gpu_max = settings->gpu_max > 0 ? fmin((double)settings->gpu_max, grants->gpus) : grants->gpus,
      .memory_min = (double)settings->memory_min,
      .memory_max = least_known((double)settings->memory_max, memory),
  };
  return MZ_OK;
}

/* ---- plans ---- */

static bool in_range(const mz_pipeline *pipeline, const mz_plan *plan) {
  for (int i = 0; i < pipeline->knob_count; i++) {
    if (plan->values[i] != mz_knob_clamp(&pipeline->knobs[i], plan->values[i])) return false;
  }
  return true;
}

/* Cores: a plan's threads beyond its devices' cores share them, so a limit at or above those cores bounds no number of threads,
 * and one below bounds it. */
const char *mz_plan_refused(const mz_pipeline *pipeline, const mz_bounds *bounds, const mz_plan *plan) {
  const int cores = mz_plan_cores(pipeline, plan), gpus = mz_plan_gpus(pipeline, plan);
  if (cores > bounds->cpu_max) return "limits.cpu_max";
  if (gpus > bounds->gpu_max) return "limits.gpu_max";
  if (mz_plan_bytes(pipeline, plan, NULL, 0) > bounds->memory_max) return "limits.memory_max";
  if (mz_plan_overfull(pipeline, plan) >= 0) return "limits.gpu_memory";
  if (!in_range(pipeline, plan)) return "knob range";
  if (cores < bounds->cpu_min) return "limits.cpu_min";
  if (gpus < bounds->gpu_min) return "limits.gpu_min";
  return NULL;
}

mz_status mz_plan_check_gpus(const mz_pipeline *pipeline, const mz_plan *plan) {
  char sum[256];
  const int device = mz_plan_overfull(pipeline, plan);
  if (device < 0) return MZ_OK;
  const mz_device *gpu = &pipeline->devices[device];
  const double needed = mz_plan_gpu_bytes(pipeline, plan, device, sum, sizeof sum);
  return mz_fail(
      MZ_E_CONFIG,
      "limits.gpu_memory: the start plan may need %.0f MiB of %s, %.1f MiB more than the %.0f MiB that may be had: %s; "
      "fewer or smaller stages there need less (devices.*, num_games, batch_size, network.*)",
      needed / 0x1p20, gpu->name, (needed - gpu->memory) / 0x1p20, gpu->memory / 0x1p20, sum);
}

double mz_plan_price_s(const mz_pipeline *pipeline, const mz_allocation_settings *settings, const mz_plan *plan) {
  const double gib = fmax(mz_plan_bytes(pipeline, plan, NULL, 0), (double)settings->memory_min) / (double)(1 << 30);
  return (mz_plan_cores(pipeline, plan) * settings->core_hour + mz_plan_gpus(pipeline, plan) * settings->gpu_hour +
          gib * settings->gib_hour) /
         3600;
}

/* ---- shrinking ---- */

/* Computes the bytes of a GPU that a plan needs; device −1: of the host. */
static double bytes_on(const mz_pipeline *pipeline, const mz_plan *plan, int device) {
  return device < 0 ? mz_plan_bytes(pipeline, plan, NULL, 0) : mz_plan_gpu_bytes(pipeline, plan, device, NULL, 0);
}

/* Knob k a step lower, or as many as it takes until the plan needs less: a bound above what there is changes nothing. False: no value
 * does. */
static bool step_down(const mz_pipeline *pipeline, mz_plan *plan, int k, int device) {
  const double bytes = bytes_on(pipeline, plan, device);
  if (pipeline->knobs[k].class_ != MZ_EXACT || pipeline->knobs[k].scale != MZ_SCALE_LOG2) return false;
  while (plan->values[k] > pipeline->knobs[k].min) {
    plan->values[k] = mz_knob_step(&pipeline->knobs[k], plan->values[k], -1);
    if (bytes_on(pipeline, plan, device) < bytes) return true;
  }
  return false;
}

static bool shrink(const mz_pipeline *pipeline, int device, double bytes, mz_plan *plan) {
  while (bytes_on(pipeline, plan, device) > bytes) {
    mz_plan best;
    double least = INFINITY;
    for (int k = 0; k < pipeline->knob_count; k++) {
      mz_plan down = *plan;
      if (!step_down(pipeline, &down, k, device)) continue;
      const double needed = bytes_on(pipeline, &down, device);
      if (needed < least) best = down, least = needed;
    }
    if (isinf(least)) return false;
    *plan = best;
  }
  return true;
}

bool mz_plan_shrink(const mz_pipeline *pipeline, double bytes, mz_plan *plan) {
  int device;
  bool fits = shrink(pipeline, -1, bytes, plan);
  while (fits && (device = mz_plan_overfull(pipeline, plan)) >= 0)
    fits = shrink(pipeline, device, pipeline->devices[device].memory, plan);
  return fits;
}
