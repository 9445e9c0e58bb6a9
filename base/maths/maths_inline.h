/* The bodies behind maths.h, inline, so that loops and vector kernels of any instruction set run the very same operations in
 * the same order and so give the same bits. Rules for whoever writes such a kernel: round to nearest, each multiplication and
 * addition rounded by itself (no fused ones), additions in the order written here. There are no branches: a compiler may
 * vectorise each function as it stands. Shared with GPUs (base/shared.h).
 *
 * All argument reductions round with the 1.5·2^23 (1.5·2^52) trick: after adding it, the low bits of the sum are the nearest
 * integer. The polynomials are minimax (Remez) approximations on the reduced interval; `p(x): error` gives what is approximated
 * and the largest relative error of the whole function that stems from the polynomial, rounding apart. */
#pragma once
#include "base/shared.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

MZ_SHARED uint32_t mz_bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

MZ_SHARED float mz_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

MZ_SHARED uint64_t mz_bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

MZ_SHARED double mz_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* e^x = 2^n e^r, |r| <= ln 2 / 2, e^r = 1 + r + r² q(r). */
MZ_SHARED float mz_expf_inline(float x) {
  const float magic = 0x1.8p23f;
  const float t = x * 0x1.715476p+0f + magic; /* log2 e */
  const float n = t - magic;
  const float r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f; /* ln 2 in two parts; n times the first is exact */
  float q = 0x1.6a23c8p-10f;                                   /* q(r): 2^-28 */
  q = q * r + 0x1.123a2p-7f;
  q = q * r + 0x1.5558f4p-5f;
  q = q * r + 0x1.555492p-3f;
  q = q * r + 0x1.fffffcp-2f;
  const float p = (q * (r * r) + r) + 1.0f;
  /* p is in [0.7, 1.42) and the ends of the range keep the sum of the exponents normal: n is added to the exponent's bits */
  const uint32_t exponent = mz_bits_of_f32(t) - mz_bits_of_f32(magic);
  float y = mz_f32_of_bits(mz_bits_of_f32(p) + (exponent << 23));
  y = x < -87.3f ? 0.0f : y;
  y = x > 88.7f ? INFINITY : y;
  return x == x ? y : x;
}

