#include "muzero/base/maths.h"
#include "muzero/base/maths_inline.h"

float mz_expf(float x) { return mz_expf_inline(x); }

float mz_logf(float x) { return mz_logf_inline(x); }

double mz_exp(double x) { return mz_exp_inline(x); }

double mz_log(double x) { return mz_log_inline(x); }

void mz_sincos(double x, double *sine, double *cosine) { mz_sincos_inline(x, sine, cosine); }
