/* exp, log, sin, cos of our own on every path that reaches the digest: the same bits on every C library (docs/architecture.md,
 * "Determinism").
 * Plain multiplications and additions in a fixed order, no table, no libm call, no fused operations, so that compilers may
 * vectorise them freely (inline bodies: maths_inline.h). Errors are bounds over the stated range, tested against long double.
 * NaN gives NaN, as does the logarithm of a negative number. */
#pragma once
#include "base/shared.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MZ_C_BEGIN

float mz_expf(float x);  /* <= 2 ulp; 0 below -87.3, +inf above 88.7 */
float mz_logf(float x);  /* <= 2 ulp for x > 0; -inf at 0 */
double mz_exp(double x); /* <= 2 ulp */
double mz_log(double x); /* <= 2 ulp */
/* <= 1 ulp for |x| <= 1e5; no accuracy promised beyond; NaN from 2^50 on */
void mz_sincos(double x, double *sine, double *cosine);

/* Returns whether none of the numbers is infinite or NaN. */
bool mz_all_finite(const float *numbers, size_t count);

MZ_C_END
