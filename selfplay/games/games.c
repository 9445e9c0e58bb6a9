#include "selfplay/games/games_state.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include "selfplay/evaluation/opening.h"
#include "selfplay/players/choice.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void carve(mz_games *games, mz_carver *carver) {
  const size_t count = (size_t)games->count;
  mz_carve(carver, &games->states, count, games->env->state_size);
  mz_carve(carver, &games->forks, count, games->env->state_size);
  mz_carve(carver, &games->games, count, sizeof *games->games);
  mz_carve(carver, &games->trajectories, count, sizeof *games->trajectories);
}

double mz_games_bytes(const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut) {
  mz_games games = {.env = env, .count = (int)settings->games};
  mz_carver carver = {0};
  carve(&games, &carver);
  return (double)sizeof games + (double)carver.bytes + (double)games.count * mz_trajectory_bytes(&env->spec, cut);
}

static size_t forks_size(const mz_games *games) { return (size_t)games->count * games->env->state_size; }

mz_status mz_games_create(mz_games **out, const mz_env *env, const mz_selfplay_settings *settings, mz_cut cut, uint64_t seed) {
  MZ_ASSERT(settings->games >= 1 && settings->games <= INT32_MAX);
  uint8_t *mask = NULL;
  mz_games *games = NULL;
  mz_status status;
  if (settings->fork_share > 0) MZ_TRY(mz_env_check_copies(env, "selfplay.fork_share", "0"));
  MZ_TRY(mz_alloc(&games, 1, sizeof *games));
  games->env = env;
  games->settings = *settings;
  games->seed = seed;
  games->count = (int)settings->games;
  mz_carver carver = {0};
  carve(games, &carver);
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &games->block));
  MZ_TRY_CLEANUP(mz_alloc(&mask, (size_t)env->spec.actions, 1));
  for (int i = 0; i < games->count; i++) {
    MZ_TRY_CLEANUP(mz_trajectory_create(&games->trajectories[i], &env->spec, cut, (uint32_t)i));
    MZ_TRY_CLEANUP(mz_games_start(games, i, mask));
  }
  memcpy(games->forks, games->states, forks_size(games)); /* until a first position is kept */
  free(mask);
  *out = games;
  return MZ_OK;
cleanup:
  free(mask);
  mz_games_free(games);
  return status;
}

void mz_games_free(mz_games *games) {
  if (!games) return;
  if (games->block) {
    mz_env_release(games->env, games->states, games->count);
    for (int i = 0; i < games->count; i++) mz_trajectory_free(games->trajectories[i]);
  }
  free(games->block);
  free(games);
}

static uint8_t *fork_of(const mz_games *games, int slot) { return games->forks + (size_t)slot * games->env->state_size; }

void mz_games_keep(mz_games *games, int slot) {
  if (games->settings.fork_share == 0) return;
  const mz_game *game = &games->games[slot];
  mz_rng rng = mz_stream_fork(games->seed, slot, game->moves);
  /* Reservoir sampling: each of n positions stays with probability 1/n. */
  if (mz_rng_below(&rng, (uint32_t)game->length + 1) != 0) return;
  memcpy(fork_of(games, slot), mz_games_state(games, slot), games->env->state_size);
}

/* *forked false: this episode does not fork off the one before, or the random move ended it. */
static mz_status fork_off(mz_games *games, int slot, uint8_t *mask, mz_rng *choice, const mz_generator *generator, bool *forked) {
  const double share = games->settings.fork_share;
  *forked = false;
  if (share == 0 || games->games[slot].episode == 0 || mz_rng_f64(choice) >= share) return MZ_OK;
  uint8_t *state = mz_games_state(games, slot);
  memcpy(state, fork_of(games, slot), games->env->state_size);
  int made;
  bool ended;
  MZ_TRY(mz_random_moves(games->env, state, 1, mask, choice, generator, NULL, &made, &ended));
  *forked = !ended;
  return MZ_OK;
}

