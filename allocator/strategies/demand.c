/* demand: thresholds on forecast use (the adaptive-network article: monitor, forecast, add capacity above the high threshold,
 * remove below the low one, evaluate). What is compared: the 80 % quantile of the driving forecast where it is to be trusted and
 * the plan has been in force for as many windows as a forecast learns from, otherwise the last value.
 *
 *   a pool above `high`, or one above the middle whose consumer waits for it: one step up, while cores are free. Where they are
 *     not, a pool of the same device that is below `low` and needs less gives a step. Time that is spent waiting for room in the
 *     output asks for no threads: the consumer is the bottleneck.
 *   a pool below `low`: one step down, unless its consumer waits for it.
 *   a queue whose producer is blocked and whose consumer starves in the same window: work comes in bursts, capacity doubles.
 *   resident memory above `high` of what is granted: the knob that frees most goes one step down.
 *
 * Several pools above `high` are served by weight: the next step goes to the one with most weight per thread (highest averages,
 * D'Hondt), where weights follow the CPU seconds per unit of work that pools need (allocator/model/member_weights.h).
 *
 * It does not flap: a condition has to hold in two windows in a row; what has changed rests for two windows; a change of direction
 * within four needs a use halfway beyond the other threshold; and no step is taken that would put the pool beyond the other
 * threshold. One change at a time, so that evaluation, which is the allocator's trial, tells what it was worth.
 *
 * Search slots (knobs `batch`) are moved by memory only: no threshold of use says whether larger batches would pay. Knobs that
 * are not exact, and devices, stay where they are. */
#include "allocator/strategies/hysteresis.h"
#include "allocator/model/load.h"
#include "allocator/model/member_weights.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

static const double FULL = 0.95;   /* of the cores: with more in use, further threads would only share them */
static const double WAITING = 0.2; /* of a pool's time: waiting that counts */
enum { MOVES_MAX = 1 + 2 * MZ_STAGES_MAX + MZ_QUEUES_MAX };

/* State from one window to the next. */
typedef struct memory {
  mz_hysteresis hysteresis;
  int pressed;                       /* windows in a row that memory was short */
  double weights[MZ_PLAN_KNOBS_MAX]; /* of pools, by their knobs; 0: not known yet */
} memory;
_Static_assert(sizeof(memory) <= MZ_STRATEGY_MEMORY_MAX, "a strategy's memory is bounded");

/* A change that some threshold asks for. */
typedef struct move {
  mz_plan plan;
  const mz_level *level; /* that crossed the threshold */
  char why[120], change[96], why_not[sizeof((mz_candidate *)0)->why_not];
  const char *binding;
} move;

typedef struct deliberation {
  const mz_situation *situation;
  memory *memory;
  mz_load load;
  move moves[MOVES_MAX]; /* the most urgent first */
  int count;
} deliberation;

static int percent(double share) { return (int)lround(100 * share); }

__attribute__((format(printf, 2, 3))) static bool rule_out(move *m, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(m->why_not, sizeof m->why_not, format, arguments);
  va_end(arguments);
  return false;
}

/* ---- what is remembered ---- */

static bool asks_for_more(const mz_pool_load *pool, const mz_allocation_settings *a) {
  return pool->busy.value > a->high || (pool->missed > WAITING && pool->busy.value > (a->low + a->high) / 2);
}

static bool bursts(const mz_queue_load *queue) { return queue->blocked > WAITING && queue->starved > WAITING; }

static double memory_free(const deliberation *d) {
  return d->situation->settings->high * d->situation->bounds->memory_max - d->load.memory.value;
}

static void tally(int *windows, bool holds) { *windows = holds ? *windows + 1 : 0; }

static void count_windows(deliberation *d) {
  const mz_pipeline *p = d->situation->pipeline;
  const mz_allocation_settings *a = d->situation->settings;
  mz_hysteresis *h = &d->memory->hysteresis;
  for (int i = 0; i < d->load.pool_count; i++) {
    const mz_pool_load *pool = &d->load.pools[i];
    tally(&h->knobs[pool->knob].up, asks_for_more(pool, a));
    tally(&h->knobs[pool->knob].down, pool->busy.value < a->low);
  }
  for (int q = 0; q < p->queue_count; q++)
    if (p->queues[q].capacity >= 0) tally(&h->knobs[p->queues[q].capacity].up, bursts(&d->load.queues[q]));
  tally(&d->memory->pressed, memory_free(d) < 0);
}

