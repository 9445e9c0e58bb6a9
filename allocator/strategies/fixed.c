/* fixed: the plan it was given. The baseline that others are measured against. */
#include "allocator/strategies/strategy.h"

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  mz_propose_keep(situation, "keep: fixed never changes the plan", out);
}

const mz_strategy mz_strategy_fixed = {
    .name = "fixed",
    .summary = "keeps the plan it was given",
    .source = "baseline",
    .memory_bytes = 0,
    .propose = propose,
};
