#include "muzero/training/state.h"
#include <string.h>

mz_cut mz_state_cut(const mz_settings *s) {
  int n = (int)s->replay.td_steps;
  return (mz_cut){.segment_moves = (int)s->replay.segment_moves, .look_ahead = n + (int)s->loss.unroll};
}

mz_learner_settings mz_state_learning(const mz_settings *s) {
  return (mz_learner_settings){.update = {.loss = s->loss,
                                          .optimizer = s->optimizer,
                                          .batch_size = s->learning.batch_size,
                                          .shards = s->learning.shards,
                                          .average = s->learning.average},
                               .horizon = s->train.horizon};
}

mz_status mz_state_init(mz_state *state, const mz_env *env, const mz_settings *settings, uint64_t seed, int learner_threads,
                        const mz_placement *where) {
  *state = (mz_state){.env = env,
                      .own = *settings,
                      .settings = *settings,
                      .seed = seed,
                      .where = where ? *where : mz_placement_cpu,
                      .learner_stage = {.name = "learner"},
                      .moves_loop_count = settings->allocation.objective == MZ_OBJECTIVE_GOODPUT};
  mz_status status;
  MZ_TRY_CLEANUP(mz_model_init(&state->model, &settings->network, &env->spec));
  size_t size = (size_t)state->model.params.size;
  MZ_TRY_CLEANUP(mz_pool_create(&state->learner_pool, "learner", learner_threads, &state->learner_stage));
  const mz_learner_settings learning = mz_state_learning(settings);
  MZ_TRY_CLEANUP(mz_learner_create(&state->learner, &state->model, &state->where.learning, &learning, state->learner_pool));
  MZ_TRY_CLEANUP(mz_alloc(&state->target, size, sizeof(float)));
  float *weights = mz_learner_weights(state->learner);
  mz_params_init(&state->model.params, seed, weights);
  memcpy(state->target, weights, size * sizeof(float));
  if (mz_learner_average(state->learner)) memcpy(mz_learner_average(state->learner), weights, size * sizeof(float));
  MZ_TRY_CLEANUP(mz_learner_weights_changed(state->learner));
  MZ_TRY_CLEANUP(mz_state_target_changed(state));
  MZ_TRY_CLEANUP(mz_buffer_create(&state->buffer, &settings->replay, &env->spec));
  MZ_TRY_CLEANUP(mz_games_create(&state->games, env, &settings->selfplay, mz_state_cut(settings), seed));
  MZ_TRY_CLEANUP(mz_state_publish(state));
cleanup:
  if (status != MZ_OK) mz_state_deinit(state);
  return status;
}

void mz_state_deinit(mz_state *state) {
  mz_prepared_release(state->published);
  mz_games_free(state->games);
  mz_buffer_free(state->buffer);
  free(state->target);
  mz_prepared_release(state->target_prepared);
  mz_learner_free(state->learner);
  mz_pool_free(state->learner_pool);
  memset(state, 0, sizeof *state);
}

static mz_status replace(const mz_state *state, const mz_lane *where, mz_prepared **prepared, const float *values) {
  mz_prepared *next;
  MZ_TRY(mz_prepared_create(&next, &state->model, where, values));
  mz_prepared_release(*prepared);
  *prepared = next;
  return MZ_OK;
}

mz_status mz_state_target_changed(mz_state *state) {
  return replace(state, &state->where.reanalyze, &state->target_prepared, state->target);
}

static const float *weights_to_publish(const mz_state *state) {
  const float *average = mz_learner_average(state->learner);
  return average ? average : mz_learner_weights(state->learner);
}

mz_status mz_state_publish(mz_state *state) {
  MZ_TRY(replace(state, &state->where.selfplay, &state->published, weights_to_publish(state)));
  state->published_version = (uint64_t)state->counters.updates;
  return MZ_OK;
}

/* The published weights are the present ones between rounds. */
mz_status mz_state_place(mz_state *state, const mz_placement *where) {
  mz_prepared *published = NULL, *target = NULL;
  mz_status status = MZ_OK;
  if (!mz_lane_same(&where->selfplay, &state->where.selfplay))
    MZ_TRY_CLEANUP(mz_prepared_create(&published, &state->model, &where->selfplay, weights_to_publish(state)));
  if (!mz_lane_same(&where->reanalyze, &state->where.reanalyze))
    MZ_TRY_CLEANUP(mz_prepared_create(&target, &state->model, &where->reanalyze, state->target));
  if (!mz_lane_same(&where->learning, &state->where.learning)) MZ_TRY_CLEANUP(mz_learner_move(state->learner, &where->learning));
  if (published) mz_prepared_release(state->published), state->published = mz_prepared_share(published);
  if (target) mz_prepared_release(state->target_prepared), state->target_prepared = mz_prepared_share(target);
  state->where = *where;
cleanup:
  mz_prepared_release(published);
  mz_prepared_release(target);
  return status;
}
