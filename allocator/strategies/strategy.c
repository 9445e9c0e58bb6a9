#include "allocator/strategies/strategy.h"
#include <math.h>
#include <string.h>

const mz_strategy *const mz_strategies[] = {&mz_strategy_fixed, &mz_strategy_demand, &mz_strategy_greedy, &mz_strategy_adaptive,
                                            NULL};
enum { STRATEGIES = sizeof mz_strategies / sizeof *mz_strategies - 1 };

const char *mz_strategy_name(int index) { return index >= 0 && index < STRATEGIES ? mz_strategies[index]->name : NULL; }

mz_status mz_strategy_find(const char *name, const char *where, const mz_strategy **out) {
  const char *names[STRATEGIES];
  char all[256] = "";
  for (size_t i = 0, length = 0; i < STRATEGIES; i++) {
    names[i] = mz_strategies[i]->name;
    if (strcmp(name, names[i]) == 0) {
      *out = mz_strategies[i];
      return MZ_OK;
    }
    length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i > 0 ? ", " : "", names[i]);
    MZ_ASSERT(length < sizeof all);
  }
  const char *nearest = mz_nearest(name, names, STRATEGIES);
  if (nearest) return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no strategy; did you mean %s?", where, name, nearest);
  return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no strategy; there are %s", where, name, all);
}

mz_prediction mz_situation_predict(const mz_situation *situation, const mz_plan *plan) {
  if (!situation->model || situation->model->observations == 0) return (mz_prediction)MZ_UNPREDICTED;
  const mz_prediction analytic = mz_analytic_predict(situation->model, plan);
  return situation->champion ? mz_champion_predict(situation->champion, plan, &analytic) : analytic;
}
