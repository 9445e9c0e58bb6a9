#include "muzero/training/soundness.h"
#include "base/maths/streams.h"
#include "base/maths/maths.h"
#include "selfplay/evaluation/agent.h"
#include <math.h>

enum { POSITIONS = 4, SIMULATIONS = 8 };

mz_status mz_state_check_finite(const mz_state *state) {
  const mz_optimizer *optimizer = mz_learner_optimizer(state->learner);
  const struct {
    const char *name;
    const float *values;
  } parts[] = {{"weights", mz_learner_weights(state->learner)},
               {"average of the weights", mz_learner_average(state->learner)},
               {"target weights", state->target},
               {"optimizer's first moments", optimizer->moment1},
               {"optimizer's second moments", optimizer->moment2}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (parts[i].values && !mz_all_finite(parts[i].values, (size_t)state->model.params.size))
      return mz_fail(MZ_E_DIVERGED, "after update %lld the %s are not finite", (long long)state->counters.updates, parts[i].name);
  return MZ_OK;
}

static mz_status search_positions(const mz_state *state, mz_planner *planner) {
  uint8_t *states;
  const size_t size = state->env->state_size;
  MZ_TRY(mz_alloc(&states, POSITIONS, size));
  mz_status status = MZ_OK;
  for (int i = 0; i < POSITIONS && status == MZ_OK; i++) {
    mz_rng rng = mz_stream_trial_reset(state->seed, i);
    const mz_generator generator = mz_generator_from_rng(&rng);
    status = state->env->reset(state->env, states + (size_t)i * size, &generator);
  }
  if (status == MZ_OK) status = mz_planner_observe(planner, 0, POSITIONS, states);
  mz_env_release(state->env, states, POSITIONS);
  free(states);
  MZ_TRY(status);
  return mz_planner_search(planner, POSITIONS, state->published, planner->simulations);
}

static mz_status check_search(const mz_state *state) {
  const int64_t simulations = state->settings.search.simulations;
  const mz_agent agent = {.env = state->env,
                          .search = &state->settings.search,
                          .model = &state->model,
                          .where = &state->where.selfplay,
                          .discount = state->settings.replay.discount,
                          .weights = state->published,
                          .simulations = simulations < SIMULATIONS ? (int)simulations : SIMULATIONS};
  mz_planner planner;
  MZ_TRY(mz_agent_planner(&agent, POSITIONS, &planner));
  const mz_status status = search_positions(state, &planner);
  mz_planner_deinit(&planner);
  return status;
}

static mz_status check_loss(const mz_state *state, mz_workers *workers) {
  if (mz_buffer_positions(state->buffer) == 0) return MZ_OK;
  const mz_batch_source source = {
      .buffer = state->buffer, .settings = &state->settings.replay, .spec = &state->env->spec, .seed = state->seed};
  mz_batch *batch = &workers->batches[0]; /* nobody's between rounds */
  double loss;
  MZ_TRY(mz_batch_build(batch, &source, (uint32_t)state->counters.updates));
  MZ_TRY(mz_learner_probe(state->learner, batch, &loss));
  if (isfinite(loss)) return MZ_OK;
  return mz_fail(MZ_E_DIVERGED, "after update %lld the loss is %g", (long long)state->counters.updates, loss);
}

mz_status mz_state_check_sound(const mz_state *state, mz_workers *workers) {
  MZ_TRY(mz_state_check_finite(state));
  MZ_TRY(check_search(state));
  return check_loss(state, workers);
}
