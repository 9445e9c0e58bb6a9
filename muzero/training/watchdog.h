/* Notices a run that no longer moves, and says which stage stands and who waits for what. Progress is a task of a pool begun or
 * ended, a search, a batch, an update, and anything else that the driving thread begins (activity.h). A thread of its own looks
 * 60 times a limit. It counts its own looks and reads no clock: time in which the whole process was stopped does not count. */
#pragma once
#include "muzero/training/workers.h"

typedef struct mz_watchdog mz_watchdog;

enum { MZ_WATCHDOG_LOOKS = 60 }; /* in the time after which it warns */

/* Starts watching workers, which stay alive until the stop. MZ_E_INTERNAL where there is no thread to be had. settings->time 0:
 * *out is NULL, nobody watches. */
mz_status mz_watchdog_start(mz_watchdog **out, const mz_watchdog_settings *settings, const mz_workers *workers);
/* The same without a thread: whoever calls mz_watchdog_look is its clock. */
mz_status mz_watchdog_create(mz_watchdog **out, const mz_watchdog_settings *settings, const mz_workers *workers);
void mz_watchdog_stop(mz_watchdog *watchdog); /* of either; NULL: nothing */

/* Looks once: a 60th of the limit has passed. After 60 looks without progress it warns, then after twice as many, and so on. With
 * action=abort it then lists the process's threads and aborts, unless it is a disk that is waited for. */
void mz_watchdog_look(mz_watchdog *watchdog);
