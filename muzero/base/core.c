#include "muzero/base/core.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Threads that work on each core, as they said themselves: a hint. Machines with more cores than this are left alone. */
static atomic_int working[CPU_SETSIZE];

int mz_core_current(void) {
  const int core = sched_getcpu();
  return core < CPU_SETSIZE ? core : -1;
}

static bool claim_idle(int core) {
  int nobody = 0;
  return atomic_compare_exchange_strong(&working[core], &nobody, 1);
}

/* Moves by a mask of one core, then gives the old mask back. The core moved to, or -1. */
static int move_to_idle(int avoid) {
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (core == avoid || !CPU_ISSET(core, &allowed) || !claim_idle(core)) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    const bool moved = sched_setaffinity(0, sizeof one, &one) == 0;
    const bool free_again = sched_setaffinity(0, sizeof allowed, &allowed) == 0;
    if (moved && free_again) return core;
    mz_core_leave(core); /* not allowed to, or the mask was changed from outside: stay wherever this is */
    return -1;
  }
  return -1;
}

int mz_core_enter(int avoid) {
  const int here = mz_core_current();
  if (here < 0 || (here != avoid && claim_idle(here))) return here;
  const int there = move_to_idle(avoid);
  if (there >= 0) return there;
  atomic_fetch_add(&working[here], 1);
  return here;
}

void mz_core_leave(int core) {
  if (core >= 0) atomic_fetch_sub(&working[core], 1);
}
