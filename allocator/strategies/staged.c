/* staged: a plan for each stage of the run, by an agent of the environment `allocation` (allocate.policy). The owner of the pipeline asks
 * the agent between stages and begins anew with its plan (muzero/steering/staged.h); within a stage the plan stays. */
#include "allocator/strategies/strategy.h"

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  *out = (mz_proposal){.plan = *situation->plan,
                       .predictor = "last value",
                       .prediction = mz_situation_predict(situation, situation->plan),
                       .binding = "",
                       .reason = "keep: the plan changes between stages only"};
}

const mz_strategy mz_strategy_staged = {
    .name = "staged",
    .summary = "plans stage by stage, by an agent trained on a course that was fitted to runs (allocate.policy)",
    .source = "thesis",
    .memory_bytes = 0,
    .propose = propose,
    .algorithmic = true,
};
