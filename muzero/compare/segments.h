/* A comparison by the segments of its scenario: runs of blocks in which nothing changes on the machine. */
#pragma once
#include "base/json/json.h"
#include "muzero/compare/scenario.h"

/* seeds: as DIR/seed-S.json. [{"first", "last": blocks from 1, "cores", "neighbour", "stream": 0 where nothing is said of it,
 * "wall_s": {ARM: mean over seeds of the segment's seconds}}]; a segment that no arm reached is left out. NULL: out of memory. */
cJSON *mz_compare_segments(const mz_scenario *scenario, const cJSON *seeds);
