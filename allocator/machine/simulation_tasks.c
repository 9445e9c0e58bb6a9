/* Who does what next, and how long it takes. */
#include "allocator/machine/simulation_state.h"
#include "base/maths/streams.h"
#include <math.h>

static const double MICROSECOND = 1e-6, KIB = 1024, GB = 1e9;

/* ---- how much work a task is ---- */

typedef struct work {
  double cpu_s, gpu_s;
} work;

static const mz_sim_truth *truth_of(const mz_sim_step *u, int s) { return &u->simulation->stages[s]; }

static double groups_of(const mz_pipeline_stage *p) { return p->groups > 0 ? p->groups : p->items; }

/* Items or groups in a pool's task; 1 for an item in lockstep. */
static double task_size(const mz_sim_step *u, int s, int task) {
  if (truth_of(u, s)->lockstep) return 1;
  const double batch = (double)mz_stage_batch(u->pipeline, s, u->plan);
  return fmin(batch, groups_of(&u->pipeline->stages[s]) - task * batch);
}

/* Self-play is what works by itself: a pool that no queue joins to another. */
static double drift_of(const mz_sim_step *u, int s) {
  const mz_simulation *simulation = u->simulation;
  const bool alone = u->stages[s].in < 0 && u->stages[s].out < 0 && !truth_of(u, s)->lockstep && u->pipeline->stages[s].step == 0;
  return alone && simulation->units > 0 ? mz_sim_drift(simulation->machine.drift, (double)u->unit / simulation->units) : 1;
}

/* `calls` of `size` items each; part: the share of them that this piece of work is. */
static work work_of(const mz_sim_step *u, int s, double calls, double size, double part) {
  const mz_sim_truth *truth = truth_of(u, s);
  const mz_sim_stage *stage = &u->stages[s];
  const mz_sim_machine *m = &u->simulation->machine;
  const double drift = drift_of(u, s), item_s = truth->item_s * drift;
  if (!stage->on_gpu && truth->costs > 0) return (work){part * calls * size * mz_sim_truth_item_s(truth, size) * drift, 0};
  if (!stage->on_gpu) return (work){part * calls * (truth->fixed_s + size * item_s * stage->cache), 0};
  const mz_sim_gpu gpu = {.latency_s = m->gpu_latency * MICROSECOND,
                          .speed = m->gpu_speed,
                          .full = truth->lockstep ? 0 : m->gpu_full, /* an update's rows fill it */
                          .link = m->gpu_link * GB,
                          .bytes = m->gpu_bytes * KIB};
  return (work){part * calls * (truth->fixed_s + (1 - m->gpu_share) * size * item_s),
                calls * mz_sim_gpu_call_s(&gpu, size, part * m->gpu_share * item_s)};
}

static work pool_work(const mz_sim_step *u, int s, int task) {
  const mz_pipeline_stage *p = &u->pipeline->stages[s];
  return work_of(u, s, p->items / groups_of(p), task_size(u, s, task), 1);
}

static work item_work(const mz_sim_step *u, int s, double part) {
  return work_of(u, s, u->pipeline->stages[s].items / u->stages[s].tasks, 1, part);
}

/* A factor of mean 1: items vary independently, so a task of many varies less. */
static double vary(const mz_sim_step *u, int s, int task) {
  const mz_simulation *simulation = u->simulation;
  const double size = task_size(u, s, task);
  double factor = u->cost;
  if (simulation->erlang > 0) {
    mz_rng rng = mz_stream_simulated(simulation->seed, MZ_SIMULATED_ITEMS, u->unit, s, task);
    const int draws = simulation->erlang * (int)ceil(size);
    double sum = 0;
    for (int i = 0; i < draws; i++) sum -= log(1 - mz_rng_f64(&rng));
    factor *= sum / draws;
  }
  if (simulation->machine.spread > 0) {
    mz_rng rng = mz_stream_simulated(simulation->seed, MZ_SIMULATED_SPREAD, u->unit, s, task);
    factor *= mz_sim_spread(simulation->machine.spread, size, &rng);
  }
  return factor;
}

/* What happens to one task, or to one thread's part of an item. */
static double disturb(const mz_sim_step *u, int s, int task, double straggler) {
  const mz_sim_machine *m = &u->simulation->machine;
  if (straggler == 0 && m->tail == 0) return 1;
  mz_rng rng = mz_stream_simulated(u->simulation->seed, MZ_SIMULATED_TASK, u->unit, s, task);
  return mz_sim_tail(m->tail, m->tail_shape, &rng) * mz_sim_spread(straggler, 1, &rng);
}

/* ---- queues ---- */

