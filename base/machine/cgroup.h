/* The limits of this process's control group, version 2 or 1. The tightest limit on the way from the group to the root counts.
 * `root` is where the hierarchy is mounted (/sys/fs/cgroup), `self` the list of own groups (/proc/self/cgroup). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
double mz_cgroup_cores(const char *root, const char *self);    /* CPU time per wall time; 0: no limit */
uint64_t mz_cgroup_memory(const char *root, const char *self); /* bytes; 0: no limit */
/* Bytes that the group may still use: limit − usage, where file pages that nobody used of late count as free (the kernel drops
 * them first). INFINITY: no limit. */
double mz_cgroup_memory_left(const char *root, const char *self);
/* Path of the cpu.stat that counts how long the group was throttled: of the group with the tightest quota, the nearest where
 * none has one. False: there is none. */
bool mz_cgroup_cpu_stat(const char *root, const char *self, char *out, size_t size);
/* Path of a file of the own version 2 group, or of the nearest one above that has it. False: there is none. */
bool mz_cgroup_file(const char *root, const char *self, const char *name, char *out, size_t size);
/* Folder of the own group: of version 2 where `controller` is NULL, otherwise of that controller of version 1. False: this process is
 * in none, or the folder is not there. */
bool mz_cgroup_folder(const char *root, const char *self, const char *controller, char *out, size_t size);
