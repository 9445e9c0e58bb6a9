#include "allocator/model/load.h"
#include <math.h>

static mz_level read_level(const mz_forecaster *f, bool settled) {
  const mz_forecast next = mz_forecaster_next(f);
  if (settled && next.trusted)
    return (mz_level){.value = next.quantile, .forecast = true, .model = next.model, .mase = next.mase};
  return (mz_level){.value = f->seen > 0 ? f->last : NAN, .model = MZ_FORECAST_LAST, .mase = next.mase};
}

const char *mz_level_predictor(const mz_level *level) {
  static const char *const names[MZ_FORECAST_MODELS] = {"forecast (last value)", "forecast (EWMA)", "forecast (damped Holt)",
                                                        "forecast (Kalman)"};
  return names[level->model];
}

void mz_level_text(const mz_level *level, char *out, size_t size) {
  if (level->forecast)
    snprintf(out, size, "forecast (%s, MASE %.2f)", mz_forecast_model_name(level->model), level->mase);
  else
    snprintf(out, size, "(last value)");
}

/* Wall time of each step in the window: what the other steps leave of it. */
static void read_steps(const mz_situation *situation, double wall_s[MZ_STAGES_MAX]) {
  const mz_pipeline *p = situation->pipeline;
  const mz_window *w = situation->window;
  double longest[MZ_STAGES_MAX] = {0}, sum = 0;
  for (int s = 0; s < p->stage_count; s++) {
    double *step = &longest[p->stages[s].step];
    if (p->stages[s].apart) continue;
    *step = fmax(*step, w->stages[s].elapsed_s);
  }
  for (int i = 0; i < MZ_STAGES_MAX; i++) sum += longest[i];
  for (int i = 0; i < MZ_STAGES_MAX; i++) {
    wall_s[i] = fmax(w->wall_s - (sum - longest[i]), longest[i]);
    if (!(wall_s[i] > 0)) wall_s[i] = w->wall_s; /* the clocks of the stages contradict the window's */
  }
}

static double share(double part, double whole) { return whole > 0 ? fmin(fmax(part / whole, 0), 1) : 0; }

static double cpu_s(const mz_situation *situation, int stage) {
  const mz_stage_sample *sample = &situation->window->stages[stage];
  return sample->cpu_s > 0 ? sample->cpu_s : sample->busy_s; /* a system may lack clocks of threads */
}

static double cores_used(const mz_situation *situation, int step, int device, double wall_s) {
  const mz_pipeline *p = situation->pipeline;
  double sum = 0;
  for (int s = 0; s < p->stage_count; s++)
    if (p->stages[s].step == step && mz_stage_device(p, s, situation->plan) == device) sum += cpu_s(situation, s);
  return sum / wall_s;
}

/* The stages of one knob, from the first one on. */
static void read_pool(mz_pool_load *pool, const mz_situation *situation, int first, const double wall_s[MZ_STAGES_MAX],
                      bool settled) {
  const mz_pipeline *p = situation->pipeline;
  const mz_window *w = situation->window;
  const int knob = p->stages[first].threads;
  *pool = (mz_pool_load){.name = p->stages[first].name,
                         .knob = knob,
                         .device = mz_stage_device(p, first, situation->plan),
                         .threads = mz_stage_threads(p, first, situation->plan),
                         .cores_used = INFINITY};
  double time_s = 0, busy_s = 0, blocked_s = 0, most = -1;
  bool counted[MZ_STAGES_MAX] = {false};
  for (int s = first; s < p->stage_count; s++) {
    if (p->stages[s].threads != knob || p->stages[s].apart) continue;
    const int step = p->stages[s].step;
    if (!counted[step]) {
      time_s += wall_s[step];
      pool->cores_used = fmin(pool->cores_used, cores_used(situation, step, pool->device, wall_s[step]));
    }
    counted[step] = true;
    const mz_level level = read_level(&situation->utilisation[s], settled);
    busy_s += level.value * w->wall_s;
    blocked_s += w->stages[s].wait_out_s;
    pool->cpu_s += cpu_s(situation, s) / w->units;
    if (!(level.value > most)) continue;
    most = level.value;
    pool->busy = level; /* the busiest stage's forecast names the pool's */
  }
  pool->busy.value = isfinite(busy_s) ? share(busy_s, time_s) : NAN;
  pool->blocked = share(blocked_s, (double)pool->threads * time_s);
}

static void read_queue(mz_queue_load *queue, const mz_situation *situation, int index, const double wall_s[MZ_STAGES_MAX]) {
  const mz_pipeline *p = situation->pipeline;
  const int from = p->queues[index].from, to = p->queues[index].to;
  queue->blocked = share(situation->window->stages[from].wait_out_s,
                         (double)mz_stage_threads(p, from, situation->plan) * wall_s[p->stages[from].step]);
  queue->starved = share(situation->window->stages[to].wait_in_s,
                         (double)mz_stage_threads(p, to, situation->plan) * wall_s[p->stages[to].step]);
}

static mz_pool_load *find_pool(mz_load *load, int knob) {
  for (int i = 0; i < load->pool_count; i++)
    if (load->pools[i].knob == knob) return &load->pools[i];
  return NULL;
}

void mz_load_read(mz_load *load, const mz_situation *situation, bool settled) {
  const mz_pipeline *p = situation->pipeline;
  MZ_ASSERT(situation->window->wall_s > 0 && situation->window->units > 0);
  *load = (mz_load){.cores = read_level(situation->cores, settled),
                    .capacity = fmin(mz_pipeline_cores(p), situation->bounds->cpu_max),
                    .memory = read_level(situation->memory, settled)};
  if (mz_usage_lacks(&situation->window->usage, MZ_SENSOR_RSS)) load->memory.value = NAN; /* seen once, but not now */
  read_steps(situation, load->step_s);
  for (int s = 0; s < p->stage_count; s++) {
    if (p->stages[s].threads < 0 || find_pool(load, p->stages[s].threads)) continue;
    read_pool(&load->pools[load->pool_count++], situation, s, load->step_s, settled);
  }
  for (int q = 0; q < p->queue_count; q++) {
    read_queue(&load->queues[q], situation, q, load->step_s);
    mz_pool_load *producer = find_pool(load, p->stages[p->queues[q].from].threads);
    if (producer) producer->missed = fmax(producer->missed, load->queues[q].starved);
  }
}
