/* Projects plans that were searched out into their assignments (balance/assign.h): each gives up what its predicted demand, with room for
 * what the history varied by and for what is left of the search's temperature, does not use. Cores and GPUs whose loss would be predicted
 * to cost more time (or money) than allocate.gain_min are given back, by quarters. Pure functions. */
#pragma once
#include "allocator/balance/assign.h"
#include "allocator/strategies/plan_search.h"

typedef struct mz_assigned {
  mz_clamp clamps[MZ_RESOURCES]; /* of the plan as it was found; what was given back is in their amounts */
  const char *
      binding; /* what decided: "predicted demand", "predicted time", "resident memory", "limits.cpu_max" …; "": it is given what it uses */
} mz_assigned;

/* Replaces the plans found by their projections, with their own energies, least first: several may share one, which stays once. What may
 * not be, or was undone lately, goes. assigned: [MZ_SEARCH_KEPT_MAX], of the plans that stay. */
void mz_plan_assign(const mz_situation *situation, mz_search_result *found, mz_assigned assigned[]);