static void weigh_pools(deliberation *d) {
  double weights[MZ_STAGES_MAX], needs[MZ_STAGES_MAX];
  const int pools = d->load.pool_count;
  if (pools == 0) return;
  mz_weights_init(weights, pools);
  for (int i = 0; i < pools; i++) {
    const double known = d->memory->weights[d->load.pools[i].knob];
    if (known > 0) weights[i] = known;
    needs[i] = d->load.pools[i].cpu_s;
  }
  mz_weights_update(weights, needs, pools);
  for (int i = 0; i < pools; i++) d->memory->weights[d->load.pools[i].knob] = weights[i];
}

/* ---- moves ---- */

static move *add_move(deliberation *d, const mz_level *level) {
  MZ_ASSERT(d->count < MOVES_MAX);
  move *m = &d->moves[d->count++];
  *m = (move){.plan = *d->situation->plan, .level = level, .binding = ""};
  return m;
}

static bool movable(const mz_situation *s, int knob) {
  return s->pipeline->knobs[knob].class_ == MZ_EXACT && s->pipeline->knobs[knob].scale == MZ_SCALE_LOG2;
}

/* The knob's value one step on; false: it is at the end of its range. */
static bool step(const mz_situation *s, mz_plan *plan, int knob, int direction) {
  const int64_t value = plan->values[knob];
  plan->values[knob] = mz_knob_step(&s->pipeline->knobs[knob], value, direction);
  return plan->values[knob] != value;
}

/* Held for long enough by windows in a row? Rested? clear: use is halfway beyond the threshold. */
static bool steady(const deliberation *d, move *m, int knob, int direction, int windows, bool clear) {
  if (windows < MZ_CONFIRMATIONS) return rule_out(m, "one window only");
  return mz_hysteresis_rested(&d->memory->hysteresis, knob, direction, clear, m->why_not, sizeof m->why_not);
}

static bool permitted(const deliberation *d, move *m) {
  const mz_situation *s = d->situation;
  const char *limit = mz_plan_refused(s->pipeline, s->bounds, &m->plan);
  if (limit) {
    m->binding = limit;
    return rule_out(m, "%s", limit);
  }
  if (s->tabu && s->tabu(s->tabu_context, &m->plan)) return rule_out(m, "undone lately");
  return true;
}

/* Where the resident memory is known, what the plan may need more has to fit below the threshold. */
static bool fits(const deliberation *d, move *m) {
  const mz_situation *s = d->situation;
  const double more = mz_plan_bytes(s->pipeline, &m->plan, NULL, 0) - mz_plan_bytes(s->pipeline, s->plan, NULL, 0);
  if (!(more > memory_free(d))) return true;
  m->binding = "limits.memory_max";
  return rule_out(m, "memory: %.0f MiB more, %.0f free", more / 0x1p20, fmax(0, memory_free(d)) / 0x1p20);
}

/* Cores that further threads of the pool could use: on its device while it works, and of what the run may use in all. */
static bool has_room(const deliberation *d, move *m, const mz_pool_load *pool) {
  const mz_device *device = &d->situation->pipeline->devices[pool->device];
  double used = d->load.cores.value, there = d->load.capacity;
  if (device->kind == MZ_DEVICE_CPU && !(used > FULL * there)) {
    used = pool->cores_used;
    there = fmin(device->cores, there);
  }
  if (!(used > FULL * there)) return true;
  m->binding = d->situation->settings->cpu_max > 0 ? "limits.cpu_max" : "cores";
  return rule_out(m, "cores are full: %.2f of %.4g in use", used, there);
}

/* Share of its threads' time that the pool would be busy with the plan's threads. */
static double busy_then(const move *m, const mz_pool_load *pool) {
  const int64_t threads = m->plan.values[pool->knob];
  return pool->busy.value * (double)pool->threads / (double)(threads > 1 ? threads : 1);
}

