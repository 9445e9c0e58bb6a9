/* Gymnasium's environments: a state names an instance of a worker, and has copies of its last observation and of what is legal. */
#include "base/log.h"
#include "envs/worker/worker_env_state.h"
#include <math.h>

enum {
  LIMIT_DEFAULT = 10000, /* moves, of an environment that has no limit of its own */
  MEASURED_STEPS = 2000,
  MEASURED_EPISODES = 20,
  STEPS_BETWEEN_WARNINGS = 1000
};

typedef struct gym_state {
  uint32_t instance; /* 0: none, else its number + 1 */
  uint32_t life;     /* of its worker, at the last reset */
  int32_t moves;
  uint16_t worker; /* that has the instance */
  uint16_t ended;
} gym_state; /* the observation follows, and a byte for each action, 1 where it is legal */
_Static_assert(sizeof(gym_state) == MZ_WORKER_STATE_HEAD, "layout");

/* Takes the observation of an answer and what is legal now. */
static void take_position(const mz_env *env, gym_state *s, const mz_mailbox_row *row) {
  const uint8_t *body = (const uint8_t *)row + MZ_MAILBOX_BODY_AT;
  const size_t bytes = mz_spec_obs_bytes(&env->spec), actions = (size_t)env->spec.actions;
  memcpy(mz_worker_env_observation(s), body, bytes);
  if (row->masked)
    memcpy(mz_worker_env_mask(env, s), body + bytes, actions);
  else
    memset(mz_worker_env_mask(env, s), 1, actions);
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  return mz_worker_env_legal(env, state, ((const gym_state *)state)->ended != 0, mask);
}

static mz_status check_position(const mz_env *env, const gym_state *s) {
  return mz_worker_env_check_position(env, s, s->ended != 0, s->moves);
}

/* ---- instances ---- */

/* The lowest number that is free. Its worker stays the same for all of a state's games, however many are asked later: an environment
 * may keep things over its episodes. */
static mz_status take_instance(mz_worker_env *w, gym_state *s) {
  mz_status status = MZ_OK;
  pthread_mutex_lock(&w->lock);
  int at = 0;
  while (at < w->used_count && w->used[at]) at++;
  if (at == w->used_count) {
    status = mz_reserve_one(&w->used, &w->used_room, w->used_count, sizeof *w->used);
    if (status == MZ_OK) w->used_count++;
  }
  if (status == MZ_OK) w->used[at] = 1;
  pthread_mutex_unlock(&w->lock);
  MZ_TRY(status); /* a state without an instance has none to release */
  s->instance = (uint32_t)at + 1;
  s->worker = (uint16_t)(at % mz_env_workers_count(w->workers));
  return MZ_OK;
}

static void release(const mz_env *env, void *state) {
  mz_worker_env *w = mz_worker_env_data(env);
  gym_state *s = state;
  if (s->instance) {
    pthread_mutex_lock(&w->lock);
    w->used[s->instance - 1] = 0;
    pthread_mutex_unlock(&w->lock);
  }
  memset(state, 0, env->state_size);
}

/* ---- reset ---- */

typedef struct reset_call {
  const mz_env *env;
  gym_state *state;
  uint64_t seed;
  bool done;
} reset_call;

static bool ask_reset(void *context, int i, mz_mailbox_row *row, uint32_t life) {
  (void)i, (void)life;
  const reset_call *c = context;
  *row = (mz_mailbox_row){.instance = (int32_t)c->state->instance - 1, .action = MZ_WORKER_RESET, .seed = c->seed};
  return true;
}

static void take_reset(void *context, int i, const mz_mailbox_row *row, uint32_t life) {
  (void)i;
  reset_call *c = context;
  if (!row) return;
  c->done = true;
  c->state->life = life;
  c->state->moves = 0;
  c->state->ended = 0;
  take_position(c->env, c->state, row);
}

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  mz_worker_env *w = mz_worker_env_data(env);
  gym_state *s = state;
  if (!s->instance) MZ_TRY(take_instance(w, s));
  /* Seeds of 31 bits: some environments take no others. */
  reset_call call = {.env = env, .state = s, .seed = generator ? generator->next64(generator->context) >> 33 : 0};
  const int32_t worker = s->worker;
  const mz_env_workers_batch batch = {&call, ask_reset, take_reset};
  MZ_TRY(mz_env_workers_run_all(w->workers, 1, &worker, &call.done, &batch, "a reset"));
  return check_position(env, s);
}

/* ---- step ---- */

typedef struct step_call {
  const mz_env *env;
  void *states;
  const int32_t *actions;
  mz_step *results;
  int lost;
} step_call;

