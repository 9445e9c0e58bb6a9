#include "muzero/training/workers.h"
#include "base/log.h"
#include "base/threads/core.h"
#include "envs/worker/workers.h"
#include "muzero/knobs.h"
#include <sched.h>
#include <string.h>

static int group_count(const mz_workers *w, const mz_knobs *knobs) {
  int games = (int)w->state->settings.selfplay.games, slots = (int)knobs->mcts_storage_size;
  return (games + slots - 1) / slots;
}

static void free_results(mz_selfplay_result *results, int groups) {
  for (int g = 0; g < groups && results; g++) mz_selfplay_result_deinit(&results[g]);
  free(results);
}

static void free_batches(mz_batch *batches, int capacity) {
  for (int i = 0; i < capacity && batches; i++) mz_batch_deinit(&batches[i]);
  free(batches);
}

static mz_status make_batches(const mz_state *state, int capacity, mz_batch **out) {
  mz_batch *batches;
  MZ_TRY(mz_alloc(&batches, (size_t)capacity, sizeof *batches));
  for (int i = 0; i < capacity; i++) {
    mz_status status = mz_batch_init(&batches[i], &state->env->spec, (int)state->settings.learning.batch_size,
                                     (int)state->settings.loss.unroll, mz_loss_observed(&state->settings.loss));
    if (status != MZ_OK) {
      free_batches(batches, i);
      return status;
    }
  }
  *out = batches;
  return MZ_OK;
}

/* ---- scratch of threads ---- */

int mz_workers_reanalyze_slots(const mz_settings *s, const mz_lane *where) {
  enum { ON_CPU = 64, ON_GPU_MAX = 4096 };
  if (mz_lane_is_cpu(where)) return ON_CPU;
  return s->learning.batch_size < ON_GPU_MAX ? (int)s->learning.batch_size : ON_GPU_MAX;
}

typedef struct scratch { /* by worker */
  mz_actor *actors[MZ_POOL_MAX];
  mz_reanalyze *reanalyzers[MZ_POOL_MAX];
} scratch;

/* Those from worker `first` on. */
static void free_actors(mz_actor *actors[MZ_POOL_MAX], int first) {
  for (int i = first; i < MZ_POOL_MAX; i++) {
    if (actors[i]) mz_actor_free(actors[i]);
    actors[i] = NULL;
  }
}

static void free_reanalyzers(mz_reanalyze *reanalyzers[MZ_POOL_MAX], int first) {
  for (int i = first; i < MZ_POOL_MAX; i++) {
    if (reanalyzers[i]) mz_reanalyze_free(reanalyzers[i]);
    reanalyzers[i] = NULL;
  }
}

static mz_status make_actor(const mz_state *state, const mz_lane *where, int64_t slots, mz_actor **out) {
  const mz_settings *s = &state->settings;
  return mz_actor_create(out, state->env, &s->search, &state->model, where, s->replay.discount, (int)slots);
}

static mz_status make_reanalyzer(const mz_state *state, const mz_lane *where, mz_reanalyze **out) {
  const mz_settings *s = &state->settings;
  return mz_reanalyze_create(out, &s->search, &state->env->spec, &state->model, where, s->replay.discount,
                             mz_workers_reanalyze_slots(s, where));
}

/* Makes what the threads of a plan will work with on GPUs. actors, reanalyzers: all of them; otherwise those that `made` lacks. */
static mz_status make_scratch(const mz_state *state, const mz_placement *where, const mz_knobs *knobs, bool actors,
                              bool reanalyzers, const mz_workers *made, scratch *out) {
  for (int i = 0; i < knobs->cpu_actor && !mz_lane_is_cpu(&where->selfplay); i++)
    if (actors || !made->actors[i]) MZ_TRY(make_actor(state, &where->selfplay, knobs->mcts_storage_size, &out->actors[i]));
  const bool used = state->settings.learning.reanalyze_ratio > 0 && !mz_lane_is_cpu(&where->reanalyze);
  for (int i = 0; i < knobs->batch_actor && used; i++)
    if (reanalyzers || !made->reanalyzers[i]) MZ_TRY(make_reanalyzer(state, &where->reanalyze, &out->reanalyzers[i]));
  return MZ_OK;
}

/* Threads that are gone leave nothing: the sum of a plan's memory counts those that it has. */
static void free_idle(mz_workers *w, const mz_knobs *knobs) {
  free_actors(w->actors, (int)knobs->cpu_actor);
  free_reanalyzers(w->reanalyzers, (int)knobs->batch_actor);
}

