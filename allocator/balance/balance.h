/* The balance factor: money allocated per money needed, from one window (the patent's fourth step; the formula is our reconstruction).
 *
 *   u_r = used / allocated of resource r: cores in use (95th percentile), peak resident bytes, busy share of the GPUs in use (mean)
 *   s_r = share of the window in which others waited for a stage that could use more of r, while more of r can be had
 *   D_r = A_r (u_r + s_r)                     need
 *   β_r = 1 / (u_r + s_r)    β = Σ π_r A_r / Σ π_r D_r      π: prices.*; where they are all 0, their defaults
 *
 * Waiting is read at both ends of every queue: a consumer that starves waits for the producer, a producer without room waits for the
 * consumer, and what both ends wait in the same window is want of places, which is memory. A stage is to blame as far as it did not wait
 * itself. Stages that end a step early wait for the one that ends it. A stage on a GPU waits for cores as
 * far as the GPU was idle.
 *
 * β falls when A_r falls and nothing else changes, as long as s_r < 1 / β: a resource that is waited for more than that pulls the mean
 * down as it grows. Plain structs, pure functions, no memory of their own. */
#pragma once
#include "allocator/balance/assign.h"
#include "allocator/model/load.h"

#define MZ_BALANCE_MAX 100.0 /* of β: what is not used at all */

typedef struct mz_resource_balance {
  double allocated;    /* A: cores, bytes, GPUs */
  double used, waited; /* u, s */
  double needed;       /* D */
  double beta;         /* NAN: unknown, and the resource is in no sum */
  int culprit;         /* stage that is waited for, of memory: queue; −1: none */
  const char *unknown; /* "none", "not in use", "not measured"; "": beta is known */
} mz_resource_balance;

typedef struct mz_balance {
  mz_resource_balance resources[MZ_RESOURCES];
  double beta;                      /* NAN: no resource is known */
  double waited_for[MZ_STAGES_MAX]; /* share of its step that others waited for the stage, whatever it may be given */
  double worked[MZ_STAGES_MAX];     /* share of its step in which the stage did not wait and had not ended */
  mz_load load;                     /* zeroed where the window holds no work */
} mz_balance;

/* assigned: what is allocated; NULL: what the plan in force reserves. Needs of the situation: pipeline, settings, bounds, plan, window,
 * utilisation, cores, memory. */
void mz_balance_read(mz_balance *out, const mz_situation *situation, const mz_assignment *assigned);
/* "beta 1.62: cpu 1.66 (used 0.60, waited 0.00), memory not measured, gpu none". */
void mz_balance_text(const mz_balance *balance, char *out, size_t size);