static bool ask_step(void *context, int i, mz_mailbox_row *row, uint32_t life) {
  const step_call *c = context;
  const gym_state *s = mz_worker_env_state(c->env, c->states, i);
  *row = (mz_mailbox_row){.instance = (int32_t)s->instance - 1, .action = c->actions[i]};
  return s->life == life;
}

/* A game that was lost with its worker is truncated, with reward 0 and the observation before. */
static void take_step(void *context, int i, const mz_mailbox_row *row, uint32_t life) {
  (void)life;
  step_call *c = context;
  gym_state *s = mz_worker_env_state(c->env, c->states, i);
  s->moves++;
  if (row) {
    const int limit = c->env->spec.max_moves;
    c->results[i] = (mz_step){
        .reward = row->reward, .terminated = row->terminated != 0, .truncated = row->truncated != 0 || s->moves >= limit};
    take_position(c->env, s, row);
  } else {
    c->lost++;
    c->results[i] = (mz_step){.truncated = true};
  }
  s->ended = c->results[i].terminated || c->results[i].truncated;
}

/* Says now and then how many rewards lie outside of the range that targets are cut to. */
static void count_outside(mz_worker_env *w, const mz_step *results, int n) {
  const mz_spec *spec = &w->env.spec;
  int outside = 0;
  for (int i = 0; i < n; i++) outside += results[i].reward < spec->reward_min || results[i].reward > spec->reward_max;
  const int64_t before = atomic_fetch_add(&w->steps, n), after = before + n;
  const int64_t all = atomic_fetch_add(&w->outside, outside) + outside;
  if (all == 0 || before / STEPS_BETWEEN_WARNINGS == after / STEPS_BETWEEN_WARNINGS) return;
  const int64_t thousands = after / STEPS_BETWEEN_WARNINGS;
  if ((thousands & (thousands - 1)) != 0) return;
  mz_log_write(MZ_LOG_WARNING,
               "%s: %.2g %% of %lld rewards lie outside of reward_min … reward_max, %g … %g: targets are cut to that range; "
               "reward_min= and reward_max= in the name widen it",
               w->env.name, 100 * (double)all / (double)after, (long long)after, (double)spec->reward_min,
               (double)spec->reward_max);
}

static mz_status check_results(const mz_env *env, void *states, int n, const mz_step *results) {
  for (int i = 0; i < n; i++) {
    MZ_TRY(mz_worker_env_check_reward(env, results[i].reward));
    MZ_TRY(check_position(env, mz_worker_env_state(env, states, i)));
  }
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)generators;
  mz_worker_env *w = mz_worker_env_data(env);
  const int rows = mz_env_workers_rows(w->workers);
  int32_t workers[MZ_WORKERS_ROWS_MAX];
  for (int first = 0; first < n; first += rows) {
    const int count = n - first < rows ? n - first : rows;
    step_call call = {env, mz_worker_env_state(env, states, first), actions + first, results + first, 0};
    for (int i = 0; i < count; i++) workers[i] = ((const gym_state *)mz_worker_env_state(env, call.states, i))->worker;
    const mz_env_workers_batch batch = {&call, ask_step, take_step};
    MZ_TRY(mz_env_workers_run(w->workers, count, workers, &batch));
    if (call.lost) mz_env_workers_count_lost(w->workers, call.lost);
    MZ_TRY(check_results(env, call.states, count, call.results));
    count_outside(w, call.results, count);
  }
  return MZ_OK;
}

/* ---- looking ---- */

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  enum { SHOWN = 16 };
  const gym_state *s = state;
  const mz_spec *spec = &env->spec;
  if (spec->obs_kind == MZ_OBS_U8)
    return snprintf(out, size, "move %d, a picture of %d × %d\n", s->moves, spec->obs_shape[0], spec->obs_shape[1]);
  const float *floats = (const float *)mz_worker_env_observation((void *)s);
  size_t used = (size_t)snprintf(out, size, "move %d:", s->moves);
  for (int i = 0; i < spec->obs_size && i < SHOWN; i++)
    used += (size_t)snprintf(used < size ? out + used : NULL, used < size ? size - used : 0, " %.3g", (double)floats[i]);
  return (int)used +
         snprintf(used < size ? out + used : NULL, used < size ? size - used : 0, "%s\n", spec->obs_size > SHOWN ? " …" : "");
}

/* No such state comes from outside: checkpoints hold none. */
static bool valid(const mz_env *env, const void *state) { return (void)env, (void)state, false; }

/* ---- ranges ---- */

/* Random play shows some rewards; others are taken to reach half as far again, unless all that were seen are whole numbers. */
static float widened(double seen, bool whole) { return (float)(whole ? seen : 1.5 * seen); }

/* A game's return is bounded by what was seen, by one reward, and by a game of the average gains, or losses, of random play that is as
 * long as the environment allows; where it says nothing, ten times as long as the longest that was seen. */
