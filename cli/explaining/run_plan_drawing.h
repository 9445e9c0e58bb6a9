/* Time against cost of runs that reach a score, as SVG: a line for each batch size over the cores, bars for the intervals. */
#pragma once
#include "allocator/runs/run_plan.h"

/* limits: lines where a deadline and a budget are. MZ_E_IO naming the path; MZ_E_MEMORY. */
mz_status mz_run_plan_draw(const char *path, const mz_run_planning *planning, double deadline_s, double budget);
