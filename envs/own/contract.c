#include "envs/own/contract.h"
#include "envs/env.h"
#include "envs/own/boundary.h"
#include "envs/own/guarded.h"
#include "envs/own/watch.h"
#include <math.h>

struct mz_contract {
  const muzero_env_abi *abi;
  const mz_spec *spec;
  mz_findings *findings;
  mz_game_eyes eyes;
  mz_guarded state, observation, mask, text, result;
  uint8_t *before; /* the state before a call that may not change it */
  uint8_t *seen;   /* the observation of the move before */
  int32_t *moves;  /* of the game under way */
  int count;
  uint64_t seed;
  bool named;       /* names of actions were looked at */
  bool moved_twice; /* a player moved twice in a row in some game */
};

#define FIND(c, function, kind, ...)                                                                                             \
  mz_findings_add((c)->findings, function, kind, (c)->seed, (c)->moves, (c)->count, __VA_ARGS__)

mz_status mz_contract_create(mz_contract **out, const muzero_env_abi *abi, const mz_spec *spec, int32_t *moves,
                             mz_findings *findings) {
  mz_contract *c;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  *c = (mz_contract){.abi = abi, .spec = spec, .moves = moves, .findings = findings};
  const size_t observation = mz_spec_obs_bytes(spec);
  mz_status status;
  MZ_TRY_CLEANUP(mz_game_eyes_init(&c->eyes, abi, spec));
  MZ_TRY_CLEANUP(mz_guarded_init(&c->state, abi->state_size, abi->state_size));
  MZ_TRY_CLEANUP(mz_guarded_init(&c->observation, observation, observation));
  MZ_TRY_CLEANUP(mz_guarded_init(&c->mask, (size_t)spec->actions, (size_t)spec->actions));
  MZ_TRY_CLEANUP(mz_guarded_init(&c->text, MZ_OWN_TEXT_MAX, MZ_OWN_TEXT_MAX));
  MZ_TRY_CLEANUP(mz_guarded_init(&c->result, sizeof(muzero_env_step), sizeof(muzero_env_step)));
  MZ_TRY_CLEANUP(mz_alloc(&c->before, abi->state_size, 1));
  MZ_TRY_CLEANUP(mz_alloc(&c->seen, observation, 1));
  *out = c;
cleanup:
  if (status != MZ_OK) mz_contract_free(c);
  return status;
}

void mz_contract_free(mz_contract *c) {
  if (!c) return;
  mz_game_eyes_deinit(&c->eyes);
  mz_guarded_deinit(&c->state);
  mz_guarded_deinit(&c->observation);
  mz_guarded_deinit(&c->mask);
  mz_guarded_deinit(&c->text);
  mz_guarded_deinit(&c->result);
  free(c->before);
  free(c->seen);
  free(c);
}

bool mz_contract_moved_twice(const mz_contract *c) { return c->moved_twice; }

/* ---- functions that only look ---- */

static void check_unchanged(mz_contract *c, const char *function) {
  if (memcmp(c->before, c->state.bytes, c->abi->state_size) == 0) return;
  FIND(c, function, "changes", "changes the state, which it may only read");
  memcpy(c->state.bytes, c->before, c->abi->state_size);
}

static void check_said(mz_contract *c, const char *function, const char *why) {
  if (why) FIND(c, function, "failure", "says: %.250s", why);
}

/* Returns the number of legal actions; the mask is c->mask. */
static int check_legal(mz_contract *c, bool ended) {
  const int actions = c->spec->actions;
  if (!c->abi->legal) {
    memset(c->mask.bytes, 1, (size_t)actions);
    return ended ? 0 : actions;
  }
  memset(c->mask.bytes, 0, (size_t)actions);
  check_said(c, "legal", c->abi->legal(c->state.bytes, c->mask.bytes));
  if (mz_guarded_broken(&c->mask, (size_t)actions))
    FIND(c, "legal", "bounds", "writes beyond the mask, which has %d bytes", actions);
  check_unchanged(c, "legal");
  int count = 0;
  for (int a = 0; a < actions; a++) {
    if (c->mask.bytes[a] > 1) FIND(c, "legal", "mask", "writes mask[%d] = %d, which is 0 or 1", a, c->mask.bytes[a]);
    count += c->mask.bytes[a] != 0;
  }
  if (count == 0 && !ended) FIND(c, "legal", "none", "allows no action, and the game has not ended");
  if (count > 0 && ended) FIND(c, "legal", "ended", "allows %d actions after the game has ended; then it is 0", count);
  return count;
}

