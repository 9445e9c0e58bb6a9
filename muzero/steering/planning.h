/* A plan for a run that does not run yet: what the probes, and the history of this machine, predict to be fastest (or cheapest). */
#pragma once
#include "allocator/machine/machine_spec.h"
#include "allocator/search/search.h"
#include "allocator/strategies/outlook.h"
#include "muzero/run.h"

typedef struct mz_planning {
  mz_pipeline pipeline;
  mz_bounds bounds;
  mz_allocation_settings settings;
  mz_plan start, best; /* what the run would begin with; the best that was found, or `start` */
  mz_outlook of_start, of_best;
  const char *predictor;
  int plans_measured; /* in the history; 0: probes alone predict */
  mz_search_result found;
} mz_planning;

/* machine: NULL: this one; otherwise a simulated one (stages are timed here, there is no history of it). Takes as long as the probes:
 * well under a second for small networks. Free with free(). MZ_E_CONFIG as a run that begins. */
mz_status mz_planning_make(mz_planning **out, const mz_run_options *run, const mz_sim_machine *machine);
/* The same for settings as they are, on a simulated machine for which the stages were timed before (muzero/compare/simulated.h): nothing is
 * timed, and it takes milliseconds. threads: budget; 0: the cores granted. `start` may break limits, which `best` keeps; MZ_E_CONFIG:
 * no plan does. */
mz_status mz_planning_make_timed(mz_planning **out, const mz_env *env, const mz_settings *settings, const mz_sim_machine *machine,
                                 int threads, const mz_pipeline *timed);
