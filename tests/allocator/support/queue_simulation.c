#include "tests/allocator/support/queue_simulation.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 256 };

typedef enum thread_state { THREAD_IDLE, THREAD_WAITS_IN, THREAD_WAITS_OUT, THREAD_WORKS, THREAD_ENDED } thread_state;
typedef struct thread {
  int stage, task;
  thread_state state;
  double left; /* CPU seconds of the present task */
} thread;

typedef struct stage_state {
  int threads, device;
  int tasks, next, ended;             /* of a pool: tasks; in lockstep: items */
  int in, out;                        /* queues; −1: none */
  bool begun;                         /* in lockstep: the item has been taken; of a pool: its serial
                 part is done */
  int parts, parts_next, parts_ended; /* of the item in lockstep; part 0 is the
                                         serial one, alone */
} stage_state;

typedef struct queue_state {
  int tokens, capacity, released;
  int *published_by_producer; /* [producer's tasks] */
} queue_state;

typedef struct unit_state {
  const queue_simulation *simulation;
  const mz_pipeline *pipeline;
  const mz_plan *plan;
  uint64_t unit;
  stage_state stages[MZ_STAGES_MAX];
  queue_state queues[MZ_QUEUES_MAX];
  thread threads[THREADS_MAX];
  int thread_count;
  mz_stage_sample *samples;
} unit_state;

/* Items or groups in a pool's task; 1 for an item in lockstep. */
static double task_size(const unit_state *u, int stage, int task) {
  const mz_pipeline_stage *p = &u->pipeline->stages[stage];
  if (u->simulation->stages[stage].lockstep) return 1;
  const double batch = (double)mz_stage_batch(u->pipeline, stage, u->plan), whole = p->groups > 0 ? p->groups : p->items;
  return fmin(batch, whole - task * batch);
}

/* CPU seconds of a pool's task, of an item in lockstep. */
static double task_cpu_s(const unit_state *u, int stage, int task) {
  const mz_pipeline_stage *p = &u->pipeline->stages[stage];
  const simulated_stage *truth = &u->simulation->stages[stage];
  if (truth->lockstep) return p->items / u->stages[stage].tasks * (truth->fixed_s + truth->item_s);
  return p->items / (p->groups > 0 ? p->groups : p->items) * (truth->fixed_s + task_size(u, stage, task) * truth->item_s);
}

/* A factor of mean 1: items vary independently, so a task of many varies less.
 */
static double vary(const unit_state *u, int stage, int task) {
  const int draws = u->simulation->erlang * (int)ceil(task_size(u, stage, task));
  if (draws == 0) return 1;
  mz_rng rng = mz_rng_at(u->simulation->seed, MZ_RNG_TEST, (uint32_t)task, u->unit * MZ_STAGES_MAX + (uint64_t)stage);
  double sum = 0;
  for (int i = 0; i < draws; i++) sum -= log(1 - mz_rng_f64(&rng));
  return sum / draws;
}

static void begin_stage(unit_state *u, int s) {
  const mz_pipeline_stage *p = &u->pipeline->stages[s];
  stage_state *state = &u->stages[s];
  const double batch = (double)mz_stage_batch(u->pipeline, s, u->plan);
  *state = (stage_state){.threads = (int)mz_stage_threads(u->pipeline, s, u->plan), .in = -1, .out = -1};
  if (p->device >= 0) state->device = (int)u->plan->values[p->device];
  for (int q = 0; q < u->pipeline->queue_count; q++) {
    if (u->pipeline->queues[q].from == s) state->out = q;
    if (u->pipeline->queues[q].to == s) state->in = q;
  }
  const int queue = state->in >= 0 ? state->in : state->out;
  if (u->simulation->stages[s].lockstep)
    state->tasks = (int)ceil(queue >= 0 ? u->pipeline->queues[queue].items : p->items);
  else
    state->tasks = (int)ceil((p->groups > 0 ? p->groups : p->items) / batch);
  state->parts = 1 + (p->groups > 0 ? (int)p->groups : state->threads);
  for (int t = 0; t < state->threads && u->thread_count < THREADS_MAX; t++)
    u->threads[u->thread_count++] = (thread){.stage = s, .task = -1};
}

/* Tokens of a queue that a stage's tasks 0 … task carry together. */
static int tokens_through(const unit_state *u, int queue, int stage, int task) {
  return (int)ceil((task + 1.0) * u->queues[queue].tokens / u->stages[stage].tasks - 1e-9);
}

