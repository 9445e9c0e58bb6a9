/* Resources that this process may use. */
#pragma once
#include "base/machine/cgroup_own.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
/* Cores granted: the affinity mask, cut by a cgroup v2 (or v1) CPU quota; at least 1, also for quotas below one core. */
int mz_machine_cores(void);
int mz_cores_granted(int affinity, double quota); /* the rule: whole cores of the quota, which is 0 where there is none */
mz_status mz_machine_group_make(mz_cgroup_own *out, const char *name); /* mz_cgroup_own_make, of this process */
double mz_machine_quota(void);                                         /* cores by quota; 0 when there is none */
uint64_t mz_machine_memory(void);                                      /* bytes: physical, or the cgroup's limit */
/* Bytes that can be had now without pushing anything out: the kernel's estimate, cut by what the cgroup's limit leaves; 0 when
 * not known. */
uint64_t mz_machine_available_memory(void);
/* The rule, for a procfs and a cgroup hierarchy mounted elsewhere; false: there is no MemAvailable to read. */
bool mz_memory_available(const char *proc, const char *cgroup, double *bytes);
uint64_t mz_machine_rss(void); /* resident set of this process now */
uint64_t mz_machine_rss_peak(void);
/* Memory of another process that is its own alone: without pages of files, and without what it shares. 0 when there is no telling. */
uint64_t mz_machine_anonymous_bytes(pid_t process);
/* Returns a descriptor, the caller's, that becomes readable when a child of this process ends; −1 where the system has none (Linux
 * before 5.3). */
int mz_machine_child_end(pid_t child);
/* Writes a text that tells this kind of machine from others: "AMD EPYC (family 25, model 17), 2 processors". Virtual machines
 * often hide the name, hence the numbers. Cut to `size`. */
void mz_machine_model(char *out, size_t size);
