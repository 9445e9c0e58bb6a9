#include "allocator/balance/balance_moves.h"
#include "allocator/balance/balance_parts.h"
#include <math.h>
#include <stdarg.h>

static const double MOST = 0.25;      /* of what is allocated, in one step */
static const double AIM = 0.9;        /* u + s that less is aimed at: the middle of what counts as balanced */
static const double POOL_BUSY = 0.85; /* a pool that gives threads is no busier afterwards */
static const double EIGHTH = 1.0 / 8; /* of a GPU */

static const double MOST_WAITED = 0.9;
static const double ALL_OF_IT = 1 + 1e-9; /* of a step */

enum { TURNS_MAX = 3 };

typedef struct search {
  const mz_balance *balance;
  const mz_situation *situation;
  const mz_balance_memory *memory;
  const mz_resource_balance *resource;
  mz_balance_move *move;
} search;

__attribute__((format(printf, 2, 3))) static void rule_out(mz_balance_move *m, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(m->why_not, sizeof m->why_not, format, arguments);
  va_end(arguments);
}

static int64_t quarter(int64_t amount) { return amount / 4 > 1 ? amount / 4 : 1; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static bool rested(const search *s, int knob, int direction) {
  const mz_hysteresis *h = &s->memory->hysteresis;
  const int turns = s->memory->turns[knob] < TURNS_MAX ? s->memory->turns[knob] : TURNS_MAX;
  char why_not[64];
  if (!mz_hysteresis_rested(h, knob, direction, false, why_not, sizeof why_not)) return false;
  return turns == 0 || h->knobs[knob].direction != -direction ||
         h->window - h->knobs[knob].changed >= (int64_t)MZ_REVERSE_WINDOWS << (2 * turns);
}

/* ---- fewer threads ---- */

static bool works_in(const mz_pipeline *p, int knob, int step) {
  for (int i = 0; i < p->stage_count; i++)
    if (p->stages[i].threads == knob && p->stages[i].step == step) return true;
  return false;
}

/* Taking a thread from the pool makes the largest step smaller. */
static bool is_in_largest(const mz_pipeline *p, const mz_plan *plan, int knob) {
  const int64_t most = mz_balance_threads(p, plan);
  for (int step = 0; step < MZ_STAGES_MAX; step++)
    if (mz_balance_step_threads(p, plan, step, -1) == most && works_in(p, knob, step)) return true;
  return false;
}

static bool is_waited_for(const search *s, int knob) {
  const mz_pipeline *p = s->situation->pipeline;
  for (int i = 0; i < p->stage_count; i++)
    if (p->stages[i].threads == knob && s->balance->waited_for[i] > MZ_BALANCE_WAITING) return true;
  return false;
}

/* How many times as long the busiest of so many threads takes as that of the present ones: tasks are not divided. */
static double slower(const search *s, int stage, int64_t present, int64_t threads) {
  const mz_pipeline_stage *p = &s->situation->pipeline->stages[stage];
  if (p->groups == 0) return (double)present / (double)threads;
  const double tasks = ceil(p->groups / (double)mz_stage_batch(s->situation->pipeline, stage, s->situation->plan));
  return ceil(tasks / (double)threads) / ceil(tasks / (double)present);
}

/* Returns whether the pool's stages still end within their steps with so many threads. */
static bool has_time(const search *s, const mz_pool_load *pool, int64_t threads) {
  const mz_pipeline *p = s->situation->pipeline;
  for (int i = 0; i < p->stage_count; i++)
    if (p->stages[i].threads == pool->knob && !p->stages[i].apart &&
        s->balance->worked[i] * slower(s, i, pool->threads, threads) > ALL_OF_IT)
      return false;
  return true;
}

/* The pool with most idle threads of those that may give one; NULL: there is none. */
static const mz_pool_load *find_giver(const search *s) {
  const mz_pipeline *p = s->situation->pipeline;
  const mz_plan *plan = &s->move->plan;
  const mz_pool_load *giver = NULL;
  double most = 0;
  for (int i = 0; i < s->balance->load.pool_count; i++) {
    const mz_pool_load *pool = &s->balance->load.pools[i];
    const int64_t threads = plan->values[pool->knob];
    const double busy = pool->busy.value * (double)pool->threads, idle = (double)threads - busy;
    if (!mz_balance_movable(p, pool->knob) || threads <= 1 || threads <= p->knobs[pool->knob].min) continue;
    if (!(busy <= POOL_BUSY * (double)(threads - 1)) || !(idle > most)) continue;
    if (!has_time(s, pool, threads - 1)) continue;
    if (!is_in_largest(p, plan, pool->knob) || is_waited_for(s, pool->knob) || !rested(s, pool->knob, -1)) continue;
    giver = pool;
    most = idle;
  }
  return giver;
}

/* Threads beyond the cores share them: they count as what is allocated, too. */
static void fewer_cores(search *s) {
  const mz_pipeline *p = s->situation->pipeline;
  mz_balance_move *m = s->move;
  const int64_t before = mz_balance_threads(p, &m->plan), enough = (int64_t)ceil(s->resource->needed / AIM - 1e-9);
  const int64_t target = before - smaller(quarter(before), before - enough);
  if (target >= before) {
    rule_out(m, "needs %.2g of %lld", s->resource->needed, (long long)before);
    return;
  }
  const mz_pool_load *giver = find_giver(s);
  if (!giver) rule_out(m, "no pool has a thread to spare");
  for (; giver && mz_balance_threads(p, &m->plan) > target; giver = find_giver(s)) m->plan.values[giver->knob]--;
  m->to = mz_plan_cores(p, &m->plan);
}

/* ---- more threads ---- */

static void more_cores(search *s) {
  const mz_pipeline *p = s->situation->pipeline;
  mz_balance_move *m = s->move;
  const int stage = s->resource->culprit;
  if (stage < 0) {
    rule_out(m, "no stage that could use more is waited for");
    return;
  }
  const int knob = p->stages[stage].threads;
  /* Whoever waits a share s of the time would be served by 1 / (1 − s) times as many. */
  const double waited = fmin(s->resource->waited, MOST_WAITED),
               threads_now = (double)mz_stage_threads(p, stage, s->situation->plan);
  const double lack = fmin(s->resource->needed - s->resource->allocated, threads_now * waited / (1 - waited));
  int64_t threads = smaller(quarter((int64_t)s->resource->allocated), lack > 1 ? (int64_t)ceil(lack) : 1);
  threads = smaller(threads, mz_balance_room(&s->balance->load, s->situation, stage));
  if (!rested(s, knob, 1)) rule_out(m, "%s has gone down lately", p->stages[stage].name);
  m->plan.values[knob] += threads;
  m->to = mz_plan_cores(p, &m->plan);
}

/* ---- memory ---- */

/* Places that a queue may lose, so that no less than `bytes` is allocated. */
static int64_t spare_places(const search *s, int queue, double bytes) {
  const mz_pipeline_queue *q = &s->situation->pipeline->queues[queue];
  const mz_queue_load *load = &s->balance->load.queues[queue];
  if (!mz_balance_movable(s->situation->pipeline, q->capacity) || !(q->bytes > 0)) return 0;
  const int64_t places = s->move->plan.values[q->capacity], min = s->situation->pipeline->knobs[q->capacity].min;
  const int64_t spare = smaller(quarter(places), places - (min > 1 ? min : 1));
  if (fmin(load->starved, load->blocked) > MZ_BALANCE_WAITING || !rested(s, q->capacity, -1)) return 0;
  return smaller(spare, (int64_t)floor(fmin((s->resource->allocated - bytes) / q->bytes, (double)spare)));
}

/* Only places of queues are taken: whether fewer slots of a search would do, no measure of memory says. The live set stays. */
static void less_memory(search *s) {
  const mz_pipeline *p = s->situation->pipeline;
  mz_balance_move *m = s->move;
  const double resident = s->resource->used * s->resource->allocated;
  const double least = fmax(fmax((1 - MOST) * s->resource->allocated, MZ_RESIDENT_ROOM * resident),
                            fmax(s->resource->needed / AIM, s->situation->bounds->memory_min));
  double most = 0;
  int queue = -1;
  for (int q = 0; q < p->queue_count; q++) {
    const double bytes = (double)spare_places(s, q, least) * p->queues[q].bytes;
    if (!(bytes > most)) continue;
    most = bytes;
    queue = q;
  }
  if (queue < 0) {
    rule_out(m, "no queue has places to spare");
    return;
  }
  m->plan.values[p->queues[queue].capacity] -= spare_places(s, queue, least);
  m->to = fmax(mz_plan_bytes(p, &m->plan, NULL, 0), s->situation->bounds->memory_min);
}

static void more_memory(search *s) {
  const mz_pipeline *p = s->situation->pipeline;
  mz_balance_move *m = s->move;
  if (s->resource->culprit < 0) {
    rule_out(m, "no queue is too short");
    return;
  }
  const mz_pipeline_queue *q = &p->queues[s->resource->culprit];
  const int64_t places = m->plan.values[q->capacity];
  const double left = (s->situation->bounds->memory_max - mz_plan_bytes(p, &m->plan, NULL, 0)) / q->bytes;
  int64_t more = smaller(quarter(places), p->knobs[q->capacity].max - places);
  if (left >= 1 && left < (double)more) more = (int64_t)left; /* less than one: the limit says so */
  if (!rested(s, q->capacity, 1)) rule_out(m, "%s has become shorter lately", q->name);
  m->plan.values[q->capacity] += more;
  m->to = fmax(mz_plan_bytes(p, &m->plan, NULL, 0), s->situation->bounds->memory_min);
}

/* ---- GPUs ---- */

static double eighths(double gpus) { return ceil(gpus / EIGHTH - 1e-9) * EIGHTH; }

/* Up to one GPU a share of it, which no knob of the plan has; beyond whole ones. */
static void fewer_gpus(search *s) {
  mz_balance_move *m = s->move;
  const double before = s->resource->allocated, needed = s->resource->needed / AIM;
  const double least = fmax(s->situation->bounds->gpu_min, EIGHTH);
  m->to = before > 1 ? fmax(before - (double)quarter((int64_t)before), ceil(needed - 1e-9))
                     : fmax(before - fmax(floor(MOST * before / EIGHTH) * EIGHTH, EIGHTH), eighths(needed));
  m->to = fmax(m->to, least);
  if (!(m->to < before)) {
    rule_out(m, "needs %.2g of %g", s->resource->needed, before);
    return;
  }
  const mz_assignment fewer = {.cpu = INFINITY, .memory = INFINITY, .gpu = m->to};
  if (!mz_assign_follow(s->situation->pipeline, &fewer, &m->plan)) rule_out(m, "no stage may leave one");
}

static void more_gpus(search *s) {
  mz_balance_move *m = s->move;
  const double before = s->resource->allocated, most = fmin(1, s->situation->bounds->gpu_max);
  int device, knob = s->resource->culprit < 0 ? -1 : mz_balance_gpu_knob(s->situation, s->resource->culprit, &device);
  if (s->resource->culprit < 0) {
    rule_out(m, "no stage that could use more is waited for");
  } else if (before < most) {
    m->to = fmin(before + fmax(floor(MOST * before / EIGHTH) * EIGHTH, EIGHTH), most);
  } else if (knob < 0 || !rested(s, knob, 1) || !rested(s, knob, -1)) {
    rule_out(m, "no stage may move to another one");
  } else {
    m->plan.values[knob] = device;
    m->to = before + 1;
  }
}

/* ---- all ---- */

/* Rules out a plan that breaks a limit, does not fit what is free, or was undone lately. */
static void check(search *s) {
  const mz_situation *a = s->situation;
  const mz_usage *usage = &a->window->usage;
  mz_balance_move *m = s->move;
  const char *limit = mz_plan_refused(a->pipeline, a->bounds, &m->plan);
  const double more = mz_plan_bytes(a->pipeline, &m->plan, NULL, 0) - mz_plan_bytes(a->pipeline, a->plan, NULL, 0);
  const bool known = !mz_usage_lacks(usage, MZ_SENSOR_MEMORY) && isfinite(usage->available_bytes);
  if (m->why_not[0] != '\0') return;
  if (limit)
    rule_out(m, "%s", limit);
  else if (known && more > 0 && more > MZ_FREE_SHARE * usage->available_bytes)
    rule_out(m, "%.0f MiB more, %.0f free", more / 0x1p20, usage->available_bytes / 0x1p20);
  else if (a->tabu && a->tabu(a->tabu_context, &m->plan))
    rule_out(m, "undone lately");
}

void mz_balance_find_move(const mz_balance *balance, const mz_situation *situation, const mz_balance_memory *memory,
                          mz_resource resource, int direction, mz_balance_move *out) {
  static void (*const find[MZ_RESOURCES][2])(search *) = {[MZ_RESOURCE_CPU] = {fewer_cores, more_cores},
                                                          [MZ_RESOURCE_MEMORY] = {less_memory, more_memory},
                                                          [MZ_RESOURCE_GPU] = {fewer_gpus, more_gpus}};
  search s = {balance, situation, memory, &balance->resources[resource], out};
  *out = (mz_balance_move){.plan = *situation->plan, .to = s.resource->allocated};
  find[resource][direction > 0](&s);
  check(&s);
}
