#include "muzero/steering/probe.h"
#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "muzero/training/gpus.h"
#include "selfplay/planner.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const uint64_t ENOUGH_NS = 1500000; /* for one timing */

typedef struct timing {   /* seconds of one call */
  double cpu_s, device_s; /* on a core; for which it waits for the device, 0 on CPUs */
} timing;

/* Times the fastest of several calls, by CPU time, or by wall time where a device takes part: what disturbs a timing only ever adds to
 * it. */
static mz_status fastest(const mz_lane *where, mz_status (*work)(void *context), void *context, timing *out) {
  enum { REPEATS_MAX = 8 };
  const bool on_cpu = mz_lane_is_cpu(where);
  uint64_t best = UINT64_MAX, spent = 0;
  MZ_TRY(work(context)); /* warm */
  for (int i = 0; i < REPEATS_MAX && spent < ENOUGH_NS; i++) {
    const uint64_t start = mz_clock_thread_ns(), wall = mz_clock_ns();
    MZ_TRY(work(context));
    const uint64_t cpu = mz_clock_thread_ns() - start, took = on_cpu ? cpu : mz_clock_ns() - wall;
    if (took < best) {
      best = took;
      out->cpu_s = (double)cpu * 1e-9;
      out->device_s = took > cpu ? (double)(took - cpu) * 1e-9 : 0;
    }
    spent += took;
  }
  return MZ_OK;
}

static void keep(mz_probes *probes, int index, double batch, double items, const timing *took) {
  probes->batch[index] = batch;
  probes->cpu_s[index] = took->cpu_s / items;
  probes->device_s[index] = took->device_s / items;
}

/* ---- a simulation ---- */

enum { SIMULATIONS = 8 };

typedef struct searching {
  mz_planner planner;
  const mz_prepared *weights;
  int batch, simulations;
} searching;

static mz_status search_once(void *context) {
  searching *s = context;
  return mz_planner_search(&s->planner, s->batch, s->weights, s->simulations);
}

/* Times a simulation at this batch size. */
static mz_status probe_search(const mz_state *state, const mz_lane *where, const mz_prepared *weights, int batch,
                              mz_probes *actor, int index) {
  const mz_settings *s = &state->settings;
  searching one = {.weights = weights, .batch = batch};
  timing took = {0};
  one.simulations = s->search.simulations < SIMULATIONS ? (int)s->search.simulations : SIMULATIONS;
  MZ_TRY(mz_planner_init(&one.planner, state->env, &s->search, &state->model, where, s->replay.discount, batch));
  const mz_status status = fastest(where, search_once, &one, &took);
  mz_planner_deinit(&one.planner);
  keep(actor, index, batch, (double)batch * one.simulations, &took);
  return status;
}

/* On a GPU larger batches are what it is for. */
static mz_status probe_searches(const mz_state *state, const mz_lane *where, const mz_prepared *weights, mz_probes *actor) {
  static const int on_cpu[] = {1, 8, 64}, on_gpu[] = {8, 128, 1024};
  const int *batches = mz_lane_is_cpu(where) ? on_cpu : on_gpu;
  const int64_t games = state->settings.selfplay.games;
  int count = 0;
  for (int i = 0; i < 3; i++) {
    const int batch = batches[i] < games ? batches[i] : (int)games;
    if (count && actor->batch[count - 1] >= batch) break;
    MZ_TRY(probe_search(state, where, weights, batch, actor, count++));
  }
  return MZ_OK;
}

/* ---- a batch and an update ---- */

typedef struct learning {
  const mz_state *state;
  const mz_lane *where;
  mz_games *games;
  mz_actor *actor;
  mz_buffer *buffer;
  mz_batch batch;
  mz_stage stage; /* of the pool's tasks */
  mz_pool *pool;
  mz_learner *learner;
  float *errors;
  mz_learning_stats stats;
} learning;

static mz_status build_once(void *context) {
  learning *l = context;
  const mz_state *state = l->state;
  const mz_batch_source source = {
      .buffer = l->buffer, .settings = &state->settings.replay, .spec = &state->env->spec, .seed = state->seed};
  return mz_batch_build(&l->batch, &source, 0);
}

static mz_status update_once(void *context) {
  learning *l = context;
  return mz_learner_update(l->learner, &l->batch, l->errors, &l->stats);
}

