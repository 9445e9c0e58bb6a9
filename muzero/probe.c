#include "muzero/probe.h"
#include "muzero/base/clock.h"
#include "networks/backend.h"
#include "selfplay/planner.h"

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

mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state) {
  mz_pipeline_stage *actor = &pipeline->stages[MZ_STAGE_ACTOR];
  const int64_t games = state->settings.selfplay.games;
  int count = 0;
  for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
    const int batch = batches[i] < games ? batches[i] : (int)games;
    if (count && actor->probe_batch[count - 1] >= batch) break;
    MZ_TRY(probe_batch(state, batch, &actor->probe_s[count]));
    actor->probe_batch[count++] = batch;
  }
  return MZ_OK;
}
