/* A scenario: what changes on the machine from block to block of a comparison, alike for every arm:
 *   "cores=1@10-19;neighbour=1@20-29;memory=60%@30-": clauses THING=N@FIRST[-[LAST]], blocks counted from 1, LAST left out: to the end.
 * cores: cores that the arms may use. quota: CPU time per wall time. neighbour: other processes, which compute; stream: others, which
 * stream through memory. memory: share of what the first arm's plan may need at its beginning. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_SCENARIO_CLAUSES_MAX = 16, MZ_SCENARIO_NEIGHBOURS_MAX = 64 };

typedef enum mz_scenario_thing {
  MZ_SCENARIO_CORES,
  MZ_SCENARIO_QUOTA,
  MZ_SCENARIO_NEIGHBOUR,
  MZ_SCENARIO_STREAM,
  MZ_SCENARIO_MEMORY, /* per cent */
  MZ_SCENARIO_THINGS
} mz_scenario_thing;

const char *mz_scenario_thing_name(mz_scenario_thing thing);

typedef struct mz_scenario {
  int count;
  struct mz_scenario_clause {
    mz_scenario_thing thing;
    double value;
    int64_t first, last;
  } clauses[MZ_SCENARIO_CLAUSES_MAX];
} mz_scenario;

/* text: NULL is an empty one. cores: of the machine. MZ_E_CONFIG says what is wrong, where in the text, and what would do. */
mz_status mz_scenario_parse(mz_scenario *out, const char *text, int cores);
/* Of the block; 0: nothing is said of the thing. */
double mz_scenario_at(const mz_scenario *scenario, mz_scenario_thing thing, int64_t block);
/* Whether it says the same of both blocks. */
bool mz_scenario_alike(const mz_scenario *scenario, int64_t a, int64_t b);