/* A few short games with hardly any search: a replay of its own to draw from. It may stay empty where games are long. */
static mz_status play_a_little(learning *l) {
  enum { GAMES = 8, MOVES = 24, CAPACITY = 4096 };
  const mz_settings *s = &l->state->settings;
  mz_selfplay_settings few = s->selfplay;
  mz_search_settings shallow = s->search;
  mz_replay_settings small = s->replay;     /* the run's may be large */
  small.raw_bytes = small.packed_bytes = 0; /* and there is no folder yet to spill it to */
  if (small.capacity > CAPACITY) small.capacity = CAPACITY;
  if (small.min_fill > small.capacity) small.min_fill = small.capacity;
  few.games = GAMES;
  shallow.simulations = shallow.simulations < 2 ? shallow.simulations : 2;
  mz_selfplay_result result = {0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_games_create(&l->games, l->state->env, &few, mz_state_cut(s), l->state->seed));
  MZ_TRY_CLEANUP(mz_actor_create(&l->actor, l->state->env, &shallow, &l->state->model, &l->state->where.selfplay,
                                 s->replay.discount, GAMES));
  MZ_TRY_CLEANUP(mz_games_advance(l->games, l->actor, 0, GAMES, MOVES, l->state->published, 0, 0, &result));
  MZ_TRY_CLEANUP(mz_buffer_create(&l->buffer, &small, &l->state->env->spec));
  for (int i = 0; i < result.segment_count; i++) {
    mz_segment *segment = result.segments[i];
    result.segments[i] = NULL;
    MZ_TRY_CLEANUP(mz_buffer_insert(l->buffer, segment));
  }
cleanup:
  mz_selfplay_result_deinit(&result);
  return status;
}

static mz_status make_learner(learning *l) {
  const mz_learner_settings settings = mz_state_learning(&l->state->settings);
  const mz_update_settings *update = &settings.update;
  MZ_TRY(mz_alloc(&l->errors, (size_t)update->batch_size, sizeof *l->errors));
  MZ_TRY(mz_batch_init(&l->batch, &l->state->env->spec, (int)update->batch_size, (int)update->loss.unroll,
                       mz_loss_observed(&update->loss)));
  MZ_TRY(mz_pool_create(&l->pool, "probe", 1, &l->stage));
  MZ_TRY(mz_learner_create(&l->learner, &l->state->model, l->where, &settings, l->pool));
  memcpy(mz_learner_weights(l->learner), mz_learner_weights(l->state->learner),
         (size_t)l->state->model.params.size * sizeof(float));
  return mz_learner_weights_changed(l->learner);
}

static void free_learning(learning *l) {
  mz_learner_free(l->learner);
  mz_pool_free(l->pool);
  mz_batch_deinit(&l->batch);
  mz_buffer_free(l->buffer);
  mz_actor_free(l->actor);
  mz_games_free(l->games);
  free(l->errors);
}

/* *built stays as it is where there is no replay to build from. Reanalysis is not timed: what it adds to a batch is seen once the
 * run has begun. */
static mz_status probe_learning(const mz_state *state, const mz_lane *where, mz_probes *learner, timing *built) {
  learning l = {.state = state, .where = where};
  timing took = {0};
  mz_status status;
  MZ_TRY_CLEANUP(make_learner(&l));
  MZ_TRY_CLEANUP(fastest(where, update_once, &l, &took));
  keep(learner, 0, 1, 1, &took);
  MZ_TRY_CLEANUP(play_a_little(&l));
  if (mz_buffer_positions(l.buffer) > 0) MZ_TRY_CLEANUP(fastest(&mz_lane_cpu, build_once, &l, built));
cleanup:
  free_learning(&l);
  return status;
}

/* The calling thread alone does what the pool's tasks do not account for. */
mz_status mz_probe_serial(const mz_state *state, double *share) {
  enum { TIMES = 15 };
  learning l = {.state = state, .where = &mz_lane_cpu};
  double shares[TIMES];
  mz_status status;
  MZ_TRY_CLEANUP(make_learner(&l));
  MZ_TRY_CLEANUP(update_once(&l)); /* warm */
  for (int i = 0; i < TIMES; i++) {
    const uint64_t start = mz_clock_thread_ns(), tasks = atomic_load(&l.stage.cpu_ns);
    MZ_TRY_CLEANUP(update_once(&l));
    const double all = (double)(mz_clock_thread_ns() - start), shared = (double)(atomic_load(&l.stage.cpu_ns) - tasks);
    shares[i] = all > 0 ? fmin(fmax(1 - shared / all, 0), 1) : 0;
  }
  *share = mz_median(shares, TIMES);
cleanup:
  free_learning(&l);
  return status;
}

/* ---- a handoff ---- */

static mz_status do_nothing(void *context, int task, int worker) {
  (void)context, (void)task, (void)worker;
  return MZ_OK;
}

/* Fills the cores while others hand over, as actors do. */
static mz_status keep_busy(void *context, int task, int worker) {
  (void)task, (void)worker;
  const atomic_bool *over = context;
  while (!atomic_load_explicit(over, memory_order_relaxed)) continue;
  return MZ_OK;
}

