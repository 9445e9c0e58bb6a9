/* What demand says of a plant. */
#pragma once
#include "tests/allocator/plant.h"

__attribute__((unused)) static const mz_strategy *const demand = &mz_strategy_demand;
static inline int64_t threads(const plant *p, int stage) { return mz_stage_threads(&p->pipeline, stage, &p->plan); }

static inline void expect_why_not(const plant *p, int candidate, const char *words) {
  assert_true(candidate < p->proposal.candidate_count);
  if (!strstr(p->proposal.candidates[candidate].why_not, words))
    fail_msg("'%s' is not in: %s", words, p->proposal.candidates[candidate].why_not);
}

static inline void expect_reason(const plant *p, const char *words) {
  if (!strstr(p->proposal.reason, words)) fail_msg("'%s' is not in: %s", words, p->proposal.reason);
}
