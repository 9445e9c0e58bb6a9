/* The knobs of a run: what may change between rounds without changing a result. One table has them all (knobs.c): a new knob is a
 * field of mz_knobs, a row there, and what the workers do about it (mz_workers_resize); a row in settings.c lets users hold it. */
#pragma once
#include "allocator/pipeline/pipeline.h"
#include "muzero/settings.h"

/* In the order of the fields of plans. */
typedef enum mz_knob_id {
  MZ_KNOB_CPU_ACTOR,
  MZ_KNOB_BATCH_ACTOR,
  MZ_KNOB_LEARNER_THREADS,
  MZ_KNOB_MCTS_STORAGE_SIZE,
  MZ_KNOB_BATCH_BUFFER_SIZE,
  MZ_KNOB_SELFPLAY_DEVICE,
  MZ_KNOB_REANALYZE_DEVICE,
  MZ_KNOB_LEARNING_DEVICE,
  MZ_KNOB_REPLAY_RAW,
  MZ_KNOB_ENV_WORKERS, /* the last one: no part of plans where no other process plays the environment */
  MZ_KNOBS
} mz_knob_id;

/* Fills knobs left 0 for a budget of `threads` threads, all but env_workers. */
void mz_knobs_resolve(mz_knobs *knobs, const mz_settings *settings, int threads);
/* Returns `knobs` with those of `present` where they are 0. */
mz_knobs mz_knobs_or(const mz_knobs *knobs, const mz_knobs *present);
/* Fills out [MZ_KNOBS] with names, scales and ranges, as the allocator moves them: up to twice the thread budget, one choice of
 * `devices` devices. Those of `held` that are not 0 cannot move. */
void mz_knobs_describe(mz_knob *out, const mz_settings *settings, const mz_knobs *held, int threads, int devices);

/* Returns the key of the setting that holds the knob which records call `name`; `name` itself where there is no other. */
const char *mz_knob_setting(const char *name);

/* A plan names a device by its index, mz_knobs by 1 + index. */
mz_plan mz_plan_of_knobs(const mz_knobs *knobs);
mz_knobs mz_knobs_of_plan(const mz_plan *plan);
/* {"cpu_actor": 2, …}, devices by index; without env_workers where it is 0. Reading: a value that is missing, or no number, stays 0. */
cJSON *mz_knobs_to_json(const mz_knobs *knobs);
mz_knobs mz_knobs_from_json(const cJSON *json);
