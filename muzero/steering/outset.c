#include "muzero/steering/outset.h"
#include "base/machine/machine.h"
#include "envs/worker/workers.h"
#include "muzero/knobs.h"
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/training/memory_refusal.h"
#include <math.h>
#include <sched.h>
#include <string.h>

/* The core this thread runs on comes first: the kernel chose it because others were busy, perhaps with another run that has as
 * few. */
static void begin_here(int16_t *cores, int count) {
  int16_t turned[MZ_CORES_MAX];
  const int here = sched_getcpu();
  int first = 0;
  while (first < count && cores[first] != here) first++;
  for (int i = 0; i < count; i++) turned[i] = cores[(first + i) % count];
  memcpy(cores, turned, (size_t)count * sizeof *cores);
}

/* limits.cpu_max is kept by giving devices no more cores than that; devices without cores stay. The system fills whole cores first. */
static void cut_devices(mz_devices *devices, int cores) {
  int count = 0;
  for (int d = 0; d < devices->count; d++) {
    if (devices->items[d].device.kind == MZ_DEVICE_CPU && cores <= 0) continue;
    if (devices->items[d].core_count > cores) {
      begin_here(devices->items[d].cores, devices->items[d].core_count);
      devices->items[d].core_count = devices->items[d].device.cores = cores;
      if (devices->items[d].device.whole_cores >= cores) devices->items[d].device.whole_cores = 0; /* each is a core by itself */
    }
    cores -= devices->items[d].core_count;
    if (count != d) devices->items[count] = devices->items[d];
    count++;
  }
  devices->count = count;
}

mz_status mz_outset_bounds(mz_bounds *out, const mz_allocation_settings *allocation, int threads, int gpus) {
  mz_grants grants = {.cores = mz_machine_cores(),
                      .gpus = gpus,
                      .memory_bytes = (double)mz_machine_memory(),
                      .available_bytes = (double)mz_machine_available_memory()};
  if (threads > 0 && threads < grants.cores) grants.cores = threads;
  return mz_bounds_resolve(out, allocation, &grants);
}

/* ---- where stages begin ---- */

/* "auto": the knob stays free; a name: it is held there. */
static mz_status hold_device(const mz_outset *o, const mz_device_choice *choice, const char *name, const char *where,
                             int64_t *held) {
  if (strcmp(name, "auto") == 0) return MZ_OK;
  int index;
  if (strncmp(name, "cuda", 4) == 0 && choice != NULL && choice->gpus.count == 0)
    return mz_fail(MZ_E_DEVICE, "%s: %s cannot be had: %s", where, name, choice->missing);
  MZ_TRY(mz_devices_index(&o->devices, name, where, &index));
  *held = 1 + index;
  return MZ_OK;
}

static mz_status hold_devices(const mz_outset *o, const mz_device_choice *choice, const mz_placement_settings *p,
                              mz_knobs *held) {
  held->selfplay_device = held->reanalyze_device = held->learning_device = 0; /* no rows of the knobs' table */
  MZ_TRY(hold_device(o, choice, p->selfplay, "devices.selfplay", &held->selfplay_device));
  MZ_TRY(hold_device(o, choice, p->reanalyze, "devices.reanalyze", &held->reanalyze_device));
  return hold_device(o, choice, p->learning, "devices.learning", &held->learning_device);
}

static int find_device(const mz_devices *devices, const char *name) {
  for (int d = 0; d < devices->count; d++)
    if (strcmp(devices->items[d].device.name, name) == 0) return d;
  return -1;
}

static bool is_cpu(const mz_devices *devices, int64_t d) {
  return d >= 0 && d < devices->count && devices->items[d].device.kind == MZ_DEVICE_CPU;
}

/* Returns the index of the device on which a stage begins that nobody holds. last: index in the last plan, −1: none. Sets of cores in
 * front of a GPU may have come or gone since, so GPUs are known by their names. */
static int begin_device(const mz_devices *devices, const mz_device_choice *c, const mz_device_record *before, int64_t last) {
  char first[MZ_NAME_MAX];
  snprintf(first, sizeof first, "cuda:%d", c->first);
  const int chosen = c->first < 0 ? 0 : find_device(devices, first), was = before ? find_device(devices, before->device) : -1;
  const bool was_gpu = before != NULL && strcmp(before->kind, "cuda") == 0;
  if (c->holds || (c->asked && !was_gpu)) return chosen;
  if (was_gpu) return was >= 0 ? was : chosen;
  if (before == NULL && last < 0) return chosen;
  return is_cpu(devices, last) ? (int)last : was >= 0 ? was : 0;
}

