/* A control group of our own below that of this process, whose CPU quota we set, version 2 or 1. `root` and `self` as in cgroup.h. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct mz_cgroup_own {
  char folder[512]; /* "": there is none */
  bool version_2;
} mz_cgroup_own;

/* MZ_E_IO: this process may not make one, or it would not have a quota. */
mz_status mz_cgroup_own_make(mz_cgroup_own *out, const char *root, const char *self, const char *name);
/* Moves a process into it, with all its threads. */
mz_status mz_cgroup_own_take(const mz_cgroup_own *own, pid_t pid);
/* cores: CPU time per wall time of all its processes together; 0: no quota. */
mz_status mz_cgroup_own_set_cores(const mz_cgroup_own *own, double cores);
/* Its processes have ended. One that is not there is fine. */
mz_status mz_cgroup_own_remove(mz_cgroup_own *own);
