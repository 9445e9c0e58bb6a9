/* Games in play. G games live in slots; a *group* of slots is searched together by one worker, and each round every game
 * advances by M moves. Games own their whole state, workers only scratch memory; so which worker plays which group, and how
 * large groups are, changes nothing. */
#pragma once
#include "envs/env.h"
#include "base/config/config.h"
#include "replay/segments/segment.h"
#include "selfplay/search/search.h"

typedef struct mz_selfplay_settings {
  int64_t games, moves;     /* games, moves: G and M */
  double temperature;       /* selfplay.temperature, at the start; falls linearly to */
  double temperature_final; /* selfplay.temperature_final, which it reaches at */
  double temperature_until; /* selfplay.temperature_until, as a part of the horizon */
  int64_t opening_plies; /* selfplay.opening_plies: a new game starts with 0 … this many uniformly random, unrecorded moves */
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
/* Of a move that is not searched in full, and of a move on average. simulations: the search settings'. */
int64_t mz_selfplay_fast_simulations(const mz_selfplay_settings *settings, int64_t simulations);
double mz_selfplay_mean_simulations(const mz_selfplay_settings *settings, int64_t simulations);

/* The games and all that determines their future. Random numbers are keyed by the slot and by what it has done so far: its
 * episodes (resets, openings) and its searched moves (noise, choice, chance). */
typedef struct mz_games mz_games;
mz_status mz_games_create(mz_games **out, const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut, uint64_t seed);
void mz_games_free(mz_games *games);
/* Bytes that games in play take, at the most; where nothing bounds a game in moves, those of games of some thousand. */
double mz_games_bytes(const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut);
/* State for checkpoints and digests. read replaces the contents of games created with the same environment and settings;
 * MZ_E_CHECKPOINT for what no games in play can be, and the games are then only good for freeing. */
void mz_games_write(const mz_games *games, mz_writer *writer);
mz_status mz_games_read(mz_games *games, mz_reader *reader);

/* What one worker needs; made for the largest group. Not state. discount: γ, whatever the number of players. */
typedef struct mz_actor mz_actor;
mz_status mz_actor_create(mz_actor **out, const mz_env *env, const mz_search_settings *search, const mz_model *model,
                          const mz_backend *backend, double discount, int slots);
void mz_actor_free(mz_actor *actor);
/* Bytes that create takes. */
mz_status mz_actor_bytes(const mz_env *env, const mz_search_settings *search, const mz_model *model, const mz_backend *backend,
                         int slots, double *bytes);

/* What moves gave; starts zeroed. Segments are in order of (game, ordinal). The sums are exact, so that adding the harvests of all
 * groups gives the same whatever the groups. A reader that takes the segments sets segment_count to 0; the memory stays. */
typedef struct mz_harvest {
  mz_segment **segments; /* one reference each, passed to the reader */
  int segment_count, segment_capacity;
  int64_t moves, simulations, episodes;
  double return_sum;                         /* of finished games, without the opening: of player 0 in two-player games */
  int64_t length_sum;                        /* recorded moves of finished games */
  double policy_entropy_sum, root_value_sum; /* over moves */
} mz_harvest;
void mz_harvest_deinit(mz_harvest *harvest); /* releases what is left */

/* Advances games first … first+count−1 (count ≤ the actor's slots) by `moves` moves with the given weights and adds to the
 * harvest. progress: 0 … 1 of the horizon, for the temperature. `version` is recorded in segments. Distinct ranges may run at
 * once, each with its own actor and harvest. Allocates nothing but segments, once games and harvest have grown.
 * puct draws a move from visits^(1/temperature), below 0.001 the most visited; gumbel takes the search's own pick, whose noise
 * already explores as the policy would, at any temperature.
 * On failure (out of memory, or a network that has diverged) the games are only good for freeing. */
mz_status mz_games_advance(mz_games *games, mz_actor *actor, int first, int count, int moves, const float *weights,
                           uint64_t version, double progress, mz_harvest *harvest);
