/* A scenario: what changes on the machine from block to block of a comparison, alike for every arm:
 *   "cores=1@10-19;neighbour=2@20-29;stream=1@30-": clauses THING=N@FIRST[-[LAST]], blocks counted from 1, LAST left out: to the end.
 * cores: cores that the arms may use; neighbour: other processes, which compute; stream: others, which stream through memory. */
#pragma once
#include "base/status.h"
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MZ_SCENARIO_CLAUSES_MAX = 16, MZ_SCENARIO_NEIGHBOURS_MAX = 64 };

typedef enum mz_scenario_thing {
  MZ_SCENARIO_CORES,
  MZ_SCENARIO_NEIGHBOUR,
  MZ_SCENARIO_STREAM,
  MZ_SCENARIO_THINGS
} mz_scenario_thing;

const char *mz_scenario_thing_name(mz_scenario_thing thing);

typedef struct mz_scenario {
  int count;
  struct mz_scenario_clause {
    mz_scenario_thing thing;
    int value;
    int64_t first, last;
  } clauses[MZ_SCENARIO_CLAUSES_MAX];
} mz_scenario;

/* text: NULL is an empty one. cores: of the machine. MZ_E_CONFIG says what is wrong, where in the text, and what would do. */
mz_status mz_scenario_parse(mz_scenario *out, const char *text, int cores);
/* Of the block; 0: nothing is said of the thing. */
int mz_scenario_at(const mz_scenario *scenario, mz_scenario_thing thing, int64_t block);

/* ---- making it so ---- */

/* What of it is so. Zeroed: nothing was changed. */
typedef struct mz_scenery {
  cpu_set_t all; /* cores before */
  int cores;     /* that the processes may use; 0: all */
  pid_t processes[MZ_SCENARIO_THINGS][MZ_SCENARIO_NEIGHBOURS_MAX];
} mz_scenery;

/* Before a block: the processes `pids` (0: none) may use that many cores from here on, and neighbours begin or end. They end with
 * this process. A neighbour that died is started again, with a warning. MZ_E_INTERNAL: no process, or no right to set the cores. */
mz_status mz_scenario_set(mz_scenery *scenery, const mz_scenario *scenario, int64_t block, const pid_t *pids, int count);
/* Ends all neighbours. */
void mz_scenario_clear(mz_scenery *scenery);