bool mz_sim_queue_runs(const mz_sim_step *u, int queue) {
  const mz_pipeline_stage *from = &u->pipeline->stages[u->pipeline->queues[queue].from];
  const mz_pipeline_stage *to = &u->pipeline->stages[u->pipeline->queues[queue].to];
  return from->step == u->step && to->step == u->step && !from->apart && !to->apart;
}

int mz_sim_tokens_through(const mz_sim_step *u, int queue, int s, int task) {
  return (int)ceil((task + 1.0) * u->queues[queue].tokens / u->stages[s].tasks - 1e-9);
}

/* In order: every task up to the one that brings the last token. */
static bool input_ready(const mz_sim_step *u, int s, int task) {
  const int q = u->stages[s].in;
  if (q < 0) return true;
  const int from = u->pipeline->queues[q].from, there = u->queues[q].in_order;
  return there > 0 && mz_sim_tokens_through(u, q, from, there - 1) >= mz_sim_tokens_through(u, q, s, task);
}

static bool output_room(const mz_sim_step *u, int s, int task) {
  const int q = u->stages[s].out;
  return q < 0 || mz_sim_tokens_through(u, q, s, task) <= u->queues[q].released + u->queues[q].capacity;
}

static void end_task(mz_sim_step *u, int s, int task) {
  mz_sim_stage *stage = &u->stages[s];
  stage->ended++;
  if (stage->in >= 0) {
    u->queues[stage->in].released = mz_sim_tokens_through(u, stage->in, s, stage->ended - 1);
    u->stages[u->pipeline->queues[stage->in].from].stirred = true;
  }
  if (stage->out >= 0) {
    mz_sim_queue *queue = &u->queues[stage->out];
    const int to = u->pipeline->queues[stage->out].to, tasks = stage->tasks;
    queue->published[task] = true;
    while (queue->in_order < tasks && queue->published[queue->in_order]) queue->in_order++;
    u->stages[to].stirred = true;
  }
}

/* ---- threads ---- */

void mz_sim_begin_stage(mz_sim_step *u, int s) {
  const mz_pipeline_stage *p = &u->pipeline->stages[s];
  mz_sim_stage *stage = &u->stages[s];
  *stage = (mz_sim_stage){
      .runs = true, .stirred = true, .threads = (int)mz_stage_threads(u->pipeline, s, u->plan), .in = -1, .out = -1};
  for (int q = 0; q < u->pipeline->queue_count; q++) {
    if (!mz_sim_queue_runs(u, q)) continue;
    if (u->pipeline->queues[q].from == s) stage->out = q;
    if (u->pipeline->queues[q].to == s) stage->in = q;
  }
  const int queue = stage->in >= 0 ? stage->in : stage->out;
  if (truth_of(u, s)->lockstep)
    stage->tasks = (int)ceil(queue >= 0 ? u->pipeline->queues[queue].items : p->items);
  else
    stage->tasks = (int)ceil(groups_of(p) / (double)mz_stage_batch(u->pipeline, s, u->plan));
  stage->parts = 1 + (p->groups > 0 ? (int)p->groups : stage->threads);
  stage->states[MZ_SIM_IDLE] = stage->threads;
}

static void enter(mz_sim_step *u, mz_sim_thread *t, mz_sim_state state) {
  int *states = u->stages[t->stage].states;
  states[t->state]--;
  states[state]++;
  t->state = state;
  if (state != MZ_SIM_WORKS) t->rests = true;
}

/* A thread that is woken where every core was busy takes the place of the one that ended, or of one that gives way; a core that slept
 * has to wake, too. */
static void start(mz_sim_step *u, mz_sim_thread *t, work w) {
  const int device = u->stages[t->stage].lanes[t->lane].device;
  const bool wakes = t->rests && u->sleeps[device][t->lane];
  const double wake_s = wakes ? u->simulation->machine.wake * MICROSECOND : 0;
  enter(u, t, MZ_SIM_WORKS);
  t->rests = false;
  t->gpu_s = w.gpu_s;
  mz_sim_lane_push(u, &u->stages[t->stage].lanes[t->lane], (int)(t - u->threads), w.cpu_s + wake_s);
}

static work scaled(work w, double factor) { return (work){w.cpu_s * factor, w.gpu_s * factor}; }

static void begin_serial_part(mz_sim_step *u, mz_sim_thread *t, double serial) {
  work sum = {0};
  for (int i = 0; i < u->stages[t->stage].tasks; i++) {
    const work w = pool_work(u, t->stage, i);
    sum.cpu_s += serial * w.cpu_s * u->cost, sum.gpu_s += serial * w.gpu_s * u->cost;
  }
  start(u, t, sum);
}

