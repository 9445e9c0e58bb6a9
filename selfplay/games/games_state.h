/* The games in play from inside, for actors. */
#pragma once
#include "selfplay/games/games.h"

typedef struct mz_game {
  uint64_t episode; /* ordinal of the game now in play in this slot */
  uint64_t moves;   /* searched moves this slot has made, over all its episodes: the ordinal of the next */
  uint64_t length;  /* recorded moves of this episode */
  double return_;   /* rewards of this episode, for player 0 */
} mz_game;

struct mz_games {
  const mz_env *env;
  mz_selfplay_settings settings;
  uint64_t seed;
  int count;
  uint8_t *states;              /* [count][env->state_size] */
  uint8_t *forks;               /* the same: with fork_share, a position of each episode so far */
  mz_game *games;               /* [count] */
  mz_trajectory **trajectories; /* [count] */
  void *block;
};

static inline uint8_t *mz_games_state(const mz_games *games, int slot) {
  return games->states + (size_t)slot * games->env->state_size;
}
/* Starts the slot's episode: at a fork, or by a reset and 0 … opening_plies random moves. mask: scratch, [actions]. Fails as the
 * environment does. */
mz_status mz_games_start(mz_games *games, int slot, uint8_t *mask);
/* The slot's next move where it is a random one that is recorded (exploring_moves), else −1. legal: [actions]. */
int mz_games_explore(const mz_games *games, int slot, const uint8_t *legal);
/* Call at every position that is searched: any of the episode's may then be where another game forks off. */
void mz_games_keep(mz_games *games, int slot);
