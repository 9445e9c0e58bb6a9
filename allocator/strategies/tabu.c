#include "allocator/strategies/tabu.h"

void mz_tabu_add(mz_tabu *tabu, const mz_plan *plan, int64_t phase) {
  tabu->plans[tabu->next].plan = *plan;
  tabu->plans[tabu->next].until = phase + MZ_TABU_PHASES + 1;
  tabu->next = (tabu->next + 1) % MZ_TABU_PHASES;
}

int64_t mz_tabu_phases(const mz_tabu *tabu, const mz_pipeline *pipeline, const mz_plan *plan, int64_t phase) {
  int64_t phases = 0;
  for (int i = 0; i < MZ_TABU_PHASES; i++) {
    const int64_t left = tabu->plans[i].until - phase;
    if (left > phases && mz_plan_equal(pipeline, plan, &tabu->plans[i].plan)) phases = left;
  }
  return phases;
}
