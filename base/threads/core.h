/* Spreads working threads over cores. A kernel may wake a thread on the core of the thread that woke it although others idle
 * (some pack on purpose), and put that right only after many milliseconds: longer than most of our batches of work. So a
 * thread that starts to work looks where it is, and moves when that core is taken. A thread that works beside
 * another is barred from that one's core only. Speed only: no result depends on it. */
#pragma once
#include <sched.h>
#include <stdbool.h>

/* Counts the calling thread as working on a core until mz_core_leave, moving it first when another working thread counts
 * there, or when it is core `avoid` (-1: none), and the process may use a core where nobody works. Returns the core. */
int mz_core_enter(int avoid);
void mz_core_leave(int core);
/* The calling thread's core now, -1 when unknown. */
int mz_core_current(void);
/* Gives the calling thread a core of its own among those allowed: the number-th, counted round. For threads that fill what
 * others leave idle on each core, where a kernel that packs them would leave a core to nobody. */
void mz_core_settle(int number);
/* Where the calling thread may run. False where the system does not say, or has more cores than a cpu_set_t names. */
bool mz_core_allowed(cpu_set_t *out);
/* Lets the calling thread run on these cores only, from now on: what the functions above then choose from. False, and nothing
 * has changed, where the system refuses. */
bool mz_core_confine(const cpu_set_t *cores);
