/* The plans that a ledger records, by round: for a run that repeats them (`train --replay-plan`). */
#pragma once
#include "allocator/records/ledger.h"

typedef struct mz_planned {
  int64_t round; /* the plan is in force from the end of this round on; 0: from the start */
  mz_plan plan;
  int64_t training; /* updates of a unit, where the ledger moved them (goodput/goodput.h); 0: those the run began with */
  int64_t batch;    /* rows of a batch, where the ledger moved them (records/batch_move.h); 0: those the run began with */
} mz_planned;

typedef struct mz_plan_list { /* zeroed: no plans */
  mz_planned *items;          /* rounds ascend; neighbours differ */
  int count, capacity;
  int64_t training; /* updates of a unit at the beginning, where the ledger judges them; 0: it does not */
  int64_t batch;    /* rows of a batch at the beginning, where the ledger moves them; 0: it does not */
} mz_plan_list;

/* Reads the plans of the ledger at `path` for a run with this pipeline within these bounds. A trial that was given up within a window
 * counts as given up at the window's end, for the ledger has no other round. On failure *out is empty: MZ_E_IO: no such file;
 * MZ_E_CHECKPOINT: no ledger, or a damaged one (names the line); MZ_E_CONFIG: a ledger of another format or pipeline, or a plan that
 * this run cannot take (names knob, round and what to change). */
mz_status mz_plan_list_read(mz_plan_list *out, const char *path, const mz_pipeline *pipeline, const mz_bounds *bounds);
void mz_plan_list_deinit(mz_plan_list *list);
/* Returns the index of the plan in force after `round` rounds. The list is not empty. */
int mz_plan_list_at(const mz_plan_list *list, int64_t round);