/* Checks that every frame but the newest is the next one of the move before. */
static void check_frames(mz_contract *c) {
  const mz_spec *spec = c->spec;
  const size_t all = mz_spec_obs_bytes(spec) / (size_t)(spec->obs_shape[0] * spec->obs_shape[1]);
  const size_t part = spec->frames > 1 ? all / (size_t)spec->frames : all;
  for (size_t at = 0; c->count > 0 && at < c->observation.size; at += all) {
    const uint8_t *now = c->observation.bytes + at, *before = c->seen + at + part;
    size_t i = 0;
    while (i < all - part && now[i] == before[i]) i++;
    if (i == all - part) continue;
    FIND(c, "observe", "frames",
         "writes another frame %zu of %d than frame %zu was a move before (at row %zu, column %zu); frames are the oldest first, "
         "and "
         "each move shifts them by one",
         i / part + 1, spec->frames, i / part + 2, at / all / (size_t)spec->obs_shape[1], at / all % (size_t)spec->obs_shape[1]);
    break;
  }
  memcpy(c->seen, c->observation.bytes, c->observation.size);
}

static void check_observation(mz_contract *c) {
  const float *floats = (const float *)c->observation.bytes;
  memset(c->observation.bytes, 0, c->observation.size);
  check_said(c, "observe", c->abi->observe(c->state.bytes, 1, c->observation.bytes));
  if (mz_guarded_broken(&c->observation, c->observation.size))
    FIND(c, "observe", "bounds", "writes beyond the observation, which has %zu bytes", c->observation.size);
  check_unchanged(c, "observe");
  check_frames(c);
  for (int i = 0; c->spec->obs_kind == MZ_OBS_F32 && i < c->spec->obs_size; i++) {
    if (isfinite(floats[i])) continue;
    FIND(c, "observe", "finite", "writes %g into entry %d", (double)floats[i], i);
    return;
  }
}

/* A player, or −1. */
static int check_player(mz_contract *c, int before, bool ended) {
  if (!c->abi->to_play) return 0;
  const int player = c->abi->to_play(c->state.bytes);
  check_unchanged(c, "to_play");
  if (ended) return player;
  c->moved_twice = c->moved_twice || player == before;
  if (player < 0 || player >= c->spec->players)
    FIND(c, "to_play", "player", "returns %d, which is no player of %d", player, c->spec->players);
  else if (c->spec->turns == MZ_TURNS_ALTERNATE && before >= 0 && player == before)
    FIND(c, "to_play", "turn", "returns player %d twice in a row, but alternating is 1; nearest valid value: 0", player);
  return player;
}

static void check_valid(mz_contract *c, bool ended) {
  if (!c->abi->valid) return;
  const bool valid = c->abi->valid(c->state.bytes) != 0;
  check_unchanged(c, "valid");
  if (valid == ended)
    FIND(c, "valid", "play", ended ? "returns 1 for a game that has ended" : "returns 0 for a state that play has reached");
}

/* ---- texts ---- */

/* One call with so much room. Returns the length it gives. */
static int write_text(mz_contract *c, int32_t action, size_t room) {
  char *out = (char *)c->text.bytes;
  const bool of_action = action >= 0;
  const int length = of_action ? c->abi->action_text(action, out, room) : c->abi->text(c->state.bytes, out, room);
  const char *function = of_action ? "action_text" : "text";
  const bool open = room > 0 && length >= 0 && memchr(out, 0, room) == NULL; /* what follows is marked anew */
  if (mz_guarded_broken(&c->text, room)) FIND(c, function, "bounds", "writes beyond its %zu bytes", room);
  if (open) FIND(c, function, "text", "ends its text with no NUL within %zu bytes", room);
  return length;
}