/* A task for one other thread wakes it, and its end wakes this one: two handoffs. */
static mz_status time_handoffs(mz_pool *pool, double *out_s) {
  enum { TIMES = 48 };
  double took[TIMES];
  for (int i = 0; i < TIMES; i++) {
    uint64_t start = mz_clock_ns();
    mz_pool_start(pool, do_nothing, NULL, 1);
    MZ_TRY(mz_pool_wait(pool));
    took[i] = (double)(mz_clock_ns() - start) * 1e-9;
  }
  *out_s = mz_mean(took, TIMES) / 2;
  return MZ_OK;
}

static mz_status probe_handoff(int cores, double *out_s) {
  mz_pool *pool = NULL, *load = NULL;
  atomic_bool over = false;
  mz_status status;
  MZ_TRY_CLEANUP(mz_pool_create(&pool, "probe", 1, NULL));
  MZ_TRY_CLEANUP(mz_pool_create(&load, "load", cores, NULL));
  mz_pool_give_way(load);
  mz_pool_start(load, keep_busy, &over, cores);
  status = time_handoffs(pool, out_s);
  atomic_store(&over, true);
  const mz_status ended = mz_pool_wait(load);
  if (status == MZ_OK) status = ended;
cleanup:
  mz_pool_free(pool);
  mz_pool_free(load);
  return status;
}

/* ---- kinds of devices ---- */

/* Returns the first device of the kind that plans may put the stage on; −1: none. */
static int find_device(const mz_pipeline *pipeline, int stage, mz_device_kind kind) {
  const mz_knob *knob = &pipeline->knobs[pipeline->stages[stage].device];
  for (int64_t d = knob->min; d <= knob->max; d++)
    if (pipeline->devices[d].kind == kind) return (int)d;
  return -1;
}

/* Finds where a stage is timed on this kind of device; false: plans do not put it there. Stages of simulated machines are timed on the
 * CPUs of this one, wherever plans put them. */
static bool find_lane(const mz_pipeline *pipeline, const mz_devices *devices, int stage, mz_device_kind kind, mz_lane *out) {
  *out = mz_lane_cpu;
  if (devices == NULL) return kind == MZ_DEVICE_CPU;
  const int device = find_device(pipeline, stage, kind);
  if (device >= 0 && kind == MZ_DEVICE_CUDA) *out = mz_gpus_lane(devices->items[device].number);
  return device >= 0;
}

static mz_status probe_actor(const mz_state *state, const mz_lane *where, mz_probes *actor) {
  mz_prepared *weights = NULL;
  if (mz_lane_same(where, &state->where.selfplay))
    weights = mz_prepared_share(state->published);
  else
    MZ_TRY(mz_prepared_create(&weights, &state->model, where, mz_learner_weights(state->learner)));
  const mz_status status = probe_searches(state, where, weights, actor);
  mz_prepared_release(weights);
  return status;
}

/* A second learner and search are made for the timing: a GPU that has no room for them is not timed, which is no failure. */
static mz_status unless_full(const mz_lane *where, mz_probes *probes, mz_status status) {
  if (status != MZ_E_MEMORY || mz_lane_is_cpu(where)) return status;
  memset(probes, 0, sizeof *probes);
  return MZ_OK;
}

mz_status mz_probe(mz_pipeline *pipeline, const mz_devices *devices, const mz_state *state) {
  mz_pipeline_stage *stages = pipeline->stages;
  timing built = {0};
  mz_lane where;
  MZ_TRY(probe_handoff(pipeline->devices[0].cores, &pipeline->handoff_s));
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
    mz_probes *actor = &stages[MZ_STAGE_ACTOR].probes[kind], *learner = &stages[MZ_STAGE_LEARNER].probes[kind];
    if (find_lane(pipeline, devices, MZ_STAGE_ACTOR, kind, &where))
      MZ_TRY(unless_full(&where, actor, probe_actor(state, &where, actor)));
    if (state->settings.learning.loop_count > 0 && find_lane(pipeline, devices, MZ_STAGE_LEARNER, kind, &where))
      MZ_TRY(unless_full(&where, learner, probe_learning(state, &where, learner, &built)));
  }
  for (int kind = 0; kind < MZ_DEVICE_KINDS && built.cpu_s > 0; kind++) /* building takes cores, wherever reanalysis runs */
    if (find_lane(pipeline, devices, MZ_STAGE_BATCH, kind, &where)) keep(&stages[MZ_STAGE_BATCH].probes[kind], 0, 1, 1, &built);
  return MZ_OK;
}