static void fill_ranges(mz_worker_env *w, const cJSON *m) {
  const double low = mz_json_number_or_nan(m, "reward_min"), high = mz_json_number_or_nan(m, "reward_max");
  const bool whole = low == rint(low) && high == rint(high);
  const int most = w->env.spec.max_moves;
  const double limit = most > 0 ? (double)most : fmin(LIMIT_DEFAULT, 10 * mz_json_number_or_nan(m, "longest"));
  float *r = w->given.ranges;
  if (isnan(r[MZ_REWARD_MIN])) r[MZ_REWARD_MIN] = low < 0 ? widened(low, whole) : (float)fmin(low, 0);
  if (isnan(r[MZ_REWARD_MAX])) r[MZ_REWARD_MAX] = high > 0 ? widened(high, whole) : (float)fmax(high, 0);
  if (r[MZ_REWARD_MIN] == 0 && r[MZ_REWARD_MAX] == 0) r[MZ_REWARD_MIN] = -1, r[MZ_REWARD_MAX] = 1; /* nothing was paid yet */
  const double losses = fmin(limit * mz_json_number_or_nan(m, "loss"), mz_json_number_or_nan(m, "return_min"));
  const double gains = fmax(limit * mz_json_number_or_nan(m, "gain"), mz_json_number_or_nan(m, "return_max"));
  if (isnan(r[MZ_RETURN_MIN])) r[MZ_RETURN_MIN] = (float)fmin(losses, (double)fminf(r[MZ_REWARD_MIN], 0));
  if (isnan(r[MZ_RETURN_MAX])) r[MZ_RETURN_MAX] = (float)fmax(gains, (double)fmaxf(r[MZ_REWARD_MAX], 0));
}

static bool is_finite(const cJSON *measured) {
  static const char *const keys[] = {"reward_min", "reward_max", "return_min", "return_max", "gain", "loss", "longest"};
  bool finite = true;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) finite = finite && isfinite(mz_json_number_or_nan(measured, keys[i]));
  return finite;
}

static mz_status measure(mz_worker_env *w) {
  char request[64], *answer;
  cJSON *measured;
  snprintf(request, sizeof request, "{\"measure\":%d,\"episodes\":%d}", MEASURED_STEPS, MEASURED_EPISODES);
  MZ_TRY(mz_alloc(&answer, MZ_WORKER_MESSAGE_MAX, 1));
  mz_status status = mz_env_workers_ask(w->workers, request, answer);
  if (status == MZ_OK) status = mz_json_parse(answer, strlen(answer), w->env.name, false, MZ_E_CONFIG, &measured);
  free(answer);
  MZ_TRY(status);
  const bool finite = is_finite(measured);
  if (finite) fill_ranges(w, measured);
  cJSON_Delete(measured);
  if (!finite)
    return mz_fail(MZ_E_CONFIG,
                   "%s: random play gives a reward that is not finite; the environment's step, or a wrapper, has to mend it",
                   w->env.name);
  w->measured = true;
  return MZ_OK;
}

static mz_status set_ranges(mz_worker_env *w) {
  mz_spec *spec = &w->env.spec;
  const float *r = w->given.ranges;
  bool given = true;
  for (int i = 0; i < MZ_WORKER_RANGES; i++) given = given && !isnan(r[i]);
  if (!given) MZ_TRY(measure(w));
  MZ_TRY(mz_worker_env_set_ranges(w, " (measured in random games)"));
  spec->one_sided = (spec->reward_min >= 0 && spec->return_min >= 0) || (spec->reward_max <= 0 && spec->return_max <= 0);
  return MZ_OK;
}

mz_status mz_gym_env_complete(mz_worker_env *w, const cJSON *description) {
  mz_env *env = &w->env;
  (void)description;
  if (w->given.limit) env->spec.max_moves = w->given.limit;
  MZ_TRY(set_ranges(w));
  if (env->spec.max_moves == 0) env->spec.max_moves = LIMIT_DEFAULT;
  const size_t bytes = mz_spec_obs_bytes(&env->spec);
  const size_t actions = (size_t)env->spec.actions, mask_at = MZ_MAILBOX_BODY_AT + bytes;
  env->state_size = (sizeof(gym_state) + bytes + actions + 7) / 8 * 8;
  w->layout = (mz_mailbox_layout){.obs_bytes = bytes, .mask_at = mask_at, .row_bytes = (mask_at + actions + 63) / 64 * 64};
  env->reset = reset;
  env->step = step;
  env->release = release;
  env->valid = valid;
  env->observe = mz_worker_env_observe;
  env->legal = legal;
  env->text = text;
  return MZ_OK;
}