static bool on_gpu(const mz_pipeline *p, const mz_plan *plan, int knob) {
  return p->devices[plan->values[knob]].kind == MZ_DEVICE_CUDA;
}

/* Few threads keep a GPU busy, and many games make its batches: one group a thread, so that one prepares while another computes. */
static void suit_gpu(const mz_settings *settings, int threads, const mz_knobs *held, const mz_pipeline *p, mz_plan *plan) {
  enum { THREADS = 2, GAMES_MAX = 1024 };
  const int64_t games = settings->selfplay.games, few = threads < THREADS ? threads : THREADS;
  const bool reanalyzes = settings->learning.reanalyze_ratio > 0;
  if (on_gpu(p, plan, MZ_KNOB_LEARNING_DEVICE) && held->learner_threads == 0) plan->values[MZ_KNOB_LEARNER_THREADS] = 1;
  if (on_gpu(p, plan, MZ_KNOB_REANALYZE_DEVICE) && held->batch_actor == 0 && reanalyzes) plan->values[MZ_KNOB_BATCH_ACTOR] = few;
  if (!on_gpu(p, plan, MZ_KNOB_SELFPLAY_DEVICE)) return;
  if (held->cpu_actor == 0) plan->values[MZ_KNOB_CPU_ACTOR] = few;
  const int64_t actors = plan->values[MZ_KNOB_CPU_ACTOR], share = (games + actors - 1) / actors;
  if (held->mcts_storage_size == 0) plan->values[MZ_KNOB_MCTS_STORAGE_SIZE] = share < GAMES_MAX ? share : GAMES_MAX;
}

/* ---- the start plan ---- */

static double gpu_memory(const mz_gpu *gpu, const mz_allocation_settings *s) {
  const double most = floor(MZ_FREE_SHARE * (double)gpu->device.free_bytes), limit = (double)s->gpu_memory;
  return limit > 0 && limit < most ? limit : most;
}

mz_status mz_outset_find(mz_outset *o, const mz_settings *settings, const mz_memory *memory, const mz_outset_options *options) {
  MZ_TRY(mz_devices_find(&o->devices, settings->allocation.cpu, "devices.cpu"));
  for (int g = 0; options->choice != NULL && g < options->choice->gpus.count; g++) {
    const mz_gpu *gpu = &options->choice->gpus.items[g];
    if (!mz_devices_add_gpu(&o->devices, gpu->number, gpu->device.name, gpu_memory(gpu, &settings->allocation))) break;
  }
  return mz_outset_on_devices(o, settings, memory, options);
}

static void place_stages(mz_outset *o, const mz_outset_options *options, mz_plan *plan) {
  static const int knobs[MZ_PLACED_STAGES] = {MZ_KNOB_SELFPLAY_DEVICE, MZ_KNOB_REANALYZE_DEVICE, MZ_KNOB_LEARNING_DEVICE};
  const mz_plan last = options->last ? mz_plan_of_knobs(options->last) : (mz_plan){0};
  for (int s = 0; s < MZ_PLACED_STAGES; s++) {
    const mz_device_record *before = options->before ? &options->before->stages[s] : NULL;
    const int64_t was = options->last ? last.values[knobs[s]] : -1;
    plan->values[knobs[s]] = mz_knob_clamp(&o->pipeline.knobs[knobs[s]], begin_device(&o->devices, options->choice, before, was));
    mz_knob *knob = &o->pipeline.knobs[knobs[s]];
    if (options->choice->holds) knob->min = knob->max = plan->values[knobs[s]];
  }
}

