/* What changing plans may cost. Undone changes are paid from a credit that refills slowly, so that a strategy that is wrong
 * changes little and one that was wrong once may continue to adapt; exploring, which tries what is not predicted to gain, is
 * paid from a share of the run's time. A plain struct, pure functions. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
  MZ_REVERTS_MAX = 3,     /* undone changes that the credit is good for */
  MZ_REFILL_WINDOWS = 16, /* windows after which it grows by one again */
};
#define MZ_EXPLORING_SHARE 0.01 /* of the seconds of the run's rounds that exploring may have cost */

typedef struct mz_budget {
  int spent;          /* undone changes that have not been refilled */
  int windows;        /* since the last refill, or since something was spent from the whole credit */
  double run_s;       /* of all rounds */
  double exploring_s; /* by which rounds on trial for exploring took longer than the old plan's usual one */
} mz_budget;

/* After a round of `seconds`; usual_s: of the plan that an exploring trial left, 0 where none is on. */
void mz_budget_round(mz_budget *budget, double seconds, double usual_s);
void mz_budget_window(mz_budget *budget);
/* A change that was no exploring was undone. */
void mz_budget_revert(mz_budget *budget);
/* Windows until a change may be tried; 0: now. */
int mz_budget_wait(const mz_budget *budget);
/* false: what exploring has cost is no less than its share. */
bool mz_budget_explores(const mz_budget *budget);
