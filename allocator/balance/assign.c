#include "allocator/balance/assign.h"
#include <math.h>

static const double CPU_BUSY = 0.85, GPU_BUSY = 0.80; /* shares of the time that what is assigned is meant to be busy */
static const double EXPLORING = 0.5;                  /* more for exploring, at the highest temperature */
static const double NINE_IN_TEN = 1.28;               /* standard deviations */
static const double EIGHTHS = 8;
static const double ROUNDING = 1e-9; /* a whole number that was computed a little too large is not rounded up */

const char *mz_resource_name(mz_resource resource) {
  static const char *const names[MZ_RESOURCES] = {"cpu", "memory", "gpu"};
  return names[resource];
}

double mz_assignment_of(const mz_assignment *a, mz_resource resource) {
  return resource == MZ_RESOURCE_CPU ? a->cpu : resource == MZ_RESOURCE_MEMORY ? a->memory : a->gpu;
}

/* ---- demand ---- */

static double cores_used(const mz_observation *o) { return o->cpu_s / o->unit_s; }
static double bytes_used(const mz_observation *o) { return o->rss_bytes; }

/* Relative standard deviation of a value among observations of one plan, pooled over plans. */
static double read_spread(const mz_pipeline *pipeline, const mz_observation *history, int count,
                          double (*value)(const mz_observation *)) {
  double squares = 0;
  int freedom = 0;
  for (int i = 0; i < count; i++) {
    double sum = 0;
    int same = 0;
    if (!(value(&history[i]) > 0)) continue;
    for (int j = 0; j < count; j++) {
      if (!(value(&history[j]) > 0) || !mz_plan_equal(pipeline, &history[i].plan, &history[j].plan)) continue;
      sum += value(&history[j]);
      same++;
      if (same == 1 && j < i) freedom++; /* the first of a plan is what the others are compared with */
    }
    const double deviation = value(&history[i]) * same / sum - 1;
    squares += deviation * deviation;
  }
  return freedom > 0 ? sqrt(squares / freedom) : 0;
}

void mz_demand_of_plan(mz_demand *demand, const mz_analytic *model, const mz_plan *plan, double unit_s) {
  const mz_pipeline *p = model->pipeline;
  mz_analysis analysis;
  mz_analytic_explain(model, plan, &analysis);
  demand->unit_s = unit_s;
  demand->bytes = mz_plan_bytes(p, plan, NULL, 0);
  demand->cpu_s = demand->gpu_s = 0;
  for (int s = 0; s < p->stage_count; s++) {
    if (p->stages[s].apart) continue;
    demand->cpu_s += analysis.cpu_s[s];
    demand->gpu_s += analysis.device_s[s];
  }
}

void mz_demand_read(mz_demand *out, const mz_analytic *model, const mz_plan *plan, double unit_s, const mz_observation *history,
                    int count, const mz_usage *usage) {
  const mz_pipeline *p = model->pipeline;
  *out = (mz_demand){.resident = NAN, .available = NAN};
  mz_demand_of_plan(out, model, plan, unit_s);
  out->spread[MZ_RESOURCE_CPU] = out->spread[MZ_RESOURCE_GPU] = read_spread(p, history, count, cores_used);
  out->spread[MZ_RESOURCE_MEMORY] = read_spread(p, history, count, bytes_used);
  if (!usage || mz_usage_lacks(usage, MZ_SENSOR_RSS)) return;
  out->resident = usage->rss_peak_bytes;
  if (!mz_usage_lacks(usage, MZ_SENSOR_MEMORY)) out->available = usage->rss_bytes + usage->available_bytes;
}

/* ---- clamps ---- */

static mz_clamp unclamped(double wanted, double min, double max) {
  return (mz_clamp){.wanted = wanted, .min = fmin(min, max), .max = max, .amount = wanted, .binding = ""};
}

static void at_least(mz_clamp *c, double least, const char *name) {
  if (!(c->amount < least)) return;
  c->amount = least;
  c->binding = name;
}

static void at_most(mz_clamp *c, double most, const char *name) {
  if (!(c->amount > most)) return;
  c->amount = most;
  c->binding = name;
}

static void give_all(mz_clamp *c) {
  if (isfinite(c->amount)) return;
  c->amount = c->max;
  c->binding = "not predicted";
}

/* Cores or devices that keep `work_s` busy for a share of the time, with room for exploring and for what varies. */
static double wanted(double work_s, double unit_s, double busy, double spread, double temperature) {
  const double needed = work_s / (busy * unit_s), head_room = temperature > 0 ? EXPLORING * temperature : 0;
  return needed * (1 + head_room) + NINE_IN_TEN * spread * needed;
}

