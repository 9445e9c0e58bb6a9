/* A comparison by the segments of its scenario: runs of blocks in which nothing changes on the machine. */
#pragma once
#include "muzero/compare/scenario.h"
#include "muzero/compare/series.h"

/* The segment's last block, from 1 on, of those up to `blocks`. */
int64_t mz_segment_last(const mz_scenario *scenario, int64_t first, int64_t blocks);

/* Adds "segments" to the summary, of as many blocks as every arm played: [{"first", "last": blocks from 1, "cores", "quota",
 * "neighbour", "stream", "memory": 0 where nothing is said of it, "wall_s": {ARM: mean over seeds of the segment's seconds},
 * "changes", "reverts": {ARM: of plans, mean over seeds}, "rss_bytes": {ARM: at the last block, the most of the seeds}, "ratios":
 * [{"a": an arm that adapts, "b": the first arm, "ratio", "ci95", "n": blocks}]}]. MZ_E_MEMORY. */
mz_status mz_compare_segments(const mz_scenario *scenario, const mz_series *series, const mz_arm *arms, const cJSON *seeds,
                              cJSON *summary);
