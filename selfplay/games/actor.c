#include "base/arena.h"
#include "base/maths/streams.h"
#include "base/maths/maths.h"
#include "selfplay/games/actor.h"
#include "selfplay/games/games_state.h"
#include "selfplay/planner.h"
#include <math.h>
#include <string.h>

static const double GREEDY_BELOW = 1e-3; /* temperature under which the most visited action is taken */

struct mz_actor {
  mz_planner planner;
  bool gumbel;
  int simulations; /* of the move under way */
  /* [slots] */
  int32_t *actions;
  int32_t *movers;
  bool *random; /* the move is one of exploring_moves */
  mz_step *steps;
  mz_rng *chance;
  mz_generator *generators;
  double *share; /* [actions], scratch */
  void *block;
};

static void carve(mz_actor *actor, const mz_env *env, int slots, mz_carver *carver) {
  const size_t n = (size_t)slots;
  mz_carve(carver, &actor->actions, n, sizeof *actor->actions);
  mz_carve(carver, &actor->movers, n, sizeof *actor->movers);
  mz_carve(carver, &actor->random, n, sizeof *actor->random);
  mz_carve(carver, &actor->steps, n, sizeof *actor->steps);
  mz_carve(carver, &actor->chance, n, sizeof *actor->chance);
  mz_carve(carver, &actor->generators, n, sizeof *actor->generators);
  mz_carve(carver, &actor->share, (size_t)env->spec.actions, sizeof *actor->share);
}

mz_status mz_actor_bytes(const mz_env *env, const mz_search_settings *search, const mz_model *model, const mz_lane *where,
                         int slots, double *bytes) {
  mz_actor actor;
  mz_carver carver = {0};
  carve(&actor, env, slots, &carver);
  MZ_TRY(mz_planner_bytes(&env->spec, search, model, where, slots, bytes));
  *bytes += (double)sizeof actor + (double)carver.bytes;
  return MZ_OK;
}

mz_status mz_actor_create(mz_actor **out, const mz_env *env, const mz_search_settings *search, const mz_model *model,
                          const mz_lane *where, double discount, int slots) {
  mz_actor *actor;
  MZ_TRY(mz_alloc(&actor, 1, sizeof *actor));
  actor->gumbel = search->algorithm == MZ_GUMBEL;
  mz_carver carver = {0};
  carve(actor, env, slots, &carver);
  mz_status status;
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &actor->block));
  MZ_TRY_CLEANUP(mz_planner_init(&actor->planner, env, search, model, where, discount, slots));
  for (int i = 0; i < slots; i++) actor->generators[i] = mz_generator_from_rng(&actor->chance[i]);
  *out = actor;
  return MZ_OK;
cleanup:
  mz_actor_free(actor);
  return status;
}

void mz_actor_free(mz_actor *actor) {
  if (!actor) return;
  mz_planner_deinit(&actor->planner);
  free(actor->block);
  free(actor);
}

/* --- result --- */

void mz_selfplay_result_deinit(mz_selfplay_result *result) {
  for (int i = 0; i < result->segment_count; i++) mz_segment_release(result->segments[i]);
  free(result->segments);
  *result = (mz_selfplay_result){0};
}

/* Takes over the reference. Games advance in lock step and so cut their segments in turns; each goes behind the last one of
 * its game or of a lower one, which puts them in order of (game, ordinal). */
static mz_status keep_segment(void *context, mz_segment *segment) {
  mz_selfplay_result *result = context;
  const mz_status status =
      mz_reserve_one(&result->segments, &result->segment_capacity, result->segment_count, sizeof *result->segments);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  int at = result->segment_count++;
  for (; at > 0 && result->segments[at - 1]->game > segment->game; at--) result->segments[at] = result->segments[at - 1];
  result->segments[at] = segment;
  return MZ_OK;
}

/* Addends of the result's sums are multiples of 2^-24. Doubles add them exactly while sums stay below 2^29, for a double has 53 bits;
 * so the sums over all groups do not depend on how the games were grouped. Beyond that they are rounded. */
static double exact(double x) { return rint(x * 0x1p24) * 0x1p-24; }

static double entropy(const float *policy, int actions) {
  double sum = 0;
  for (int a = 0; a < actions; a++) {
    if (policy[a] > 0) sum -= (double)policy[a] * (double)mz_logf(policy[a]);
  }
  return sum;
}

/* --- moves --- */

static double temperature_at(const mz_selfplay_settings *settings, double progress) {
  const double part = progress < settings->temperature_until ? progress / settings->temperature_until : 1;
  return settings->temperature + part * (settings->temperature_final - settings->temperature);
}

/* Draws from visits^(1/temperature) (MuZero, appendix B); `share` is scratch, [actions]. */
static int draw_by_visits(const int32_t *visits, int actions, double temperature, mz_rng rng, double *share) {
  int32_t most = 1;
  for (int a = 0; a < actions; a++) {
    if (visits[a] > most) most = visits[a];
  }
  double total = 0;
  for (int a = 0; a < actions; a++) {
    share[a] = visits[a] ? mz_exp(mz_log((double)visits[a] / most) / temperature) : 0;
    total += share[a];
  }
  MZ_ASSERT(total > 0);
  double left = mz_rng_f64(&rng) * total;
  int chosen = -1;
  for (int a = 0; a < actions && left >= 0; a++) { /* rounding may leave a remainder: then the last visited action */
    if (share[a] == 0) continue;
    chosen = a;
    left -= share[a];
  }
  return chosen;
}

