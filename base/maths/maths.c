#include "base/maths/maths.h"
#include "base/maths/maths_inline.h"
#include <string.h>

float mz_expf(float x) { return mz_expf_inline(x); }

float mz_logf(float x) { return mz_logf_inline(x); }

double mz_exp(double x) { return mz_exp_inline(x); }

double mz_log(double x) { return mz_log_inline(x); }

void mz_sincos(double x, double *sine, double *cosine) { mz_sincos_inline(x, sine, cosine); }

/* By the bits, so that the loop vectorises whatever the compiler thinks of NaN. */
bool mz_all_finite(const float *numbers, size_t count) {
  uint32_t bad = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, numbers + i, sizeof bits);
    bad |= (bits & 0x7f800000u) == 0x7f800000u;
  }
  return !bad;
}
