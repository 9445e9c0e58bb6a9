/* OpenSpiel's games: a state is the history of moves and of chance, beside what may be asked of the position. */
#include "envs/worker/worker_env_state.h"
#include <math.h>

enum { STATE_BYTES_MAX = 1 << 20, HISTORY_MAX = STATE_BYTES_MAX / 4, TEXT_BYTES = 4096 };

typedef struct spiel_state {
  int32_t count; /* entries of the history */
  int32_t moves; /* of players */
  int32_t player;
  uint32_t ended;
} spiel_state; /* the observation, the mask and the history follow, where the layout has them in a row */
_Static_assert(sizeof(spiel_state) == MZ_WORKER_STATE_HEAD, "layout");

/* The part of a state that is `at` bytes from a row's beginning. */
static uint8_t *part(spiel_state *s, size_t at) { return (uint8_t *)(s + 1) + (at - MZ_MAILBOX_BODY_AT); }
static size_t parts_bytes(const mz_worker_env *w) { return w->layout.history_at + 2 * w->layout.history - MZ_MAILBOX_BODY_AT; }

/* ---- asking ---- */

typedef struct call {
  const mz_env *env;
  void *states;
  const int32_t *actions; /* NULL: `action` for all */
  int32_t action;
  const mz_generator *generators;      /* NULL: no chance */
  uint64_t seeds[MZ_WORKERS_ROWS_MAX]; /* drawn once, for a row may be asked more than once */
  mz_step *results;
  bool answered[MZ_WORKERS_ROWS_MAX];
  bool refused;
  char *text; /* TEXT_BYTES, of the position; NULL: positions are taken over */
} call;

static bool ask(void *context, int i, mz_mailbox_row *row, uint32_t life) {
  (void)life;
  call *c = context;
  const mz_worker_env *w = mz_worker_env_data(c->env);
  spiel_state *s = mz_worker_env_state(c->env, c->states, i);
  if (c->answered[i]) return false;
  *row = (mz_mailbox_row){.action = c->actions ? c->actions[i] : c->action, .seed = c->seeds[i], .history_count = s->count};
  memcpy((uint8_t *)row + w->layout.history_at, part(s, w->layout.history_at), 2 * (size_t)s->count);
  return true;
}

static void take(void *context, int i, const mz_mailbox_row *row, uint32_t life) {
  (void)life;
  call *c = context;
  const mz_worker_env *w = mz_worker_env_data(c->env);
  spiel_state *s = mz_worker_env_state(c->env, c->states, i);
  if (!row || c->answered[i]) return;
  c->answered[i] = true;
  c->refused = c->refused || row->refused;
  if (c->text) memcpy(c->text, (const uint8_t *)row + w->layout.text_at, TEXT_BYTES);
  if (c->text || row->refused) return;
  const int32_t count = row->history_after;
  if (count < s->count || (size_t)count > w->layout.history || row->player < 0 || row->player >= c->env->spec.players) {
    c->refused = true;
    return;
  }
  *s = (spiel_state){.count = count, .moves = row->moves, .player = row->player, .ended = row->terminated};
  memset(part(s, MZ_MAILBOX_BODY_AT), 0, c->env->state_size - sizeof *s);
  memcpy(part(s, MZ_MAILBOX_BODY_AT), (const uint8_t *)row + MZ_MAILBOX_BODY_AT, w->layout.obs_bytes);
  memcpy(part(s, w->layout.mask_at), (const uint8_t *)row + w->layout.mask_at, (size_t)c->env->spec.actions);
  memcpy(part(s, w->layout.history_at), (const uint8_t *)row + w->layout.history_at, 2 * (size_t)count);
  if (c->results) c->results[i] = (mz_step){.reward = row->reward, .terminated = row->terminated != 0};
}

/* At most mz_env_workers_rows rows. */
static mz_status run(call *c, int n) {
  const mz_worker_env *w = mz_worker_env_data(c->env);
  int32_t workers[MZ_WORKERS_ROWS_MAX];
  for (int i = 0; i < n; i++) {
    workers[i] = mz_env_workers_any(w->workers, i, n);
    if (c->generators && w->has_chance) c->seeds[i] = c->generators[i].next64(c->generators[i].context);
  }
  const mz_env_workers_batch batch = {c, ask, take};
  MZ_TRY(mz_env_workers_run_all(w->workers, n, workers, c->answered, &batch, "a move"));
  return c->refused ? mz_fail(MZ_E_CONFIG, "%s: the worker refuses a history, or answers what cannot be", c->env->name) : MZ_OK;
}

/* ---- the functions ---- */

static mz_status check_state(const mz_env *env, const spiel_state *s) {
  return mz_worker_env_check_position(env, s, s->ended != 0, s->moves);
}

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  memset(state, 0, env->state_size);
  call c = {.env = env, .states = state, .action = MZ_WORKER_RESET, .generators = generator};
  MZ_TRY(run(&c, 1));
  return check_state(env, state);
}

