/* Time, for telemetry only: no result depends on it (docs/architecture.md, "Determinism"). */
#pragma once
#include <stdint.h>
uint64_t mz_clock_ns(void);         /* monotonic */
uint64_t mz_clock_thread_ns(void);  /* CPU time of the calling thread */
uint64_t mz_clock_process_ns(void); /* CPU time of all threads */
double mz_clock_unix_s(void);       /* wall clock, for records that people read */