static void advance_pool(mz_sim_step *u, mz_sim_thread *t) {
  const int s = t->stage;
  mz_sim_stage *stage = &u->stages[s];
  const double serial = truth_of(u, s)->serial;
  if (!stage->begun && serial > 0) { /* what one thread does alone comes first */
    if (stage->parts_next > 0) return;
    stage->parts_next = 1;
    begin_serial_part(u, t, serial);
    return;
  }
  if (t->task < 0) {
    if (stage->next == stage->tasks) {
      enter(u, t, MZ_SIM_ENDED);
      return;
    }
    t->task = stage->next++;
  }
  if (!input_ready(u, s, t->task))
    enter(u, t, MZ_SIM_WAITS_IN);
  else if (!output_room(u, s, t->task))
    enter(u, t, MZ_SIM_WAITS_OUT);
  else
    start(u, t, scaled(pool_work(u, s, t->task), (1 - serial) * vary(u, s, t->task) * disturb(u, s, t->task, 0)));
}

static void take_item(mz_sim_step *u, mz_sim_thread *t) {
  mz_sim_stage *stage = &u->stages[t->stage];
  if (!input_ready(u, t->stage, stage->next)) {
    enter(u, t, MZ_SIM_WAITS_IN);
  } else if (!output_room(u, t->stage, stage->next)) {
    enter(u, t, MZ_SIM_WAITS_OUT);
  } else {
    stage->begun = true;
    stage->parts_next = stage->parts_ended = 0;
  }
}

static void advance_lockstep(mz_sim_step *u, mz_sim_thread *t) {
  const int s = t->stage;
  mz_sim_stage *stage = &u->stages[s];
  const double serial = truth_of(u, s)->serial;
  if (stage->next == stage->tasks) {
    enter(u, t, MZ_SIM_ENDED);
    return;
  }
  if (!stage->begun) take_item(u, t);
  if (!stage->begun) return;
  if (stage->parts_next == stage->parts || (stage->parts_next > 0 && stage->parts_ended == 0)) {
    enter(u, t, MZ_SIM_IDLE); /* the barrier; the serial part */
    return;
  }
  const int part = stage->parts_next++;
  const double share = part == 0 ? serial : (1 - serial) / (stage->parts - 1);
  const double straggler = part == 0 ? 0 : u->simulation->machine.straggler;
  t->task = part; /* items differ, the parts of one are alike but for what disturbs them */
  start(u, t,
        scaled(item_work(u, s, share), vary(u, s, stage->next) * disturb(u, s, stage->next * stage->parts + part, straggler)));
}

static bool settle_stage(mz_sim_step *u, int s) {
  mz_sim_stage *stage = &u->stages[s];
  bool changed = false;
  stage->stirred = false;
  if (stage->states[MZ_SIM_WORKS] + stage->states[MZ_SIM_ENDED] == stage->threads) return false;
  for (int i = stage->first; i < stage->first + stage->threads; i++) {
    mz_sim_thread *t = &u->threads[i];
    const mz_sim_state before = t->state;
    if (before == MZ_SIM_WORKS || before == MZ_SIM_ENDED) continue;
    if (truth_of(u, s)->lockstep)
      advance_lockstep(u, t);
    else
      advance_pool(u, t);
    changed = changed || t->state != before;
  }
  return changed;
}

void mz_sim_settle(mz_sim_step *u) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int s = 0; s < u->pipeline->stage_count; s++) {
      if (!u->stages[s].runs || !u->stages[s].stirred) continue;
      if (settle_stage(u, s)) u->stages[s].stirred = changed = true;
    }
  }
}

void mz_sim_finish(mz_sim_step *u, int thread, int lane) {
  mz_sim_thread *t = &u->threads[thread];
  mz_sim_stage *stage = &u->stages[t->stage];
  if (lane != MZ_SIM_GPU && t->gpu_s > 0) {
    mz_sim_lane_push(u, &stage->lanes[MZ_SIM_GPU], thread, t->gpu_s);
    return;
  }
  enter(u, t, MZ_SIM_IDLE);
  t->rests = false;
  stage->stirred = true;
  if (!truth_of(u, t->stage)->lockstep) {
    if (t->task < 0)
      stage->begun = true;
    else
      end_task(u, t->stage, t->task);
    t->task = -1;
  } else if (++stage->parts_ended == stage->parts) {
    end_task(u, t->stage, stage->next);
    stage->next++;
    stage->begun = false;
  } else if (stage->parts_next == stage->parts && stage->parts_ended > 1) {
    stage->stirred = false; /* there is nothing but the barrier */
    t->rests = true;
  }
}
