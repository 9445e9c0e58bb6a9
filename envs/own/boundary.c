#include "envs/own/boundary.h"
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

/* ---- random numbers ---- */

static uint64_t next64(void *context) {
  const mz_generator *generator = context;
  return generator->next64(generator->context);
}
static double uniform(void *context) { return mz_generator_f64(context); }
static uint32_t below(void *context, uint32_t n) { return n > 1 ? mz_generator_below(context, n) : 0; }

muzero_env_random mz_own_random(const mz_generator *generator) {
  return (muzero_env_random){.context = (void *)generator, .next64 = next64, .f64 = uniform, .below = below};
}

static void note_draw(const mz_own_env *own) { note(own, "step: draws a random number, but draws is 0; nearest valid value: 1"); }
static uint64_t refuse_next64(void *context) { return note_draw(context), 0; }
static double refuse_f64(void *context) { return note_draw(context), 0; }
static uint32_t refuse_below(void *context, uint32_t n) { return (void)n, note_draw(context), 0; }

static muzero_env_random refusing(const mz_own_env *own) {
  return (muzero_env_random){.context = (void *)own, .next64 = refuse_next64, .f64 = refuse_f64, .below = refuse_below};
}

/* ---- the player to move, legal actions ---- */

static int to_play(const mz_env *env, const void *state) {
  const mz_own_env *own = own_of(env);
  const int32_t player = own->abi->to_play(state);
  if (player >= 0 && player < env->spec.players) return player;
  note(own, "to_play: %d is no player; nearest valid value: %d", (int)player, player < 0 ? 0 : env->spec.players - 1);
  return 0;
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  const mz_own_env *own = own_of(env);
  const int actions = env->spec.actions;
  memset(mask, 0, (size_t)actions);
  const char *why = own->abi->legal(state, mask);
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
  const muzero_env_random random = mz_own_random(generator ? generator : &otherwise);
  uint8_t *mask;
  MZ_TRY(failure(env));
  memset(state, 0, env->state_size);
  const char *why = own->abi->reset(state, &random);
  if (why) note(own, "reset: %s", why);
  MZ_TRY(mz_alloc(&mask, (size_t)env->spec.actions, 1));
  const mz_status status = check_state(env, state, mask, "reset");
  free(mask);
  return status;
}

/* One in a million is rounding. */
static bool is_within(float x, float min, float max) {
  const float slack = 1e-6f * fmaxf(fabsf(min), fabsf(max));
  return x >= min - slack && x <= max + slack;
}

static mz_status check_result(const mz_env *env, const void *state, const muzero_env_step *from, int32_t action, uint8_t *mask,
                              mz_step *result) {
  const mz_own_env *own = own_of(env);
  char after[64];
  if (!isfinite(from->reward))
    note(own, "step: reward %g after action %d is not finite", (double)from->reward, (int)action);
  else if (!is_within(from->reward, env->spec.reward_min, env->spec.reward_max))
    note(own, "step: reward %g after action %d is outside of reward_min … reward_max, %g … %g; nearest valid value: %g",
         (double)from->reward, (int)action, (double)env->spec.reward_min, (double)env->spec.reward_max,
         (double)fminf(fmaxf(from->reward, env->spec.reward_min), env->spec.reward_max));
  *result = (mz_step){.reward = from->reward, .terminated = from->terminated != 0, .truncated = from->truncated != 0};
  if (result->terminated || result->truncated) return failure(env);
  snprintf(after, sizeof after, "action %d", (int)action);
  return check_state(env, state, mask, after);
}

/* At most MZ_OWN_STEP_ROWS states. */
static mz_status step_rows(const mz_env *env, uint8_t *states, int n, const int32_t *actions, const mz_generator *generators,
                           uint8_t *mask, mz_step *results) {
  const mz_own_env *own = own_of(env);
  muzero_env_step raw[MZ_OWN_STEP_ROWS] = {0};
  muzero_env_random random[MZ_OWN_STEP_ROWS];
  for (int i = 0; i < n; i++) random[i] = generators ? mz_own_random(&generators[i]) : refusing(own);
  const char *why = own->abi->step(states, (size_t)n, actions, random, raw);
  if (why) note(own, "step: %s", why);
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
  const char *why = own->abi->observe(states, (size_t)n, observations);
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
  return give_text(own_text, sizeof own_text, own_of(env)->abi->text(state, own_text, sizeof own_text), out, size);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  char own_text[MZ_OWN_ACTION_TEXT_MAX] = "";
  if (!own_of(env)->abi->action_text) return snprintf(out, size, "%d", action);
  return give_text(own_text, sizeof own_text, own_of(env)->abi->action_text(action, own_text, sizeof own_text), out, size);
}

static bool valid(const mz_env *env, const void *state) {
  return !own_of(env)->abi->valid || own_of(env)->abi->valid(state) != 0;
}

/* ---- the environment ---- */

void mz_own_env_wrap(mz_env *env, mz_own_env *own) {
  const muzero_env_abi *abi = own->abi;
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
}

const mz_own_env *mz_own_env_of(const mz_env *env) { return env->step == step ? env->options : NULL; }
