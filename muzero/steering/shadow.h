/* Whether the record of a run in which the agent of allocate.policy only proposed shows that it may drive. */
#pragma once
#include "base/status.h"
#include <stdint.h>

/* shadow: a run, or its ledger (allocate.shadow); policy: the path that allocate.policy has, for messages; course, agent: digests. MZ_E_CONFIG, which
 * says how such a record is made: none is named or can be read; it is of another course or agent, or not of all stages; the agent's
 * regret is above that of a fixed plan. */
mz_status mz_shadow_check(const char *shadow, const char *policy, uint64_t course, uint64_t agent);
