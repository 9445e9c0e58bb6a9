#include "envs/worker/worker_env_state.h"
#include "base/log.h"
#include <math.h>

enum { OBS_MAX = 1 << 20, ACTIONS_MAX = 1 << 16 };

static mz_worker_env *kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- what the worker says ---- */

static bool is_gym(const mz_worker_env *w) { return w->given.canonical[0] == 'g'; }

/* The whole number `key` of a description, within a range. */
static mz_status number_of(const mz_worker_env *w, const cJSON *json, const char *key, double min, double max, int *out) {
  const double value = mz_json_number_or_nan(json, key);
  if (!(value >= min && value <= max) || value != rint(value))
    return mz_fail(MZ_E_CONFIG, "%s: the worker says %s %g; it takes whole numbers of %g … %g", w->env.name, key, value, min,
                   max);
  *out = (int)value;
  return MZ_OK;
}

static mz_status copy_text(const cJSON *json, const char *key, char **out) {
  *out = strdup(mz_json_text_or_empty(json, key));
  return *out ? MZ_OK : mz_fail(MZ_E_MEMORY, "no memory for the description of an environment");
}

static mz_status copy_names(mz_worker_env *w, const cJSON *json) {
  const cJSON *names = cJSON_GetObjectItemCaseSensitive(json, "names");
  const int actions = w->env.spec.actions;
  if (!cJSON_IsArray(names) || cJSON_GetArraySize(names) != actions) return MZ_OK;
  MZ_TRY(mz_alloc(&w->names, (size_t)actions, sizeof *w->names));
  int i = 0;
  for (const cJSON *name = names->child; name; name = name->next, i++) {
    w->names[i] = strdup(cJSON_IsString(name) ? name->valuestring : "");
    if (!w->names[i]) return mz_fail(MZ_E_MEMORY, "no memory for the names of actions");
  }
  return MZ_OK;
}

static mz_status read_shape(mz_worker_env *w, const cJSON *json) {
  mz_spec *spec = &w->env.spec;
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(json, "shape");
  int64_t size = 1;
  for (int i = 0; i < 3; i++) {
    const cJSON *item = cJSON_IsArray(shape) ? cJSON_GetArrayItem(shape, i) : NULL;
    const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
    if (!(value >= 1 && value <= OBS_MAX))
      return mz_fail(MZ_E_CONFIG, "%s: the worker says an observation's shape of %g", w->env.name, value);
    spec->obs_shape[i] = (int)value;
    size *= spec->obs_shape[i];
    if (size > OBS_MAX)
      return mz_fail(MZ_E_CONFIG, "%s: observations of more than %d entries; a wrapper can make them smaller", w->env.name,
                     OBS_MAX);
  }
  spec->obs_size = (int)size;
  spec->obs_kind = strcmp(mz_json_text_or_empty(json, "obs_kind"), "u8") == 0 ? MZ_OBS_U8 : MZ_OBS_F32;
  const double high = mz_json_number_or_nan(json, "obs_high"), frames = mz_json_number_or_nan(json, "frames");
  if (high > 1) spec->obs_scale = (float)(1 / high);
  if (frames > 1 && frames <= spec->obs_shape[2] && spec->obs_shape[2] % (int)frames == 0) spec->frames = (int)frames;
  return MZ_OK;
}

/* The bounds of entries: one for each, or one for all; null: none. */
static mz_status read_bounds(const mz_worker_env *w, const cJSON *json, const char *key, float otherwise, float **out) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, key);
  const int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, size = w->env.spec.obs_size;
  if (count != 1 && count != size) return MZ_OK;
  MZ_TRY(mz_alloc(out, (size_t)size, sizeof **out));
  const cJSON *item = list->child;
  for (int i = 0; i < size; i++, item = count == 1 ? item : item->next)
    (*out)[i] = cJSON_IsNumber(item) ? (float)item->valuedouble : otherwise;
  return MZ_OK;
}

static mz_status read_description(mz_worker_env *w, const cJSON *json) {
  mz_spec *spec = &w->env.spec;
  MZ_TRY(read_shape(w, json));
  MZ_TRY(read_bounds(w, json, "low", -INFINITY, &w->low));
  MZ_TRY(read_bounds(w, json, "high", INFINITY, &w->high));
  MZ_TRY(number_of(w, json, "actions", 1, ACTIONS_MAX, &spec->actions));
  MZ_TRY(number_of(w, json, "players", 1, is_gym(w) ? 1 : 2, &spec->players));
  MZ_TRY(number_of(w, json, "max_moves", 0, 1e9, &spec->max_moves));
  spec->turns = spec->players == 2 ? MZ_TURNS_ALTERNATE : MZ_TURNS_ALONE;
  spec->symmetries = 1;
  MZ_TRY(copy_text(json, "title", &w->title));
  MZ_TRY(copy_text(json, "rules", &w->rules));
  MZ_TRY(copy_text(json, "observation", &w->observation));
  w->env.title = w->title;
  w->env.rules = w->rules;
  w->env.observation = w->observation;
  return copy_names(w, json);
}

