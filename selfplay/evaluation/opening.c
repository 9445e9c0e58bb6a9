#include "selfplay/evaluation/opening.h"
#include "selfplay/players/choice.h"

mz_status mz_random_moves(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                          int32_t *actions, int *made, bool *ended) {
  *ended = false;
  *made = 0;
  while (*made < plies && !*ended) {
    const int legal = mz_env_legal(env, state, mask);
    const int32_t action = mz_choose_uniform(mask, legal, moves);
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

int mz_opening_default(const mz_spec *spec) { return spec->obs_shape[0] * spec->obs_shape[1] > 9 ? 4 : 2; }