static mz_clamp clamp_cpu(const mz_demand *demand, double temperature, const mz_bounds *bounds) {
  const double cores = wanted(demand->cpu_s, demand->unit_s, CPU_BUSY, demand->spread[MZ_RESOURCE_CPU], temperature);
  mz_clamp c = unclamped(ceil(cores - ROUNDING), fmax(1, bounds->cpu_min), bounds->cpu_max);
  at_least(&c, c.min, bounds->cpu_min > 1 ? "limits.cpu_min" : "one core");
  at_most(&c, c.max, "limits.cpu_max");
  give_all(&c);
  return c;
}

static mz_clamp clamp_gpu(const mz_demand *demand, double temperature, const mz_bounds *bounds) {
  const double devices = wanted(demand->gpu_s, demand->unit_s, GPU_BUSY, demand->spread[MZ_RESOURCE_GPU], temperature);
  const double parts = devices < 1 ? EIGHTHS : 1;
  mz_clamp c = unclamped(ceil(devices * parts - ROUNDING) / parts, bounds->gpu_min, bounds->gpu_max);
  at_least(&c, c.min, "limits.gpu_min");
  at_most(&c, c.max, "limits.gpu_max");
  give_all(&c);
  return c;
}

/* Free memory is the last bound: none that the user sets makes memory. */
static mz_clamp clamp_memory(const mz_demand *demand, const mz_bounds *bounds) {
  const double bytes = demand->bytes * (1 + NINE_IN_TEN * demand->spread[MZ_RESOURCE_MEMORY]);
  mz_clamp c = unclamped(bytes, bounds->memory_min, bounds->memory_max);
  at_least(&c, MZ_RESIDENT_ROOM * demand->resident, "resident memory");
  at_least(&c, c.min, "limits.memory_min");
  at_most(&c, c.max, "limits.memory_max");
  give_all(&c);
  at_most(&c, MZ_FREE_SHARE * demand->available, "free memory");
  return c;
}

void mz_assign(mz_assignment *out, mz_clamp clamps[MZ_RESOURCES], const mz_demand *demand, double temperature,
               const mz_bounds *bounds) {
  clamps[MZ_RESOURCE_CPU] = clamp_cpu(demand, temperature, bounds);
  clamps[MZ_RESOURCE_MEMORY] = clamp_memory(demand, bounds);
  clamps[MZ_RESOURCE_GPU] = clamp_gpu(demand, temperature, bounds);
  *out = (mz_assignment){
      .cpu = clamps[MZ_RESOURCE_CPU].amount, .memory = clamps[MZ_RESOURCE_MEMORY].amount, .gpu = clamps[MZ_RESOURCE_GPU].amount};
}

/* ---- words ---- */

static int write_clamp(mz_resource r, const mz_clamp *c, char *out, size_t size) {
  const double unit = r == MZ_RESOURCE_MEMORY ? 0x1p30 : 1;
  const char *name = mz_resource_name(r), *binds = c->binding[0] ? ", " : "", *after = c->binding[0] ? " binds" : "";
  const char *of = r == MZ_RESOURCE_MEMORY ? " GiB" : "";
  char wants[32] = "";
  if (r == MZ_RESOURCE_GPU && c->max == 0) return snprintf(out, size, "gpu none");
  if (!isfinite(c->wanted)) after = "";
  if (c->binding[0] && isfinite(c->wanted)) snprintf(wants, sizeof wants, " (wanted %.3g)", c->wanted / unit);
  if (c->max >= MZ_BYTES_UNBOUNDED)
    return snprintf(out, size, "%s %.3g of %.3g or more%s%s%s%s%s", name, c->amount / unit, c->min / unit, of, binds, c->binding,
                    after, wants);
  return snprintf(out, size, "%s %.3g of %.3g … %.3g%s%s%s%s%s", name, c->amount / unit, c->min / unit, c->max / unit, of, binds,
                  c->binding, after, wants);
}

void mz_assign_text(const mz_clamp clamps[MZ_RESOURCES], char *out, size_t size) {
  size_t used = 0;
  for (mz_resource r = 0; r < MZ_RESOURCES && used < size; r++) {
    if (r > 0) used += (size_t)snprintf(out + used, size - used, "; ");
    if (used < size) used += (size_t)write_clamp(r, &clamps[r], out + used, size - used);
  }
}
