#include "muzero/steering/probe.h"
#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "networks/lane.h"
#include "selfplay/planner.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

static const uint64_t ENOUGH_NS = 1500000; /* for one timing */

/* Seconds of CPU time of the fastest of several calls: what disturbs a timing only ever adds to it. */
static mz_status fastest(mz_status (*work)(void *context), void *context, double *out_s) {
  enum { REPEATS_MAX = 8 };
  uint64_t best = UINT64_MAX, spent = 0;
  MZ_TRY(work(context)); /* warm */
  for (int i = 0; i < REPEATS_MAX && spent < ENOUGH_NS; i++) {
    uint64_t start = mz_clock_thread_ns();
    MZ_TRY(work(context));
    uint64_t took = mz_clock_thread_ns() - start;
    if (took < best) best = took;
    spent += took;
  }
  *out_s = (double)best * 1e-9;
  return MZ_OK;
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

static mz_status probe_search(const mz_state *state, int batch, double *out_s) {
  const mz_settings *s = &state->settings;
  searching one = {.weights = state->published, .batch = batch};
  one.simulations = s->search.simulations < SIMULATIONS ? (int)s->search.simulations : SIMULATIONS;
  MZ_TRY(mz_planner_init(&one.planner, state->env, &s->search, &state->model, &mz_lane_cpu, s->replay.discount, batch));
  const mz_status status = fastest(search_once, &one, out_s);
  mz_planner_deinit(&one.planner);
  *out_s /= (double)batch * one.simulations;
  return status;
}

static mz_status probe_searches(const mz_state *state, mz_probes *actor) {
  static const int batches[] = {1, 8, 64};
  const int64_t games = state->settings.selfplay.games;
  int count = 0;
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    const int batch = batches[i] < games ? batches[i] : (int)games;
    if (count && actor->batch[count - 1] >= batch) break;
    MZ_TRY(probe_search(state, batch, &actor->cpu_s[count]));
    actor->batch[count++] = batch;
  }
  return MZ_OK;
}

/* ---- a batch and an update ---- */

typedef struct learning {
  const mz_state *state;
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
  MZ_TRY_CLEANUP(
      mz_actor_create(&l->actor, l->state->env, &shallow, &l->state->model, &mz_lane_cpu, s->replay.discount, GAMES));
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
  MZ_TRY(mz_alloc(&l->errors, (size_t)settings.batch_size, sizeof *l->errors));
  MZ_TRY(mz_batch_init(&l->batch, &l->state->env->spec, (int)settings.batch_size, (int)settings.loss.unroll,
                       mz_loss_observed(&settings.loss)));
  MZ_TRY(mz_pool_create(&l->pool, "probe", 1, &l->stage));
  MZ_TRY(mz_learner_create(&l->learner, &l->state->model, &mz_lane_cpu, &settings, l->pool));
  memcpy(mz_learner_weights(l->learner), mz_learner_weights(l->state->learner),
         (size_t)l->state->model.params.size * sizeof(float));
  return mz_learner_weights_changed(l->learner);
}

static void free_learning(learning *l) {
  mz_learner_free(l->learner);
  if (l->pool) mz_pool_free(l->pool);
  mz_batch_deinit(&l->batch);
  if (l->buffer) mz_buffer_free(l->buffer);
  if (l->actor) mz_actor_free(l->actor);
  if (l->games) mz_games_free(l->games);
  free(l->errors);
}

/* Reanalysis is not timed: what it adds to a batch is seen once the run has begun. */
static mz_status probe_learning(const mz_state *state, mz_probes *batch, mz_probes *learner) {
  learning l = {.state = state};
  mz_status status;
  MZ_TRY_CLEANUP(make_learner(&l));
  MZ_TRY_CLEANUP(fastest(update_once, &l, &learner->cpu_s[0]));
  learner->batch[0] = 1;
  MZ_TRY_CLEANUP(play_a_little(&l));
  if (mz_buffer_positions(l.buffer) > 0) {
    MZ_TRY_CLEANUP(fastest(build_once, &l, &batch->cpu_s[0]));
    batch->batch[0] = 1;
  }
cleanup:
  free_learning(&l);
  return status;
}

/* The calling thread alone does what the pool's tasks do not account for. */
mz_status mz_probe_serial(const mz_state *state, double *share) {
  enum { TIMES = 15 };
  learning l = {.state = state};
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
  if (pool) mz_pool_free(pool);
  if (load) mz_pool_free(load);
  return status;
}

mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state) {
  MZ_TRY(probe_handoff(pipeline->devices[0].cores, &pipeline->handoff_s));
  mz_pipeline_stage *stages = pipeline->stages;
  MZ_TRY(probe_searches(state, &stages[MZ_STAGE_ACTOR].probes[MZ_DEVICE_CPU]));
  if (state->settings.learning.loop_count == 0) return MZ_OK;
  return probe_learning(state, &stages[MZ_STAGE_BATCH].probes[MZ_DEVICE_CPU], &stages[MZ_STAGE_LEARNER].probes[MZ_DEVICE_CPU]);
}
