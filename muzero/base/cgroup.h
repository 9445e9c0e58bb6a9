/* The limits of this process's control group, version 2 or 1. The tightest limit on the way from the group to the root counts.
 * `root` is where the hierarchy is mounted (/sys/fs/cgroup), `self` the list of own groups (/proc/self/cgroup). */
#pragma once
#include <stdint.h>
double mz_cgroup_cores(const char *root, const char *self);    /* CPU time per wall time; 0: no limit */
uint64_t mz_cgroup_memory(const char *root, const char *self); /* bytes; 0: no limit */
