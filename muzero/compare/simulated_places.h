/* Times of runs on every place of a simulated machine: cores, GPUs and batch sizes. */
#pragma once
#include "muzero/compare/simulated_runs.h"

/* Fills runs->timed with curves that tell times alone: cores by powers of two, as many GPUs as plans make use of, each with the plan
 * that is predicted to be fastest there. The settings' limits hold. MZ_E_CONFIG: more places than a plan of runs can look at. */
mz_status mz_simulated_places_time(mz_simulated_runs *runs);
