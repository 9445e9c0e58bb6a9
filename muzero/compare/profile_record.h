/* What `muzero profile --json` printed, read again: a file with its lines, of one profile or of several one after the other. */
#pragma once
#include "allocator/pipeline/telemetry.h"

typedef struct mz_profile_record {
  mz_observation *seen; /* one for each plan and pass: plan, unit_s, and the stages' means over the passes */
  int count;
  double serial; /* share of an update that one thread does alone, median; NAN: the file does not say */
} mz_profile_record;

/* plan: whose knobs those that a plan in the file lacks keep. what: the option that named the file. MZ_E_IO: cannot be read; MZ_E_CONFIG:
 * holds no profile of `env`, or what is wrong with it, and in which line; a file whose figures are simulated is refused, too. */
mz_status mz_profile_record_read(mz_profile_record *out, const char *path, const char *what, const char *env,
                                 const mz_pipeline *pipeline, const mz_plan *plan);
void mz_profile_record_free(mz_profile_record *record);
