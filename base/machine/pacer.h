/* Something that happens at most every so many seconds. The caller reads the clock. */
#pragma once
#include <stdbool.h>

typedef struct mz_pacer {
  double every_s, last_s; /* last_s: when it last happened, or the count began */
} mz_pacer;
/* Returns whether it is due at now_s, from when the next seconds then count. */
bool mz_pacer_due(mz_pacer *pacer, double now_s);