static void take_scratch(mz_workers *w, scratch *made, bool actors, bool reanalyzers) {
  if (actors) free_actors(w->actors, 0);
  if (reanalyzers) free_reanalyzers(w->reanalyzers, 0);
  for (int i = 0; i < MZ_POOL_MAX; i++) {
    if (made->actors[i]) w->actors[i] = made->actors[i];
    if (made->reanalyzers[i]) w->reanalyzers[i] = made->reanalyzers[i];
  }
  *made = (scratch){0};
}

static void free_scratch(scratch *made) {
  free_actors(made->actors, 0);
  free_reanalyzers(made->reanalyzers, 0);
}

/* ---- where threads run ---- */

static void place(const mz_workers *w, mz_pool *pool, int64_t device) {
  if (!w->devices || !device) return;
  MZ_ASSERT(device <= w->devices->count);
  const int home = mz_devices_home(w->devices, (int)device - 1);
  mz_pool_place(pool, w->devices->items[home].cores, w->bind ? w->devices->items[home].core_count : 0);
}

static bool binds(const mz_devices *devices) {
  cpu_set_t allowed;
  int sets = 0;
  for (int d = 0; d < devices->count; d++) sets += devices->items[d].device.kind == MZ_DEVICE_CPU;
  return sets > 1 || (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > devices->items[0].core_count);
}

static void place_pools(const mz_workers *w) {
  place(w, w->actor_pool, w->knobs.selfplay_device);
  place(w, w->batch_pool, w->knobs.reanalyze_device);
  place(w, w->state->learner_pool, w->knobs.learning_device);
}

/* The processes that play the environment keep to the first set of cores, as the allocator takes it (trainer_pipeline.c). */
static void set_env_workers(const mz_workers *w) {
  mz_env_workers *workers = w->state->env->workers;
  cpu_set_t cores;
  if (!workers) return;
  if (w->knobs.env_workers > 0) mz_env_workers_set_count(workers, (int)w->knobs.env_workers);
  if (!w->devices || !mz_core_allowed(&cores)) return;
  if (w->bind) {
    CPU_ZERO(&cores);
    for (int i = 0; i < w->devices->items[0].core_count; i++) CPU_SET(w->devices->items[0].cores[i], &cores);
  }
  mz_env_workers_place(workers, &cores);
}

/* Only where the bound has changed: packing and unpacking is work. */
static mz_status set_tiers(mz_workers *w, const mz_knobs *knobs) {
  const mz_replay_settings *s = &w->state->settings.replay;
  if (!knobs->replay_raw || knobs->replay_raw == w->replay_raw) return MZ_OK;
  MZ_TRY(mz_buffer_set_tiers(w->state->buffer, knobs->replay_raw >= s->bytes_max ? 0 : knobs->replay_raw, s->packed_bytes));
  w->replay_raw = knobs->replay_raw;
  return MZ_OK;
}

mz_status mz_workers_init(mz_workers *w, mz_state *state, const mz_knobs *knobs, const mz_devices *devices) {
  memset(w, 0, sizeof *w);
  w->state = state;
  w->knobs = *knobs;
  w->devices = devices;
  w->bind = devices && binds(devices);
  w->actor_stage.name = "actor";
  w->batch_stage.name = "batch";
  w->groups = group_count(w, knobs);
  const mz_placement where = mz_placement_of(knobs, devices);
  scratch made = {0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_pool_create(&w->actor_pool, "actor", (int)knobs->cpu_actor, &w->actor_stage));
  MZ_TRY_CLEANUP(mz_pool_create(&w->batch_pool, "batch", (int)knobs->batch_actor, &w->batch_stage));
  MZ_TRY_CLEANUP(mz_pool_resize(state->learner_pool, (int)knobs->learner_threads));
  MZ_TRY_CLEANUP(set_tiers(w, knobs));
  MZ_TRY_CLEANUP(mz_alloc(&w->results, (size_t)w->groups, sizeof *w->results));
  MZ_TRY_CLEANUP(mz_queue_create(&w->queue, (int)knobs->batch_buffer_size));
  MZ_TRY_CLEANUP(make_batches(state, (int)knobs->batch_buffer_size, &w->batches));
  w->capacity = (int)knobs->batch_buffer_size;
  mz_pool_give_way(w->actor_pool); /* games fill whatever the learner, step by step, leaves idle */
  place_pools(w);
  MZ_TRY_CLEANUP(mz_state_place(state, &where));
  MZ_TRY_CLEANUP(make_scratch(state, &where, knobs, true, true, w, &made));
  take_scratch(w, &made, true, true);
  set_env_workers(w);
cleanup:
  free_scratch(&made);
  if (status != MZ_OK) mz_workers_deinit(w);
  return status;
}

