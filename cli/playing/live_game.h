/* A game being played at a prompt: every position from the first on, so that moves can be taken back, and moves as text. */
#pragma once
#include "envs/env.h"

typedef struct mz_ply {
  int32_t action;
  int player;
  bool inserted; /* a pass on behalf of a side that was skipped: taken back together with the move behind it */
  mz_step step;
} mz_ply;

typedef struct mz_live_game {
  const mz_env *env;
  uint64_t seed;
  uint32_t ordinal; /* games begun before this one: chance is drawn by (seed, ordinal, ply) */
  int count, capacity;
  mz_ply *plies;   /* [capacity] */
  uint8_t *states; /* [capacity + 1][state_size]: before each ply, and now */
  uint8_t *legal;  /* [actions]: now; nothing when the game is over */
  int legal_count;
} mz_live_game;

/* At the first position. Deinit is safe on a zeroed game and after a failed init. */
mz_status mz_live_game_init(mz_live_game *game, const mz_env *env, uint64_t seed);
void mz_live_game_deinit(mz_live_game *game);
/* The next game. Fails as the environment does. */
mz_status mz_live_game_restart(mz_live_game *game);

const void *mz_live_game_state(const mz_live_game *game);
int mz_live_game_to_play(const mz_live_game *game);
bool mz_live_game_over(const mz_live_game *game);
/* Returns the rewards so far of player 0, or of the single player. */
double mz_live_game_return(const mz_live_game *game);

/* Makes it the player's turn: where the other side is to move and may pass, its pass is put in. MZ_E_USAGE when that cannot be
 * ("illegal move: …"), and the game is as it was. */
mz_status mz_live_game_turn(mz_live_game *game, int player);
/* Takes back a pass so put in that no move followed. */
void mz_live_game_settle(mz_live_game *game);
/* An action for the player, whose turn it is or is made. MZ_E_USAGE when the rules refuse it ("illegal move", with the reason where
 * it is not the board's): the game is as it was. */
mz_status mz_live_game_play(mz_live_game *game, int player, int action);
/* Takes back the last move; false at the first position, and where states cannot be copied. */
bool mz_live_game_undo(mz_live_game *game);

/* The action with this text, capitals or not, legal or not; −1: none. */
int mz_live_game_find(const mz_live_game *game, const char *text);
enum { MZ_ACTION_TEXT = 32 };
const char *mz_live_game_text(const mz_live_game *game, int action, char out[MZ_ACTION_TEXT]);
/* The legal action nearest to what was typed: on the board where `action` is a cell, by spelling where it is none (−1). −1 when
 * nothing is near, or the game is over. */
int mz_live_game_nearest(const mz_live_game *game, const char *text, int action);
