/* Places where threads meet: in queues and pools. Tests delay threads there, so that things happen in other orders than the
 * machine's own. */
#pragma once
#include <stddef.h>

/* Called by every thread at each of these places, with no lock held but the one that lets only one thread resize a pool; NULL, as in
 * the product: nothing happens there. Set only while there is no pool: its threads may come by at any time. */
extern void (*mz_sched_hook)(void);

static inline void mz_sched_point(void) {
  if (mz_sched_hook != NULL) mz_sched_hook();
}