void mz_workers_deinit(mz_workers *w) {
  mz_pool_free(w->actor_pool);
  mz_pool_free(w->batch_pool);
  free_actors(w->actors, 0);
  free_reanalyzers(w->reanalyzers, 0);
  free_results(w->results, w->groups);
  mz_queue_free(w->queue);
  mz_prequential_deinit(&w->prequential);
  free_batches(w->batches, w->capacity);
  memset(w, 0, sizeof *w);
}

/* The message stays that of the failure that led here. */
static void restore_tiers(mz_workers *w, const mz_knobs *old) {
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  if (set_tiers(w, old) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "replay: %s", mz_message());
  mz_fail(MZ_OK, "%s", why);
}

void mz_workers_grant(mz_workers *w, const cpu_set_t *cores) {
  w->bind = true;
  if (!cores) return;
  mz_pool_grant(w->actor_pool, cores);
  mz_pool_grant(w->batch_pool, cores);
  mz_pool_grant(w->state->learner_pool, cores);
}

mz_status mz_workers_resize(mz_workers *w, const mz_knobs *asked) {
  mz_knobs old = w->knobs;
  const mz_knobs next = mz_knobs_or(asked, &old);
  mz_selfplay_result *results = NULL;
  mz_batch *batches = NULL;
  int groups = group_count(w, &next), capacity = (int)next.batch_buffer_size;
  const mz_placement where = mz_placement_of(&next, w->devices), *now = &w->state->where;
  const bool reanalyzers = !mz_lane_same(&where.reanalyze, &now->reanalyze);
  const bool actors = next.mcts_storage_size != old.mcts_storage_size || !mz_lane_same(&where.selfplay, &now->selfplay);
  scratch made = {0};
  mz_status status;
  /* Everything that can fail comes before anything is given up. */
  if (groups != w->groups) MZ_TRY_CLEANUP(mz_alloc(&results, (size_t)groups, sizeof *results));
  if (capacity != w->capacity) MZ_TRY_CLEANUP(make_batches(w->state, capacity, &batches));
  MZ_TRY_CLEANUP(mz_pool_resize(w->actor_pool, (int)next.cpu_actor));
  MZ_TRY_CLEANUP(mz_pool_resize(w->batch_pool, (int)next.batch_actor));
  MZ_TRY_CLEANUP(mz_pool_resize(w->state->learner_pool, (int)next.learner_threads));
  MZ_TRY_CLEANUP(set_tiers(w, &next));
  MZ_TRY_CLEANUP(make_scratch(w->state, &where, &next, actors, reanalyzers, w, &made));
  MZ_TRY_CLEANUP(mz_state_place(w->state, &where));
  if (results) {
    free_results(w->results, w->groups);
    w->results = results;
    w->groups = groups;
  }
  if (batches) {
    free_batches(w->batches, w->capacity);
    w->batches = batches;
    w->capacity = capacity;
  }
  take_scratch(w, &made, actors, reanalyzers); /* on CPUs made anew when they next work */
  free_idle(w, &next);
  w->knobs = next;
  place_pools(w);
  set_env_workers(w);
  return MZ_OK;
cleanup:
  restore_tiers(w, &old);
  free_scratch(&made);
  free(results);
  free_batches(batches, batches ? capacity : 0);
  /* Shrinking back to a size that was there cannot fail. */
  if (mz_pool_resize(w->actor_pool, (int)old.cpu_actor) != MZ_OK ||
      mz_pool_resize(w->batch_pool, (int)old.batch_actor) != MZ_OK ||
      mz_pool_resize(w->state->learner_pool, (int)old.learner_threads) != MZ_OK)
    MZ_ASSERT(!"a pool could not go back to its old size");
  return status;
}

mz_status mz_workers_set_batch_size(mz_workers *w, int64_t rows, const char *where) {
  if (rows == w->state->settings.learning.batch_size) return MZ_OK;
  MZ_TRY(mz_state_set_batch_size(w->state, rows, where));
  free_batches(w->batches, w->capacity);
  w->batches = NULL;
  w->capacity = 0;
  if (!mz_lane_is_cpu(&w->state->where.reanalyze)) free_reanalyzers(w->reanalyzers, 0); /* there they take all rows of a batch */
  return MZ_OK;
}

mz_status mz_workers_actor(mz_workers *w, int worker, mz_actor **out) {
  if (!w->actors[worker]) MZ_TRY(make_actor(w->state, &w->state->where.selfplay, w->knobs.mcts_storage_size, &w->actors[worker]));
  *out = w->actors[worker];
  return MZ_OK;
}

mz_status mz_workers_reanalyze(mz_workers *w, int worker, mz_reanalyze **out) {
  if (!w->reanalyzers[worker]) MZ_TRY(make_reanalyzer(w->state, &w->state->where.reanalyze, &w->reanalyzers[worker]));
  *out = w->reanalyzers[worker];
  return MZ_OK;
}
