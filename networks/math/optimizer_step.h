/* The update of one element (optimizer.h has the rules), the same bits on every processor. */
#pragma once
#include "base/shared.h"
#include <math.h>

/* The constants of one step, the same for every element. */
typedef struct mz_step_factors {
  float scale;                       /* of the gradient */
  float momentum;                    /* SGD: μ */
  float beta1, rest1, beta2, rest2;  /* Adam: β₁, 1 − β₁ … */
  float rate, inverse_root, epsilon; /* lr/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ), ε; SGD: rate = lr */
  float decay;                       /* lr·λ where weights decay */
} mz_step_factors;

/* Moments whose gradient stays 0 (a dead unit's) shrink into the subnormal numbers, where processors are several times slower.
 * The flushed ones are far below what ε lets through. */
MZ_SHARED float mz_moment_flush_inline(float moment) { return fabsf(moment) < 1e-30f ? 0.0f : moment; }

/* decay: of this element, f->decay or 0. */
MZ_SHARED void mz_adam_inline(const mz_step_factors *f, float decay, float gradient, float *moment1, float *moment2,
                              float *value) {
  const float g = gradient * f->scale;
  const float m = mz_moment_flush_inline(f->beta1 * *moment1 + f->rest1 * g);
  const float v = mz_moment_flush_inline(f->beta2 * *moment2 + f->rest2 * (g * g));
  *moment1 = m;
  *moment2 = v;
  *value -= f->rate * m / (sqrtf(v) * f->inverse_root + f->epsilon) + decay * *value;
}

MZ_SHARED void mz_sgd_inline(const mz_step_factors *f, float decay, float gradient, float *moment1, float *value) {
  const float m = mz_moment_flush_inline(f->momentum * *moment1 + gradient * f->scale);
  *moment1 = m;
  *value -= f->rate * m + decay * *value;
}

/* Takes over the share of a batch's statistic. */
MZ_SHARED void mz_statistic_inline(float share, float statistic, float *value) { *value += share * (statistic - *value); }

/* The average of weights over updates follows the value. */
MZ_SHARED void mz_average_inline(float decay, float value, float *average) { *average += (1 - decay) * (value - *average); }
