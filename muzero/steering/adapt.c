/* The plan follows what the machine grants. */
#include "base/log.h"
#include "base/machine/machine.h"
#include "base/threads/core.h"
#include "muzero/steering/history_key.h"
#include "muzero/steering/steer_state.h"
#include <string.h>

static mz_knobs plan_for(mz_steer *s, double cores, uint64_t memory) {
  const mz_knobs in_force = mz_steer_kept_knobs(s);
  const bool fixed = strcmp(s->state->settings.allocation.strategy, mz_strategy_fixed.name) == 0;
  return mz_kept_plan(&s->kept, &s->outset.pipeline, &in_force, (mz_kept_grant){s->bounds.cpu_max, s->granted.memory},
                      (mz_kept_grant){cores, memory}, fixed);
}

/* What the run itself holds counts as available. */
static mz_status bounds_of(const mz_steer *s, const mz_granted *now, mz_bounds *out) {
  mz_grants grants = {.cores = now->cores, .gpus = s->choice.gpus.count, .memory_bytes = s->bounds.memory_max};
  if (s->threads > 0 && s->threads < grants.cores) grants.cores = s->threads;
  if (s->core_limit > 0 && s->core_limit < grants.cores) grants.cores = s->core_limit;
  if (now->memory != s->granted.memory) {
    const double available = (double)mz_machine_available_memory();
    grants.memory_bytes = (double)now->memory;
    grants.available_bytes = available > 0 ? available + mz_memory_resident(s->state->env) : 0;
  }
  return mz_bounds_resolve(out, &s->state->settings.allocation, &grants);
}

static mz_status find_outset(mz_steer *s, const mz_granted *now, mz_bounds *bounds, mz_outset *out) {
  const mz_knobs last = plan_for(s, bounds->cpu_max, now->memory);
  const mz_knobs in_force = mz_steer_knobs(s);
  mz_device_records before;
  mz_steer_device_records(s, &in_force, &before);
  const mz_outset_options options = {
      .bounds = *bounds, .threads = s->threads, .last = &last, .choice = &s->choice, .before = &before};
  MZ_TRY(mz_outset_find(out, &s->state->settings, &s->memory, &options));
  mz_pipeline_take_probes(&out->pipeline, &s->outset.pipeline); /* probed once: what a stage costs alone has not changed */
  out->pipeline.handoff_s = s->outset.pipeline.handoff_s;
  const double needed = mz_plan_bytes(&out->pipeline, &out->plan, NULL, 0);
  if (needed > bounds->memory_max) {
    mz_log_write(MZ_LOG_WARNING, "the run may need %.0f MiB, %.0f MiB more than may be had now, and no plan needs less",
                 needed / 0x1p20, (needed - bounds->memory_max) / 0x1p20);
    bounds->memory_max = needed;
  }
  return MZ_OK;
}

/* A run that cannot follow goes on with these. */
typedef struct standing {
  mz_outset outset;
  mz_bounds bounds;
  mz_history_key key;
  mz_observation *rows; /* owned */
  mz_allocator_options options;
} standing;

static void set_aside(mz_steer *s, standing *out) {
  *out = (standing){.outset = s->outset, .bounds = s->bounds, .key = s->key, .rows = s->rows, .options = s->options};
  s->rows = NULL;
}

static void put_back(mz_steer *s, standing *before) {
  free(s->rows);
  s->outset = before->outset;
  s->bounds = before->bounds;
  s->key = before->key;
  s->rows = before->rows;
  s->options = before->options;
  before->rows = NULL;
}

static mz_status move(mz_steer *s, mz_workers *workers, const mz_granted *now) {
  mz_allocator_options options;
  mz_workers_grant(workers, now->mask_known ? &now->mask : NULL);
  mz_history_key_of(&s->key, s->state->env, &s->state->settings, &s->state->model, s->bounds.cpu_max, &s->outset.devices);
  MZ_TRY(mz_steer_read_history(s));
  MZ_TRY(mz_steer_keep_pipeline(s));
  options = s->options;
  options.pipeline = &s->outset.pipeline;
  options.bounds = s->bounds;
  options.start = s->outset.plan;
  return mz_steer_begin_anew(s, workers, &options);
}

/* A failure before there is another allocator leaves all as it was, but for the cores, which are what the machine grants. */
static mz_status adapt(mz_steer *s, mz_workers *workers, const mz_granted *now) {
  const mz_allocator *const allocator = s->allocator;
  mz_bounds bounds;
  mz_outset *next = NULL;
  standing *before = NULL;
  mz_status status;
  MZ_TRY(bounds_of(s, now, &bounds));
  MZ_TRY_CLEANUP(mz_alloc(&next, 1, sizeof *next));
  MZ_TRY_CLEANUP(mz_alloc(&before, 1, sizeof *before));
  if (now->mask_known) mz_core_confine(&now->mask); /* the thread that drives looks for devices among its cores */
  MZ_TRY_CLEANUP(find_outset(s, now, &bounds, next));
  set_aside(s, before);
  s->outset = *next;
  s->bounds = bounds;
  status = move(s, workers, now);
  if (status != MZ_OK && s->allocator == allocator) put_back(s, before);
cleanup:
  if (before) free(before->rows);
  free(before);
  free(next);
  return status;
}

static mz_roster *shared_by(mz_steer *s) { return s->state->settings.allocation.share ? &s->roster : NULL; }

bool mz_steer_adapt(mz_steer *s, mz_workers *workers) {
  mz_granted now;
  char what[128];
  mz_granted_read(&now, s->monitor, shared_by(s), &s->granted);
  if (s->memory_limit > 0 && s->memory_limit < now.memory) now.memory = s->memory_limit;
  if (mz_granted_same(&s->granted, &now)) return false;
  mz_granted_text(&s->granted, &now, what, sizeof what);
  mz_log_write(MZ_LOG_INFO, "the machine grants %s: the plan follows", what);
  const mz_status status = adapt(s, workers, &now);
  if (status != MZ_OK)
    mz_log_write(MZ_LOG_WARNING, "the machine grants %s, and the plan stays as it was: %s", what, mz_message());
  s->granted = now;
  return status == MZ_OK;
}

mz_status mz_steer_limit_cores(mz_steer *s, mz_workers *workers, int cores) {
  const int before = s->core_limit;
  if (cores == before || (before == 0 && cores >= s->bounds.cpu_max)) return MZ_OK;
  s->core_limit = cores;
  const mz_granted now = s->granted;
  const mz_status status = adapt(s, workers, &now);
  if (status != MZ_OK) s->core_limit = before;
  return status;
}

void mz_steer_limit_memory(mz_steer *s, uint64_t bytes) { s->memory_limit = bytes; }

void mz_steer_bytes(const mz_steer *s, double *plan, double *least) {
  *plan = mz_plan_bytes(&s->outset.pipeline, mz_allocator_plan(s->allocator), NULL, 0);
  *least = mz_outset_least(&s->outset);
}
