/* Which predictor drives: each one predicts every measured plan, or a few at a time, from the others alone. What counts is whether
 * plans are told apart: the error of the logarithm of ratios between plans. The error under a plan that does not change would
 * crown "last value". Deterministic. */
#pragma once
#include "allocator/predictors/predictor.h"

typedef struct mz_contender {
  const mz_predictor *predictor;
  int judged; /* plans that it predicted, of all */
  double
      error; /* standard deviation of log(predicted / measured) over plans: √2 less than that of ratios; INFINITY: a plan was left out */
  double mape, median_ape; /* of seconds per unit, as a share */
  double tau;              /* Kendall's τ-b between predicted and measured; NAN: all alike */
  double regret;           /* of the plan it takes for the best of them: its measured time over the least, less 1 */
  double held;             /* share of plans within the conformal band, which for each is made of the errors of the others */
  double band;             /* half the width of that band, as a logarithm: 90 % of the errors are smaller */
} mz_contender;

/* Memory for contests, taken before there is one. */
typedef struct mz_contest_room mz_contest_room;
/* For lessons of at most `observations`; MZ_E_MEMORY. */
mz_status mz_contest_room_create(mz_contest_room **out, int observations);
void mz_contest_room_free(mz_contest_room *room);

/* How far a plan's measured time may be off by noise alone, as a share: what no predictor goes below. */
double mz_lessons_noise(const mz_lessons *lessons);

/* Fills in `contender` for `predictor`. folds: parts that plans are left out in, by turns; 0: one by one. Of fewer than three lessons
 * nothing is judged. */
void mz_contest_judge(const mz_lessons *lessons, const mz_predictor *predictor, int folds, mz_contest_room *room,
                      mz_contender *contender);
/* The same of the plans in left_out[lessons->count] alone, each predicted from all others at once: what lies beyond what was measured. At
 * least three are left out. */
void mz_contest_judge_beyond(const mz_lessons *lessons, const mz_predictor *predictor, const bool *left_out,
                             mz_contest_room *room, mz_contender *contender);
/* The index of the one that drives: the least error; within 5 % of it the first. −1: none was judged. */
int mz_contest_winner(const mz_contender *contenders, int count);
