/* Who worked and who waited: one record per stage of the round, shared by its threads. The allocator's telemetry and the
 * "both cores busy" figure come from here. Updated with relaxed atomics, once per task, not per item. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

typedef struct mz_stage {
  const char *name;
  _Atomic uint64_t busy_ns;     /* wall time inside tasks, less the waits below */
  _Atomic uint64_t cpu_ns;      /* CPU time inside tasks: what "busy with useful work" counts */
  _Atomic uint64_t wait_in_ns;  /* waiting for input */
  _Atomic uint64_t wait_out_ns; /* waiting for room in the output queue */
  /* Tasks begun and ended, and what they count themselves by mz_stage_step: it grows as long as the stage moves. */
  _Atomic uint64_t steps;
  /* Wall time in which the stage was at work at all, waits of its tasks included: from mz_pool_start to the end of the last
   * task, or as long as mz_pool_run takes. Added when a batch of tasks has ended. */
  _Atomic uint64_t elapsed_ns;
} mz_stage;

static inline void mz_stage_add(_Atomic uint64_t *counter, uint64_t amount) {
  atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Makes `stage` the one that the calling thread works for (NULL: none) and counts a step of it; returns the one before. A pool
 * does so around each task. */
mz_stage *mz_stage_enter(mz_stage *stage);
/* Counts a step of the stage that the calling thread works for; does nothing where there is none. Long tasks call it at least
 * once in some seconds, and nowhere that counts nanoseconds. */
void mz_stage_step(void);