mz_status mz_games_start(mz_games *games, int slot, uint8_t *mask) {
  mz_game *game = &games->games[slot];
  uint8_t *state = mz_games_state(games, slot);
  game->length = 0;
  game->return_ = 0;
  mz_rng env_rng = mz_stream_reset(games->seed, slot, game->episode);
  const mz_generator generator = mz_generator_from_rng(&env_rng);
  mz_rng choice = mz_stream_opening(games->seed, slot, game->episode);
  bool forked;
  MZ_TRY(fork_off(games, slot, mask, &choice, &generator, &forked));
  if (forked) return MZ_OK;
  const int plies = (int)mz_rng_below(&choice, (uint32_t)games->settings.opening_plies + 1);
  int made;
  return mz_opening_play(games->env, state, plies, mask, &choice, &generator, NULL, &made);
}

static bool explores(const mz_games *games, int slot) {
  const int64_t most = games->settings.exploring_moves;
  const mz_game *game = &games->games[slot];
  /* a game that was under way when the setting came goes on as it was */
  if ((int64_t)game->length >= most || !mz_trajectory_last_random(games->trajectories[slot])) return false;
  mz_rng rng = mz_stream_exploring(games->seed, slot, game->episode);
  return game->length < mz_rng_below(&rng, (uint32_t)most + 1);
}

int mz_games_explore(const mz_games *games, int slot, const uint8_t *legal) {
  if (!explores(games, slot)) return -1;
  mz_rng rng = mz_stream_action(games->seed, slot, games->games[slot].moves);
  const int last = mz_trajectory_last_action(games->trajectories[slot]), actions = games->env->spec.actions;
  if (mz_rng_f64(&rng) < games->settings.exploring_repeat && last >= 0 && legal[last]) return last;
  int count = 0;
  for (int a = 0; a < actions; a++) count += legal[a] != 0;
  return mz_choose_uniform(legal, actions, count, &rng);
}

/* A run that continues one without forks has none yet: the positions in play will do. */
static void read_forks(mz_games *games, mz_reader *reader) {
  if (mz_reader_left(reader) == 0) {
    memcpy(games->forks, games->states, forks_size(games));
    return;
  }
  for (int i = 0; i < games->count; i++) mz_read(reader, fork_of(games, i), mz_env_saved_size(games->env));
}

/* Games that live outside are not written, for nothing could bring them back: what is kept is how far each slot has come. */
static void write_counts(const mz_games *games, mz_writer *writer) {
  mz_write_u32(writer, (uint32_t)games->count);
  mz_write_u32(writer, 0); /* bytes of a state */
  for (int i = 0; i < games->count; i++) {
    mz_write_u64(writer, games->games[i].episode);
    mz_write_u64(writer, games->games[i].moves);
    mz_write_u64(writer, mz_trajectory_ordinal(games->trajectories[i]));
  }
}

void mz_games_write(const mz_games *games, mz_writer *writer) {
  if (!games->env->copies) {
    write_counts(games, writer);
    return;
  }
  mz_write_u32(writer, (uint32_t)games->count);
  const size_t saved = mz_env_saved_size(games->env);
  mz_write_u32(writer, (uint32_t)saved);
  for (int i = 0; i < games->count; i++) {
    const mz_game *game = &games->games[i];
    mz_write_u64(writer, game->episode);
    mz_write_u64(writer, game->moves);
    mz_write_u64(writer, game->length);
    mz_write(writer, &game->return_, sizeof game->return_);
    mz_write(writer, mz_games_state(games, i), saved);
    mz_trajectory_write(games->trajectories[i], writer);
  }
  for (int i = 0; i < games->count && games->settings.fork_share > 0; i++) mz_write(writer, fork_of(games, i), saved);
}

static mz_status check_together(const mz_games *games, int slot) {
  const mz_game *game = &games->games[slot], *first = &games->games[0];
  if (game->moves >= MZ_STREAM_MOVES_MAX || game->episode >= MZ_STREAM_MOVES_MAX)
    return mz_fail(MZ_E_CHECKPOINT, "games: game %d counts %" PRIu64 " moves and %" PRIu64 " episodes", slot, game->moves,
                   game->episode);
  if (game->moves == first->moves) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "games: game %d has made %" PRIu64 " moves, game 0 %" PRIu64 "; all advance together", slot,
                 game->moves, first->moves);
}

