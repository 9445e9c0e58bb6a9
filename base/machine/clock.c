#include "base/machine/clock.h"
#include "base/status.h"
#include <time.h>

static struct timespec now(clockid_t clock) {
  struct timespec t;
  const int rc = clock_gettime(clock, &t);
  MZ_ASSERT(rc == 0); /* these clocks always exist on Linux */
  return t;
}

static uint64_t nanoseconds(struct timespec t) { return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }

uint64_t mz_clock_ns(void) { return nanoseconds(now(CLOCK_MONOTONIC)); }

uint64_t mz_clock_process_ns(void) { return nanoseconds(now(CLOCK_PROCESS_CPUTIME_ID)); }

uint64_t mz_clock_thread_ns(void) { return nanoseconds(now(CLOCK_THREAD_CPUTIME_ID)); }

double mz_clock_unix_s(void) {
  const struct timespec t = now(CLOCK_REALTIME);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
