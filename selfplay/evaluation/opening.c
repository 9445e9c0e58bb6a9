#include "selfplay/evaluation/opening.h"
#include "base/arena.h"
#include "base/maths/streams.h"
#include "selfplay/players/choice.h"

mz_status mz_random_moves(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                          int32_t *actions, int *made, bool *ended) {
  *ended = false;
  *made = 0;
  while (*made < plies && !*ended) {
    int legal;
    MZ_TRY(mz_legal_moves(env, state, mask, &legal));
    const int32_t action = mz_choose_uniform(mask, env->spec.actions, legal, moves);
    mz_step step;
    MZ_TRY(env->step(env, state, 1, &action, chance, &step));
    if (actions) actions[*made] = action;
    *ended = step.terminated || step.truncated;
    ++*made;
  }
  return MZ_OK;
}

mz_status mz_opening_play(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                          int32_t *actions, int *made) {
  bool ended;
  do {
    MZ_TRY(env->reset(env, state, chance));
    MZ_TRY(mz_random_moves(env, state, plies, mask, moves, chance, actions, made, &ended));
    if (ended) plies = *made - 1;
  } while (ended);
  return MZ_OK;
}

mz_status mz_starts_differ(const mz_env *env, bool *differ) {
  enum { STARTS = 16 };
  const size_t state = env->state_size, seen = mz_spec_obs_bytes(&env->spec);
  uint8_t *states, *views;
  void *block;
  mz_carver carver = {0};
  mz_carve(&carver, &states, STARTS, state);
  mz_carve(&carver, &views, STARTS, seen);
  MZ_TRY(mz_carve_commit(&carver, &block));
  mz_status status = MZ_OK;
  for (int i = 0; i < STARTS && status == MZ_OK; i++) {
    mz_rng rng = mz_stream_trial_reset(0, i);
    const mz_generator generator = mz_generator_from_rng(&rng);
    status = env->reset(env, states + (size_t)i * state, &generator);
  }
  if (status == MZ_OK && env->copies) {
    *differ = memcmp(states, states + state, (STARTS - 1) * state) != 0;
  } else if (status == MZ_OK) { /* states also tell where the game is kept */
    env->observe(env, states, STARTS, views);
    *differ = memcmp(views, views + seen, (STARTS - 1) * seen) != 0;
  }
  mz_env_release(env, states, STARTS);
  free(block);
  return status;
}

int mz_opening_default(const mz_spec *spec) { return spec->obs_shape[0] * spec->obs_shape[1] > 9 ? 4 : 2; }
