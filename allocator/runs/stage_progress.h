/* The stage of a course that a real run is in: what its epochs showed so far, and the state of the run when it ends. Plain structs, pure
 * functions. */
#pragma once
#include "allocator/runs/curve.h"

typedef struct mz_stage_progress { /* zeroed but for the score: no epoch of the stage was seen */
  int epochs;
  double score; /* the best of them; NAN: none was evaluated */
  struct {
    double sum;
    int count;
  } use[MZ_COURSE_RESOURCES], stall[MZ_COURSE_RESOURCES], noise_scale;
} mz_stage_progress;

void mz_stage_progress_add(mz_stage_progress *progress, const mz_epoch *epoch);

/* A run at the end of a stage. */
typedef struct mz_stage_end {
  int plan;             /* of the course, that the stage ran under */
  double seconds, cost; /* of the run so far */
} mz_stage_end;

/* Takes the state of a run from the beginning of its stage to the end, as measured. Numbers are held to what the course allows
 * (mz_course_state_valid): a score outside of start … ceiling counts as the nearer of both, a pace above 2 as 2, a yield above 4 as 4.
 * What was not measured is 0, a score the one from before; a noise scale that was not is the course's. */
void mz_stage_progress_end(const mz_stage_progress *progress, const mz_course *course, const mz_stage_end *end,
                           mz_course_state *state);
/* Returns the plan of a course that is nearest to what a run has: first in the batch size, then in GPUs and cores. */
int mz_course_nearest_plan(const mz_course *course, double batch_size, double cores, double gpus);
