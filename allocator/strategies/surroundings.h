/* What else happened on the machine in a window: other processes' work, a quota that was used up. Two windows tell plans apart only
 * where that was alike. Plain structs, pure functions. */
#pragma once
#include "allocator/pipeline/telemetry.h"

typedef struct mz_surroundings {
  double others;    /* cores that other processes used; NAN: the sensor was missing, or no time went by */
  double doubt;     /* about it, in cores: systems count in ticks */
  double waiting;   /* share of the time in which some task of the machine waited for a core; NAN: missing */
  double throttled; /* share of the time in which a quota held the run up; NAN: missing */
} mz_surroundings;

mz_surroundings mz_surroundings_of(const mz_usage *usage);
/* Whether others used more than a tenth of `cores` more, or less, while there were too few for all; or the quota held the run up for
 * another twentieth of the time. What is missing on either side tells nothing. */
bool mz_surroundings_changed(const mz_surroundings *before, const mz_surroundings *now, double cores);
/* "other processes used 1.1 cores instead of 0.02", or of the quota. */
void mz_surroundings_text(const mz_surroundings *before, const mz_surroundings *now, char *out, size_t size);
