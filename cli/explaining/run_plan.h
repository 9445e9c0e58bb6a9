/* `muzero plan --target`: the plan of a whole run, shown. */
#pragma once
#include "muzero/steering/run_planning.h"

typedef struct mz_run_plan_view {
  mz_run_options run;
  double deadline_s, target, budget; /* deadline, budget: NAN: the settings' limits */
  int64_t epochs;                    /* 0: planned */
  const char *machine;               /* a simulated one (allocator/machine/machine_spec.h); NULL: this one */
  const char *tradeoff;              /* file of a picture; NULL: none */
  bool json;
} mz_run_plan_view;
/* Prints it, and writes the picture. MZ_E_CONFIG where no plan keeps the limits, after it was said by how much each would have to give. */
mz_status mz_run_plan_show(const mz_run_plan_view *view);
