/* Makes a scenario so on this machine: cores and quota of the arms' processes, and neighbours beside them. Memory is told to the
 * arms (cell.h). */
#pragma once
#include "base/machine/cgroup_own.h"
#include "muzero/compare/scenario.h"
#include <sched.h>

typedef struct mz_scenery { /* zeroed: nothing was changed */
  cpu_set_t all;            /* cores before */
  int cores;                /* that the processes may use; 0: all */
  mz_cgroup_own group;      /* of the processes, from the first quota on */
  bool no_group;            /* none can be made here */
  pid_t processes[MZ_SCENARIO_THINGS][MZ_SCENARIO_NEIGHBOURS_MAX];
} mz_scenery;

/* Before a block: the processes `pids` (0: none) may use so many cores, or so much of them, from here on, and neighbours begin or
 * end. They end with this process. A neighbour that died is started again, with a warning; where no quota can be set, as many whole
 * cores are granted, with a warning. MZ_E_INTERNAL: no process, or no right to set the cores. MZ_E_IO: the quota cannot be changed. */
mz_status mz_scenery_set(mz_scenery *scenery, const mz_scenario *scenario, int64_t block, const pid_t *pids, int count);
/* Ends all neighbours and removes the group, whose processes have ended. */
void mz_scenery_clear(mz_scenery *scenery);
