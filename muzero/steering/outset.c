#include "muzero/steering/outset.h"
#include "base/machine/machine.h"
#include "muzero/knobs.h"
#include "muzero/steering/trainer_pipeline.h"
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

/* limits.cpu_max is kept by giving devices no more cores than that; devices without cores stay. */
static void cut_devices(mz_devices *devices, int cores) {
  int count = 0;
  for (int d = 0; d < devices->count; d++) {
    if (devices->items[d].device.kind == MZ_DEVICE_CPU && cores <= 0) continue;
    if (devices->items[d].core_count > cores) {
      begin_here(devices->items[d].cores, devices->items[d].core_count);
      devices->items[d].core_count = devices->items[d].device.cores = cores;
    }
    cores -= devices->items[d].core_count;
    if (count != d) devices->items[count] = devices->items[d];
    count++;
  }
  devices->count = count;
}

mz_status mz_outset_bounds(mz_bounds *out, const mz_allocation_settings *allocation, int threads) {
  mz_grants grants = {.cores = mz_machine_cores(),
                      .gpus = 0, /* this build runs on CPUs */
                      .memory_bytes = (double)mz_machine_memory(),
                      .available_bytes = (double)mz_machine_available_memory()};
  if (threads > 0 && threads < grants.cores) grants.cores = threads;
  return mz_bounds_resolve(out, allocation, &grants);
}

/* "auto": the knob stays free; a name: it is held there. */
static mz_status hold_device(const mz_devices *devices, const char *name, const char *where, int64_t *held) {
  if (strcmp(name, "auto") == 0) return MZ_OK;
  int index;
  MZ_TRY(mz_devices_index(devices, name, where, &index));
  *held = 1 + index;
  return MZ_OK;
}

static mz_status hold_devices(const mz_devices *devices, const mz_placement_settings *p, mz_knobs *held) {
  held->selfplay_device = held->reanalyze_device = held->learning_device = 0; /* no rows of the knobs' table */
  MZ_TRY(hold_device(devices, p->selfplay, "devices.selfplay", &held->selfplay_device));
  MZ_TRY(hold_device(devices, p->reanalyze, "devices.reanalyze", &held->reanalyze_device));
  return hold_device(devices, p->learning, "devices.learning", &held->learning_device);
}

/* ---- the start plan ---- */

mz_status mz_outset_find(mz_outset *o, const mz_settings *settings, const mz_memory *memory, const mz_outset_options *options) {
  MZ_TRY(mz_devices_find(&o->devices, settings->allocation.cpu, "devices.cpu"));
  return mz_outset_on_devices(o, settings, memory, options);
}

/* Takes what the user holds, then the last plan, then by the thread budget or the least; as far as memory allows. */
mz_status mz_outset_on_devices(mz_outset *o, const mz_settings *settings, const mz_memory *memory,
                               const mz_outset_options *options) {
  const int cores = (int)options->bounds.cpu_max, threads = options->threads > 0 ? options->threads : cores;
  const bool plain = settings->allocation.start == MZ_START_PLAIN;
  cut_devices(&o->devices, cores);
  mz_knobs held = settings->knobs;
  held.replay_raw = settings->replay.raw_bytes;
  MZ_TRY(hold_devices(&o->devices, &settings->placement, &held));
  mz_pipeline_describe(&o->pipeline, settings, memory, &o->devices, &held, threads);
  mz_knobs_resolve(&held, settings, threads);
  o->plan = mz_plan_of_knobs(&held);
  const mz_plan before = options->last ? mz_plan_of_knobs(options->last) : o->plan;
  for (int k = 0; k < o->pipeline.knob_count; k++) {
    const mz_knob *knob = &o->pipeline.knobs[k];
    int64_t value = options->last ? before.values[k] : plain && !mz_knob_packs(&o->pipeline, k) ? knob->min : o->plan.values[k];
    o->plan.values[k] = mz_knob_clamp(knob, value);
  }
  mz_plan_shrink(&o->pipeline, options->bounds.memory_max, &o->plan);
  return MZ_OK;
}

typedef struct asked { /* what runs under other settings are asked for */
  const mz_env *env;
  const mz_outset_options *options;
} asked;

static mz_status need(void *context, const mz_settings *settings, double *bytes) {
  const asked *a = context;
  mz_memory memory;
  mz_outset *o;
  MZ_TRY(mz_memory_count(&memory, a->env, settings));
  MZ_TRY(mz_alloc(&o, 1, sizeof *o));
  const mz_status status = mz_outset_find(o, settings, &memory, a->options);
  *bytes = status == MZ_OK ? mz_plan_bytes(&o->pipeline, &o->plan, NULL, 0) : 0;
  free(o);
  return status;
}

mz_status mz_outset_fits(mz_memory *memory, const mz_env *env, const mz_settings *settings, const mz_outset_options *options) {
  asked a = {env, options};
  mz_outset *o;
  MZ_TRY(mz_memory_count(memory, env, settings));
  MZ_TRY(mz_alloc(&o, 1, sizeof *o));
  mz_status status;
  MZ_TRY_CLEANUP(mz_outset_find(o, settings, memory, options));
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
