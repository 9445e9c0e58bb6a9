/* What a run, or the rest of one, begins with: devices, the trainer's pipeline on them, a plan within the bounds. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "allocator/pipeline/devices.h"
#include "muzero/steering/device_choice.h"
#include "muzero/steering/device_records.h"
#include "muzero/training/memory.h"
#include "muzero/training/placement.h"

typedef struct mz_outset {
  mz_devices devices;
  mz_pipeline pipeline;
  mz_plan plan;
} mz_outset;

/* Finds the bounds that the user and the machine set now. threads: budget; 0: the cores granted. gpus: that may be used. MZ_E_CONFIG:
 * limits that contradict each other, or that exceed what is granted. */
mz_status mz_outset_bounds(mz_bounds *out, const mz_allocation_settings *allocation, int threads, int gpus);

typedef struct mz_outset_options {
  mz_bounds bounds;
  int threads;          /* budget; 0: the cores granted */
  const mz_knobs *last; /* plan to begin with, as far as ranges and memory allow; NULL: the settings' */
  /* GPUs, and where stages begin; no stage leaves the kind of device that it begins on unless allocate.numeric is on. NULL: devices on
   * which nothing is computed, simulated ones; stages may go to all of them. */
  const mz_device_choice *choice;
  const mz_device_records *before; /* where the stages were, by name: they stay unless the choice was asked for; NULL: nowhere */
} mz_outset_options;

/* *out zeroed. MZ_E_CONFIG: a device that is not there; MZ_E_DEVICE: a GPU, where none can be used. */
mz_status mz_outset_find(mz_outset *out, const mz_settings *settings, const mz_memory *memory, const mz_outset_options *options);
/* The same on the devices that *out has already. */
mz_status mz_outset_on_devices(mz_outset *out, const mz_settings *settings, const mz_memory *memory,
                               const mz_outset_options *options);
/* Counts what a run takes under these settings, on CPUs and on a GPU of the choice (NULL: there is none), as mz_memory_count does. */
mz_status mz_outset_count_memory(mz_memory *out, const mz_env *env, const mz_settings *settings, const mz_device_choice *choice);
/* Counts what the run takes, into *memory, with the number of processes that play, and finds where it begins (NULL: nobody asks).
 * MZ_E_CONFIG where the plan that it would begin with, shrunk as far as it may be, needs more than bounds.memory_max, or than a GPU has:
 * the sum and the setting to lower. Before the state takes its memory. */
mz_status mz_outset_fits(mz_memory *memory, const mz_env *env, const mz_settings *settings, const mz_outset_options *options,
                         mz_placement *begins);
/* Bytes that its plan may need when it is shrunk as far as it may be. */
double mz_outset_least(const mz_outset *outset);
