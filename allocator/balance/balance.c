#include "allocator/balance/balance_parts.h"
#include <math.h>

static const double PRICES[MZ_RESOURCES] = {1, 0.1, 20}; /* of a core, a GiB, a GPU for an hour, where the settings have none */

static const double NEARLY = 0.75;

/* ---- who waited for whom ---- */

static bool is_known(const mz_stage_sample *s) {
  return isfinite(s->busy_s) && isfinite(s->cpu_s) && isfinite(s->wait_in_s) && isfinite(s->wait_out_s) && isfinite(s->elapsed_s);
}

static bool stages_known(const mz_situation *situation) {
  const mz_window *w = situation->window;
  if (!w || !(w->wall_s > 0) || !(w->units > 0) || !isfinite(w->wall_s)) return false;
  for (int s = 0; s < situation->pipeline->stage_count; s++)
    if (!situation->pipeline->stages[s].apart && !is_known(&w->stages[s])) return false;
  return true;
}

/* Wall time until a stage had ended: its threads wait only while it is at work. */
static double end_s(const mz_situation *situation, int stage) {
  const mz_stage_sample *s = &situation->window->stages[stage];
  const double threads = (double)mz_stage_threads(situation->pipeline, stage, situation->plan);
  return fmax(s->elapsed_s, (s->busy_s + s->wait_in_s + s->wait_out_s) / threads);
}

/* The share of a stage's time in which it did not wait itself. Threads that wait for each other are at work. */
static double work_share(const mz_situation *situation, int stage) {
  const mz_stage_sample *s = &situation->window->stages[stage];
  const double time_s = (double)mz_stage_threads(situation->pipeline, stage, situation->plan) * end_s(situation, stage);
  return time_s > 0 ? fmin(fmax(1 - (s->wait_in_s + s->wait_out_s) / time_s, 0), 1) : 0;
}

/* Both ends of a queue wait in one window where it is too short for work that comes in bursts. */
static double both_wait(const mz_queue_load *queue) { return fmin(queue->starved, queue->blocked); }

static void wait_for(mz_balance *b, int stage, double share) { b->waited_for[stage] = fmax(b->waited_for[stage], share); }

static bool joins(const mz_pipeline *p, int queue) {
  const mz_pipeline_stage *from = &p->stages[p->queues[queue].from], *to = &p->stages[p->queues[queue].to];
  return from->step == to->step && !from->apart && !to->apart;
}

static void wait_at_queues(mz_balance *b, const mz_situation *situation) {
  const mz_pipeline *p = situation->pipeline;
  for (int q = 0; q < p->queue_count; q++) {
    const mz_queue_load *queue = &b->load.queues[q];
    const int from = p->queues[q].from, to = p->queues[q].to;
    if (!joins(p, q)) continue;
    wait_for(b, from, (queue->starved - both_wait(queue)) * work_share(situation, from));
    wait_for(b, to, (queue->blocked - both_wait(queue)) * work_share(situation, to));
  }
}

/* Stages that queues join have one number. */
static void find_chains(const mz_pipeline *p, int chain[MZ_STAGES_MAX]) {
  for (int s = 0; s < p->stage_count; s++) chain[s] = s;
  for (int q = 0; q < p->queue_count; q++) {
    const int gone = chain[p->queues[q].to], stays = chain[p->queues[q].from];
    for (int s = 0; s < p->stage_count && joins(p, q); s++)
      if (chain[s] == gone) chain[s] = stays;
  }
}

/* Others wait for the chain that ends last: for its stage that worked longest and those that worked nearly as long, since which of them
 * is first may change from window to window. */
static void wait_at_step(mz_balance *b, const mz_situation *situation, const int chain[MZ_STAGES_MAX], int step) {
  const mz_pipeline *p = situation->pipeline;
  double last_s = 0, other_s = 0, longest = 0;
  int last = -1;
  for (int s = 0; s < p->stage_count; s++) {
    if (p->stages[s].step != step || p->stages[s].apart || !(end_s(situation, s) > last_s)) continue;
    last = chain[s];
    last_s = end_s(situation, s);
  }
  for (int s = 0; s < p->stage_count; s++) {
    if (p->stages[s].step != step || p->stages[s].apart) continue;
    if (chain[s] == last)
      longest = fmax(longest, b->worked[s]);
    else
      other_s = fmax(other_s, end_s(situation, s));
  }
  for (int s = 0; s < p->stage_count && other_s > 0; s++)
    if (chain[s] == last && b->worked[s] >= NEARLY * longest) wait_for(b, s, (1 - other_s / last_s) * work_share(situation, s));
}

