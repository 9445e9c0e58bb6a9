#include "allocator/strategies/tabu.h"

void mz_tabu_add(mz_tabu *tabu, const mz_plan *plan, int64_t window) {
  tabu->plans[tabu->next].plan = *plan;
  tabu->plans[tabu->next].until = window + MZ_TABU_WINDOWS + 1;
  tabu->next = (tabu->next + 1) % MZ_TABU_WINDOWS;
}

int64_t mz_tabu_left(const mz_tabu *tabu, const mz_pipeline *pipeline, const mz_plan *plan, int64_t window) {
  int64_t windows = 0;
  for (int i = 0; i < MZ_TABU_WINDOWS; i++) {
    const int64_t left = tabu->plans[i].until - window;
    if (left > windows && mz_plan_equal(pipeline, plan, &tabu->plans[i].plan)) windows = left;
  }
  return windows;
}