static mz_status check_step(const mz_env *env, spiel_state *s, int mover, mz_step *result) {
  MZ_TRY(mz_worker_env_check_reward(env, result->reward));
  result->truncated = env->spec.max_moves > 0 && s->moves >= env->spec.max_moves;
  if (result->truncated) s->ended = 1;
  if (env->spec.turns == MZ_TURNS_ALTERNATE && !s->ended && s->player == mover)
    return mz_fail(MZ_E_CONFIG,
                   "%s: player %d moves twice in a row after %d moves, which the random games at the start did not show",
                   env->name, mover, s->moves);
  return check_state(env, s);
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  const int rows = mz_env_workers_rows(mz_worker_env_data(env)->workers);
  int32_t movers[MZ_WORKERS_ROWS_MAX];
  for (int first = 0; first < n; first += rows) {
    const int count = n - first < rows ? n - first : rows;
    void *at = mz_worker_env_state(env, states, first);
    call c = {.env = env,
              .states = at,
              .actions = actions + first,
              .generators = generators ? generators + first : NULL,
              .results = results + first};
    for (int i = 0; i < count; i++) movers[i] = ((const spiel_state *)mz_worker_env_state(env, at, i))->player;
    MZ_TRY(run(&c, count));
    for (int i = 0; i < count; i++) MZ_TRY(check_step(env, mz_worker_env_state(env, at, i), movers[i], &results[first + i]));
  }
  return MZ_OK;
}

/* Bounds first, for the history is then read; then the position is made from it again and compared. */
static bool valid(const mz_env *env, const void *state) {
  const mz_worker_env *w = mz_worker_env_data(env);
  const spiel_state *from = state;
  uint8_t *copy;
  if (from->count < 0 || (size_t)from->count > w->layout.history || from->ended) return false;
  if (env->spec.max_moves > 0 && from->moves >= env->spec.max_moves) return false;
  if (mz_alloc(&copy, 1, env->state_size) != MZ_OK) return false;
  memcpy(copy, state, env->state_size);
  call c = {.env = env, .states = copy, .action = MZ_WORKER_LOOK};
  const bool is = run(&c, 1) == MZ_OK && memcmp(copy, state, env->state_size) == 0;
  free(copy);
  return is;
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  return mz_worker_env_legal(env, state, ((const spiel_state *)state)->ended != 0, mask);
}

static int to_play(const mz_env *env, const void *state) { return (void)env, ((const spiel_state *)state)->player; }

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  char position[TEXT_BYTES];
  call c = {.env = env, .states = (void *)state, .action = MZ_WORKER_TEXT, .text = position};
  if (run(&c, 1) != MZ_OK) return snprintf(out, size, "(no picture: %s)\n", mz_message());
  position[TEXT_BYTES - 1] = '\0';
  const size_t length = strlen(position);
  return snprintf(out, size, "%s%s", position, length > 0 && position[length - 1] == '\n' ? "" : "\n");
}

/* ---- completing ---- */

static mz_status read_history(mz_worker_env *w, const cJSON *json) {
  const double entries = mz_json_number_or_nan(json, "history"), most = mz_json_number_or_nan(json, "history_entry_max");
  if (!(most >= 1 && most <= 65536))
    return mz_fail(MZ_E_CONFIG, "%s: actions or outcomes of chance up to %g; takes up to 65536", w->env.name, most);
  if (!(entries >= 1 && entries <= HISTORY_MAX))
    return mz_fail(MZ_E_CONFIG, "%s: games of up to %g moves and outcomes; takes up to %d", w->env.name, entries, HISTORY_MAX);
  w->layout.history = (size_t)entries;
  w->has_chance = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "chance"));
  return MZ_OK;
}

static mz_status read_ranges(mz_worker_env *w, const cJSON *json) {
  static const char *const keys[MZ_WORKER_RANGES] = {"reward_min", "reward_max", "return_min", "return_max"};
  mz_spec *spec = &w->env.spec;
  float *r = w->given.ranges;
  for (int i = 0; i < MZ_WORKER_RANGES; i++) {
    if (isnan(r[i])) r[i] = (float)mz_json_number_or_nan(json, keys[i]);
    if (!isfinite(r[i]))
      return mz_fail(MZ_E_CONFIG, "%s: the game knows no %s; %s= in the name sets it", w->env.name, keys[i], keys[i]);
  }
  MZ_TRY(mz_worker_env_set_ranges(w, " (of the game)"));
  spec->one_sided = spec->reward_min >= 0 && spec->return_min >= 0;
  return MZ_OK;
}

mz_status mz_spiel_env_complete(mz_worker_env *w, const cJSON *description) {
  mz_env *env = &w->env;
  mz_mailbox_layout *l = &w->layout;
  if (w->given.limit) env->spec.max_moves = w->given.limit;
  MZ_TRY(read_history(w, description));
  MZ_TRY(read_ranges(w, description));
  if (env->spec.players == 2 && !cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(description, "alternates")))
    env->spec.turns = MZ_TURNS_TOLD;
  l->obs_bytes = mz_spec_obs_bytes(&env->spec);
  l->mask_at = MZ_MAILBOX_BODY_AT + l->obs_bytes;
  l->history_at = (l->mask_at + (size_t)env->spec.actions + 1) / 2 * 2;
  l->text_at = l->history_at + 2 * l->history;
  l->text_bytes = TEXT_BYTES;
  l->row_bytes = (l->text_at + l->text_bytes + 63) / 64 * 64;
  env->state_size = (sizeof(spiel_state) + parts_bytes(w) + 7) / 8 * 8;
  if (env->state_size > STATE_BYTES_MAX)
    return mz_fail(MZ_E_CONFIG, "%s: a state of %zu bytes; it takes up to %d", env->name, env->state_size, STATE_BYTES_MAX);
  env->copies = true;
  env->draws = w->has_chance;
  env->reset = reset;
  env->step = step;
  env->valid = valid;
  env->observe = mz_worker_env_observe;
  env->legal = legal;
  env->to_play = to_play;
  env->text = text;
  return MZ_OK;
}
