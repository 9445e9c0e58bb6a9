/* A run as a whole: what it took and reached, epoch by epoch. An epoch is a pass over fresh data: a phase of the run, whose moves are
 * trained on while they are fresh, and the evaluation after it. Plain structs. */
#pragma once
#include "allocator/pipeline/pipeline.h"
#include "base/course/course.h"

typedef struct mz_epoch {
  int32_t number;                /* epochs since the run began, from 1 */
  double score;                  /* of the evaluation after it; NAN: none was made */
  double wall_s;                 /* of the run up to here, its opening and evaluations included, a closing evaluation excluded */
  double rounds_s, evaluation_s; /* of this epoch */
  double closing_s;              /* of the evaluation that ended the run here; 0: none */
  double batch_size;             /* rows an update */
  double amounts[MZ_COURSE_RESOURCES];                         /* that the plan held: cores, GPUs, GiB */
  double use[MZ_COURSE_RESOURCES], stall[MZ_COURSE_RESOURCES]; /* as in course.h; NAN: not measured */
  double noise_scale;                                          /* of the gradient, in rows; NAN: not measured */
  mz_plan plan;                                                /* in force at its end */
} mz_epoch;

typedef struct mz_curve {
  int64_t id; /* in the history; 0: none */
  char run[128], source[16];
  uint64_t seed;
  double moves; /* fresh moves of an epoch */
  bool timed;   /* it ran on this machine, and its epochs differ from those asked for in their moves and batches alone */
  bool learned; /* it learned by the settings asked for, in batches of any size */
  int count;
  mz_epoch *epochs; /* [count], rising numbers; of a resumed run some may be missing */
} mz_curve;

/* Returns whether two epochs had the same batch size and amounts of cores and GPUs. */
bool mz_epoch_same_setup(const mz_epoch *a, const mz_epoch *b);
/* Returns the rows of a batch that all its epochs had; 0: they differ, or there is none. */
double mz_curve_batch_size(const mz_curve *curve);
/* Returns the best score of the first `epochs` epochs: what the run's best checkpoint keeps. NAN: none was evaluated. */
double mz_curve_best(const mz_curve *curve, int epochs);
/* Returns the number of the first epoch whose score is at least `score`; 0: none is. */
int mz_curve_reaches(const mz_curve *curve, double score);
/* Returns the noise scale that was measured in an epoch; NAN: none was, or there is no such epoch. */
double mz_curve_noise_scale(const mz_curve *curve, int epoch);
/* Finds the least first score and the most that any run reached. Returns false where no run that learned as asked for was evaluated. */
bool mz_curves_range(const mz_curve *curves, int count, double *least, double *most);
/* Returns the number of the last epoch; 0: there is none. */
int mz_curve_length(const mz_curve *curve);
/* Returns whether plan, batch size and amounts of cores and GPUs were the same in all epochs. */
bool mz_curve_is_steady(const mz_curve *curve, const mz_pipeline *pipeline);
void mz_curves_free(mz_curve *curves, int count);
