/* The cost that changing plans may have. Undone changes are paid from a credit that refills slowly, and twice as slowly with each further
 * change that is undone in a row, so that a strategy that is wrong changes little and one that was wrong once may continue to adapt; it
 * refills at once by one when costs have changed since, for what was wrong then may be right now; exploring, which tries what is not
 * predicted to gain, is paid from a share of the run's time; so is deciding itself. A plain struct, pure functions. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
  MZ_REVERTS_MAX = 3,          /* undone changes that the credit is good for */
  MZ_REFILL_WINDOWS = 16,      /* windows after which it grows by one again: as long as no more were undone in a row, */
  MZ_REFILL_WINDOWS_MAX = 128, /* and at the most, when it has doubled with each one more */
};
#define MZ_EXPLORING_SHARE 0.01 /* of the seconds of the run's rounds that exploring may have cost */
#define MZ_DECIDING_SHARE 0.005 /* of them that deciding may have taken */

typedef struct mz_budget {
  int spent;     /* undone changes that have not been refilled */
  int undone;    /* changes undone since one was kept */
  int windows;   /* since the last refill, or since something was spent from the whole credit */
  bool measured; /* the plan in force was */
  double level,
      base; /* what it costs, as a logarithm, smoothed; and did when the last change was undone, or the credit last grew by that */
  double run_s;       /* of all rounds */
  double exploring_s; /* by which rounds on trial for exploring took longer than the old plan's usual one */
  double deciding_s;  /* that decisions took */
} mz_budget;

/* After a round of `seconds`; usual_s: of the plan that an exploring trial left, 0 where none is on. */
void mz_budget_round(mz_budget *budget, double seconds, double usual_s);
/* After decisions that took `seconds`. */
void mz_budget_decided(mz_budget *budget, double seconds);
void mz_budget_window(mz_budget *budget);
/* After a window on no trial: the plan in force took `unit_s` a unit, `noise` being one window's. */
void mz_budget_cost(mz_budget *budget, double unit_s, double noise);
/* A change that was no exploring was undone. */
void mz_budget_revert(mz_budget *budget);
/* A change was kept: the credit refills as fast as at first. */
void mz_budget_keep(mz_budget *budget);
/* Returns the windows that the next refill takes. */
int mz_budget_refill(const mz_budget *budget);
/* Windows until a change may be tried; 0: now. */
int mz_budget_wait(const mz_budget *budget);
/* false: what exploring has cost is no less than its share. */
bool mz_budget_explores(const mz_budget *budget);
/* false: deciding has taken more than its share. */
bool mz_budget_decides(const mz_budget *budget);
