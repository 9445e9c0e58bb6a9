/* Verification: is a new plan as good as the old one? Seconds of whole rounds under both are compared; plain structs, pure
 * functions. The first round after a change of plan warms up (caches, thread stacks) and is left out on both sides. */
#pragma once
#include "base/maths/statistics.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_TRIAL_ROUNDS = 64 };

/* Seconds of the last rounds under one plan, in no particular order once it is full. */
typedef struct mz_rounds {
  bool warming; /* the next round is left out */
  int count, next;
  double seconds[MZ_TRIAL_ROUNDS];
} mz_rounds;

/* The plan has just been put in force, again or for the first time. What was kept of it still holds. */
void mz_rounds_warm_up(mz_rounds *rounds);
void mz_rounds_add(mz_rounds *rounds, double seconds);
double mz_rounds_median(const mz_rounds *rounds); /* at least one */

typedef struct mz_trial {
  mz_rounds before, after; /* under the old plan; under the new one */
  double worth;            /* price of a second of the old plan over that of the new one; 1: only speed matters */
  bool releases;           /* the new plan needs less: running as fast is enough, being a little slower is no failure */
  int rounds;              /* under the new plan, warm-up included */
  int windows;             /* in which there were rounds */
  int slow;                /* plainly bad rounds in a row */
  int judged;              /* rounds when the last window ended */
} mz_trial;

/* before: at least 2 rounds. */
void mz_trial_begin(mz_trial *trial, const mz_rounds *before, double worth, bool releases);

/* true: plainly bad, to be given up at once: two rounds in a row after the first two ran below 0.7 times the old plan's median
 * speed, and slower than every one of the old plan's rounds (what happened to the old plan, too, is no evidence against the new
 * one; nor is a single round that something else disturbed). */
bool mz_trial_round(mz_trial *trial, double seconds);

typedef enum mz_verdict { MZ_VERDICT_WAIT, MZ_VERDICT_CONFIRM, MZ_VERDICT_REVERT } mz_verdict;
/* After a window. ratio: how many times as fast (times `worth`) the new plan runs, with its 90 % interval. From `windows_min`
 * windows on: one shown to be slower is reverted (unless it releases something); one whose lower bound is at least 0.97 is
 * confirmed; one whose estimate is below is reverted; anything else waits until there were 6 windows (or windows_min, if more)
 * and is reverted then. */
mz_verdict mz_trial_window(mz_trial *trial, int64_t windows_min, mz_interval *ratio);
