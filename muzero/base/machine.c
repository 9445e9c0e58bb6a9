#include "muzero/base/machine.h"
#include "muzero/base/cgroup.h"
#include "muzero/base/file.h"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static const char cgroup_root[] = "/sys/fs/cgroup";
static const char cgroup_self[] = "/proc/self/cgroup";

/* The kernel refuses a mask shorter than its own, so ask with longer ones until it fits. */
static int affinity_cores(void) {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t *set = CPU_ALLOC((size_t)cpus);
    if (set == NULL) break;
    const size_t size = CPU_ALLOC_SIZE((size_t)cpus);
    const int rc = sched_getaffinity(0, size, set);
    const int count = rc == 0 ? CPU_COUNT_S(size, set) : 0;
    const int reason = errno;
    CPU_FREE(set);
    if (rc == 0) return count;
    if (reason != EINVAL) break;
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

int mz_machine_cores(void) { return mz_cores_granted(affinity_cores(), mz_machine_quota()); }

int mz_cores_granted(int affinity, double quota) {
  const int whole = quota > 0 && quota < affinity ? (int)(quota + 1e-9) : affinity;
  return whole >= 1 ? whole : 1;
}

double mz_machine_quota(void) { return mz_cgroup_cores(cgroup_root, cgroup_self); }

uint64_t mz_machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
  const uint64_t limit = mz_cgroup_memory(cgroup_root, cgroup_self);
  return limit > 0 && (physical == 0 || limit < physical) ? limit : physical;
}

/* A line "VmRSS:   1234 kB" of /proc/self/status; 0 when /proc is not there. */
static uint64_t status_bytes(const char *field) {
  uint8_t *text = NULL;
  size_t size = 0;
  if (mz_file_read("/proc/self/status", 0, &text, &size) != MZ_OK) return 0;
  const char *line = strstr((const char *)text, field);
  const uint64_t kib = line != NULL ? strtoull(line + strlen(field), NULL, 10) : 0;
  free(text);
  return kib * 1024;
}

uint64_t mz_machine_rss(void) { return status_bytes("\nVmRSS:"); }

/* Not getrusage: its figure includes what ran in this process before exec. */
uint64_t mz_machine_rss_peak(void) { return status_bytes("\nVmHWM:"); }
