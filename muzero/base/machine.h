/* What this process may use. */
#pragma once
#include <stdint.h>
/* Cores granted: the affinity mask, cut by a cgroup v2 (or v1) CPU quota; at least 1, also for quotas below one core. */
int mz_machine_cores(void);
int mz_cores_granted(int affinity, double quota); /* the rule: whole cores of the quota, which is 0 where there is none */
double mz_machine_quota(void);                    /* cores by quota; 0 when there is none */
uint64_t mz_machine_memory(void);                 /* bytes: physical, or the cgroup's limit */
uint64_t mz_machine_rss(void);                    /* resident set of this process now */
uint64_t mz_machine_rss_peak(void);
