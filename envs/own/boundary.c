#include "envs/own/boundary.h"
#include "envs/own/random_source.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>

static const mz_own_env *own_of(const mz_env *env) { return env->options; }

/* ---- mistakes ---- */

/* Keeps the first one. */
__attribute__((format(printf, 2, 3))) static void note(const mz_own_env *own, const char *format, ...) {
  mz_own_env *written = (mz_own_env *)own; /* the environment is const for everyone but for its mistakes */
  pthread_mutex_lock(&written->lock);
  if (!own->failed) {
    va_list arguments;
    va_start(arguments, format);
    const int length = snprintf(written->why, sizeof written->why / 2, "%s: ", own->path);
    const size_t used = length < (int)sizeof written->why / 2 ? (size_t)length : sizeof written->why / 2 - 1;
    vsnprintf(written->why + used, sizeof written->why - used, format, arguments);
    va_end(arguments);
  }
  written->failed = true;
  pthread_mutex_unlock(&written->lock);
}

static mz_status failure(const mz_env *env) {
  const mz_own_env *own = own_of(env);
  return own->failed ? mz_fail(MZ_E_CONFIG, "%s", own->why) : MZ_OK;
}

static void note_step(void *own, const char *what) { note(own, "step: %s", what); }

/* ---- functions of the object, called here or in a process ---- */

static const uint8_t *part_of(const void *state, size_t at) { return (const uint8_t *)state + at; }

static void note_complaint(const mz_own_env *own, const mz_own_complaint *complaint) {
  if (complaint->function) note(own, "%s: %s", complaint->function, complaint->why);
}

static int32_t call_to_play(const mz_own_env *own, const void *state) {
  int32_t player;
  if (!own->isolated) return own->abi->to_play(state);
  memcpy(&player, part_of(state, mz_own_isolated_layout(own->isolated)->player_at), sizeof player);
  return player;
}

static const char *call_legal(const mz_own_env *own, const void *state, uint8_t *mask) {
  if (!own->isolated) return own->abi->legal(state, mask);
  memcpy(mask, part_of(state, mz_own_isolated_layout(own->isolated)->mask_at), (size_t)own->abi->actions);
  return NULL;
}

static const char *call_observe(const mz_own_env *own, const void *states, int n, uint8_t *observations) {
  if (!own->isolated) return own->abi->observe(states, (size_t)n, observations);
  const mz_own_layout *l = mz_own_isolated_layout(own->isolated);
  for (int i = 0; i < n; i++)
    memcpy(observations + (size_t)i * l->observation_bytes, part_of(states, (size_t)i * l->state_bytes + l->observation_at),
           l->observation_bytes);
  return NULL;
}

static mz_status call_reset(const mz_own_env *own, void *state, const mz_generator *generator) {
  mz_own_complaint complaint = {0};
  if (own->isolated) {
    MZ_TRY(mz_own_isolated_reset(own->isolated, state, generator, &complaint));
    note_complaint(own, &complaint);
    return MZ_OK;
  }
  const muzero_env_random random = mz_own_random(generator);
  const char *why = own->abi->reset(state, &random);
  if (why) note(own, "reset: %s", why);
  return MZ_OK;
}

/* ---- the player to move, legal actions ---- */

static int to_play(const mz_env *env, const void *state) {
  const mz_own_env *own = own_of(env);
  const int32_t player = call_to_play(own, state);
  if (player >= 0 && player < env->spec.players) return player;
  note(own, "to_play: %d is no player; nearest valid value: %d", (int)player, player < 0 ? 0 : env->spec.players - 1);
  return 0;
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  const mz_own_env *own = own_of(env);
  const int actions = env->spec.actions;
  memset(mask, 0, (size_t)actions);
  const char *why = call_legal(own, state, mask);
  if (why) note(own, "legal: %s", why);
  int count = 0;
  for (int a = 0; a < actions; a++) {
    if (mask[a] > 1) note(own, "legal: mask[%d] is %d; it is 0 or 1", a, mask[a]);
    mask[a] = mask[a] != 0;
    count += mask[a];
  }
  return count;
}

/* ---- reset and step ---- */

