/* Actors advance games in play. A *group* of slots is searched together by one worker, and each round every game advances by M
 * moves. Games own their whole state, workers only scratch memory; so which worker plays which group, and how large groups are,
 * changes nothing. */
#pragma once
#include "selfplay/games/games.h"
#include "selfplay/search/search.h"

/* One worker's scratch memory; made for the largest group. Not state. discount: γ, whatever the number of players. */
typedef struct mz_actor mz_actor;
mz_status mz_actor_create(mz_actor **out, const mz_env *env, const mz_search_settings *search, const mz_model *model,
                          const mz_lane *where, double discount, int slots);
void mz_actor_free(mz_actor *actor);
/* Bytes that create takes. */
mz_status mz_actor_bytes(const mz_env *env, const mz_search_settings *search, const mz_model *model, const mz_lane *where,
                         int slots, double *bytes);

/* The result of moves; starts zeroed. Segments are in order of (game, ordinal). The sums are of multiples of 2^-24, and exact below
 * 2^29, so that adding the results of all groups gives the same whatever the groups. A reader that takes the segments sets
 * segment_count to 0; the memory stays. */
typedef struct mz_selfplay_result {
  mz_segment **segments; /* one reference each, passed to the reader */
  int segment_count, segment_capacity;
  int64_t moves, simulations, episodes;
  double return_sum;                         /* of finished games, without the opening: of player 0 in two-player games */
  int64_t length_sum;                        /* recorded moves of finished games */
  double policy_entropy_sum, root_value_sum; /* over moves */
} mz_selfplay_result;
void mz_selfplay_result_deinit(mz_selfplay_result *result); /* releases what is left */

/* Advances games first … first+count−1 (count ≤ the actor's slots) by `moves` moves with the given weights and adds to the
 * result. progress: 0 … 1 of the horizon, for the temperature. `version` is recorded in segments. Distinct ranges may run at
 * once, each with its own actor and result. Allocates nothing but segments, once games and result have grown.
 * puct draws a move from visits^(1/temperature), below 0.001 the most visited; gumbel takes the search's own pick, whose noise
 * already explores as the policy would, at any temperature.
 * On failure (out of memory, a network that has diverged, MZ_E_CONFIG for a game that goes on after the environment's max_moves, or
 * the environment's own) the games are only good for freeing. */
mz_status mz_games_advance(mz_games *games, mz_actor *actor, int first, int count, int moves, const mz_prepared *weights,
                           uint64_t version, double progress, mz_selfplay_result *result);
