/* Games in play: G games live in slots, which hold all that determines their future. Actors advance them (actor.h). */
#pragma once
#include "base/config/config.h"
#include "envs/env.h"
#include "replay/segments/segment.h"

enum { MZ_MOVES_PER_ROUND_MAX = 1 << 20 };

typedef struct mz_selfplay_settings {
  int64_t games, moves;     /* games, moves: G and M */
  double temperature;       /* selfplay.temperature, at the start; falls linearly to */
  double temperature_final; /* selfplay.temperature_final, which it reaches at */
  double temperature_until; /* selfplay.temperature_until, as a part of the horizon */
  int64_t opening_plies; /* selfplay.opening_plies: a new game starts with 0 … this many uniformly random, unrecorded moves */
  /* selfplay.exploring_moves: after those, 0 … this many random moves that are searched and recorded, so that the model sees what moves
   * lead to which the policy has given up. What follows them is not what the policy would do: their values are no targets. A random
   * move is the game's last one again with probability exploring_repeat, where that is legal (Dabney et al. 2021, arXiv:2006.01782,
   * repeat random actions, too). */
  int64_t exploring_moves;
  double exploring_repeat; /* selfplay.exploring_repeat */
  /* selfplay.fork_share: so many games begin at a position of the slot's game before, each as likely, with a random, unrecorded
   * move (Trudeau & Bowling 2023, arXiv:2302.12359; KataGo forks so, too): they try what was not played where play leads. */
  double fork_share;
  bool noise; /* selfplay.noise: root noise */
  /* Playout cap randomization (Wu 2019, arXiv:1902.10565, section 3.1): this share of moves is searched with all simulations; the
   * others with fewer, at most these, so that there are more games, and what they searched is no policy target. */
  double full_share;        /* selfplay.full_share */
  int64_t fast_simulations; /* selfplay.fast_simulations */
} mz_selfplay_settings;
extern const mz_settings_table mz_selfplay_table;
/* Return the simulations of a move that is not searched in full, and of a move on average. simulations: the search settings'. */
int64_t mz_selfplay_fast_simulations(const mz_selfplay_settings *settings, int64_t simulations);
double mz_selfplay_mean_simulations(const mz_selfplay_settings *settings, int64_t simulations);

/* The games and all that determines their future. Random numbers are keyed by the slot and by what it has done so far: its
 * episodes (resets, openings) and its searched moves (noise, choice, chance). */
typedef struct mz_games mz_games;
mz_status mz_games_create(mz_games **out, const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut, uint64_t seed);
void mz_games_free(mz_games *games);
/* Bytes that games in play take, at the most; where nothing bounds a game in moves, those of games of some thousand. */
double mz_games_bytes(const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut);
/* State for checkpoints and digests. Where states cannot be copied, only the counts of each slot are written, and read begins a new
 * episode in each: equal bytes give equal games, which are not those that were in play. read replaces the contents of games created
 * with the same environment and settings; MZ_E_CHECKPOINT for what no games in play can be, and the games are then only good for
 * freeing. */
void mz_games_write(const mz_games *games, mz_writer *writer);
mz_status mz_games_read(mz_games *games, mz_reader *reader);
