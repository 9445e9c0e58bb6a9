#include "cli/playing/live_game.h"
#include "base/maths/streams.h"
#include "base/config/config.h"
#include <string.h>
#include <strings.h>

enum { FIRST_CAPACITY = 64 };

static uint8_t *state_at(const mz_live_game *game, int ply) { return game->states + (size_t)ply * game->env->state_size; }

static mz_rng chance(const mz_live_game *game, int draw) { return mz_stream_prompt_chance(game->seed, game->ordinal, draw); }

static void look(mz_live_game *game) {
  game->legal_count = mz_live_game_over(game) ? 0 : mz_env_legal(game->env, state_at(game, game->count), game->legal);
  if (game->legal_count == 0) memset(game->legal, 0, (size_t)game->env->spec.actions);
}

static mz_status begin(mz_live_game *game) {
  mz_rng rng = chance(game, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  if (game->count > 0)
    memcpy(game->states, state_at(game, game->count), game->env->state_size); /* it may name what lives outside */
  game->count = 0;
  MZ_TRY(game->env->reset(game->env, game->states, &generator));
  look(game);
  return MZ_OK;
}

static mz_status reserve(mz_live_game *game, int plies) {
  if (plies <= game->capacity) return MZ_OK;
  const int capacity = game->capacity ? 2 * game->capacity : FIRST_CAPACITY;
  mz_ply *more_plies = NULL;
  uint8_t *more_states;
  MZ_TRY(mz_alloc(&more_plies, (size_t)capacity, sizeof *more_plies));
  const mz_status status = mz_alloc(&more_states, (size_t)capacity + 1, game->env->state_size);
  if (status != MZ_OK) {
    free(more_plies);
    return status;
  }
  if (game->capacity) {
    memcpy(more_plies, game->plies, (size_t)game->count * sizeof *more_plies);
    memcpy(more_states, game->states, ((size_t)game->count + 1) * game->env->state_size);
  }
  free(game->plies);
  free(game->states);
  game->plies = more_plies;
  game->states = more_states;
  game->capacity = capacity;
  return MZ_OK;
}

mz_status mz_live_game_init(mz_live_game *game, const mz_env *env, uint64_t seed) {
  *game = (mz_live_game){.env = env, .seed = seed};
  MZ_TRY(mz_alloc(&game->legal, (size_t)env->spec.actions, 1));
  MZ_TRY(reserve(game, FIRST_CAPACITY));
  return begin(game);
}

void mz_live_game_deinit(mz_live_game *game) {
  if (game->states) mz_env_release(game->env, state_at(game, game->count), 1);
  free(game->plies);
  free(game->states);
  free(game->legal);
  *game = (mz_live_game){0};
}

mz_status mz_live_game_restart(mz_live_game *game) {
  game->ordinal++;
  return begin(game);
}

const void *mz_live_game_state(const mz_live_game *game) { return state_at(game, game->count); }

int mz_live_game_to_play(const mz_live_game *game) { return mz_env_to_play(game->env, state_at(game, game->count)); }

bool mz_live_game_over(const mz_live_game *game) {
  if (game->count == 0) return false;
  const mz_step *last = &game->plies[game->count - 1].step;
  return last->terminated || last->truncated;
}

double mz_live_game_return(const mz_live_game *game) {
  double sum = 0;
  for (int i = 0; i < game->count; i++) {
    sum += mz_spec_gain(&game->env->spec, game->plies[i].player == 0, game->plies[i].step.reward);
  }
  return sum;
}

/* A legal action of the side to move. */
static mz_status append(mz_live_game *game, int32_t action, bool inserted) {
  MZ_TRY(reserve(game, game->count + 1));
  mz_ply *ply = &game->plies[game->count];
  *ply = (mz_ply){.action = action, .player = mz_live_game_to_play(game), .inserted = inserted};
  memcpy(state_at(game, game->count + 1), state_at(game, game->count), game->env->state_size);
  mz_rng rng = chance(game, 1 + game->count);
  const mz_generator generator = mz_generator_from_rng(&rng);
  MZ_TRY(
      game->env->step(game->env, state_at(game, game->count + 1), 1, &action, game->env->draws ? &generator : NULL, &ply->step));
  game->count++;
  look(game);
  return MZ_OK;
}

static void drop(mz_live_game *game) {
  game->count--;
  look(game);
}

static mz_status over(void) { return mz_fail(MZ_E_USAGE, "illegal move: the game is over"); }

mz_status mz_live_game_turn(mz_live_game *game, int player) {
  if (mz_live_game_over(game)) return over();
  if (mz_live_game_to_play(game) == player) return MZ_OK;
  const mz_spec *spec = &game->env->spec;
  const int pass = spec->action_kind == MZ_ACTIONS_CELLS_PASS ? spec->actions - 1 : -1;
  if (pass < 0 || !game->legal[pass]) return mz_fail(MZ_E_USAGE, "illegal move: the other side is to move");
  MZ_TRY(append(game, pass, true));
  if (!mz_live_game_over(game)) return MZ_OK;
  drop(game);
  return mz_fail(MZ_E_USAGE, "illegal move: the other side is to move, and its pass would end the game");
}

void mz_live_game_settle(mz_live_game *game) {
  if (game->count > 0 && game->plies[game->count - 1].inserted) drop(game);
}

mz_status mz_live_game_play(mz_live_game *game, int player, int action) {
  MZ_ASSERT(action >= 0 && action < game->env->spec.actions);
  MZ_TRY(mz_live_game_turn(game, player));
  const mz_status status = game->legal[action] ? append(game, action, false) : mz_fail(MZ_E_USAGE, "illegal move");
  if (status != MZ_OK) mz_live_game_settle(game);
  return status;
}

bool mz_live_game_undo(mz_live_game *game) {
  if (game->count == 0 || !game->env->copies) return false;
  drop(game);
  mz_live_game_settle(game);
  return true;
}

const char *mz_live_game_text(const mz_live_game *game, int action, char out[MZ_ACTION_TEXT]) {
  game->env->action_text(game->env, action, out, MZ_ACTION_TEXT);
  return out;
}

int mz_live_game_find(const mz_live_game *game, const char *text) {
  char name[MZ_ACTION_TEXT];
  for (int a = 0; a < game->env->spec.actions; a++)
    if (strcasecmp(text, mz_live_game_text(game, a, name)) == 0) return a;
  return -1;
}

static bool is_cell(const mz_spec *spec, int action) {
  if (spec->action_kind == MZ_ACTIONS_PLAIN || spec->action_kind == MZ_ACTIONS_DIRECTIONS) return false;
  return action >= 0 && !(spec->action_kind == MZ_ACTIONS_CELLS_PASS && action == spec->actions - 1);
}

static int nearest_cell(const mz_live_game *game, int action) {
  const mz_spec *spec = &game->env->spec;
  const int width = spec->obs_shape[1];
  int best = -1, best_distance = 0;
  for (int a = 0; a < spec->actions; a++) {
    if (!game->legal[a] || !is_cell(spec, a)) continue;
    const int rows = a / width - action / width, columns = a % width - action % width;
    const int distance = rows * rows + columns * columns;
    if (best >= 0 && distance >= best_distance) continue;
    best = a;
    best_distance = distance;
  }
  return best;
}

int mz_live_game_nearest(const mz_live_game *game, const char *text, int action) {
  if (is_cell(&game->env->spec, action)) {
    const int cell = nearest_cell(game, action);
    if (cell >= 0) return cell;
  }
  char names[2][MZ_ACTION_TEXT]; /* the best so far, and the candidate */
  int best = -1;
  for (int a = 0; a < game->env->spec.actions; a++) {
    if (!game->legal[a]) continue;
    const char *const pair[] = {names[0], mz_live_game_text(game, a, names[1])};
    const char *nearest = best < 0 ? mz_nearest(text, pair + 1, 1) : mz_nearest(text, pair, 2);
    if (nearest != names[1]) continue;
    best = a;
    memcpy(names[0], names[1], sizeof names[0]);
  }
  return best;
}
