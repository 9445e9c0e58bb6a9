/* Building a segment: its memory, its arrays, its hash. Internal to this room. */
#pragma once
#include "replay/segments/moves.h"
#include "replay/segments/segment.h"

/* One reference; arrays placed, everything else zero. */
mz_status mz_segment_alloc(int length, size_t entries, size_t obs_bytes, mz_segment **out);
mz_moves mz_segment_moves(const mz_segment *segment);
/* Sets the hash of a finished segment. scratch: reused from call to call. */
mz_status mz_segment_seal(mz_segment *segment, size_t obs_bytes, mz_writer *scratch);
