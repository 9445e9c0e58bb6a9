#include "selfplay/evaluation/opening.h"
#include "selfplay/players/choice.h"

int mz_random_moves(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                    int32_t *actions, bool *ended) {
  *ended = false;
  int made = 0;
  while (made < plies && !*ended) {
    const int legal = mz_env_legal(env, state, mask);
    const int32_t action = mz_choose_uniform(mask, legal, moves);
    mz_step step;
    env->step(state, 1, &action, chance, &step);
    if (actions) actions[made] = action;
    *ended = step.terminated || step.truncated;
    made++;
  }
  return made;
}

int mz_opening_play(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                    int32_t *actions) {
  int made;
  bool ended;
  do {
    env->reset(env, state, chance);
    made = mz_random_moves(env, state, plies, mask, moves, chance, actions, &ended);
    if (ended) plies = made - 1;
  } while (ended);
  return made;
}

/* Plays `action` up to `plies` times, while it is legal and the game goes on. */
static int repeat(const mz_env *env, void *state, int32_t action, int plies, uint8_t *mask, const mz_generator *chance,
                  bool *ended) {
  int made = 0;
  *ended = false;
  while (made < plies && !*ended) {
    mz_env_legal(env, state, mask);
    if (!mask[action]) break;
    mz_step step;
    env->step(state, 1, &action, chance, &step);
    *ended = step.terminated || step.truncated;
    made++;
  }
  return made;
}

int mz_opening_repeat(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance) {
  int made;
  bool ended;
  do {
    env->reset(env, state, chance);
    const int legal = mz_env_legal(env, state, mask);
    made = repeat(env, state, mz_choose_uniform(mask, legal, moves), plies, mask, chance, &ended);
    if (ended) plies = made - 1;
  } while (ended);
  return made;
}

int mz_opening_default(const mz_spec *spec) { return spec->obs_shape[0] * spec->obs_shape[1] > 9 ? 4 : 2; }
