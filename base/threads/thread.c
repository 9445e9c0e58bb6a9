#include "base/threads/thread.h"
#include <signal.h>
#include <stddef.h>
#include <time.h>

int mz_thread_start(pthread_t *out, const char *name, void *(*work)(void *), void *argument) {
  sigset_t blocked, before;
  sigfillset(&blocked);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const int rc = pthread_create(out, NULL, work, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (rc == 0) pthread_setname_np(*out, name); /* only a name: may fail */
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
