/* A thread that reads the system's sensors up to 5 times a second (procfs, cgroup, pressure, NVML opened at run time) and adds them
 * up; below 0.5 % of a core. A sensor that is missing or may not be read is reported missing, never as zero, and costs one
 * attempt. Clocks are monotonic; a counter that runs backwards counts as no progress. */
#pragma once
#include "allocator/pipeline/telemetry.h"
#include "allocator/sensors/nvml.h"
#include <sched.h>

typedef struct mz_monitor mz_monitor;
typedef struct mz_monitor_options {
  double hz; /* above 0, up to 5; 0: no thread: sensors are read by take only */
  /* Other processes that count as this one, both NULL: there are none. CPU seconds never fall; bytes are those resident now. */
  double (*more_cpu_s)(void *), (*more_bytes)(void *);
  void *more;                      /* their argument */
  const char *proc, *cgroup;       /* NULL: /proc, /sys/fs/cgroup; tests put their own here */
  const char (*gpus)[MZ_GPU_UUID]; /* identifiers of those that are read, as NVML has them; none: all */
  int gpu_count;
} mz_monitor_options;

/* MZ_E_INTERNAL: no thread could be had. NVML may take some 100 ms to start: the thread does that, and until then the GPU is
 * missing. One thread at a time calls what follows; stop(NULL) does nothing. */
mz_status mz_monitor_start(mz_monitor **out, const mz_monitor_options *options);
void mz_monitor_stop(mz_monitor *monitor);
/* Usage since the last take (or start), and begins anew. Counters are read here, at the ends of a window; the thread samples
 * what has to be sampled: cores in use (of those granted when the monitor was started), resident memory, GPUs. */
void mz_monitor_take(mz_monitor *monitor, mz_usage *out);
/* Returns how many cores were granted when it was started. */
int mz_monitor_cores(const mz_monitor *monitor);
/* Between the phases that count: the thread sleeps, and what passes meanwhile is in no window. */
void mz_monitor_pause(mz_monitor *monitor, bool paused);
/* Where the thread may run: nothing in the program confines it, so this is what the system, or somebody from outside, allows. False:
 * there is no thread. */
bool mz_monitor_mask(const mz_monitor *monitor, cpu_set_t *out);
/* Names of missing sensors, for people: "throttled (no cgroup with a CPU quota), gpu (no NVML)"; "" for none. */
void mz_monitor_missing(const mz_monitor *monitor, char *out, size_t size);
/* GPUs that NVML knows; 0 when there is none. The first `max` names go to `names` (may be NULL). Starts NVML for itself. */
int mz_monitor_gpus(char names[][64], int max);
