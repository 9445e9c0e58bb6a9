/* Threads and knobs of a plan, for the files of this folder. */
#pragma once
#include "allocator/balance/balance.h"

#define MZ_BALANCE_WAITING 0.05 /* share of the time: less is nobody's waiting */

/* The allocator may move the knob, by one if need be. */
static inline bool mz_balance_movable(const mz_pipeline *pipeline, int knob) {
  return knob >= 0 && pipeline->knobs[knob].class_ == MZ_EXACT && pipeline->knobs[knob].scale == MZ_SCALE_LOG2;
}
/* Returns the threads of a step's stages, those on `device` only where it is not negative. */
int64_t mz_balance_step_threads(const mz_pipeline *pipeline, const mz_plan *plan, int step, int device);
/* Returns the threads of the step that has most. More than cores share them. */
int64_t mz_balance_threads(const mz_pipeline *pipeline, const mz_plan *plan);
/* Returns how many threads more a stage could use on cores that were idle while it worked; 0: none. */
int64_t mz_balance_room(const mz_load *load, const mz_situation *situation, int stage);
/* The knob that would move the stage to a GPU that is not in use, while another stage stays on its own; −1: there is none, or none may be
 * had. *device: that GPU. */
int mz_balance_gpu_knob(const mz_situation *situation, int stage, int *device);
