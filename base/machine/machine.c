#include "base/machine/machine.h"
#include "base/machine/cgroup.h"
#include "base/file/file.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

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

mz_status mz_machine_group_make(mz_cgroup_own *out, const char *name) {
  return mz_cgroup_own_make(out, cgroup_root, cgroup_self, name);
}

double mz_machine_quota(void) { return mz_cgroup_cores(cgroup_root, cgroup_self); }

uint64_t mz_machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t physical = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
  const uint64_t limit = mz_cgroup_memory(cgroup_root, cgroup_self);
  return limit > 0 && (physical == 0 || limit < physical) ? limit : physical;
}

/* A line "VmRSS:   1234 kB" of a file of procfs; 0 when there is none. */
static uint64_t proc_bytes(const char *path, const char *field) {
  uint8_t *text = NULL;
  size_t size = 0;
  if (mz_file_read(path, 0, &text, &size) != MZ_OK) return 0;
  const char *line = strstr((const char *)text, field);
  const uint64_t kib = line != NULL ? strtoull(line + strlen(field), NULL, 10) : 0;
  free(text);
  return kib * 1024;
}

bool mz_memory_available(const char *proc, const char *cgroup, double *bytes) {
  char meminfo[1024], self[1024];
  if (mz_path_join(meminfo, sizeof meminfo, proc, "meminfo") != MZ_OK) return false;
  if (mz_path_join(self, sizeof self, proc, "self/cgroup") != MZ_OK) return false;
  const double machine = (double)proc_bytes(meminfo, "\nMemAvailable:");
  *bytes = fmin(machine, mz_cgroup_memory_left(cgroup, self));
  return machine > 0;
}

uint64_t mz_machine_available_memory(void) {
  double bytes;
  return mz_memory_available("/proc", cgroup_root, &bytes) ? (uint64_t)bytes : 0;
}

uint64_t mz_machine_rss(void) { return proc_bytes("/proc/self/status", "\nVmRSS:"); }

/* Not getrusage: its figure includes what ran in this process before exec. */
uint64_t mz_machine_rss_peak(void) { return proc_bytes("/proc/self/status", "\nVmHWM:"); }

uint64_t mz_machine_anonymous_bytes(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
  return proc_bytes(path, "\nRssAnon:");
}

int mz_machine_child_end(pid_t child) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, child, 0);
#else
  return (void)child, -1;
#endif
}

enum { BEGINNING = 4096 };

/* Reads /proc/cpuinfo's beginning, and no more of the file: on large machines it is long and slow. "" when it cannot be read. */
static void read_cpuinfo(char text[BEGINNING]) {
  static const char path[] = "/proc/cpuinfo";
  int fd;
  size_t got = 0;
  text[0] = '\0';
  if (mz_file_open(path, MZ_FILE_READ, &fd) != MZ_OK) return;
  const mz_status status = mz_file_read_at(fd, path, 0, text, BEGINNING - 1, &got);
  (void)mz_file_close(&fd, path); /* was only read */
  text[status == MZ_OK ? got : 0] = '\0';
}

/* The value of the first line "field : value". */
static bool find_field(const char *text, const char *field, char *out, size_t size) {
  const char *line = strstr(text, field), *value = line != NULL ? strchr(line, ':') : NULL;
  if (value == NULL) return false;
  value += 1 + strspn(value + 1, " ");
  return snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value) > 0;
}

#if defined(__x86_64__)
/* Family and model as the processor's maker counts them. CPUID leaf 1, EAX: the extended family is added to family 15, the
 * extended model stands before the model of families 6 and 15. */
static void read_numbers(const char *cpuinfo, char *out, size_t size) {
  unsigned eax, ebx, ecx, edx;
  (void)cpuinfo;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return;
  const unsigned base = eax >> 8 & 15;
  const unsigned family = base + (base == 15 ? eax >> 20 & 255 : 0);
  const unsigned model = (eax >> 4 & 15) + (base == 6 || base == 15 ? (eax >> 16 & 15) << 4 : 0);
  snprintf(out, size, " (family %u, model %u)", family, model);
}
#else
/* On ARM a processor has no name there, but numbers of its maker and of its kind among that maker's. */
static void read_numbers(const char *cpuinfo, char *out, size_t size) {
  char maker[16], kind[16];
  if (find_field(cpuinfo, "\nCPU implementer", maker, sizeof maker) && find_field(cpuinfo, "\nCPU part", kind, sizeof kind))
    snprintf(out, size, " (implementer %s, part %s)", maker, kind);
}
#endif

void mz_machine_model(char *out, size_t size) {
  char cpuinfo[BEGINNING], name[128], numbers[64] = "";
  struct utsname kernel;
  read_cpuinfo(cpuinfo);
  if (!find_field(cpuinfo, "\nmodel name", name, sizeof name))
    snprintf(name, sizeof name, "%.64s processor", uname(&kernel) == 0 ? kernel.machine : "unknown");
  read_numbers(cpuinfo, numbers, sizeof numbers);
  snprintf(out, size, "%s%s, %ld processors", name, numbers, sysconf(_SC_NPROCESSORS_ONLN));
}
