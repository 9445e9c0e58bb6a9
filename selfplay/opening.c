#include "selfplay/opening.h"
#include "selfplay/choice.h"

/* How many moves were made: fewer than `plies`, or as many with *ended, when the game ended. */
static int play(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                bool *ended) {
  *ended = false;
  int made = 0;
  while (made < plies && !*ended) {
    const int legal = mz_env_legal(env, state, mask);
    const int32_t action = mz_choose_uniform(mask, legal, moves);
    mz_step step;
    env->step(state, 1, &action, chance, &step);
    *ended = step.terminated || step.truncated;
    made++;
  }
  return made;
}

void mz_opening_play(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance) {
  bool ended;
  do {
    env->reset(env, state, chance);
    const int made = play(env, state, plies, mask, moves, chance, &ended);
    if (ended) plies = made - 1;
  } while (ended);
}

int mz_opening_default(const mz_spec *spec) { return spec->obs_shape[0] * spec->obs_shape[1] > 9 ? 4 : 2; }
