/* Moves of one resource by at most a quarter: what an advice may be. */
#pragma once
#include "allocator/balance/balance_advice.h"

typedef struct mz_balance_move {
  mz_plan plan;
  double to;        /* allocated then */
  char why_not[64]; /* "": it may be made */
} mz_balance_move;

/* Finds the plan with less (direction −1) or more (1) of a resource whose beta is known. A quarter at most, and one core, place, eighth of
 * a GPU or GPU where a quarter is less. Knobs that have not rested stay. */
void mz_balance_find_move(const mz_balance *balance, const mz_situation *situation, const mz_balance_memory *memory,
                          mz_resource resource, int direction, mz_balance_move *out);
