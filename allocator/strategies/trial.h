/* Verification: is a new plan as good as the old one? A cross-over trial: the two take turns in blocks of rounds, in an order drawn by
 * counter, every other pair the other way round, so that what changes meanwhile (games, replay, the machine) meets both alike. A pair of
 * blocks, one under each plan, gives a logarithm of how many times as fast the new plan's usual round is (Hodges & Lehmann's estimate: a
 * few rounds that something held up do no harm); the interval for their mean stays valid however often it is looked at
 * (base/maths/sequence.h), so the trial ends as soon as it tells. The first round of a block warms up (caches, thread stacks) and is
 * left out. Plain structs, pure functions. */
#pragma once
#include "base/maths/sequence.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_TRIAL_ROUNDS = 64, MZ_TRIAL_PAIRS_MAX = 16, MZ_TRIAL_LEAD = 3 };

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

typedef enum mz_side { MZ_SIDE_OLD, MZ_SIDE_NEW, MZ_SIDES } mz_side;

typedef struct mz_trial {
  double worth;               /* price of a second of the old plan over that of the new one; 1: only speed matters */
  double concession;          /* how much slower the new plan may be shown to be, as a logarithm; 0: it has to be faster */
  double gain_min;            /* without a concession: one shown to gain less is not worth more pairs; a logarithm */
  uint64_t seed;              /* of the order */
  mz_side side;               /* whose block it is */
  mz_rounds rounds[MZ_SIDES]; /* of blocks that count, and of the old plan before them */
  mz_rounds block;            /* of the present one */
  double sum_s[MZ_SIDES];     /* of all rounds of blocks that count, and their number: */
  int summed[MZ_SIDES];
  double first_s;     /* a round of the first block of the present pair; 0: that is the present block */
  mz_side leads;      /* whose block the present pair began with */
  int drawn;          /* pairs begun */
  int blocks;         /* ended, with rounds, counted or not */
  int windows;        /* of the present block, with rounds, that have ended */
  int slow;           /* plainly bad rounds in a row */
  bool slower;        /* the first pair showed it, by the old plan's rounds before and after the new one's block */
  mz_sequence ratios; /* of pairs: log (worth · seconds of the old plan / seconds of the new one) */
} mz_trial;

/* The new plan has the first block. old: rounds under the old plan so far; none are needed. */
void mz_trial_begin(mz_trial *trial, const mz_rounds *old, double worth, double concession, double gain_min, uint64_t seed);

/* true: plainly bad, to be given up at once: two rounds of the new plan in a row, after the first two of its block, ran below 0.7
 * times the old plan's median speed, and slower than every one of the old plan's rounds (what happened to the old plan, too, is no
 * evidence against the new one; nor is a single round that something else disturbed). */
bool mz_trial_round(mz_trial *trial, double seconds);

/* A window has ended, and its block with it: `side` becomes that of the next one. The plan that was faster in the pairs so far leads,
 * and has blocks of MZ_TRIAL_LEAD windows: what leads for good reason should run most of the time. A window without rounds, the one that
 * warms up left out, ends nothing. counts: nothing else disturbed it; otherwise its pair is begun anew. */
void mz_trial_window(mz_trial *trial, bool counts);

typedef enum mz_verdict { MZ_VERDICT_WAIT, MZ_VERDICT_CONFIRM, MZ_VERDICT_REVERT } mz_verdict;
/* After a window. ratio: how many times as fast (times `worth`) the new plan runs, with its 90 % interval.
 *
 * After one pair, without an interval: a plan of which every round beats every one of the other, by more than 0.7 times its speed, is
 * plainly better. A new plan is reverted that is slower, by more than the concession, than the old plan's rounds before its first block
 * and than those after it: by Welch's 99.8 % intervals of the rounds, and by more than three times what those two differ by.
 *
 * From `pairs_min` pairs on: one shown to be faster, or no slower than the concession, is confirmed, unless the mean of all its rounds
 * says otherwise; one shown to gain less than it has to is reverted; so is what is still undecided after 16 pairs (or pairs_min, if
 * more), or after twice as many blocks as they take. Where so few of these counted that there is no interval, ratio has no estimate
 * (NAN): nothing was shown. */
mz_verdict mz_trial_verdict(const mz_trial *trial, int64_t pairs_min, mz_interval *ratio);
