#include "base/threads/stage.h"
#include <stddef.h>

static _Thread_local mz_stage *worked_for;

mz_stage *mz_stage_enter(mz_stage *stage) {
  mz_stage *const before = worked_for;
  worked_for = stage;
  mz_stage_step();
  return before;
}

void mz_stage_step(void) {
  if (worked_for != NULL) mz_stage_add(&worked_for->steps, 1);
}
