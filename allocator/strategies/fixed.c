/* fixed: the plan it was given. The baseline that others are measured against. */
#include "allocator/strategies/strategy.h"

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  *out = (mz_proposal){.plan = *situation->plan,
                       .predictor = "last value",
                       .prediction = mz_situation_predict(situation, situation->plan),
                       .binding = "",
                       .reason = "keep: fixed never changes the plan"};
}

const mz_strategy mz_strategy_fixed = {
    .name = "fixed",
    .summary = "keeps the plan it was given",
    .source = "baseline",
    .memory_bytes = 0,
    .propose = propose,
};
