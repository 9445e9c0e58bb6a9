#include "selfplay/players/players.h"
#include "base/config/config.h"
#include "selfplay/players/choice.h"
#include "selfplay/players/perfect.h"
#include "selfplay/players/player_memory.h"
#include <ctype.h>
#include <string.h>

static const char *const names[] = {
    [MZ_PLAYER_RANDOM] = "random", [MZ_PLAYER_RULE] = "rule", [MZ_PLAYER_PERFECT] = "perfect", [MZ_PLAYER_MCTS] = "mcts"};
enum { NAME_COUNT = sizeof names / sizeof names[0], BASELINES_MAX = 8 };

static const mz_env_baseline *find_baseline(const mz_env *env, const char *text) {
  const mz_env_baseline *at = env->baselines;
  while (at && at->name && strcmp(at->name, text) != 0) at++;
  return at && at->name ? at : NULL;
}

static mz_status unknown(const mz_env *env, const char *text, const char *word, const char *further) {
  const char *all[NAME_COUNT + BASELINES_MAX];
  char baselines[128] = "";
  int count = 0;
  size_t used = 0;
  for (; count < NAME_COUNT; count++) all[count] = names[count];
  for (const mz_env_baseline *at = env->baselines; at && at->name; at++) {
    MZ_ASSERT(count < NAME_COUNT + BASELINES_MAX && used < sizeof baselines);
    all[count++] = at->name;
    used += (size_t)snprintf(baselines + used, sizeof baselines - used, ", %s", at->name);
  }
  const char *nearest = mz_nearest(word, all, count);
  if (!nearest)
    return mz_fail(MZ_E_USAGE, "%s: unknown; there are random, rule, perfect%s%s mcts:SIMS%s%s", text, baselines,
                   further[0] ? "," : " and", further[0] ? ", " : "", further);
  return mz_fail(MZ_E_USAGE, "%s: unknown; did you mean %s%s?", text, nearest, nearest == names[MZ_PLAYER_MCTS] ? ":SIMS" : "");
}

static mz_status parse_simulations(const char *text, const char *digits, int *out) {
  long value = 0;
  bool valid = *digits != '\0';
  for (const char *c = digits; *c && valid; c++) {
    valid = isdigit((unsigned char)*c) && value <= MZ_MCTS_SIMULATIONS_MAX;
    value = 10 * value + (*c - '0');
  }
  if (!valid || value < 1 || value > MZ_MCTS_SIMULATIONS_MAX) {
    return mz_fail(MZ_E_USAGE, "%s: mcts:SIMS takes 1 … %d simulations, as in mcts:100", text, MZ_MCTS_SIMULATIONS_MAX);
  }
  *out = (int)value;
  return MZ_OK;
}

mz_status mz_player_parse(const char *text, const mz_env *env, mz_player *out) {
  return mz_player_parse_among(text, env, "", out);
}

bool mz_rule_known(const mz_env *env) { return env->spec.turns == MZ_TURNS_ALTERNATE && !env->draws; }

mz_status mz_player_parse_among(const char *text, const mz_env *env, const char *further, mz_player *out) {
  const mz_env_baseline *baseline = find_baseline(env, text);
  if (baseline) {
    *out = (mz_player){.kind = MZ_PLAYER_BASELINE, .chooses = baseline->how};
    snprintf(out->name, sizeof out->name, "%s", text);
    return MZ_OK;
  }
  const char *colon = strchr(text, ':');
  char word[16];
  const size_t length = colon ? (size_t)(colon - text) : strlen(text);
  snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : (int)sizeof word - 1, text);
  int kind = 0;
  while (kind < NAME_COUNT && (length >= sizeof word || strcmp(word, names[kind]) != 0)) kind++;
  if (kind == NAME_COUNT || (colon && kind != MZ_PLAYER_MCTS)) return unknown(env, text, word, further);

  mz_player player = {.kind = (mz_player_kind)kind};
  if (kind == MZ_PLAYER_MCTS) {
    MZ_TRY(parse_simulations(text, colon ? colon + 1 : "", &player.simulations));
    snprintf(player.name, sizeof player.name, "%s:%d", word, player.simulations);
  } else {
    snprintf(player.name, sizeof player.name, "%s", word);
  }
  if (kind == MZ_PLAYER_MCTS || kind == MZ_PLAYER_RULE) /* they try moves out */
    MZ_TRY(mz_env_check_copies(env, player.name, "random"));
  if (kind == MZ_PLAYER_PERFECT && !mz_perfect_known(env)) {
    return mz_fail(MZ_E_CONFIG, "perfect: perfect play is not known for %s; mcts:SIMS plays anything", env->name);
  }
  if (kind == MZ_PLAYER_RULE && !mz_rule_known(env)) {
    return mz_fail(MZ_E_CONFIG,
                   "rule: not for %s, only for two players strictly in turn without chance; mcts:SIMS plays anything", env->name);
  }
  *out = player;
  return MZ_OK;
}