static bool input_ready(const unit_state *u, int s, int task) {
  const int q = u->stages[s].in;
  if (q < 0) return true;
  const int from = u->pipeline->queues[q].from, needed = tokens_through(u, q, s, task);
  for (int t = 0; t < u->stages[from].tasks; t++) { /* in order: every task up to the one that brings the last token
               */
    if (!u->queues[q].published_by_producer[t]) return false;
    if (tokens_through(u, q, from, t) >= needed) break;
  }
  return true;
}

static bool output_room(const unit_state *u, int s, int task) {
  const int q = u->stages[s].out;
  return q < 0 || tokens_through(u, q, s, task) <= u->queues[q].released + u->queues[q].capacity;
}

static void end_task(unit_state *u, int s, int task) {
  stage_state *state = &u->stages[s];
  state->ended++;
  if (state->in >= 0) u->queues[state->in].released = tokens_through(u, state->in, s, state->ended - 1);
  if (state->out >= 0) u->queues[state->out].published_by_producer[task] = 1;
}

/* A thread that does not work looks for something to do; true: its state
 * changed. */
static bool advance_pool(unit_state *u, thread *t) {
  stage_state *state = &u->stages[t->stage];
  const double serial = u->simulation->stages[t->stage].serial;
  const thread_state before = t->state;
  if (!state->begun && serial > 0) { /* what one thread does alone comes first */
    if (state->parts_next > 0) return false;
    state->parts_next = 1;
    *t = (thread){.stage = t->stage, .task = -1, .state = THREAD_WORKS};
    for (int i = 0; i < state->tasks; i++) t->left += serial * task_cpu_s(u, t->stage, i);
    return true;
  }
  if (t->task < 0) {
    if (state->next == state->tasks) {
      t->state = THREAD_ENDED;
      return true;
    }
    t->task = state->next++;
  }
  if (!input_ready(u, t->stage, t->task))
    t->state = THREAD_WAITS_IN;
  else if (!output_room(u, t->stage, t->task))
    t->state = THREAD_WAITS_OUT;
  else {
    t->state = THREAD_WORKS;
    t->left = (1 - serial) * task_cpu_s(u, t->stage, t->task) * vary(u, t->stage, t->task);
  }
  return t->state != before;
}

static bool advance_lockstep(unit_state *u, thread *t) {
  stage_state *state = &u->stages[t->stage];
  const double serial = u->simulation->stages[t->stage].serial;
  const thread_state before = t->state;
  if (state->next == state->tasks) {
    t->state = THREAD_ENDED;
    return true;
  }
  if (!state->begun) {
    if (!input_ready(u, t->stage, state->next))
      t->state = THREAD_WAITS_IN;
    else if (!output_room(u, t->stage, state->next))
      t->state = THREAD_WAITS_OUT;
    else {
      state->begun = true;
      state->parts_next = state->parts_ended = 0;
    }
    if (!state->begun) return t->state != before;
  }
  if (state->parts_next == state->parts || (state->parts_next > 0 && state->parts_ended == 0)) {
    t->state = THREAD_IDLE; /* the barrier; the serial part */
    return t->state != before;
  }
  const int part = state->parts_next++;
  const double cpu_s = task_cpu_s(u, t->stage, state->next);
  t->state = THREAD_WORKS;
  t->task = part;
  t->left = part == 0 ? serial * cpu_s : (1 - serial) * cpu_s / (state->parts - 1);
  t->left *= vary(u, t->stage, state->next); /* items differ, the parts of one are alike */
  return true;
}

static void finish(unit_state *u, thread *t) {
  stage_state *state = &u->stages[t->stage];
  t->state = THREAD_IDLE;
  if (!u->simulation->stages[t->stage].lockstep) {
    if (t->task < 0)
      state->begun = true;
    else
      end_task(u, t->stage, t->task);
    t->task = -1;
  } else if (++state->parts_ended == state->parts) {
    end_task(u, t->stage, state->next);
    state->next++;
    state->begun = false;
  }
}

static bool runs_on(const unit_state *u, int i, int device) {
  return u->threads[i].state == THREAD_WORKS && u->stages[u->threads[i].stage].device == device;
}

/* Share of a core that every working thread gets: its device's cores by weight,
 * no more than a whole one each. */
static void share_cores(const unit_state *u, double *rates) {
  for (int i = 0; i < u->thread_count; i++) rates[i] = 0;
  for (int d = 0; d < u->pipeline->device_count; d++) {
    double cores = u->pipeline->devices[d].cores, level = 0;
    for (bool capped = true; capped;) { /* whoever would get more than a core gets one; the others
                       share the rest */
      double weights = 0;
      capped = false;
      for (int i = 0; i < u->thread_count; i++)
        if (runs_on(u, i, d) && rates[i] < 1) weights += u->simulation->stages[u->threads[i].stage].weight;
      level = cores / weights;
      for (int i = 0; i < u->thread_count; i++)
        if (runs_on(u, i, d) && rates[i] < 1 && level * u->simulation->stages[u->threads[i].stage].weight >= 1) {
          rates[i] = 1;
          cores -= 1;
          capped = true;
        }
    }
    for (int i = 0; i < u->thread_count; i++)
      if (runs_on(u, i, d) && rates[i] < 1) rates[i] = level * u->simulation->stages[u->threads[i].stage].weight;
  }
}

