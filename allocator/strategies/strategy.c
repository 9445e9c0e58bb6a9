#include "allocator/strategies/strategy.h"
#include <math.h>

const mz_strategy *const mz_strategies[] = {&mz_strategy_fixed,    &mz_strategy_random, &mz_strategy_demand, &mz_strategy_greedy,
                                            &mz_strategy_adaptive, &mz_strategy_static, &mz_strategy_staged, NULL};
enum { STRATEGIES = sizeof mz_strategies / sizeof *mz_strategies - 1 };

const char *mz_strategy_name(int index) { return index >= 0 && index < STRATEGIES ? mz_strategies[index]->name : NULL; }

mz_status mz_strategy_find(const char *name, const char *where, const mz_strategy **out) {
  int index;
  MZ_TRY(mz_find_named(name, "strategy", mz_strategy_name, where, &index));
  *out = mz_strategies[index];
  return MZ_OK;
}

mz_prediction mz_situation_predict(const mz_situation *situation, const mz_plan *plan) {
  if (!situation->model || situation->model->observations == 0) return (mz_prediction)MZ_UNPREDICTED;
  return mz_predict(situation->champion, situation->model, plan);
}

void mz_propose_keep(const mz_situation *situation, const char *reason, mz_proposal *out) {
  *out = (mz_proposal){.plan = *situation->plan,
                       .predictor = "last value",
                       .prediction = mz_situation_predict(situation, situation->plan),
                       .binding = ""};
  snprintf(out->reason, sizeof out->reason, "%s", reason);
}