/* gumbel: the halving rule's pick, whatever the temperature, for its noise already explores in proportion to the policy. */
static int choose(const mz_games *games, mz_actor *actor, int slot, int i, double temperature) {
  const mz_root_result *result = &actor->planner.results[i];
  if (actor->gumbel || temperature < GREEDY_BELOW) return result->selected;
  const mz_rng rng = mz_stream_action(games->seed, slot, games->games[slot].moves);
  return draw_by_visits(result->visits, games->env->spec.actions, temperature, rng, actor->share);
}

/* Games move in lock step, and all of them get the same: what is searched together stays together, whatever the groups. */
static int simulations_of(const mz_games *games, const mz_actor *actor, uint64_t move) {
  const int all = actor->planner.simulations;
  mz_rng rng = mz_stream_cap(games->seed, move);
  return mz_rng_f64(&rng) < games->settings.full_share ? all : (int)mz_selfplay_fast_simulations(&games->settings, all);
}

/* Searches the group's positions and chooses a move for each. */
static mz_status plan(mz_games *games, mz_actor *actor, int first, int count, const mz_prepared *weights, double temperature) {
  mz_planner *planner = &actor->planner;
  MZ_TRY(mz_planner_observe(planner, 0, count, mz_games_state(games, first)));
  for (int i = 0; i < count; i++) {
    const int slot = first + i;
    mz_games_keep(games, slot);
    planner->roots[i].noise = games->settings.noise;
    planner->roots[i].rng = mz_stream_noise(games->seed, slot, games->games[slot].moves);
  }
  actor->simulations = count > 0 ? simulations_of(games, actor, games->games[first].moves) : 0;
  MZ_TRY(mz_planner_search(planner, count, weights, actor->simulations));
  for (int i = 0; i < count; i++) {
    const uint8_t *legal = planner->legal + (size_t)i * (size_t)games->env->spec.actions;
    const int random = mz_games_explore(games, first + i, legal);
    actor->random[i] = random >= 0;
    actor->actions[i] = actor->random[i] ? random : choose(games, actor, first + i, i, temperature);
  }
  return MZ_OK;
}

static mz_status step(mz_games *games, mz_actor *actor, int first, int count) {
  const mz_env *env = games->env;
  for (int i = 0; i < count; i++) actor->movers[i] = mz_env_to_play(env, mz_games_state(games, first + i));
  for (int i = 0; env->draws && i < count; i++) {
    actor->chance[i] = mz_stream_chance(games->seed, first + i, games->games[first + i].moves);
  }
  return env->step(env, mz_games_state(games, first), count, actor->actions, env->draws ? actor->generators : NULL, actor->steps);
}

/* A game that goes on for longer than its environment says could not be read back from a checkpoint. */
static mz_status check_length(const mz_games *games, const mz_game *game) {
  const int most = games->env->spec.max_moves;
  if (most <= 0 || game->length < (uint64_t)most) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: a game has not ended after its max_moves of %d moves; the move that reaches it sets truncated",
                 games->env->name, most);
}

/* Records the move that slot first + i has just made, and starts its next game when that move ended one. */
static mz_status record(mz_games *games, mz_actor *actor, int first, int i, uint64_t version, mz_selfplay_result *result) {
  const mz_spec *spec = &games->env->spec;
  const int slot = first + i;
  const mz_planner *planner = &actor->planner;
  const mz_step *made = &actor->steps[i];
  mz_game *game = &games->games[slot];
  const float *policy = planner->results[i].policy;
  uint8_t *legal = planner->legal + (size_t)i * (size_t)spec->actions;
  const mz_move move = {
      .obs = planner->roots[i].observation,
      .action = actor->actions[i],
      .player = actor->movers[i],
      .reward = made->reward,
      .value = planner->results[i].value,
      .random = actor->random[i],
      .policy = actor->simulations == planner->simulations ? policy : NULL,
      .legal = legal,
      .terminated = made->terminated,
      .truncated = made->truncated,
  };
  MZ_TRY(mz_trajectory_append(games->trajectories[slot], &move, version, keep_segment, result));
  game->moves++;
  game->length++;
  game->return_ += mz_spec_gain(spec, actor->movers[i] == 0, made->reward);
  result->moves++;
  result->simulations += actor->simulations;
  result->policy_entropy_sum += exact(entropy(policy, spec->actions));
  result->root_value_sum += exact((double)move.value);
  if (!made->terminated && !made->truncated) return check_length(games, game);

  result->episodes++;
  result->return_sum += exact(game->return_);
  result->length_sum += (int64_t)game->length;
  game->episode++;
  return mz_games_start(games, slot, legal); /* the mask of the move just made is free again */
}

mz_status mz_games_advance(mz_games *games, mz_actor *actor, int first, int count, int moves, const mz_prepared *weights,
                           uint64_t version, double progress, mz_selfplay_result *result) {
  MZ_ASSERT(first >= 0 && count >= 0 && first + count <= games->count && count <= actor->planner.slots);
  const double temperature = temperature_at(&games->settings, progress);
  for (int m = 0; m < moves; m++) {
    MZ_TRY(plan(games, actor, first, count, weights, temperature));
    MZ_TRY(step(games, actor, first, count));
    for (int i = 0; i < count; i++) MZ_TRY(record(games, actor, first, i, version, result));
  }
  return MZ_OK;
}