/* x = 2^n (1 + f), 1 + f in [√½, √2); log(1 + f) = f − f²/2 + f³ p(f). */
MZ_SHARED float mz_logf_inline(float x) {
  const uint32_t root_half = 0x3f3504f3u; /* √½ */
  const int subnormal = x < 0x1p-126f;
  const uint32_t bits = mz_bits_of_f32(subnormal ? x * 0x1p23f : x) - root_half;
  const float n = (float)((int32_t)bits >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = mz_f32_of_bits((bits & 0x007fffffu) + root_half) - 1.0f;
  float p = 0x1.1457e4p-4f; /* p(f): 2^-30 */
  p = p * f + -0x1.de3bf6p-4f;
  p = p * f + 0x1.e6f03cp-4f;
  p = p * f + -0x1.fc2208p-4f;
  p = p * f + 0x1.23376cp-3f;
  p = p * f + -0x1.555c4ep-3f;
  p = p * f + 0x1.99a4b6p-3f;
  p = p * f + -0x1.000006p-2f;
  p = p * f + 0x1.555548p-2f;
  const float square = f * f;
  float y = p * (f * square) + n * -0x1.bd0106p-13f; /* the small parts first */
  y = (y - 0.5f * square) + f;
  y = y + n * 0x1.63p-1f;
  y = x > 0x1.fffffep127f ? INFINITY : y;
  y = x == 0.0f ? -INFINITY : y;
  return x >= 0.0f ? y : NAN;
}

/* As mz_expf_inline. */
MZ_SHARED double mz_exp_inline(double x) {
  const double magic = 0x1.8p52;
  const double bounded = x < -800.0 ? -800.0 : (x > 800.0 ? 800.0 : x);
  const double t = bounded * 0x1.71547652b82fep+0 + magic;
  const double n = t - magic;
  const double r = (bounded - n * 0x1.62e42ffp-1) - n * -0x1.718432a1b0e26p-35;
  double q = 0x1.ad7f44a01e787p-26; /* q(r): 2^-57 */
  q = q * r + 0x1.28ad9b8387350p-22;
  q = q * r + 0x1.71df25ae6b8eap-19;
  q = q * r + 0x1.a01999e26baabp-16;
  q = q * r + 0x1.a01a012a11caep-13;
  q = q * r + 0x1.6c16c18438ab3p-10;
  q = q * r + 0x1.1111111127d05p-7;
  q = q * r + 0x1.555555555083fp-5;
  q = q * r + 0x1.55555555554f9p-3;
  q = q * r + 0x1.000000000000ap-1;
  const double p = (q * (r * r) + r) + 1.0;
  /* 2^n in two factors: n reaches past the exponents of doubles at both ends (subnormal results; p < 1 below infinity) */
  const int64_t exponent = (int64_t)(mz_bits_of_f64(t) - mz_bits_of_f64(magic));
  const int64_t half = exponent >> 1;
  const double y = p * mz_f64_of_bits((uint64_t)(half + 1023) << 52) * mz_f64_of_bits((uint64_t)(exponent - half + 1023) << 52);
  return x == x ? y : x;
}

/* x = 2^n (1 + f), 1 + f in [√½, √2); s = f / (2 + f), log(1 + f) = 2s + s³ T(s²) = f − (f²/2 − s (f²/2 + s² T)). */
MZ_SHARED double mz_log_inline(double x) {
  const uint64_t root_half = 0x3fe6a09e667f3bcdu; /* √½ */
  const int subnormal = x < 0x1p-1022;
  const uint64_t bits = mz_bits_of_f64(subnormal ? x * 0x1p52 : x) - root_half;
  const double n = (double)((int64_t)bits >> 52) - (subnormal ? 52.0 : 0.0);
  const double f = mz_f64_of_bits((bits & 0x000fffffffffffffu) + root_half) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double T = 0x1.2f0568c932018p-3; /* T(s²): 2^-59 */
  T = T * z + 0x1.39a1ba2a5400ep-3;
  T = T * z + 0x1.74663eee59283p-3;
  T = T * z + 0x1.c71c52093c9e6p-3;
  T = T * z + 0x1.24924941f1548p-2;
  T = T * z + 0x1.999999997fdb3p-2;
  T = T * z + 0x1.5555555555592p-1;
  const double half_square = 0.5 * f * f;
  const double small = s * (half_square + z * T) + n * -0x1.718432a1b0e26p-35;
  double y = n * 0x1.62e42ffp-1 - ((half_square - small) - f);
  y = x > 0x1.fffffffffffffp1023 ? INFINITY : y;
  y = x == 0.0 ? -INFINITY : y;
  return x >= 0.0 ? y : NAN;
}

/* x = n π/2 + r + tail, |r| <= π/4 (Cody & Waite): π/2 in three parts, the first two of 33 bits, so that n times each of them is
 * exact while |n| < 2^20, and so is x − n·first. sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²). */
MZ_SHARED void mz_sincos_inline(double x, double *sine, double *cosine) {
  const double magic = 0x1.8p52;
  const double t = x * 0x1.45f306dc9c883p-1 + magic; /* 2/π */
  const double n = t - magic;
  const double first = x - n * 0x1.921fb544p+0;
  const double second = n * 0x1.0b4611a6p-34;
  const double near = first - second;
  const double rest = ((first - near) - second) - n * 0x1.3198a2e037073p-69;
  const double sum = near + rest;
  const double r = x < 0x1p50 && x > -0x1p50 ? sum : NAN; /* beyond, n does not fit the trick */
  const double tail = (near - sum) + rest;
  const double z = r * r;

  double S = 0x1.5d915c396389ep-33; /* S(z): 2^-58 */
  S = S * z + -0x1.ae5e60bd7ad6cp-26;
  S = S * z + 0x1.71de3570f31e5p-19;
  S = S * z + -0x1.a01a019c0a1acp-13;
  S = S * z + 0x1.111111110f841p-7;
  S = S * z + -0x1.5555555555549p-3;
  /* sin(r + tail) = sin r + tail cos r, with cos r = 1 − z/2 where it multiplies the tail */
  const double s = r + (S * (z * r) + tail * (1.0 - 0.5 * z));

  double C = -0x1.8facd10e734eap-37; /* C(z): 2^-64 */
  C = C * z + 0x1.1ee9e89019570p-29;
  C = C * z + -0x1.27e4f80532b12p-22;
  C = C * z + 0x1.a01a019cab727p-16;
  C = C * z + -0x1.6c16c16c15140p-10;
  C = C * z + 0x1.555555555554cp-5;
  /* what 1 − z/2 loses when rounded is put back */
  const double half = 0.5 * z;
  const double head = 1.0 - half;
  const double c = head + (((1.0 - head) - half) + (C * (z * z) - r * tail));

  const uint64_t quadrant = mz_bits_of_f64(t); /* its two low bits */
  /* Odd quadrants swap the two, by bits: a comparison of 64-bit integers would keep SSE2 from vectorising this. */
  const uint64_t swap = (mz_bits_of_f64(s) ^ mz_bits_of_f64(c)) & -(quadrant & 1);
  *sine = mz_f64_of_bits((mz_bits_of_f64(s) ^ swap) ^ ((quadrant & 2) << 62));
  *cosine = mz_f64_of_bits((mz_bits_of_f64(c) ^ swap) ^ (((quadrant + 1) & 2) << 62));
}
