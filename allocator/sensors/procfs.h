/* Readings of procfs on this process and on the machine. Times are CPU seconds since their start, in the kernel's ticks (10 ms).
 * Each read is one pread; false: it is not there, may not be read, or makes no sense. */
#pragma once
#include <stdbool.h>

typedef struct mz_procfs {
  int self_stat, self_statm, stat; /* file descriptors; -1: could not be opened */
} mz_procfs;

void mz_procfs_open(mz_procfs *procfs, const char *proc); /* "/proc" */
void mz_procfs_close(mz_procfs *procfs);
bool mz_procfs_cpu_s(const mz_procfs *procfs, double *out); /* this process, its ended threads included */
bool mz_procfs_rss(const mz_procfs *procfs, double *bytes);
/* All cores of the machine, whoever used them; stolen time is somebody's too. The dearest read: once per window. */
bool mz_procfs_busy_s(const mz_procfs *procfs, double *out);

/* This process's threads whose name begins with `prefix`; NAN when there is no telling. Ended threads no longer count. */
double mz_procfs_threads_cpu_s(const char *proc, const char *prefix);