mz_status mz_worker_env_set_ranges(mz_worker_env *w, const char *source) {
  const float *r = w->given.ranges;
  MZ_TRY(mz_worker_ranges_check(w->env.name, r, w->named, source));
  w->env.spec.reward_min = r[MZ_REWARD_MIN];
  w->env.spec.reward_max = r[MZ_REWARD_MAX];
  w->env.spec.return_min = r[MZ_RETURN_MIN];
  w->env.spec.return_max = r[MZ_RETURN_MAX];
  return MZ_OK;
}

void mz_worker_env_observe(const mz_env *env, const void *states, int n, void *observations) {
  const size_t bytes = mz_spec_obs_bytes(&env->spec);
  for (int i = 0; i < n; i++)
    memcpy((uint8_t *)observations + (size_t)i * bytes, mz_worker_env_observation(mz_worker_env_state(env, (void *)states, i)),
           bytes);
}

int mz_worker_env_legal(const mz_env *env, const void *state, bool ended, uint8_t *mask) {
  const uint8_t *own = mz_worker_env_mask(env, (void *)state);
  int count = 0;
  for (int a = 0; a < env->spec.actions; a++) {
    mask[a] = own[a] && !ended;
    count += mask[a];
  }
  return count;
}

/* Told once: spaces are often wrong, and learning takes any finite number. */
static void tell_outside(mz_worker_env *w, int entry, float value) {
  if (atomic_exchange(&w->told_outside, true)) return;
  mz_log_write(
      MZ_LOG_WARNING,
      "%s: entry %d of an observation is %g, outside of its space's %g … %g; it is learned from as it is, and later ones are "
      "not told (a wrapper can clip or scale observations)",
      w->env.name, entry, (double)value, (double)w->low[entry], (double)w->high[entry]);
}

static mz_status check_observation(const mz_env *env, const void *observation) {
  if (env->spec.obs_kind != MZ_OBS_F32) return MZ_OK;
  mz_worker_env *w = mz_worker_env_data(env);
  const float *floats = observation;
  for (int i = 0; i < env->spec.obs_size; i++) {
    if (!isfinite(floats[i]))
      return mz_fail(MZ_E_CONFIG, "%s: entry %d of an observation is %g, which is not finite", env->name, i, (double)floats[i]);
    if (w->low && w->high && (floats[i] < w->low[i] || floats[i] > w->high[i])) tell_outside(w, i, floats[i]);
  }
  return MZ_OK;
}

static mz_status check_mask(const mz_env *env, const uint8_t *mask, bool ended, int moves) {
  int count = 0;
  for (int a = 0; a < env->spec.actions; a++) {
    if (mask[a] > 1) return mz_fail(MZ_E_CONFIG, "%s: the worker says %d of action %d; it takes 0 or 1", env->name, mask[a], a);
    count += mask[a];
  }
  if (count > 0 || ended) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: no action is legal after %d moves, and the game has not ended", env->name, moves);
}

mz_status mz_worker_env_check_position(const mz_env *env, const void *state, bool ended, int moves) {
  MZ_TRY(check_observation(env, mz_worker_env_observation((void *)state)));
  return check_mask(env, mz_worker_env_mask(env, (void *)state), ended, moves);
}

