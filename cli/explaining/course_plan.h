/* `muzero plan --course`: a course fitted to the history's learning curves, written to a file and shown. */
#pragma once
#include "muzero/trainer.h"

typedef struct mz_course_plan_view {
  mz_run_options run;
  double deadline_s, target, budget; /* deadline, budget: NAN: the settings' limits */
  int64_t epochs, stages;            /* epochs: 0: not given; stages: 0: the default */
  const char *machine;               /* a simulated one; NULL: this one */
  const char *file;
  bool json;
} mz_course_plan_view;
/* Prints it, and writes the file. MZ_E_USAGE: a limit or the epochs are missing. */
mz_status mz_course_plan_show(const mz_course_plan_view *view);