static double need(const deliberation *d, const mz_pool_load *pool) {
  return d->memory->weights[pool->knob] / (double)pool->threads;
}

static void describe_use(move *m, const mz_pool_load *pool, const char *sign, double threshold) {
  char how[48];
  mz_level_text(&pool->busy, how, sizeof how);
  snprintf(m->why, sizeof m->why, "%s: %d %% busy %s %s %d %%", pool->name, percent(pool->busy.value), how, sign,
           percent(threshold));
}

/* May the pool go one step down? m->plan is changed. */
static bool may_shrink(const deliberation *d, move *m, const mz_pool_load *pool) {
  const mz_allocation_settings *a = d->situation->settings;
  if (!step(d->situation, &m->plan, pool->knob, -1)) return rule_out(m, "knob range");
  const int windows = d->memory->hysteresis.knobs[pool->knob].down;
  if (!steady(d, m, pool->knob, -1, windows, pool->busy.value < a->low / 2)) return false;
  if (pool->missed > WAITING) return rule_out(m, "its consumer waits for it %d %% of the time", percent(pool->missed));
  return busy_then(m, pool) < a->high || rule_out(m, "would be %d %% busy", percent(busy_then(m, pool)));
}

/* No room for `pool`: the pool of its device that needs least and is below the low threshold gives a step. */
static bool take(const deliberation *d, move *m, const mz_pool_load *pool) {
  const mz_pool_load *giver = NULL;
  mz_plan plan = m->plan;
  for (int i = 0; i < d->load.pool_count; i++) {
    const mz_pool_load *other = &d->load.pools[i];
    move trade = {.plan = m->plan};
    if (other->device != pool->device || !movable(d->situation, other->knob)) continue;
    if (!(need(d, other) < need(d, giver ? giver : pool))) continue;
    if (!may_shrink(d, &trade, other) || !permitted(d, &trade)) continue;
    giver = other;
    plan = trade.plan;
  }
  if (!giver) return false;
  const size_t length = strlen(m->change);
  snprintf(m->change + length, sizeof m->change - length, ", %s %lld → %lld", giver->name, (long long)giver->threads,
           (long long)plan.values[giver->knob]);
  m->plan = plan;
  m->why_not[0] = '\0';
  m->binding = "";
  return true;
}

static void grow_pool(deliberation *d, const mz_pool_load *pool) {
  const mz_allocation_settings *a = d->situation->settings;
  move *m = add_move(d, &pool->busy);
  describe_use(m, pool, ">", pool->busy.value > a->high ? a->high : (a->low + a->high) / 2);
  if (pool->busy.value <= a->high) {
    const size_t length = strlen(m->why);
    snprintf(m->why + length, sizeof m->why - length, ", waited for %d %%", percent(pool->missed));
  }
  if (!step(d->situation, &m->plan, pool->knob, 1)) {
    m->binding = "knob range";
    rule_out(m, "%lld threads are the most", (long long)pool->threads);
    return;
  }
  snprintf(m->change, sizeof m->change, "%lld → %lld threads", (long long)pool->threads, (long long)m->plan.values[pool->knob]);
  const int windows = d->memory->hysteresis.knobs[pool->knob].up;
  if (!steady(d, m, pool->knob, 1, windows, pool->busy.value > (1 + a->high) / 2)) return;
  if (pool->blocked > WAITING)
    rule_out(m, "blocked by its output %d %% of the time", percent(pool->blocked));
  else if (busy_then(m, pool) < a->low)
    rule_out(m, "would be %d %% busy", percent(busy_then(m, pool)));
  else if (fits(d, m) && (!has_room(d, m, pool) || (!permitted(d, m) && m->binding[0] != '\0')))
    take(d, m, pool);
}

static void shrink_pool(deliberation *d, const mz_pool_load *pool) {
  move *m = add_move(d, &pool->busy);
  describe_use(m, pool, "<", d->situation->settings->low);
  if (!may_shrink(d, m, pool) || !permitted(d, m)) return;
  snprintf(m->change, sizeof m->change, "%lld → %lld threads", (long long)pool->threads, (long long)m->plan.values[pool->knob]);
}