/* Checks a state of a game that goes on. `mask`: room for all actions. */
static mz_status check_state(const mz_env *env, const void *state, uint8_t *mask, const char *after) {
  const mz_own_env *own = own_of(env);
  if (own->abi->to_play) to_play(env, state);
  if (own->abi->legal && legal(env, state, mask) == 0)
    note(own, "legal: no action is legal after %s, and the game has not ended (terminated and truncated are 0)", after);
  return failure(env);
}

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  const mz_own_env *own = own_of(env);
  mz_rng constant = mz_rng_at(0, MZ_RNG_ENV, 0, 0);
  const mz_generator otherwise = mz_generator_from_rng(&constant); /* who gives none takes the game for one without chance */
  uint8_t *mask;
  MZ_TRY(failure(env));
  memset(state, 0, env->state_size);
  MZ_TRY(call_reset(own, state, generator ? generator : &otherwise));
  MZ_TRY(mz_alloc(&mask, (size_t)env->spec.actions, 1));
  const mz_status status = check_state(env, state, mask, "reset");
  free(mask);
  return status;
}

bool mz_own_reward_is_within(float reward, const mz_spec *spec) {
  const float min = spec->reward_min, max = spec->reward_max, slack = 1e-6f * fmaxf(fabsf(min), fabsf(max));
  return reward >= min - slack && reward <= max + slack;
}

static mz_status check_result(const mz_env *env, const void *state, const muzero_env_step *from, int32_t action, uint8_t *mask,
                              mz_step *result) {
  const mz_own_env *own = own_of(env);
  char after[64];
  if (!isfinite(from->reward))
    note(own, "step: reward %g after action %d is not finite", (double)from->reward, (int)action);
  else if (!mz_own_reward_is_within(from->reward, &env->spec))
    note(own, "step: reward %g after action %d is outside of reward_min … reward_max, %g … %g; nearest valid value: %g",
         (double)from->reward, (int)action, (double)env->spec.reward_min, (double)env->spec.reward_max,
         (double)fminf(fmaxf(from->reward, env->spec.reward_min), env->spec.reward_max));
  *result = (mz_step){.reward = from->reward, .terminated = from->terminated != 0, .truncated = from->truncated != 0};
  if (result->terminated || result->truncated) return failure(env);
  snprintf(after, sizeof after, "action %d", (int)action);
  return check_state(env, state, mask, after);
}

/* At most MZ_OWN_STEP_ROWS states. */
static mz_status call_step(const mz_own_env *own, uint8_t *states, int n, const int32_t *actions, const mz_generator *generators,
                           muzero_env_step *results) {
  mz_own_complaint complaint = {0};
  if (own->isolated) {
    MZ_TRY(mz_own_isolated_step(own->isolated, states, n, actions, generators, results, &complaint));
    note_complaint(own, &complaint);
    return MZ_OK;
  }
  muzero_env_random random[MZ_OWN_STEP_ROWS];
  const mz_own_refusal refusal = {(void *)own, note_step};
  for (int i = 0; i < n; i++) random[i] = generators ? mz_own_random(&generators[i]) : mz_own_refusing(&refusal);
  const char *why = own->abi->step(states, (size_t)n, actions, random, results);
  if (why) note(own, "step: %s", why);
  return MZ_OK;
}

/* Likewise. */
static mz_status step_rows(const mz_env *env, uint8_t *states, int n, const int32_t *actions, const mz_generator *generators,
                           uint8_t *mask, mz_step *results) {
  const mz_own_env *own = own_of(env);
  muzero_env_step raw[MZ_OWN_STEP_ROWS] = {0};
  MZ_TRY(call_step(own, states, n, actions, generators, raw));
  MZ_TRY(failure(env));
  for (int i = 0; i < n; i++)
    MZ_TRY(check_result(env, states + (size_t)i * env->state_size, &raw[i], actions[i], mask, &results[i]));
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  enum { FEW = 512 };
  uint8_t few[FEW], *many = NULL, *mask = few;
  MZ_TRY(failure(env));
  if (env->spec.actions > FEW) {
    MZ_TRY(mz_alloc(&many, (size_t)env->spec.actions, 1));
    mask = many;
  }
  mz_status status = MZ_OK;
  for (int i = 0; i < n && status == MZ_OK; i += MZ_OWN_STEP_ROWS) {
    const int rows = n - i < MZ_OWN_STEP_ROWS ? n - i : MZ_OWN_STEP_ROWS;
    status = step_rows(env, (uint8_t *)states + (size_t)i * env->state_size, rows, actions + i,
                       env->draws && generators ? generators + i : NULL, mask, results + i);
  }
  free(many);
  return status;
}

