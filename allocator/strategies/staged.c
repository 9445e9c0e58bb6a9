/* staged: a plan for each stage of the run, by an agent of the environment `allocation` (allocate.policy). The owner of the pipeline asks
 * the agent between stages and begins anew with its plan (muzero/steering/staged.h); within a stage the plan stays. */
#include "allocator/strategies/strategy.h"

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  mz_propose_keep(situation, "keep: the plan changes between stages only", out);
}

const mz_strategy mz_strategy_staged = {
    .name = "staged",
    .summary = "plans stage by stage, by an agent trained on a course that was fitted to runs (allocate.policy)",
    .source = "thesis",
    .memory_bytes = 0,
    .propose = propose,
    .algorithmic = true,
};