/* sign 1: those that ask for more, most need first; -1: those below the low threshold that can shrink, least need first. */
static void move_pools(deliberation *d, int sign) {
  const mz_allocation_settings *a = d->situation->settings;
  const mz_pool_load *chosen[MZ_STAGES_MAX];
  int count = 0;
  for (int i = 0; i < d->load.pool_count; i++) {
    const mz_pool_load *pool = &d->load.pools[i];
    const bool below = pool->busy.value < a->low && pool->threads > d->situation->pipeline->knobs[pool->knob].min;
    if (!movable(d->situation, pool->knob) || !(sign > 0 ? asks_for_more(pool, a) : below)) continue;
    int at = count++;
    for (; at > 0 && sign * need(d, pool) > sign * need(d, chosen[at - 1]); at--) chosen[at] = chosen[at - 1];
    chosen[at] = pool;
  }
  for (int i = 0; i < count; i++) (sign > 0 ? grow_pool : shrink_pool)(d, chosen[i]);
}

static void grow_queue(deliberation *d, int queue) {
  const mz_pipeline_queue *q = &d->situation->pipeline->queues[queue];
  const mz_queue_load *load = &d->load.queues[queue];
  static const mz_level measured = {.model = MZ_FORECAST_LAST};
  move *m = add_move(d, &measured);
  snprintf(m->why, sizeof m->why, "queue %s: producer blocked %d %%, consumer starved %d %% of the time", q->name,
           percent(load->blocked), percent(load->starved));
  if (!step(d->situation, &m->plan, q->capacity, 1)) {
    m->binding = "knob range";
    rule_out(m, "a capacity of %lld is the most", (long long)m->plan.values[q->capacity]);
    return;
  }
  snprintf(m->change, sizeof m->change, "capacity %lld → %lld", (long long)d->situation->plan->values[q->capacity],
           (long long)m->plan.values[q->capacity]);
  const int windows = d->memory->hysteresis.knobs[q->capacity].up;
  if (steady(d, m, q->capacity, 1, windows, false) && fits(d, m)) permitted(d, m);
}

static void grow_queues(deliberation *d) {
  const mz_pipeline *p = d->situation->pipeline;
  for (int q = 0; q < p->queue_count; q++)
    if (p->queues[q].capacity >= 0 && movable(d->situation, p->queues[q].capacity) && bursts(&d->load.queues[q]))
      grow_queue(d, q);
}

/* Beyond the whole of what is granted nothing is waited for. */
static void free_memory(deliberation *d) {
  const mz_situation *s = d->situation;
  const double used = d->load.memory.value, granted = s->bounds->memory_max;
  if (!(memory_free(d) < 0)) return;
  move *m = add_move(d, &d->load.memory);
  char how[48];
  mz_level_text(&d->load.memory, how, sizeof how);
  snprintf(m->why, sizeof m->why, "memory: %.0f MiB %s > %d %% of %.0f MiB", used / 0x1p20, how, percent(s->settings->high),
           granted / 0x1p20);
  if (used <= granted && d->memory->pressed < MZ_CONFIRMATIONS) {
    rule_out(m, "one window only");
    return;
  }
  const double bytes = mz_plan_bytes(s->pipeline, s->plan, NULL, 0);
  double most = 0;
  int freed = -1;
  for (int k = 0; k < s->pipeline->knob_count; k++) {
    move trial = {.plan = *s->plan};
    if (!movable(s, k) || !step(s, &trial.plan, k, -1)) continue;
    const double gain = bytes - mz_plan_bytes(s->pipeline, &trial.plan, NULL, 0);
    if (!(gain > most) || !steady(d, &trial, k, -1, MZ_CONFIRMATIONS, true) || !permitted(d, &trial)) continue;
    most = gain;
    freed = k;
  }
  if (freed < 0) {
    rule_out(m, "no knob that may move frees any");
    return;
  }
  step(s, &m->plan, freed, -1);
  snprintf(m->change, sizeof m->change, "%s %lld → %lld frees %.0f MiB", mz_knob_shown(&s->pipeline->knobs[freed]),
           (long long)s->plan->values[freed], (long long)m->plan.values[freed], most / 0x1p20);
}