/* Checks what a game counts: at least a move an episode, and no more in this one than in all. */
static mz_status check_counters(const mz_games *games, int slot) {
  const mz_game *game = &games->games[slot];
  const mz_spec *spec = &games->env->spec;
  const uint64_t limit = spec->max_moves > 0 ? (uint64_t)spec->max_moves : INT32_MAX;
  const uint64_t recorded = (uint64_t)mz_trajectory_length(games->trajectories[slot]);
  MZ_TRY(check_together(games, slot));
  if (game->episode > game->moves || game->length > game->moves || game->length >= limit)
    return mz_fail(MZ_E_CHECKPOINT, "games: game %d counts %" PRIu64 " moves, %" PRIu64 " in its episode %" PRIu64, slot,
                   game->moves, game->length, game->episode);
  if (recorded > game->length)
    return mz_fail(MZ_E_CHECKPOINT, "games: game %d has %" PRIu64 " moves on record, %" PRIu64 " were made", slot, recorded,
                   game->length);
  const double reward = fmax(fabs((double)spec->reward_min), fabs((double)spec->reward_max));
  if (!(fabs(game->return_) <= 1.001 * reward * (double)game->length)) /* with room for rounding; false for NaN */
    return mz_fail(MZ_E_CHECKPOINT, "games: game %d: a return of %g after %" PRIu64 " moves", slot, game->return_, game->length);
  return MZ_OK;
}

/* A state from a file, whose other bytes are found. */
static bool is_state(const mz_env *env, void *state) {
  return env->complete ? env->complete(env, state) : env->valid(env, state);
}

/* Between rounds no game in play has ended, and none forks off at an end: `valid` refuses both. */
static mz_status check_states(const mz_games *games) {
  const mz_env *env = games->env;
  for (int i = 0; i < games->count; i++) {
    if (!is_state(env, mz_games_state(games, i)))
      return mz_fail(MZ_E_CHECKPOINT, "games: the state of game %d is no state of %s", i, env->name);
    if (!is_state(env, fork_of(games, i)))
      return mz_fail(MZ_E_CHECKPOINT, "games: the position that game %d may fork from is no state of %s", i, env->name);
  }
  return MZ_OK;
}

/* Every slot begins its next episode: the one that was in play is lost, with the moves that no segment holds yet. */
static mz_status begin_anew(mz_games *games, mz_reader *reader) {
  uint8_t *mask;
  MZ_TRY(mz_alloc(&mask, (size_t)games->env->spec.actions, 1));
  mz_status status = MZ_OK;
  for (int i = 0; i < games->count && status == MZ_OK; i++) {
    mz_game *game = &games->games[i];
    game->episode = mz_read_u64(reader) + 1;
    game->moves = mz_read_u64(reader);
    mz_trajectory_restart(games->trajectories[i], mz_read_u64(reader));
    status = reader->ok ? check_together(games, i) : mz_fail(MZ_E_CHECKPOINT, "games: the section is cut short at game %d", i);
    if (status == MZ_OK) status = mz_games_start(games, i, mask);
  }
  free(mask);
  return status;
}

mz_status mz_games_read(mz_games *games, mz_reader *reader) {
  const uint32_t count = mz_read_u32(reader), state_size = mz_read_u32(reader);
  if (!reader->ok) return mz_fail(MZ_E_CHECKPOINT, "games: the section is cut short");
  if (count != (uint32_t)games->count) {
    return mz_fail(MZ_E_CHECKPOINT, "games: %u in the checkpoint, %d in the configuration", count, games->count);
  }
  const size_t wanted = games->env->copies ? mz_env_saved_size(games->env) : 0;
  if (state_size != wanted) {
    return mz_fail(MZ_E_CHECKPOINT, "games: a state of %u bytes in the checkpoint, of %zu in %s", state_size, wanted,
                   games->env->name);
  }
  if (!games->env->copies) return begin_anew(games, reader);
  for (int i = 0; i < games->count; i++) {
    mz_game *game = &games->games[i];
    game->episode = mz_read_u64(reader);
    game->moves = mz_read_u64(reader);
    game->length = mz_read_u64(reader);
    mz_read(reader, &game->return_, sizeof game->return_);
    mz_read(reader, mz_games_state(games, i), state_size);
    if (!reader->ok) return mz_fail(MZ_E_CHECKPOINT, "games: the section is cut short at game %d", i);
    MZ_TRY(mz_trajectory_read(games->trajectories[i], reader));
    MZ_TRY(check_counters(games, i));
  }
  read_forks(games, reader);
  if (!reader->ok) return mz_fail(MZ_E_CHECKPOINT, "games: the section is cut short at the positions to fork from");
  return check_states(games);
}