mz_status mz_worker_env_check_reward(const mz_env *env, float reward) {
  if (isfinite(reward)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: a reward of %g, which is not finite", env->name, (double)reward);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  const mz_worker_env *w = mz_worker_env_data(env);
  return w->names ? snprintf(out, size, "%s", w->names[action]) : snprintf(out, size, "%d", action);
}

/* ---- the environment ---- */

static void drop(mz_worker_env *w) {
  mz_env_workers_free(w->workers);
  for (int i = 0; w->names && i < w->env.spec.actions; i++) free(w->names[i]);
  free(w->names), free(w->title), free(w->rules), free(w->observation), free(w->used), free(w->low), free(w->high);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

static mz_status complete(mz_worker_env *w, const char *description) {
  cJSON *json;
  MZ_TRY(mz_json_parse(description, strlen(description), w->env.name, false, MZ_E_CONFIG, &json));
  mz_status status = read_description(w, json);
  if (status == MZ_OK) status = is_gym(w) ? mz_gym_env_complete(w, json) : mz_spiel_env_complete(w, json);
  cJSON_Delete(json);
  if (status == MZ_OK) status = mz_env_workers_share(w->workers, &w->layout);
  return status;
}

/* timeout_s: that a run was made with, instead of the default; 0: none. */
static mz_status read_name(const char *name, double timeout_s, mz_worker_options *out) {
  MZ_TRY(mz_worker_options_read(name, out));
  if (timeout_s > 0) out->timeout_s = timeout_s;
  return MZ_OK;
}

/* Ranges that a run was made with go before those that would be measured now, and are kept as measured ones are. */
static void take_stored_ranges(mz_worker_env *w, const float *ranges) {
  w->asked = ranges != NULL;
  for (int i = 0; ranges && i < MZ_WORKER_RANGES; i++) {
    if (!isnan(w->given.ranges[i])) continue;
    w->given.ranges[i] = ranges[i];
    w->measured = true;
  }
}

static mz_status open_env(const char *name, const float *ranges, double timeout_s, mz_worker_env **out) {
  mz_worker_env *w;
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  const int failed = pthread_mutex_init(&w->lock, NULL);
  MZ_ASSERT(!failed);
  mz_status status;
  MZ_TRY_CLEANUP(read_name(name, timeout_s, &w->given));
  memcpy(w->named, w->given.ranges, sizeof w->named);
  take_stored_ranges(w, ranges);
  w->env.name = w->given.canonical;
  w->env.options = w;
  w->env.action_text = action_text;
  const mz_env_workers_setup setup = {.name = w->env.name,
                                      .program = &mz_worker_python,
                                      .kind = is_gym(w) ? "gym" : "spiel",
                                      .id = w->given.id,
                                      .options = w->given.others,
                                      .option_count = w->given.other_count,
                                      .limit = w->given.limit,
                                      .keeps_games = is_gym(w),
                                      .count = w->given.workers,
                                      .timeout_s = w->given.timeout_s};
  const char *description;
  MZ_TRY_CLEANUP(mz_env_workers_create(&w->workers, &setup, &description));
  w->env.workers = w->workers;
  MZ_TRY_CLEANUP(complete(w, description));
  *out = w;
cleanup:
  if (status != MZ_OK) drop(w);
  return status;
}

static bool has_ranges(const mz_worker_env *w, const float *ranges) {
  for (int i = 0; i < MZ_WORKER_RANGES; i++)
    if (w->given.ranges[i] != ranges[i]) return false;
  return true;
}

/* The same environment: with the ranges that are asked for, measured or given, and as many workers. */
static bool is_same(const mz_worker_env *w, const mz_worker_options *o, const float *ranges) {
  return strcmp(w->given.canonical, o->canonical) == 0 && w->given.workers == o->workers && w->given.timeout_s == o->timeout_s &&
         (ranges ? has_ranges(w, ranges) : !w->asked);
}

mz_status mz_worker_env_find(const char *name, const float *ranges, double timeout_s, const mz_env **out) {
  mz_worker_options *options;
  MZ_TRY(mz_alloc(&options, 1, sizeof *options));
  mz_status status = read_name(name, timeout_s, options);
  pthread_mutex_lock(&lock);
  mz_worker_env *found = kept;
  while (status == MZ_OK && found && !is_same(found, options, ranges)) found = found->next;
  if (status == MZ_OK && !found) {
    status = open_env(name, ranges, timeout_s, &found);
    if (status == MZ_OK) {
      found->next = kept;
      kept = found;
    }
  }
  pthread_mutex_unlock(&lock);
  free(options);
  if (status == MZ_OK) *out = &found->env;
  return status;
}

static bool is_worker_env(const mz_env *env) { return env->action_text == action_text; }

bool mz_worker_env_measured(const mz_env *env, float ranges[MZ_WORKER_RANGES]) {
  if (!is_worker_env(env) || !mz_worker_env_data(env)->measured) return false; /* of another kind, or given */
  memcpy(ranges, mz_worker_env_data(env)->given.ranges, MZ_WORKER_RANGES * sizeof *ranges);
  return true;
}

double mz_worker_env_timeout_s(const mz_env *env) { return is_worker_env(env) ? mz_worker_env_data(env)->given.timeout_s : 0; }

bool mz_worker_env_is_same_game(const mz_env *a, const mz_env *b) {
  return is_worker_env(a) && is_worker_env(b) && strcmp(a->name, b->name) == 0 &&
         has_ranges(mz_worker_env_data(a), mz_worker_env_data(b)->given.ranges);
}

mz_lost_workers mz_worker_env_lost(const mz_env *env) {
  return env->workers ? mz_env_workers_lost(env->workers) : (mz_lost_workers){0};
}
