#include "envs/trace.h"
#include "base/maths/streams.h"
#include "envs/numpy_generator.h"
#include "envs/variants.h"

/* Adds `n` numbers as an array; false when memory is out. */
static bool add_numbers(cJSON *object, const char *key, const double *numbers, int n) {
  cJSON *array = cJSON_CreateDoubleArray(numbers, n);
  if (array && cJSON_AddItemToObject(object, key, array)) return true;
  cJSON_Delete(array);
  return false;
}

/* --- the trace --- */

typedef struct tracer {
  const mz_env *env;
  const mz_trace_options *options;
  void *state;
  void *observation;
  uint8_t *legal;
  double *numbers; /* room for any of the arrays of a line */
  mz_rng actions;
  mz_numpy_generator numpy;
} tracer;

static mz_status tracer_init(tracer *t, const mz_env *env, const mz_trace_options *options) {
  int room = MZ_ENV_NUMBERS_MAX;
  if (env->spec.obs_size > room) room = env->spec.obs_size;
  if (env->spec.actions > room) room = env->spec.actions;
  *t = (tracer){.env = env, .options = options};
  t->actions = mz_stream_action(options->seed, 0, 0);
  t->numpy = mz_numpy_generator_at(options->seed);
  MZ_TRY(mz_alloc(&t->state, 1, env->state_size));
  MZ_TRY(mz_alloc(&t->observation, 1, mz_spec_obs_bytes(&env->spec)));
  MZ_TRY(mz_alloc(&t->legal, (size_t)env->spec.actions, 1));
  return mz_alloc(&t->numbers, (size_t)room, sizeof(double));
}

static void tracer_deinit(tracer *t) {
  if (t->state) mz_env_release(t->env, t->state, 1);
  free(t->state);
  free(t->observation);
  free(t->legal);
  free(t->numbers);
}

static mz_status choose_action(tracer *t, int line, int legal_count, int32_t *action) {
  const int actions = t->env->spec.actions;
  if (t->options->actions) {
    *action = t->options->actions[line];
    if (*action >= 0 && *action < actions && t->legal[*action]) return MZ_OK;
    int first = 0;
    while (!t->legal[first]) first++;
    return mz_fail(MZ_E_CONFIG, "trace: action %d of line %d: not legal in %s there; %d is", *action, line + 1, t->env->name,
                   first);
  }
  *action = mz_env_nth_legal(t->legal, actions, mz_rng_below(&t->actions, (uint32_t)legal_count));
  return MZ_OK;
}

/* Adds everything known before the step; false when memory is out. */
static bool describe_state(tracer *t, cJSON *object, int move) {
  const mz_env *env = t->env;
  if (!cJSON_AddNumberToObject(object, "t", move)) return false;
  if (!cJSON_AddNumberToObject(object, "player", mz_env_to_play(env, t->state))) return false;
  const int state_numbers = env->numbers ? env->numbers(env, t->state, t->numbers) : 0;
  MZ_ASSERT(state_numbers <= MZ_ENV_NUMBERS_MAX);
  if (!add_numbers(object, "state", t->numbers, state_numbers)) return false;

  env->observe(env, t->state, 1, t->observation);
  for (int i = 0; i < env->spec.obs_size; i++) {
    const bool bytes = env->spec.obs_kind == MZ_OBS_U8;
    t->numbers[i] = bytes ? ((const uint8_t *)t->observation)[i] : (double)((const float *)t->observation)[i];
  }
  if (!add_numbers(object, "observation", t->numbers, env->spec.obs_size)) return false;

  int legal_count = 0;
  for (int a = 0; a < env->spec.actions; a++) {
    if (t->legal[a]) t->numbers[legal_count++] = a;
  }
  return add_numbers(object, "legal", t->numbers, legal_count);
}

static bool describe_step(cJSON *object, const mz_spec *spec, int action, const mz_step *result) {
  return cJSON_AddNumberToObject(object, "action", action) && cJSON_AddNumberToObject(object, "reward", (double)result->reward) &&
         cJSON_AddBoolToObject(object, "terminated", result->terminated) &&
         cJSON_AddBoolToObject(object, "truncated", result->truncated) &&
         (spec->outcomes == 0 || cJSON_AddNumberToObject(object, "outcome", result->outcome));
}

