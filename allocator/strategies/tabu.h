/* Plans that were undone lately and are left alone for 8 phases. Starts zeroed; phases are counted by the caller, from 1. */
#pragma once
#include "allocator/pipeline/pipeline.h"

enum { MZ_TABU_PHASES = 8 };
typedef struct mz_tabu {
  struct {
    mz_plan plan;
    int64_t until; /* the phase from which on it may be tried again; 0: no plan */
  } plans[MZ_TABU_PHASES];
  int next;
} mz_tabu;

/* At most one plan a phase, so none that still counts is overwritten. */
void mz_tabu_add(mz_tabu *tabu, const mz_plan *plan, int64_t phase);
/* For how many phases, the present one included, the plan is to be left alone; 0: it may be tried. */
int64_t mz_tabu_phases(const mz_tabu *tabu, const mz_pipeline *pipeline, const mz_plan *plan, int64_t phase);
