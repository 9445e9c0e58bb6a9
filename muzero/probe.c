#include "muzero/probe.h"
#include "muzero/base/clock.h"
#include "muzero/base/statistics.h"
#include "networks/backend.h"
#include "selfplay/planner.h"
#include <stdatomic.h>
#include <string.h>

enum { SIMULATIONS = 8, REPEATS_MAX = 8 };
static const uint64_t ENOUGH_NS = 1500000; /* for one batch size */
static const int batches[] = {1, 8, 64};

/* The fastest of several: what disturbs a timing only ever adds to it. */
static mz_status probe_batch(const mz_state *state, int batch, double *out_s) {
  const mz_settings *s = &state->settings;
  const int simulations = s->search.simulations < SIMULATIONS ? (int)s->search.simulations : SIMULATIONS;
  mz_planner planner;
  MZ_TRY(mz_planner_init(&planner, state->env, &s->search, &state->model, &mz_backend_cpu, s->replay.discount, batch));
  uint64_t best = UINT64_MAX, spent = 0;
  mz_status status = mz_planner_search(&planner, batch, state->published->values, simulations); /* warm */
  for (int i = 0; i < REPEATS_MAX && spent < ENOUGH_NS && status == MZ_OK; i++) {
    uint64_t start = mz_clock_thread_ns();
    status = mz_planner_search(&planner, batch, state->published->values, simulations);
    uint64_t took = mz_clock_thread_ns() - start;
    if (took < best) best = took;
    spent += took;
  }
  mz_planner_deinit(&planner);
  *out_s = (double)best * 1e-9 / ((double)batch * simulations);
  return status;
}

static mz_status time_updates(mz_learner *learner, const mz_batch *batch, float *errors, double *out_s) {
  mz_learning_stats stats = {0};
  uint64_t best = UINT64_MAX, spent = 0;
  MZ_TRY(mz_learner_update(learner, batch, errors, &stats)); /* warm */
  for (int i = 0; i < REPEATS_MAX && spent < ENOUGH_NS; i++) {
    uint64_t start = mz_clock_thread_ns();
    MZ_TRY(mz_learner_update(learner, batch, errors, &stats));
    uint64_t took = mz_clock_thread_ns() - start;
    if (took < best) best = took;
    spent += took;
  }
  *out_s = (double)best * 1e-9;
  return MZ_OK;
}

static mz_status probe_update(const mz_state *state, double *out_s) {
  const mz_learner_settings settings = mz_state_learning(&state->settings);
  mz_pool *pool = NULL;
  mz_learner *learner = NULL;
  mz_batch batch = {0};
  float *errors = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&errors, (size_t)settings.batch_size, sizeof *errors));
  MZ_TRY_CLEANUP(mz_batch_init(&batch, &state->env->spec, (int)settings.batch_size, (int)settings.loss.unroll));
  MZ_TRY_CLEANUP(mz_pool_create(&pool, "probe", 1, NULL));
  MZ_TRY_CLEANUP(mz_learner_create(&learner, &state->model, &mz_backend_cpu, &settings, pool));
  memcpy(mz_learner_weights(learner), mz_learner_weights(state->learner), (size_t)state->model.params.size * sizeof(float));
  mz_learner_weights_changed(learner);
  MZ_TRY_CLEANUP(time_updates(learner, &batch, errors, out_s));
cleanup:
  mz_learner_free(learner);
  if (pool) mz_pool_free(pool);
  mz_batch_deinit(&batch);
  free(errors);
  return status;
}

static mz_status do_nothing(void *context, int task, int worker) {
  (void)context, (void)task, (void)worker;
  return MZ_OK;
}

/* What fills the cores while others hand over, as actors do. */
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
  mz_pipeline_stage *actor = &pipeline->stages[MZ_STAGE_ACTOR];
  const int64_t games = state->settings.selfplay.games;
  int count = 0;
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    const int batch = batches[i] < games ? batches[i] : (int)games;
    if (count && actor->probe_batch[count - 1] >= batch) break;
    MZ_TRY(probe_batch(state, batch, &actor->probe_s[count]));
    actor->probe_batch[count++] = batch;
  }
  mz_pipeline_stage *learner = &pipeline->stages[MZ_STAGE_LEARNER];
  if (state->settings.learning.loop_count == 0) return MZ_OK;
  MZ_TRY(probe_update(state, &learner->probe_s[0]));
  learner->probe_batch[0] = 1;
  return MZ_OK;
}