/* Takes what the user holds, then the last plan, then by the thread budget or the least; as far as memory allows. */
mz_status mz_outset_on_devices(mz_outset *o, const mz_settings *settings, const mz_memory *memory,
                               const mz_outset_options *options) {
  const int cores = (int)options->bounds.cpu_max, threads = options->threads > 0 ? options->threads : cores;
  const bool plain = settings->allocation.start == MZ_START_PLAIN;
  cut_devices(&o->devices, cores);
  mz_knobs held = settings->knobs;
  held.replay_raw = settings->replay.raw_bytes;
  if (!memory->env.has_workers) held.env_workers = 0;
  if (memory->env.has_workers && !held.env_workers)
    held.env_workers = memory->env.given ? memory->env.given : memory->env.keeps_games ? memory->env.begins : 0;
  MZ_TRY(hold_devices(o, options->choice, &settings->placement, &held));
  const mz_knobs by_user = held;
  mz_pipeline_describe(&o->pipeline, settings, memory, &o->devices, &held, threads);
  mz_knobs_resolve(&held, settings, threads);
  if (memory->env.has_workers && !held.env_workers) held.env_workers = mz_env_workers_default_count(threads);
  o->plan = mz_plan_of_knobs(&held);
  if (options->choice) place_stages(o, options, &o->plan);
  if (options->choice && !options->last) suit_gpu(settings, threads, &by_user, &o->pipeline, &o->plan);
  const mz_plan before = options->last ? mz_plan_of_knobs(options->last) : o->plan;
  mz_knob *workers = &o->pipeline.knobs[MZ_KNOB_ENV_WORKERS];
  if (memory->env.keeps_games) workers->min = workers->max = o->plan.values[MZ_KNOB_ENV_WORKERS];
  for (int k = 0; k < o->pipeline.knob_count; k++) {
    const mz_knob *knob = &o->pipeline.knobs[k];
    const bool none = k == MZ_KNOB_ENV_WORKERS && before.values[k] == 0; /* the last plan is of an earlier version */
    const bool placed = (options->choice != NULL && knob->scale == MZ_SCALE_CHOICE) || none;
    int64_t value = options->last ? before.values[k] : plain && !mz_knob_packs(&o->pipeline, k) ? knob->min : o->plan.values[k];
    o->plan.values[k] = placed ? o->plan.values[k] : mz_knob_clamp(knob, value);
  }
  if (options->choice && !settings->allocation.numeric) mz_pipeline_keep_kinds(&o->pipeline, &o->plan);
  mz_plan_shrink(&o->pipeline, options->bounds.memory_max, &o->plan);
  return MZ_OK;
}

typedef struct asked { /* what runs under other settings are asked for */
  const mz_env *env;
  const mz_outset_options *options;
} asked;

mz_status mz_outset_count_memory(mz_memory *out, const mz_env *env, const mz_settings *settings, const mz_device_choice *choice) {
  const bool any = choice != NULL && choice->gpus.count > 0;
  const mz_lane gpu = any ? mz_gpus_lane(choice->gpus.items[0].number) : mz_lane_cpu;
  return mz_memory_count(out, env, settings, any ? &gpu : NULL);
}

static mz_status need(void *context, const mz_settings *settings, double *bytes) {
  const asked *a = context;
  mz_memory memory;
  mz_outset *o;
  MZ_TRY(mz_outset_count_memory(&memory, a->env, settings, a->options->choice));
  MZ_TRY(mz_alloc(&o, 1, sizeof *o));
  const mz_status status = mz_outset_find(o, settings, &memory, a->options);
  *bytes = status == MZ_OK ? mz_plan_bytes(&o->pipeline, &o->plan, NULL, 0) : 0;
  free(o);
  return status;
}

mz_status mz_outset_fits(mz_memory *memory, const mz_env *env, const mz_settings *settings, const mz_outset_options *options,
                         mz_placement *begins) {
  asked a = {env, options};
  mz_outset *o;
  MZ_TRY(mz_outset_count_memory(memory, env, settings, options->choice));
  MZ_TRY(mz_alloc(&o, 1, sizeof *o));
  mz_status status;
  MZ_TRY_CLEANUP(mz_outset_find(o, settings, memory, options));
  const mz_knobs knobs = mz_knobs_of_plan(&o->plan);
  MZ_TRY_CLEANUP(mz_plan_check_gpus(&o->pipeline, &o->plan));
  if (begins) *begins = mz_placement_of(&knobs, &o->devices);
  memory->env.begins = knobs.env_workers;
  double parts[MZ_MEMORY_PARTS];
  mz_pipeline_parts(&o->pipeline, memory, &o->plan, parts);
  if (mz_plan_bytes(&o->pipeline, &o->plan, NULL, 0) > options->bounds.memory_max)
    MZ_TRY_CLEANUP(mz_memory_refuse(parts, options->bounds.memory_max, settings, need, &a));
cleanup:
  free(o);
  return status;
}

double mz_outset_least(const mz_outset *outset) {
  mz_plan plan = outset->plan;
  mz_plan_shrink(&outset->pipeline, 0, &plan);
  return mz_plan_bytes(&outset->pipeline, &plan, NULL, 0);
}
