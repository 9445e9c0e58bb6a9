#include "base/threads/core.h"
#include <stdatomic.h>

/* Threads that work on each core, as they said themselves: a hint. Machines with more cores than this are left alone. */
static atomic_int working[CPU_SETSIZE];

int mz_core_current(void) {
  const int core = sched_getcpu();
  return core < CPU_SETSIZE ? core : -1;
}

bool mz_core_allowed(cpu_set_t *out) { return sched_getaffinity(0, sizeof *out, out) == 0; }

static bool claim_idle(int core) {
  int nobody = 0;
  return atomic_compare_exchange_strong(&working[core], &nobody, 1);
}

/* Moves by a mask of one core, then gives the old mask back. The core moved to, or -1. */
static int move_to_idle(int avoid) {
  cpu_set_t allowed, one;
  if (!mz_core_allowed(&allowed)) return -1;
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

static _Thread_local int barred = -1; /* the core that the calling thread's mask lacks by `bar`; -1: none */

/* Bars the calling thread from core `avoid` until it is to avoid another: a thread that is woken again and again by the one it
 * works beside would else be woken on that one's core each time, and moved each time. */
static void bar(int avoid) {
  static _Thread_local cpu_set_t whole; /* the mask before the first bar */
  if (barred == avoid || (barred < 0 && !mz_core_allowed(&whole))) return;
  cpu_set_t others = whole;
  CPU_CLR(avoid, &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) barred = avoid;
}

int mz_core_enter(int avoid) {
  int here = mz_core_current();
  if (here >= 0 && here == avoid) {
    bar(avoid);
    here = mz_core_current();
  }
  if (here < 0 || (here != avoid && claim_idle(here))) return here;
  const int there = move_to_idle(avoid);
  if (there >= 0) return there;
  atomic_fetch_add(&working[here], 1);
  return here;
}

void mz_core_leave(int core) {
  if (core >= 0) atomic_fetch_sub(&working[core], 1);
}

bool mz_core_confine(const cpu_set_t *cores) {
  if (sched_setaffinity(0, sizeof *cores, cores) != 0) return false;
  barred = -1; /* the mask is a new one, and whole */
  return true;
}

void mz_core_settle(int number) {
  cpu_set_t allowed, one;
  if (!mz_core_allowed(&allowed)) return;
  const int count = CPU_COUNT(&allowed);
  if (count < 2) return;
  int rank = number % count;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET(core, &allowed) || rank-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    mz_core_confine(&one); /* refused: it stays where the kernel puts it */
    return;
  }
}