static void read_waits(mz_balance *b, const mz_situation *situation) {
  int chain[MZ_STAGES_MAX];
  find_chains(situation->pipeline, chain);
  for (int s = 0; s < situation->pipeline->stage_count; s++)
    b->worked[s] = work_share(situation, s) * fmin(1, end_s(situation, s) / b->load.step_s[situation->pipeline->stages[s].step]);
  wait_at_queues(b, situation);
  for (int step = 0; step < MZ_STAGES_MAX; step++) wait_at_step(b, situation, chain, step);
}

/* ---- one resource ---- */

static mz_resource_balance unknown(const char *why) {
  return (mz_resource_balance){
      .allocated = NAN, .used = NAN, .waited = NAN, .needed = NAN, .beta = NAN, .culprit = -1, .unknown = why};
}

/* The largest of the shares that r's own stages (or queues) are waited for. */
static void blame(mz_resource_balance *r, int culprit, double share) {
  if (!(share > r->waited)) return;
  r->waited = share;
  r->culprit = culprit;
}

/* Threads beside the plan's use cores now and then: they are no reason for more. The share is of the cores of the window's end, which may
 * have been others, so the mean, which is of none, bounds it from below. */
static mz_resource_balance read_cpu(const mz_balance *b, const mz_situation *situation, double allocated) {
  const mz_pipeline *p = situation->pipeline;
  const mz_usage *usage = &situation->window->usage;
  const double mean = usage->cpu_s / usage->wall_s;
  if (mz_usage_lacks(usage, MZ_SENSOR_CPU) || !isfinite(usage->core_share_p95) || !isfinite(mean)) return unknown("not measured");
  const double cores = fmax(usage->core_share_p95 * situation->bounds->cpu_max, mean);
  mz_resource_balance r = {.allocated = allocated, .used = fmin(cores / allocated, 1), .culprit = -1};
  const mz_resource_balance *gpu = &b->resources[MZ_RESOURCE_GPU];
  for (int s = 0; s < p->stage_count; s++) {
    const bool on_gpu = p->devices[mz_stage_device(p, s, situation->plan)].kind == MZ_DEVICE_CUDA;
    const double part = !on_gpu ? 1 : isfinite(gpu->beta) ? 1 - fmin(gpu->used, 1) : 0;
    if (mz_balance_room(&b->load, situation, s) > 0) blame(&r, s, part * b->waited_for[s]);
  }
  return r;
}

static mz_resource_balance read_memory(const mz_balance *b, const mz_situation *situation, double allocated) {
  const mz_pipeline *p = situation->pipeline;
  const mz_usage *usage = &situation->window->usage;
  if (!(allocated > 0)) return unknown("not in use");
  if (mz_usage_lacks(usage, MZ_SENSOR_RSS) || !isfinite(usage->rss_peak_bytes)) return unknown("not measured");
  mz_resource_balance r = {.allocated = allocated, .used = usage->rss_peak_bytes / allocated, .culprit = -1};
  for (int q = 0; q < p->queue_count && allocated < situation->bounds->memory_max; q++) {
    const int k = p->queues[q].capacity;
    if (mz_balance_movable(p, k) && situation->plan->values[k] < p->knobs[k].max) blame(&r, q, both_wait(&b->load.queues[q]));
  }
  return r;
}

static bool has_gpu(const mz_situation *situation) {
  for (int d = 0; d < situation->pipeline->device_count; d++)
    if (situation->pipeline->devices[d].kind == MZ_DEVICE_CUDA) return situation->bounds->gpu_max > 0;
  return false;
}

