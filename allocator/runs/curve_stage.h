/* Curves cut into the stages of a course: what each run took and reached from one stage's start to its end. Plain structs. */
#pragma once
#include "allocator/runs/curve.h"

/* A stage of a course, as one run went through it. */
typedef struct mz_curve_stage {
  int curve, stage; /* index of the curve; the stage, from 0 */
  uint64_t seed;
  bool uniform;                        /* batch size and amounts of cores and GPUs are the same in all its epochs */
  double batch_size;                   /* rows; 0 where it is not uniform, as the amounts */
  double amounts[MZ_COURSE_RESOURCES]; /* cores, GPUs, and the most GiB that were held */
  mz_plan plan;                        /* in force at its end */
  bool over;                           /* the run had ended before, at the target: its scores are those that it ended with */
  bool repeats;                        /* another curve of the same seed, in the same batches, tells its scores */
  bool one_batch;                      /* it is uniform, and the run had its batch size from the first epoch on */
  double seconds;                      /* rounds and evaluations; NAN: an epoch is missing, or the curve is not timed */
  /* The best score before the stage and at its end. NAN: none was evaluated, or the curve is not one that learned as asked for. */
  double start, end;
  double use[MZ_COURSE_RESOURCES], stall[MZ_COURSE_RESOURCES]; /* means over the epochs; NAN: not measured */
  double noise_scale;                                          /* median over the epochs; NAN: not measured, or likewise */
} mz_curve_stage;

/* Returns the number of the last epoch of a stage, of a run of `epochs` >= `stages` epochs: stages differ by one epoch at most. */
int mz_stage_last_epoch(int epochs, int stages, int stage);
/* Cuts the curves into the stages of runs of `epochs` epochs. Those of a curve lie one behind the other. A stage that a curve does not
 * reach the end of is left out, unless the run kept one batch size and reached `target`: then it stops, and would be no worse had it not.
 * moves: fresh moves of an epoch, to whose number the seconds of an epoch's rounds are scaled; 0: they are taken as they are.
 * free(*stages). MZ_E_MEMORY. */
mz_status mz_curve_stages(const mz_curve *curves, int count, int epochs, int stages, double target, double moves,
                          mz_curve_stage **out, int *out_count);