/* One line, at move *move of its game, which is advanced (0 after an end). */
static mz_status trace_step(tracer *t, int line, int *move, cJSON *object) {
  const mz_env *env = t->env;
  const mz_generator generator = mz_generator_from_numpy(&t->numpy);
  if (*move == 0) MZ_TRY(env->reset(env, t->state, &generator));
  const int legal_count = mz_env_legal(env, t->state, t->legal);
  int32_t action;
  MZ_TRY(choose_action(t, line, legal_count, &action));
  bool complete = describe_state(t, object, *move);

  mz_step result;
  MZ_TRY(env->step(env, t->state, 1, &action, env->draws ? &generator : NULL, &result));
  complete = complete && describe_step(object, &env->spec, action, &result);
  if (!complete) return mz_fail(MZ_E_MEMORY, "trace: line %d: out of memory", line + 1);
  *move = result.terminated || result.truncated ? 0 : *move + 1;
  return MZ_OK;
}

mz_status mz_env_trace(const mz_env *env, const mz_trace_options *options, mz_status (*line)(void *context, cJSON *object),
                       void *context) {
  int lines = options->steps;
  if (options->actions && (lines == 0 || lines > options->action_count)) lines = options->action_count;
  tracer t;
  mz_status status = tracer_init(&t, env, options);
  int move = 0;
  for (int i = 0; i < lines && status == MZ_OK; i++) {
    cJSON *object = cJSON_CreateObject();
    status = object ? trace_step(&t, i, &move, object) : mz_fail(MZ_E_MEMORY, "trace: line %d: out of memory", i + 1);
    if (status == MZ_OK) status = line(context, object);
    cJSON_Delete(object);
  }
  tracer_deinit(&t);
  return status;
}

/* --- the spec --- */

static bool describe_spec(cJSON *object, const mz_env *env) {
  const mz_spec *spec = &env->spec;
  if (!cJSON_AddStringToObject(object, "name", env->name) || !cJSON_AddStringToObject(object, "title", env->title) ||
      !cJSON_AddStringToObject(object, "rules", env->rules)) {
    return false;
  }
  mz_settings_table table;
  const mz_config options = mz_env_config(env, &table);
  cJSON *values = mz_config_to_json(&options);
  if (!cJSON_AddItemToObject(object, "options", values)) {
    cJSON_Delete(values);
    return false;
  }
  cJSON *observation = cJSON_AddObjectToObject(object, "observation");
  const double shape[3] = {spec->obs_shape[0], spec->obs_shape[1], spec->obs_shape[2]};
  const double reward[2] = {(double)spec->reward_min, (double)spec->reward_max};
  const double game_return[2] = {(double)spec->return_min, (double)spec->return_max};
  return observation && cJSON_AddStringToObject(observation, "type", spec->obs_kind == MZ_OBS_U8 ? "u8" : "f32") &&
         add_numbers(observation, "shape", shape, 3) && cJSON_AddStringToObject(observation, "meaning", env->observation) &&
         cJSON_AddNumberToObject(object, "actions", spec->actions) && cJSON_AddNumberToObject(object, "players", spec->players) &&
         cJSON_AddBoolToObject(object, "alternating", spec->turns == MZ_TURNS_ALTERNATE) &&
         cJSON_AddNumberToObject(object, "max_moves", spec->max_moves) &&
         cJSON_AddNumberToObject(object, "outcomes", spec->outcomes) &&
         cJSON_AddNumberToObject(object, "symmetries", spec->symmetries) && add_numbers(object, "reward_range", reward, 2) &&
         add_numbers(object, "return_range", game_return, 2) && cJSON_AddBoolToObject(object, "random_dynamics", env->draws) &&
         cJSON_AddBoolToObject(object, "expert", env->expert != NULL) &&
         cJSON_AddNumberToObject(object, "state_bytes", (double)env->state_size);
}

cJSON *mz_env_to_json(const mz_env *env) {
  cJSON *object = cJSON_CreateObject();
  if (object && describe_spec(object, env)) return object;
  cJSON_Delete(object);
  return NULL;
}
