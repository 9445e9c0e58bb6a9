/* The assignment: how much of each resource a plan is given, by its predicted demand, the temperature of the search and the spread of the
 * history, clamped to the bounds (the patent's f_cpu, f_gpu, f_mem; the formulas are our reconstruction).
 *
 *   cores   = clamp(⌈D (1 + 0.5 T/T₀) + 1.28 σ⌉, cpu_min, cpu_max)    D = core-seconds per unit / (0.85 · seconds per unit)
 *   GPUs    = likewise, within gpu_min, gpu_max                       D = device-seconds per unit / (0.80 · seconds per unit);
 *             whole devices; less than one device: eighths of it
 *   memory  = min(max(bytes of the plan + 1.28 σ, 1.1 · peak resident bytes, memory_min), memory_max, 0.85 · available bytes)
 *
 * The temperature T/T₀ leaves room for exploring: 1 when the search begins, towards 0 as it cools. σ: 1.28 standard deviations hold nine
 * in ten cases. Plain structs, pure functions, no memory of their own. */
#pragma once
#include "allocator/model/analytic.h"
#include "allocator/pipeline/allocation_settings.h"

typedef enum mz_resource { MZ_RESOURCE_CPU, MZ_RESOURCE_MEMORY, MZ_RESOURCE_GPU, MZ_RESOURCES } mz_resource;
const char *mz_resource_name(mz_resource resource); /* "cpu", "memory", "gpu" */

#define MZ_RESIDENT_ROOM 1.1 /* memory is never below so many times the peak resident bytes */

typedef struct mz_assignment {
  double cpu;    /* cores */
  double memory; /* bytes */
  double gpu;    /* devices; below one: eighths of a device */
} mz_assignment;
double mz_assignment_of(const mz_assignment *assignment, mz_resource resource);

/* The demand of a plan. A member that is unknown is NAN. */
typedef struct mz_demand {
  double unit_s;               /* predicted seconds per unit of work */
  double cpu_s, gpu_s;         /* core-seconds, device-seconds per unit of work */
  double bytes;                /* of memory, at the most */
  double spread[MZ_RESOURCES]; /* σ: standard deviation of what was used, relative */
  double resident;             /* peak resident bytes */
  double available;            /* bytes that the run could have: those it has and those that are free */
} mz_demand;

/* Reads the demand of `plan`: work of the stages by the model, memory by the pipeline, spreads by the history (pooled over plans, within
 * each plan; 0 where no plan was seen twice). unit_s: by whatever predicts. usage: of the last window; NULL: none was measured. Work on a
 * GPU counts as device-seconds, that of the threads that feed it as core-seconds. */
void mz_demand_read(mz_demand *out, const mz_analytic *model, const mz_plan *plan, double unit_s, const mz_observation *history,
                    int count, const mz_usage *usage);
/* Replaces the part of a demand that belongs to its plan; spreads and memory that was measured stay. */
void mz_demand_of_plan(mz_demand *demand, const mz_analytic *model, const mz_plan *plan, double unit_s);

/* One resource of an assignment, and the bound that decided. */
typedef struct mz_clamp {
  double wanted; /* by the formula, before it is clamped; NAN: unknown, and everything within the bounds is given */
  double min, max, amount;
  const char *binding; /* "limits.cpu_min", "limits.cpu_max", "resident memory", "free memory", "not predicted" …; "": no bound */
} mz_clamp;

/* temperature: T/T₀; what is not above 0 counts as 0. */
void mz_assign(mz_assignment *out, mz_clamp clamps[MZ_RESOURCES], const mz_demand *demand, double temperature,
               const mz_bounds *bounds);
/* "cpu 4 of 2 … 4, limits.cpu_max binds (wanted 7); memory 1.2 of 0 … 8 GiB; gpu none". */
void mz_assign_text(const mz_clamp clamps[MZ_RESOURCES], char *out, size_t size);

/* Changes *plan to the nearest plan that uses no more than is assigned, where exact knobs allow it: stages leave GPUs, the last ones
 * first; pools shrink in proportion until the cores suffice; memory as by mz_plan_shrink. A plan that fits stays as it is. False: it still
 * uses more. INFINITY assigns without a bound. */
bool mz_assign_follow(const mz_pipeline *pipeline, const mz_assignment *assignment, mz_plan *plan);
