#include "base/threads/thread.h"
#include "base/status.h"
#include "base/threads/numerics.h"
#include <errno.h>
#include <signal.h>
#include <time.h>

typedef struct job {
  void *(*work)(void *argument);
  void *argument;
} job;

static void *begin(void *given) {
  const job own = *(job *)given;
  mz_numerics of_the_process;
  free(given);
  mz_numerics_enter(&of_the_process);
  return own.work(own.argument);
}

int mz_thread_start(pthread_t *out, const char *name, void *(*work)(void *), void *argument) {
  sigset_t blocked, before;
  job *given;
  if (mz_alloc(&given, 1, sizeof *given) != MZ_OK) return ENOMEM;
  *given = (job){work, argument};
  sigfillset(&blocked);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const int rc = pthread_create(out, NULL, begin, given);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc == 0)
    pthread_setname_np(*out, name); /* only a name: may fail */
  else
    free(given);
  return rc;
}

bool mz_mutex_try(pthread_mutex_t *mutex) {
  enum { TRIES = 50, NAP_NS = 1000000 };
  for (int i = 0; i < TRIES; i++) {
    if (pthread_mutex_trylock(mutex) == 0) return true;
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
  }
  return false;
}

void mz_lock_init(pthread_mutex_t *mutex, pthread_cond_t *wake) {
  pthread_condattr_t monotonic;
  pthread_mutex_init(mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
}