static void check_text(mz_contract *c) {
  if (!c->abi->text) return;
  const int whole = write_text(c, -1, 0);
  memset(c->text.bytes, MZ_GUARD_BYTE, c->text.size);
  if (whole < 0 || whole >= MZ_OWN_TEXT_MAX)
    FIND(c, "text", "length", "has %d characters; at most %d are shown", whole, MZ_OWN_TEXT_MAX - 1);
  for (int i = 0; i < 2; i++) {
    const size_t rooms[2] = {3, whole > 0 && whole < MZ_OWN_TEXT_MAX ? (size_t)whole + 1 : 1};
    write_text(c, -1, rooms[i]);
    memset(c->text.bytes, MZ_GUARD_BYTE, c->text.size);
  }
  check_unchanged(c, "text");
}

/* Names of all actions, before the first game. */
static void check_action_texts(mz_contract *c) {
  enum { COMPARED = 512 };
  char names[COMPARED][MZ_OWN_ACTION_TEXT_MAX];
  if (!c->abi->action_text) return;
  for (int32_t a = 0; a < c->spec->actions && a < COMPARED; a++) {
    const int whole = write_text(c, a, 0);
    memset(c->text.bytes, MZ_GUARD_BYTE, c->text.size);
    if (whole < 1 || whole >= MZ_OWN_ACTION_TEXT_MAX)
      FIND(c, "action_text", "length", "gives action %d a name of %d characters; it takes 1 to %d", a, whole,
           MZ_OWN_ACTION_TEXT_MAX - 1);
    write_text(c, a, MZ_OWN_ACTION_TEXT_MAX);
    snprintf(names[a], sizeof names[a], "%.*s", MZ_OWN_ACTION_TEXT_MAX - 1, (const char *)c->text.bytes);
    memset(c->text.bytes, MZ_GUARD_BYTE, c->text.size);
    for (int32_t b = 0; b < a; b++)
      if (strcmp(names[a], names[b]) == 0)
        FIND(c, "action_text", "names", "gives actions %d and %d one name, '%s'", b, a, names[a]);
  }
}

/* ---- the game ---- */

/* A sum of many rewards is rounded more than one of them. */
static bool is_return_within(double x, float min, float max) {
  const double slack = 1e-5 * fmax(fabs((double)min), fabs((double)max));
  return x >= (double)min - slack && x <= (double)max + slack;
}

static void look(mz_contract *c, bool ended, int *player) {
  memcpy(c->before, c->state.bytes, c->abi->state_size);
  check_legal(c, ended);
  check_observation(c);
  check_valid(c, ended);
  check_text(c);
  *player = check_player(c, *player, ended);
}

/* Returns whether the game goes on. */
static bool check_result(mz_contract *c, const muzero_env_step *r, double *sum) {
  const mz_spec *spec = c->spec;
  if (!isfinite(r->reward)) {
    FIND(c, "step", "finite", "gives a reward of %g", (double)r->reward);
    return false;
  }
  if (!mz_own_reward_is_within(r->reward, spec))
    FIND(c, "step", "range", "gives a reward of %g, outside of reward_min … reward_max, %g … %g", (double)r->reward,
         (double)spec->reward_min, (double)spec->reward_max);
  *sum += (double)r->reward;
  if (r->truncated && c->count != spec->max_moves)
    FIND(c, "step", "truncated", "sets truncated after %d moves, but max_moves is %d", c->count, spec->max_moves);
  if (r->terminated || r->truncated) return false;
  if (spec->max_moves > 0 && c->count >= spec->max_moves) {
    FIND(c, "step", "limit", "goes on after max_moves, %d; the move that reaches it sets truncated", spec->max_moves);
    return false;
  }
  if (c->count < MZ_ENDLESS_MOVES) return true;
  if (spec->max_moves == 0) /* else it ends later */
    FIND(c, "step", "endless", "has not ended the game after %d random moves, and max_moves is 0: give the game a limit",
         c->count);
  return false;
}

