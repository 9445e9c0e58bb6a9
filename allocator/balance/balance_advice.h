/* What to do about the balance factor: which resource to reduce or to add, by how much, and the plan that does it.
 *
 *   β > 1.25  over-allocated: less CPU, then memory (never below what is live), GPU last
 *   β < 0.95  under-allocated: GPU first, then CPU, then memory
 *
 * A resource is chosen only where its own β_r says the same. A step is a quarter of what is allocated at the most, and one core, place,
 * eighth of a GPU or GPU where a quarter is less. The resource has to be the one to choose for two windows in a row, the first window
 * after a change of the plan counts for nothing, and a knob goes the other way after four windows at the earliest (hysteresis.h), the
 * next time after 16, 64 and 256: so that it settles. What the machine lacks, what was not measured and what cannot move is passed over,
 * and the advice says so.
 *
 * A strategy calls mz_balance_read and mz_balance_advise once a window, with a memory of its own. An advice that it does not follow
 * counts as undone. Pure functions of their arguments. */
#pragma once
#include "allocator/balance/balance.h"
#include "allocator/strategies/hysteresis.h"

#define MZ_BALANCE_OVER 1.25
#define MZ_BALANCE_UNDER 0.95

typedef enum mz_balance_verdict {
  MZ_BALANCE_IS_UNKNOWN,
  MZ_BALANCE_IS_BALANCED,
  MZ_BALANCE_IS_OVER,
  MZ_BALANCE_IS_UNDER
} mz_balance_verdict;

/* Starts zeroed. */
typedef struct mz_balance_memory {
  mz_hysteresis hysteresis;
  int turns[MZ_PLAN_KNOBS_MAX]; /* how often it was advised to move the knob the other way */
  int64_t advised;              /* window after which a change was advised last; 0: none was */
  mz_balance_verdict verdict;   /* of the last window, and the resource that was to be chosen */
  mz_resource resource;
  int windows; /* in a row with those two; 0: nothing was to be chosen */
} mz_balance_memory;

typedef struct mz_advice {
  mz_balance_verdict verdict;
  bool change;          /* advised now */
  mz_resource resource; /* where it changes: */
  double from, to;      /* allocated */
  mz_plan plan;         /* the one in force where nothing changes; also where a share of a GPU changes, which no knob has */
  char skipped[160];    /* "gpu: none; cpu: no pool has a thread to spare": passed over, in order */
  char reason[MZ_REASON_BYTES];
} mz_advice;

/* b: of the situation's window. */
void mz_balance_advise(const mz_balance *b, const mz_situation *situation, mz_balance_memory *memory, mz_advice *a);