/* ---- observations ---- */

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  const mz_own_env *own = own_of(env);
  const size_t bytes = mz_spec_obs_bytes(&env->spec) * (size_t)n, entries = (size_t)env->spec.obs_size * (size_t)n;
  float *floats = observations;
  memset(observations, 0, bytes);
  const char *why = call_observe(own, states, n, observations);
  if (why) note(own, "observe: %s", why);
  if (env->spec.obs_kind != MZ_OBS_F32) return;
  for (size_t i = 0; i < entries; i++) {
    if (isfinite(floats[i])) continue;
    note(own, "observe: entry %zu is %g, which is not finite", i % (size_t)env->spec.obs_size, (double)floats[i]);
    floats[i] = 0;
  }
}

/* ---- texts ---- */

/* Brings a foreign text, `length` of which snprintf would return, into `out`. */
static int give_text(char *from, size_t room, int length, char *out, size_t size) {
  from[length < 0 ? 0 : room - 1] = '\0';
  return snprintf(out, size, "%s", from);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  char own_text[MZ_OWN_TEXT_MAX] = "";
  if (!own_of(env)->abi->text) return snprintf(out, size, "(this environment has no text)\n");
  if (own_of(env)->isolated) {
    if (mz_own_isolated_text(own_of(env)->isolated, state, 0, own_text) == MZ_OK) return snprintf(out, size, "%s", own_text);
    return snprintf(out, size, "(no picture: %s)\n", mz_message());
  }
  return give_text(own_text, sizeof own_text, own_of(env)->abi->text(state, own_text, sizeof own_text), out, size);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  char own_text[MZ_OWN_ACTION_TEXT_MAX] = "", told[MZ_OWN_ROW_TEXT_BYTES];
  mz_own_isolated *isolated = own_of(env)->isolated;
  if (!own_of(env)->abi->action_text || (isolated && mz_own_isolated_text(isolated, NULL, action, told) != MZ_OK))
    return snprintf(out, size, "%d", action);
  if (isolated) return snprintf(out, size, "%.*s", MZ_OWN_ACTION_TEXT_MAX - 1, told);
  return give_text(own_text, sizeof own_text, own_of(env)->abi->action_text(action, own_text, sizeof own_text), out, size);
}

static bool complete(const mz_env *env, void *state) {
  bool is;
  return mz_own_isolated_complete(own_of(env)->isolated, state, &is) == MZ_OK && is;
}

static bool valid(const mz_env *env, const void *state) {
  bool is;
  if (own_of(env)->isolated) return mz_own_isolated_valid(own_of(env)->isolated, state, &is) == MZ_OK && is;
  return !own_of(env)->abi->valid || own_of(env)->abi->valid(state) != 0;
}

/* ---- the environment ---- */

void mz_own_env_wrap(mz_env *env, mz_own_env *own) {
  const muzero_env_abi *abi = own->abi;
  env->state_size = own->isolated ? mz_own_isolated_layout(own->isolated)->state_bytes : abi->state_size;
  env->title = abi->title;
  env->rules = abi->rules;
  env->observation = abi->observation;
  env->copies = true;
  env->draws = abi->draws != 0;
  env->options = own;
  env->reset = reset;
  env->step = step;
  env->valid = valid;
  env->observe = observe;
  env->legal = abi->legal ? legal : NULL;
  env->to_play = abi->to_play ? to_play : NULL;
  env->text = text;
  env->action_text = action_text;
  env->failure = failure;
  if (!own->isolated) return;
  env->saved_size = abi->state_size;
  env->complete = complete;
  env->workers = mz_own_isolated_workers(own->isolated);
}

const mz_own_env *mz_own_env_of(const mz_env *env) { return env->step == step ? env->options : NULL; }
