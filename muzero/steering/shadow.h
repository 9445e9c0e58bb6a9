/* Whether the records of runs in which the agent of allocate.policy only proposed show that it may drive. */
#pragma once
#include "base/status.h"
#include <stdint.h>

typedef struct mz_shadowed {
  const char *policy;     /* the path that allocate.policy has, for messages */
  uint64_t course, agent; /* digests */
} mz_shadowed;
/* shadow: allocate.shadow, runs or their ledgers with a colon between two. MZ_E_CONFIG, which says how such a record is made: none is named
 * or one cannot be read; one is of another course or agent, or not of all stages; the agent's regret, summed over
 * them, is above that of a fixed plan. */
mz_status mz_shadow_check(const char *shadow, const mz_shadowed *of);