/* ---- the proposal ---- */

static void keep(const deliberation *d, mz_proposal *out) {
  const mz_allocation_settings *a = d->situation->settings;
  const mz_pool_load *busiest = NULL;
  for (int i = 0; i < d->load.pool_count; i++)
    if (!busiest || d->load.pools[i].busy.value > busiest->busy.value) busiest = &d->load.pools[i];
  out->predictor = mz_level_predictor(d->count > 0 ? d->moves[0].level : busiest ? &busiest->busy : &d->load.cores);
  if (d->count > 0) {
    snprintf(out->reason, sizeof out->reason, "keep: %s, but: %s", d->moves[0].why, d->moves[0].why_not);
    return;
  }
  char how[48] = "";
  if (busiest) mz_level_text(&busiest->busy, how, sizeof how);
  snprintf(out->reason, sizeof out->reason, "keep: nothing to add above %d %% or to remove below %d %%; busiest: %s, %.0f %% %s",
           percent(a->high), percent(a->low), busiest ? busiest->name : "no pool", busiest ? 100 * busiest->busy.value : 0, how);
}

static void add_candidate(const deliberation *d, const move *m, const char *why_not, mz_proposal *out) {
  if (out->candidate_count == MZ_CANDIDATES_MAX) return;
  mz_candidate *c = &out->candidates[out->candidate_count++];
  *c = (mz_candidate){.plan = m->plan, .prediction = mz_situation_predict(d->situation, &m->plan)};
  snprintf(c->why_not, sizeof c->why_not, "%s", why_not);
}

static void choose(const deliberation *d, mz_proposal *out) {
  const move *chosen = NULL;
  for (int i = 0; i < d->count && !chosen; i++) {
    if (d->moves[i].why_not[0] == '\0')
      chosen = &d->moves[i];
    else if (out->binding[0] == '\0')
      out->binding = d->moves[i].binding;
  }
  if (chosen) {
    out->change = out->demanded = true;
    out->plan = d->memory->hysteresis.proposal = chosen->plan;
    out->prediction = mz_situation_predict(d->situation, &chosen->plan);
    out->predictor = mz_level_predictor(chosen->level);
    snprintf(out->reason, sizeof out->reason, "%s: %s", chosen->why, chosen->change);
    add_candidate(d, chosen, "", out);
  } else {
    keep(d, out);
  }
  for (int i = 0; i < d->count; i++)
    if (&d->moves[i] != chosen)
      add_candidate(d, &d->moves[i], d->moves[i].why_not[0] ? d->moves[i].why_not : "one at a time", out);
}

static void propose(const mz_situation *situation, void *strategy_memory, mz_proposal *out) {
  *out = (mz_proposal){.plan = *situation->plan,
                       .predictor = "forecast (last value)",
                       .prediction = mz_situation_predict(situation, situation->plan),
                       .binding = ""};
  const mz_window *w = situation->window;
  if (!w || !(w->wall_s > 0) || !(w->units > 0)) {
    snprintf(out->reason, sizeof out->reason, "keep: no full unit of work has been seen");
    return;
  }
  deliberation d = {.situation = situation, .memory = strategy_memory};
  mz_hysteresis *h = &d.memory->hysteresis;
  if (mz_hysteresis_follow(h, situation->pipeline, situation->plan, w->number > 0 ? w->number : w->phase)) d.memory->pressed = 0;
  mz_load_read(&d.load, situation, mz_hysteresis_settled(h, situation->pipeline) >= MZ_FORECAST_VALUES_MIN);
  count_windows(&d);
  weigh_pools(&d);
  free_memory(&d);
  move_pools(&d, 1);
  grow_queues(&d);
  move_pools(&d, -1);
  choose(&d, out);
}

const mz_strategy mz_strategy_demand = {
    .name = "demand",
    .summary = "adds threads above a high threshold of forecast use, removes them below a low one",
    .source = "adaptive-network article",
    .memory_bytes = sizeof(memory),
    .propose = propose,
};
