/* How much training a fresh item of data shall get. A unit of compute makes fresh items, which cost c_f each, and trains ρ samples for
 * each of them, which cost c_u each. What a fresh item teaches is taken to be used up by training as h(ρ) = 1 − e^(−ρ/ρ₀), so that
 * goodput is h(ρ) / (c_f + ρ·c_u), in the manner of Pollux (Qiao et al. 2021), and the best ρ has h'/h = c_u / (c_f + ρ·c_u).
 *
 * ρ₀, the reuse, is the passes over an item's segment in which its loss falls by all but 1/e of what it can: the losses of samples by
 * passes p before the update are fitted by L(p) = L∞ + A·e^(−p/ρ₀), A ≥ 0, with the prequential loss (p = 0) as the first of them. They
 * differ by age as much as by passes, so groups count alike and what the best fit leaves over is their noise. Because that says little
 * in many games, it is weighed against a prior: log-normal about 3, a factor of two its deviation.
 *
 * Pure functions with the project's own exp and log: what was judged is judged alike anywhere. */
#pragma once
#include "base/json/json.h"
#include <stdbool.h>

enum { MZ_GOODPUT_GROUPS = 9, MZ_GOODPUT_ROUNDS_MIN = 8 };

typedef struct mz_goodput_evidence { /* of at least MZ_GOODPUT_ROUNDS_MIN rounds under one ratio; numbers quantised */
  double fresh, trained;             /* items made; samples trained */
  double fresh_s, trained_s;         /* CPU seconds of making them; of training, building batches included */
  double rows[MZ_GOODPUT_GROUPS];    /* samples by passes before the update; group 0: none */
  double passes[MZ_GOODPUT_GROUPS], loss[MZ_GOODPUT_GROUPS]; /* sums over them */
} mz_goodput_evidence;

typedef struct mz_goodput { /* zeroed: nothing was judged */
  int direction;            /* of the last judgement: +1 train more, −1 less, 0 neither */
  bool rests;               /* the last one moved: the next one does not, but counts */
} mz_goodput;

typedef struct mz_goodput_verdict {
  double reuse;       /* ρ₀ */
  double ratio, best; /* ρ, and the one of the highest goodput */
  int direction;      /* that this judgement points to */
  int step;           /* what follows: +1 double the training, −1 halve it, 0 nothing */
  char reason[192];
} mz_goodput_verdict;

/* Judges, and remembers. A step needs two judgements in a row that point the same way, by more than 0.6 doublings each. */
void mz_goodput_judge(mz_goodput *memory, const mz_goodput_evidence *evidence, mz_goodput_verdict *out);
double mz_goodput_reuse(const mz_goodput_evidence *evidence);  /* ρ₀ */
double mz_goodput_best_ratio(double cost_ratio, double reuse); /* the best ρ; cost_ratio: c_f / c_u */

/* The ledger's line of a judgement (goodput_record.c): event "goodput", phase, round, training (a unit's updates) and next, the verdict,
 * then its inputs. It replays by itself: reading the inputs and judging again gives the same line. */
typedef struct mz_goodput_record {
  int64_t phase, round;
  int64_t training, next; /* next: from this round on; as before without a step, at an end of its range, or for want of memory */
  mz_goodput before;
  mz_goodput_evidence evidence;
} mz_goodput_record;
cJSON *mz_goodput_to_json(const mz_goodput_record *record, const mz_goodput_verdict *verdict);
mz_status mz_goodput_from_json(mz_goodput_record *out, const cJSON *json, const char *where, mz_status code);
