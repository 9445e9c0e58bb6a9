/* The parts of a plan's predicted time, before γ, contention and scale are applied. Shared by analytic*.c. */
#pragma once
#include "allocator/model/analytic.h"

/* Values by step. Chains are numbered by the index of one of their stages; log_chain is −INFINITY where there is none. */
typedef struct mz_analytic_steps {
  int count;
  double log_chain[MZ_STAGES_MAX];
  double least_s[MZ_STAGES_MAX], even_s[MZ_STAGES_MAX]; /* by step */
  int least_on[MZ_STAGES_MAX]; /* by step: the device whose stages need least_s together; −1: all cores do */
  bool apart[MZ_STAGES_MAX];   /* by step: it is in no unit's time */
} mz_analytic_steps;

typedef struct mz_analytic_parts {
  double cpu_s[MZ_STAGES_MAX];    /* items · t_s(b), on whole cores */
  double device_s[MZ_STAGES_MAX]; /* items · d_s(b) */
  double alone_s[MZ_STAGES_MAX];  /* D_s: with its device to itself and never waiting */
  double share[MZ_STAGES_MAX];    /* of the CPU work that threads share: the busiest thread's */
  double starved[MZ_QUEUES_MAX];  /* share of its time that a queue's consumer finds nothing */
  mz_analytic_steps steps;
} mz_analytic_parts;

/* Cores of a device, or of all; a GPU is one. */
typedef struct mz_analytic_cores {
  double threads, whole; /* hardware threads that may be used; cores that they belong to */
} mz_analytic_cores;
mz_analytic_cores mz_analytic_all_cores(const mz_analytic *model);
/* Returns the cores' worth of work that so many busy threads do at once: those of one core do 1.25 together (1.3 at the most: Marr et al.,
 * Hyper-Threading Technology, Intel Technology Journal 6(1), 2002), and the system fills whole cores first. */
double mz_analytic_rate(const mz_analytic_cores *cores, double busy);

/* Computes the parts from the model's stages as they are; gamma, contention and log_scale have no part in it. */
void mz_analytic_take_apart(const mz_analytic *model, const mz_plan *plan, mz_analytic_parts *out);
/* (Σ chains^γ)^(1/γ) of a step; 0 when it has none. */
double mz_analytic_overlap_s(const mz_pipeline *pipeline, const mz_analytic_steps *steps, int step, double gamma);
/* Returns the time that the cores need for a step. */
static inline double mz_analytic_cores_s(const mz_analytic_steps *steps, int step, double contention) {
  return steps->least_s[step] + contention * (steps->even_s[step] - steps->least_s[step]);
}
/* Whether anything is known of a stage's cost on a kind of device. */
static inline bool mz_analytic_cost_known(const mz_analytic_cost *cost) {
  return cost->fixed_s > 0 || cost->item_s > 0 || cost->device_fixed_s > 0 || cost->device_item_s > 0;
}
/* The model's error is about the same for plans that are near. Returns the measured plans' residuals, without that of plan number
 * `but` (−1: all), halved with every step and drawn towards 0 where none is near. (Kernel regression; Nadaraya 1964.) */
double mz_analytic_residual_nearby(const mz_analytic *model, const mz_plan *plan, int but);
/* CPU calls per item of a stage: 1 / batch, or what its tasks, the smaller last one included, make of it. */
double mz_analytic_calls(const mz_pipeline *pipeline, int stage, const mz_plan *plan);
/* Its threads then work on different items, and wait for room in the queue while the stage is at work. */
bool mz_analytic_feeds_queue(const mz_pipeline *pipeline, int stage);
