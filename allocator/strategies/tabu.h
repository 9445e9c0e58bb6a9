/* Plans that were undone lately and are left alone for 8 windows. Starts zeroed; windows are counted by the caller, from 1. */
#pragma once
#include "allocator/pipeline/pipeline.h"

enum { MZ_TABU_WINDOWS = 8 };
typedef struct mz_tabu {
  struct {
    mz_plan plan;
    int64_t until; /* the window from which on it may be tried again; 0: no plan */
  } plans[MZ_TABU_WINDOWS];
  int next;
} mz_tabu;

/* At most one plan a window, so none that still counts is overwritten. */
void mz_tabu_add(mz_tabu *tabu, const mz_plan *plan, int64_t window);
/* For how many windows, the present one included, the plan is to be left alone; 0: it may be tried. */
int64_t mz_tabu_left(const mz_tabu *tabu, const mz_pipeline *pipeline, const mz_plan *plan, int64_t window);