/* Seconds that one step takes. */
static double run_step(unit_state *u, int step) {
  u->thread_count = 0;
  for (int s = 0; s < u->pipeline->stage_count; s++)
    if (u->pipeline->stages[s].step == step) begin_stage(u, s);
  for (int q = 0; q < u->pipeline->queue_count; q++) {
    const mz_pipeline_queue *p = &u->pipeline->queues[q];
    if (u->pipeline->stages[p->from].step != step) continue;
    const int producers = u->stages[p->from].tasks, tokens = (int)ceil(p->items);
    int capacity = p->capacity >= 0 ? (int)u->plan->values[p->capacity] : 1;
    const int largest = (tokens + producers - 1) / producers; /* what one task brings must fit */
    u->queues[q] = (queue_state){.tokens = tokens,
                                 .capacity = capacity > largest ? capacity : largest,
                                 .published_by_producer = calloc((size_t)producers, sizeof(int))};
    if (u->queues[q].published_by_producer == NULL) abort();
  }
  double now = 0, rates[THREADS_MAX];
  for (;;) {
    for (bool changed = true; changed;) {
      changed = false;
      for (int i = 0; i < u->thread_count; i++) {
        thread *t = &u->threads[i];
        if (t->state == THREAD_WORKS || t->state == THREAD_ENDED) continue;
        if (u->simulation->stages[t->stage].lockstep ? advance_lockstep(u, t) : advance_pool(u, t)) changed = true;
      }
    }
    share_cores(u, rates);
    double wait = INFINITY;
    for (int i = 0; i < u->thread_count; i++)
      if (u->threads[i].state == THREAD_WORKS) wait = fmin(wait, u->threads[i].left / rates[i]);
    if (wait == INFINITY) break;
    now += wait;
    bool works[MZ_STAGES_MAX] = {false};
    for (int i = 0; i < u->thread_count; i++) {
      thread *t = &u->threads[i];
      mz_stage_sample *sample = &u->samples[t->stage];
      if (t->state == THREAD_WAITS_IN) sample->wait_in_s += wait;
      if (t->state == THREAD_WAITS_OUT) sample->wait_out_s += wait;
      if (t->state != THREAD_WORKS) continue;
      sample->busy_s += wait;
      sample->cpu_s += wait * rates[i];
      works[t->stage] = true;
      t->left -= wait * rates[i];
    }
    for (int s = 0; s < u->pipeline->stage_count; s++) u->samples[s].elapsed_s += works[s] ? wait : 0;
    for (int i = 0; i < u->thread_count; i++)
      if (u->threads[i].state == THREAD_WORKS && u->threads[i].left <= 1e-12) finish(u, &u->threads[i]);
  }
  for (int i = 0; i < u->thread_count; i++)
    if (u->threads[i].state != THREAD_ENDED) abort(); /* a deadlock: a mistake in here */
  for (int q = 0; q < u->pipeline->queue_count; q++)
    if (u->pipeline->stages[u->pipeline->queues[q].from].step == step) free(u->queues[q].published_by_producer);
  return now;
}

mz_observation queue_simulation_run(const queue_simulation *simulation, const mz_plan *plan, uint64_t first, int units) {
  mz_observation out = {.plan = *plan, .rounds = units};
  unit_state *u = calloc(1, sizeof *u);
  if (u == NULL) abort();
  for (int i = 0; i < units; i++) {
    *u = (unit_state){.simulation = simulation,
                      .pipeline = simulation->pipeline,
                      .plan = plan,
                      .unit = first + (uint64_t)i,
                      .samples = out.stages};
    for (int step = 0; step < MZ_STAGES_MAX; step++) {
      const double seconds = run_step(u, step);
      out.unit_s += seconds / units;
      if (step == 0) out.round_s += seconds / units;
    }
  }
  free(u);
  for (int s = 0; s < simulation->pipeline->stage_count; s++) {
    mz_stage_sample *sample = &out.stages[s];
    sample->items = simulation->pipeline->stages[s].items;
    sample->busy_s /= units, sample->cpu_s /= units, sample->elapsed_s /= units;
    sample->wait_in_s /= units, sample->wait_out_s /= units;
    out.cpu_s += sample->cpu_s;
  }
  return out;
}
