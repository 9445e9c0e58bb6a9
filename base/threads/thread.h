/* Threads of the program's own. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

/* As pthread_create; the thread takes no signals but those of its own faults, so that Ctrl-C and the like go to the main thread, and
 * has the numbers of mz_numerics_enter. Names it for debuggers (15 characters at most). An errno, 0 when it runs. */
int mz_thread_start(pthread_t *out, const char *name, void *(*work)(void *), void *argument);

/* A mutex, and a condition whose waits are timed by the monotonic clock: the wall clock may be set back. */
void mz_lock_init(pthread_mutex_t *mutex, pthread_cond_t *wake);

/* Locks a mutex that may be held for ever, and gives up after about 50 ms: false. For those who look at a program that is stuck. */
bool mz_mutex_try(pthread_mutex_t *mutex);
