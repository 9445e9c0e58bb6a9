#include "allocator/goodput/goodput.h"
#include "base/maths/maths.h"
#include <math.h>
#include <stdio.h>

enum { MIDDLE = 16, GRID = 2 * MIDDLE + 1, ROWS_MIN = 32, GROUPS_MIN = 4, PARAMETERS = 3 };
static const double PRIOR_REUSE = 3, PRIOR_DOUBLINGS = 1, STEPS_A_DOUBLING = 4; /* the grid spans four doublings each way */
static const double NOISE_MIN = 0.01;                                           /* of the mean loss */
static const double LN_2 = 0.693147180559945309417, DOUBLINGS_MIN = 0.6;

/* ---- ρ₀ ---- */

typedef struct curve { /* mean losses by mean passes */
  int count;
  double passes[MZ_GOODPUT_GROUPS], loss[MZ_GOODPUT_GROUPS];
} curve;

static curve curve_of(const mz_goodput_evidence *e) {
  curve c = {0};
  for (int g = 0; g < MZ_GOODPUT_GROUPS; g++) {
    if (e->rows[g] < ROWS_MIN) continue;
    c.passes[c.count] = e->passes[g] / e->rows[g];
    c.loss[c.count++] = e->loss[g] / e->rows[g];
  }
  return c;
}

/* Sum of squares that the best fit with this reuse leaves. */
static double left_over(const curve *c, double reuse) {
  double x[MZ_GOODPUT_GROUPS], mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
  for (int i = 0; i < c->count; i++) {
    x[i] = mz_exp(-c->passes[i] / reuse);
    mean_x += x[i] / c->count;
    mean_y += c->loss[i] / c->count;
  }
  for (int i = 0; i < c->count; i++) {
    const double dx = x[i] - mean_x, dy = c->loss[i] - mean_y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  return xy > 0 && xx > 0 ? fmax(0, yy - xy * xy / xx) : yy; /* A ≥ 0: otherwise a constant fits best */
}

static double doublings_at(int i) { return (i - MIDDLE) / STEPS_A_DOUBLING; }
static double reuse_at(double doublings) { return PRIOR_REUSE * mz_exp(doublings * LN_2); }

/* Variance of a group's mean about the curve, from what the best fit leaves. */
static double noise_of(const curve *c, double least) {
  double mean = 0;
  for (int i = 0; i < c->count; i++) mean += c->loss[i] / c->count;
  return fmax(least / (c->count - PARAMETERS), NOISE_MIN * NOISE_MIN * mean * mean);
}

double mz_goodput_reuse(const mz_goodput_evidence *evidence) {
  const curve c = curve_of(evidence);
  double squares[GRID], least = INFINITY, weights = 0, sum = 0;
  if (c.count < GROUPS_MIN) return PRIOR_REUSE;
  for (int i = 0; i < GRID; i++) {
    squares[i] = left_over(&c, reuse_at(doublings_at(i)));
    least = fmin(least, squares[i]);
  }
  const double noise = noise_of(&c, least);
  if (!(noise > 0)) return PRIOR_REUSE;
  for (int i = 0; i < GRID; i++) {
    const double deviations = doublings_at(i) / PRIOR_DOUBLINGS;
    const double weight = mz_exp(-(squares[i] - least) / (2 * noise) - deviations * deviations / 2);
    weights += weight;
    sum += weight * doublings_at(i);
  }
  return reuse_at(sum / weights);
}

/* ---- ρ ---- */

/* The condition is e^x − 1 − x = c_f / (c_u·ρ₀), x = ρ/ρ₀; its left side grows. */
double mz_goodput_best_ratio(double cost_ratio, double reuse) {
  double low = 0, high = 32;
  for (int i = 0; i < 60; i++) {
    const double x = (low + high) / 2;
    if (mz_exp(x) - 1 - x < cost_ratio / reuse)
      low = x;
    else
      high = x;
  }
  return low * reuse;
}

void mz_goodput_judge(mz_goodput *memory, const mz_goodput_evidence *e, mz_goodput_verdict *out) {
  const mz_goodput before = *memory;
  const double fresh_s = e->fresh_s / e->fresh, trained_s = e->trained_s / e->trained;
  *out = (mz_goodput_verdict){.reuse = mz_goodput_reuse(e), .ratio = e->trained / e->fresh};
  out->best = mz_goodput_best_ratio(fresh_s / trained_s, out->reuse);
  const double doublings = mz_log(out->best / out->ratio) / LN_2;
  if (!isfinite(doublings)) { /* no CPU time was measured */
    snprintf(out->reason, sizeof out->reason, "keep: costs are not known");
    return;
  }
  out->direction = doublings > DOUBLINGS_MIN ? 1 : doublings < -DOUBLINGS_MIN ? -1 : 0;
  if (!before.rests && out->direction == before.direction) out->step = out->direction;
  *memory = (mz_goodput){.direction = out->direction, .rests = out->step != 0};
  const char *next = out->step > 0 ? "double the updates" : out->step < 0 ? "halve the updates" : "keep";
  const char *why = before.rests                   ? "; a window of rest after a step"
                    : out->direction && !out->step ? "; to be seen once more"
                                                   : "";
  snprintf(out->reason, sizeof out->reason,
           "%s: %.3g samples a transition, %.3g would be best at a cost of %.3g samples a transition and a reuse of %.3g%s", next,
           out->ratio, out->best, fresh_s / trained_s, out->reuse, why);
}
