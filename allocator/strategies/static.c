/* static: the plan that was made for the whole run before it began (runs/run_plan.h), which is what the run starts with. */
#include "allocator/strategies/strategy.h"

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  mz_propose_keep(situation, "keep: the plan was made for the whole run", out);
}

const mz_strategy mz_strategy_static = {
    .name = "static",
    .summary = "makes the cheapest plan of cores, batch size and epochs for the whole run before it begins, and keeps it",
    .source = "thesis",
    .memory_bytes = 0,
    .propose = propose,
    .algorithmic = true,
};