/* Marks in `wins` the legal moves that win at once; *count: how many. `next` is left as some successor. */
static mz_status mark_wins(const mz_env *env, const void *state, const uint8_t *legal, uint8_t *next, uint8_t *wins, int *count) {
  *count = 0;
  for (int32_t a = 0; a < env->spec.actions; a++) {
    wins[a] = 0;
    if (!legal[a]) continue;
    mz_step step;
    memcpy(next, state, env->state_size);
    MZ_TRY(env->step(env, next, 1, &a, NULL, &step));
    wins[a] = step.terminated && step.reward > 0;
    *count += wins[a];
  }
  return MZ_OK;
}

/* Marks in `good` the legal moves after which the other player cannot win at once; *count: how many. */
static mz_status mark_safe(const mz_env *env, const void *state, mz_player_memory *m, int *count) {
  *count = 0;
  for (int32_t a = 0; a < env->spec.actions; a++) {
    m->good[a] = 0;
    if (!m->legal[a]) continue;
    mz_step step;
    memcpy(m->next, state, env->state_size);
    MZ_TRY(env->step(env, m->next, 1, &a, NULL, &step));
    int answers = 0;
    if (!step.terminated && !step.truncated) {
      mz_env_legal(env, m->next, m->reply_legal);
      MZ_TRY(mark_wins(env, m->next, m->reply_legal, m->after, m->reply_good, &answers));
    }
    m->good[a] = answers == 0;
    *count += m->good[a];
  }
  return MZ_OK;
}

static mz_status choose_by_rule(const mz_env *env, const void *state, int legal, mz_player_memory *m, mz_rng *rng, int *action) {
  int good;
  MZ_TRY(mark_wins(env, state, m->legal, m->next, m->good, &good));
  if (good == 0) MZ_TRY(mark_safe(env, state, m, &good));
  const int actions = env->spec.actions;
  *action = good ? mz_choose_uniform(m->good, actions, good, rng) : mz_choose_uniform(m->legal, actions, legal, rng);
  return MZ_OK;
}

double mz_player_bytes(const mz_player *player, const mz_env *env) {
  if (player->kind == MZ_PLAYER_MCTS) return mz_mcts_bytes(env, player->simulations);
  if (player->kind == MZ_PLAYER_BASELINE) return (double)player->chooses->bytes;
  return player->kind == MZ_PLAYER_PERFECT && !env->expert && env->solver ? (double)env->solver->bytes : 0;
}

mz_status mz_player_move(const mz_player *player, const mz_env *env, const void *state, mz_rng *rng, int *action) {
  mz_player_memory *m;
  MZ_TRY(mz_player_memory_of_thread(env, &m));
  if (player->kind == MZ_PLAYER_MCTS) return mz_mcts_move(m->mcts, env, state, player->simulations, rng, action);
  if (player->kind == MZ_PLAYER_PERFECT) {
    int good;
    MZ_TRY(mz_perfect_moves(env, state, m->good, &good));
    *action = mz_choose_uniform(m->good, env->spec.actions, good, rng);
    return MZ_OK;
  }
  if (player->kind == MZ_PLAYER_BASELINE) {
    int good;
    MZ_TRY(mz_baseline_moves(player->chooses, env, state, m->good, &good));
    *action = mz_choose_uniform(m->good, env->spec.actions, good, rng);
    return MZ_OK;
  }
  int legal;
  MZ_TRY(mz_legal_moves(env, state, m->legal, &legal));
  if (player->kind == MZ_PLAYER_RULE) return choose_by_rule(env, state, legal, m, rng, action);
  *action = mz_choose_uniform(m->legal, env->spec.actions, legal, rng);
  return MZ_OK;
}