static mz_resource_balance read_gpu(const mz_balance *b, const mz_situation *situation, double allocated) {
  const mz_pipeline *p = situation->pipeline;
  const mz_usage *usage = &situation->window->usage;
  if (!(allocated > 0)) return unknown("not in use");
  if (mz_usage_lacks(usage, MZ_SENSOR_GPU) || !isfinite(usage->gpu_busy)) return unknown("not measured");
  const double devices = mz_plan_gpus(p, situation->plan); /* the share is of whole devices */
  mz_resource_balance r = {.allocated = allocated, .used = fmin(usage->gpu_busy * devices / allocated, 1), .culprit = -1};
  for (int s = 0; s < p->stage_count; s++) {
    int device;
    if (p->devices[mz_stage_device(p, s, situation->plan)].kind != MZ_DEVICE_CUDA) continue;
    if (allocated < fmin(1, situation->bounds->gpu_max) || mz_balance_gpu_knob(situation, s, &device) >= 0)
      blame(&r, s, fmin(r.used, 1) * b->waited_for[s]);
  }
  return r;
}

static void finish(mz_resource_balance *r) {
  if (r->unknown) return;
  const double of_it = fmax(r->used + r->waited, 1 / MZ_BALANCE_MAX);
  r->unknown = "";
  r->beta = 1 / of_it;
  r->needed = r->allocated * of_it;
}

/* ---- all ---- */

static double price(const mz_allocation_settings *settings, mz_resource resource) {
  const double prices[MZ_RESOURCES] = {settings->core_hour, settings->gib_hour, settings->gpu_hour};
  const bool free = settings->core_hour == 0 && settings->gib_hour == 0 && settings->gpu_hour == 0;
  return (free ? PRICES : prices)[resource] / (resource == MZ_RESOURCE_MEMORY ? 0x1p30 : 1);
}

static mz_assignment reserved(const mz_situation *situation) {
  const mz_pipeline *p = situation->pipeline;
  return (mz_assignment){.cpu = mz_plan_cores(p, situation->plan),
                         .memory = fmax(mz_plan_bytes(p, situation->plan, NULL, 0), situation->bounds->memory_min),
                         .gpu = mz_plan_gpus(p, situation->plan)};
}

void mz_balance_read(mz_balance *out, const mz_situation *situation, const mz_assignment *assigned) {
  const mz_assignment a = assigned ? *assigned : reserved(situation);
  mz_resource_balance *r = out->resources;
  double money = 0, needed = 0;
  *out = (mz_balance){.beta = NAN};
  for (int i = 0; i < MZ_RESOURCES; i++) r[i] = unknown("not measured");
  if (!has_gpu(situation)) r[MZ_RESOURCE_GPU] = unknown("none");
  if (!stages_known(situation)) return;
  mz_load_read(&out->load, situation, false);
  read_waits(out, situation);
  if (has_gpu(situation)) r[MZ_RESOURCE_GPU] = read_gpu(out, situation, a.gpu);
  finish(&r[MZ_RESOURCE_GPU]); /* stages on it wait for cores as far as it was idle */
  r[MZ_RESOURCE_CPU] = read_cpu(out, situation, a.cpu);
  r[MZ_RESOURCE_MEMORY] = read_memory(out, situation, a.memory);
  finish(&r[MZ_RESOURCE_CPU]);
  finish(&r[MZ_RESOURCE_MEMORY]);
  for (mz_resource i = 0; i < MZ_RESOURCES; i++) {
    if (!isfinite(r[i].beta)) continue;
    money += price(situation->settings, i) * r[i].allocated;
    needed += price(situation->settings, i) * r[i].needed;
  }
  if (needed > 0) out->beta = money / needed;
}

/* ---- words ---- */

void mz_balance_text(const mz_balance *b, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "beta %.2f", b->beta);
  if (isnan(b->beta)) used = (size_t)snprintf(out, size, "beta unknown");
  for (mz_resource i = 0; i < MZ_RESOURCES && used < size; i++) {
    const mz_resource_balance *r = &b->resources[i];
    const char *name = mz_resource_name(i), *gap = i == 0 ? ": " : ", ";
    if (isfinite(r->beta))
      used +=
          (size_t)snprintf(out + used, size - used, "%s%s %.2f (used %.2f, waited %.2f)", gap, name, r->beta, r->used, r->waited);
    else
      used += (size_t)snprintf(out + used, size - used, "%s%s %s", gap, name, r->unknown);
  }
}
