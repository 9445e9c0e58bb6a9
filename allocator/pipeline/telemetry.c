#include "allocator/pipeline/telemetry.h"
#include "base/maths/statistics.h"
#include <math.h>

const char *mz_sensor_name(mz_sensor sensor) {
  static const char *const names[] = {
      [MZ_SENSOR_CPU] = "cpu",
      [MZ_SENSOR_THREADS] = "threads",
      [MZ_SENSOR_RSS] = "rss",
      [MZ_SENSOR_MEMORY] = "memory",
      [MZ_SENSOR_LOAD] = "load",
      [MZ_SENSOR_PRESSURE] = "pressure",
      [MZ_SENSOR_THROTTLED] = "throttled",
      [MZ_SENSOR_GPU] = "gpu",
  };
  return names[sensor];
}

mz_training_stage mz_training_stage_unknown(void) {
  return (mz_training_stage){.replay_fill = NAN, .episode_length = NAN, .horizon = NAN, .score_slope = NAN};
}

/* ---- quantising ---- */

/* Through text: rounded once, and the shortest text reads the same bits back. */
double mz_quantised(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.5e", value);
  return isfinite(value) ? strtod(text, NULL) : NAN;
}

static void quantise(double *values, int count) {
  for (int i = 0; i < count; i++) values[i] = mz_quantised(values[i]);
}

static void quantise_stages(mz_stage_sample stages[MZ_STAGES_MAX]) {
  for (int i = 0; i < MZ_STAGES_MAX; i++) {
    mz_stage_sample *s = &stages[i];
    double *const values[] = {&s->items,     &s->busy_s,     &s->cpu_s,     &s->device_s,
                              &s->wait_in_s, &s->wait_out_s, &s->elapsed_s, &s->waited_for_s};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) quantise(values[k], 1);
  }
}

static void quantise_usage(mz_usage *u) {
  double *const values[] = {&u->wall_s,         &u->cpu_s,           &u->others_cpu_s,  &u->throttled_s,     &u->rss_bytes,
                            &u->rss_peak_bytes, &u->available_bytes, &u->pressure_cpu,  &u->pressure_memory, &u->pressure_io,
                            &u->gpu_busy,       &u->gpu_bytes,       &u->core_share_p95};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++) quantise(values[k], 1);
}

static void quantise_training(mz_training_stage *t) {
  double *const values[] = {&t->replay_fill, &t->episode_length, &t->horizon, &t->score_slope};
  for (size_t k = 0; k < sizeof values / sizeof *values; k++) quantise(values[k], 1);
}

void mz_window_quantise(mz_window *window) {
  MZ_ASSERT(window->round_count >= 0 && window->round_count <= MZ_WINDOW_ROUNDS_MAX);
  quantise(&window->units, 1);
  quantise(&window->wall_s, 1);
  quantise(window->round_s, window->round_count);
  quantise_stages(window->stages);
  quantise_usage(&window->usage);
  quantise_training(&window->training);
  quantise(&window->score, 1);
}

/* ---- observations ---- */

/* Standard deviation of a normal distribution whose median absolute deviation is 1. */
static const double NORMAL_MAD = 1.4826;
enum { ROBUST_MIN = 8 }; /* below, a median of deviations says less than their mean square */

/* `values` does not survive it. */
static double spread(double *values, int count) {
  if (count < 2) return 0;
  if (count >= ROBUST_MIN) {
    const double middle = mz_median(values, count);
    for (int i = 0; i < count; i++) values[i] = fabs(values[i] - middle);
    return NORMAL_MAD * mz_median(values, count);
  }
  const double mean = mz_mean(values, count);
  double squares = 0;
  for (int i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return sqrt(squares / (count - 1));
}

static void observe_rounds(mz_observation *out, const mz_window *window) {
  double seconds[MZ_WINDOW_ROUNDS_MAX], logs[MZ_WINDOW_ROUNDS_MAX];
  int count = 0;
  for (int i = 0; i < window->round_count; i++) {
    if (window->round_s[i] > 0 && isfinite(window->round_s[i])) seconds[count++] = window->round_s[i];
  }
  for (int i = 0; i < count; i++) logs[i] = log(seconds[i]);
  out->rounds = count;
  out->round_s = count > 0 ? mz_median(seconds, count) : NAN;
  out->noise = spread(logs, count);
}

void mz_stage_sample_add(mz_stage_sample *sum, const mz_stage_sample *part, double share) {
  sum->items += part->items * share;
  sum->busy_s += part->busy_s * share, sum->cpu_s += part->cpu_s * share;
  sum->wait_in_s += part->wait_in_s * share, sum->wait_out_s += part->wait_out_s * share;
  sum->device_s += part->device_s * share, sum->elapsed_s += part->elapsed_s * share;
  sum->waited_for_s += part->waited_for_s * share;
}

static double rate(const mz_usage *usage, mz_sensor sensor, double seconds) {
  return mz_usage_lacks(usage, sensor) || !(usage->wall_s > 0) ? NAN : seconds / usage->wall_s;
}

double mz_usage_others(const mz_usage *usage) { return rate(usage, MZ_SENSOR_LOAD, usage->others_cpu_s); }
double mz_usage_throttled(const mz_usage *usage) { return rate(usage, MZ_SENSOR_THROTTLED, usage->throttled_s); }
double mz_usage_waiting(const mz_usage *usage) { return mz_usage_lacks(usage, MZ_SENSOR_PRESSURE) ? NAN : usage->pressure_cpu; }

bool mz_observation_from_window(mz_observation *out, const mz_plan *plan, const mz_window *window) {
  const double units = window->units, unit_s = window->wall_s / units;
  if (!(units >= 1) || !(unit_s > 0) || !isfinite(unit_s)) return false;
  *out = (mz_observation){.plan = *plan, .unit_s = unit_s};
  observe_rounds(out, window);
  for (int i = 0; i < MZ_STAGES_MAX; i++) {
    const mz_stage_sample *s = &window->stages[i];
    out->stages[i] = (mz_stage_sample){.items = s->items / units,
                                       .busy_s = s->busy_s / units,
                                       .cpu_s = s->cpu_s / units,
                                       .device_s = s->device_s / units,
                                       .wait_in_s = s->wait_in_s / units,
                                       .wait_out_s = s->wait_out_s / units,
                                       .elapsed_s = s->elapsed_s / units,
                                       .waited_for_s = s->waited_for_s / units};
  }
  const mz_usage *usage = &window->usage;
  out->cpu_s = mz_usage_lacks(usage, MZ_SENSOR_CPU) ? NAN : usage->cpu_s / units;
  out->rss_bytes = mz_usage_lacks(usage, MZ_SENSOR_RSS) ? NAN : usage->rss_bytes;
  out->others = mz_usage_others(usage);
  out->waiting = mz_usage_waiting(usage);
  out->throttled = mz_usage_throttled(usage);
  out->training = window->training;
  return true;
}