static void check_return(mz_contract *c, const double sums[2]) {
  const mz_spec *spec = c->spec;
  for (int player = 0; player < spec->players; player++) {
    const double total = sums[player] - (mz_spec_zero_sum(spec) ? sums[1 - player] : 0);
    if (!is_return_within(total, spec->return_min, spec->return_max))
      FIND(c, "step", "return", "gives player %d a return of %g, outside of return_min … return_max, %g … %g", player, total,
           (double)spec->return_min, (double)spec->return_max);
  }
}

static void record(mz_contract *c, mz_recorded_game *game, const muzero_env_step *result, bool ended) {
  if (c->count > MZ_RECORDED_MOVES_MAX) return;
  game->count = c->count;
  game->ended = ended;
  if (c->count > 0) game->actions[c->count - 1] = c->moves[c->count - 1];
  memcpy(c->before, c->state.bytes, c->abi->state_size);
  game->points[c->count] = mz_game_point_of(&c->eyes, c->state.bytes, result);
  memcpy(c->state.bytes, c->before, c->abi->state_size); /* who changes it is found below */
}

/* Returns whether the game goes on. */
static bool step(mz_contract *c, mz_game_chance *chance, mz_recorded_game *game, int *player, double sums[2]) {
  const muzero_env_random random = mz_game_chance_source(chance);
  const int32_t action = c->moves[c->count++];
  muzero_env_step *result = (muzero_env_step *)c->result.bytes;
  memset(result, 0, sizeof *result);
  mz_watch_game(c->seed, c->moves, c->count);
  const char *why = c->abi->step(c->state.bytes, 1, &action, &random, result);
  check_said(c, "step", why);
  if (mz_guarded_broken(&c->state, c->abi->state_size))
    FIND(c, "step", "bounds", "writes beyond the state, which has %zu bytes", c->abi->state_size);
  if (mz_guarded_broken(&c->result, sizeof *result))
    FIND(c, "step", "results", "writes beyond the results, of which there is one");
  if (chance->drew) FIND(c, "step", "draws", "draws a random number, but draws is 0");
  if (why) return false;
  const bool goes_on = check_result(c, result, &sums[*player == 1]);
  const bool ended = result->terminated || result->truncated;
  record(c, game, result, ended);
  if (goes_on || ended) look(c, ended, player);
  if (ended) check_return(c, sums);
  return goes_on;
}

void mz_contract_play(mz_contract *c, uint64_t seed, mz_recorded_game *game, int *moves) {
  mz_game_chance chance = mz_game_chance_of(seed);
  const muzero_env_random random = mz_game_chance_source(&chance);
  mz_rng choices = mz_rng_at(seed, MZ_RNG_TEST, 1, 0);
  double sums[2] = {0, 0};
  int player = -1;
  c->seed = seed;
  c->count = 0;
  mz_watch_game(seed, c->moves, 0);
  *game = (mz_recorded_game){.seed = seed};
  memset(c->state.bytes, 0, c->abi->state_size);
  if (!c->named) check_action_texts(c);
  c->named = true;
  const char *why = c->abi->reset(c->state.bytes, &random);
  check_said(c, "reset", why);
  if (mz_guarded_broken(&c->state, c->abi->state_size))
    FIND(c, "reset", "bounds", "writes beyond the state, which has %zu bytes", c->abi->state_size);
  chance.forbidden = !c->abi->draws;
  bool goes_on = !why;
  if (goes_on) {
    record(c, game, NULL, false);
    look(c, false, &player);
  }
  while (goes_on) {
    int legal = 0;
    for (int a = 0; a < c->spec->actions; a++) {
      c->mask.bytes[a] = c->mask.bytes[a] != 0;
      legal += c->mask.bytes[a];
    }
    if (legal == 0) break;
    c->moves[c->count] = mz_env_nth_legal(c->mask.bytes, c->spec->actions, mz_rng_below(&choices, (uint32_t)legal));
    goes_on = step(c, &chance, game, &player, sums);
  }
  *moves = c->count;
}
