#include "selfplay/players.h"
#include "muzero/base/arena.h"
#include "muzero/base/config.h"
#include "selfplay/choice.h"
#include "selfplay/mcts.h"
#include <ctype.h>
#include <string.h>

static const char *const names[] = {
    [MZ_PLAYER_RANDOM] = "random", [MZ_PLAYER_RULE] = "rule", [MZ_PLAYER_PERFECT] = "perfect", [MZ_PLAYER_MCTS] = "mcts"};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

static mz_status unknown(const char *text, const char *word) {
  const char *nearest = mz_nearest(word, names, NAME_COUNT);
  if (!nearest) return mz_fail(MZ_E_USAGE, "opponent: %s: unknown; there are random, rule, perfect and mcts:SIMS", text);
  return mz_fail(MZ_E_USAGE, "opponent: %s: unknown; did you mean %s%s?", text, nearest,
                 nearest == names[MZ_PLAYER_MCTS] ? ":SIMS" : "");
}

static mz_status parse_simulations(const char *text, const char *digits, int *out) {
  long value = 0;
  bool valid = *digits != '\0';
  for (const char *c = digits; *c && valid; c++) {
    valid = isdigit((unsigned char)*c) && value <= MZ_MCTS_SIMULATIONS_MAX;
    value = 10 * value + (*c - '0');
  }
  if (!valid || value < 1 || value > MZ_MCTS_SIMULATIONS_MAX) {
    return mz_fail(MZ_E_USAGE, "opponent: %s: mcts:SIMS takes 1 … %d simulations, as in mcts:100", text, MZ_MCTS_SIMULATIONS_MAX);
  }
  *out = (int)value;
  return MZ_OK;
}

mz_status mz_player_parse(const char *text, const mz_env *env, mz_player *out) {
  const char *colon = strchr(text, ':');
  char word[16];
  const size_t length = colon ? (size_t)(colon - text) : strlen(text);
  snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, text);
  int kind = 0;
  while (kind < NAME_COUNT && (length >= sizeof word || strcmp(word, names[kind]) != 0)) kind++;
  if (kind == NAME_COUNT || (colon && kind != MZ_PLAYER_MCTS)) return unknown(text, word);

  mz_player player = {.kind = (mz_player_kind)kind};
  if (kind == MZ_PLAYER_MCTS) {
    MZ_TRY(parse_simulations(text, colon ? colon + 1 : "", &player.simulations));
    snprintf(player.name, sizeof player.name, "%s:%d", word, player.simulations);
  } else {
    snprintf(player.name, sizeof player.name, "%s", word);
  }
  if (kind == MZ_PLAYER_PERFECT && !env->expert) {
    return mz_fail(MZ_E_CONFIG, "opponent: perfect: perfect play is not known for %s; mcts:SIMS plays anything", env->name);
  }
  if (kind == MZ_PLAYER_RULE && (!env->spec.alternating || env->draws)) {
    return mz_fail(MZ_E_CONFIG,
                   "opponent: rule: not for %s, only for two players in turn without chance; mcts:SIMS plays anything",
                   env->name);
  }
  *out = player;
  return MZ_OK;
}

/* Masks [actions] and states that a choice needs. */
typedef struct scratch {
  uint8_t *legal, *good, *reply_legal, *reply_good;
  uint8_t *next, *after;
  void *block;
} scratch;

static mz_status scratch_init(scratch *s, const mz_env *env) {
  const size_t actions = (size_t)env->spec.actions;
  mz_carver carver = {0};
  mz_carve(&carver, &s->legal, actions, 1);
  mz_carve(&carver, &s->good, actions, 1);
  mz_carve(&carver, &s->reply_legal, actions, 1);
  mz_carve(&carver, &s->reply_good, actions, 1);
  mz_carve(&carver, &s->next, 1, env->state_size);
  mz_carve(&carver, &s->after, 1, env->state_size);
  return mz_carve_commit(&carver, &s->block);
}

/* Marks in `wins` the legal moves that win at once; how many. `next` is left as some successor. */
static int mark_wins(const mz_env *env, const void *state, const uint8_t *legal, uint8_t *next, uint8_t *wins) {
  int count = 0;
  for (int32_t a = 0; a < env->spec.actions; a++) {
    wins[a] = 0;
    if (!legal[a]) continue;
    mz_step step;
    memcpy(next, state, env->state_size);
    env->step(next, 1, &a, NULL, &step);
    wins[a] = step.terminated && step.reward > 0;
    count += wins[a];
  }
  return count;
}

/* Marks in `good` the legal moves after which the other player cannot win at once; how many. */
static int mark_safe(const mz_env *env, const void *state, scratch *s) {
  int count = 0;
  for (int32_t a = 0; a < env->spec.actions; a++) {
    s->good[a] = 0;
    if (!s->legal[a]) continue;
    mz_step step;
    memcpy(s->next, state, env->state_size);
    env->step(s->next, 1, &a, NULL, &step);
    const bool over = step.terminated || step.truncated;
    if (!over) mz_env_legal(env, s->next, s->reply_legal);
    s->good[a] = over || mark_wins(env, s->next, s->reply_legal, s->after, s->reply_good) == 0;
    count += s->good[a];
  }
  return count;
}

static int choose_by_rule(const mz_env *env, const void *state, int legal, scratch *s, mz_rng *rng) {
  int good = mark_wins(env, state, s->legal, s->next, s->good);
  if (good == 0) good = mark_safe(env, state, s);
  return good ? mz_choose_uniform(s->good, good, rng) : mz_choose_uniform(s->legal, legal, rng);
}

static int choose_optimal(const mz_env *env, const void *state, scratch *s, mz_rng *rng) {
  float value;
  env->expert(state, s->good, &value);
  int count = 0;
  for (int a = 0; a < env->spec.actions; a++) count += s->good[a];
  return mz_choose_uniform(s->good, count, rng);
}

mz_status mz_player_move(const mz_player *player, const mz_env *env, const void *state, mz_rng *rng, int *action) {
  if (player->kind == MZ_PLAYER_MCTS) return mz_mcts_move(env, state, player->simulations, rng, action);
  scratch s;
  MZ_TRY(scratch_init(&s, env));
  const int legal = mz_env_legal(env, state, s.legal);
  switch (player->kind) {
    case MZ_PLAYER_RULE: *action = choose_by_rule(env, state, legal, &s, rng); break;
    case MZ_PLAYER_PERFECT: *action = choose_optimal(env, state, &s, rng); break;
    default: *action = mz_choose_uniform(s.legal, legal, rng); break;
  }
  free(s.block);
  return MZ_OK;
}
