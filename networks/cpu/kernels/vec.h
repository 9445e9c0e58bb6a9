/* Sixteen floats side by side: one AVX-512 register, two AVX ones, or four vectors of four, of NEON or in plain C. Every kernel is
 * written on this type once and compiled once per instruction-set level; each operation rounds alike at every level, save v_fma,
 * which plain C rounds twice. Sums over lanes run in one fixed order: halves are added until one lane is left. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { V_LANES = 16 };

#if defined(MZ_ISA_avx512)
#include <immintrin.h>

typedef __m512 vec;
#define V_HALVES(x, op) op(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
static inline vec v_set(float x) { return _mm512_set1_ps(x); }
static inline vec v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_store(float *p, vec x) { _mm512_storeu_ps(p, x); }
static inline vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
static inline vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
static inline vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
static inline vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
static inline vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
static inline vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
static inline __mmask16 v_first(int n) { return (__mmask16)((1u << n) - 1u); }
static inline vec v_load_first(const float *p, int n) { return _mm512_maskz_loadu_ps(v_first(n), p); }
static inline vec v_load_if(bool on, const float *p) { return _mm512_maskz_loadu_ps((__mmask16)-on, p); }
static inline vec v_keep_first(vec x, int n, float fill) { return _mm512_mask_mov_ps(_mm512_set1_ps(fill), v_first(n), x); }
static inline vec v_where_positive(vec y, vec x) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(y, _mm512_setzero_ps(), _CMP_GT_OQ), x);
}

#elif defined(MZ_ISA_avx2)
#include <immintrin.h>

typedef struct vec {
  __m256 low, high;
} vec;
#define V_HALVES(x, op) op((x).low, (x).high)
static inline vec v_set(float x) { return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline vec v_load(const float *p) { return (vec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
static inline void v_store(float *p, vec x) {
  _mm256_storeu_ps(p, x.low);
  _mm256_storeu_ps(p + 8, x.high);
}
static inline vec v_add(vec a, vec b) { return (vec){_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
static inline vec v_sub(vec a, vec b) { return (vec){_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
static inline vec v_mul(vec a, vec b) { return (vec){_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
static inline vec v_fma(vec a, vec b, vec c) {
  return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
static inline vec v_max(vec a, vec b) { return (vec){_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
static inline vec v_min(vec a, vec b) { return (vec){_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
static inline __m256i v_first_eight(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vec v_load_first(const float *p, int n) {
  return (vec){_mm256_maskload_ps(p, v_first_eight(n)), _mm256_maskload_ps(p + 8, v_first_eight(n - 8))};
}
static inline vec v_keep_first(vec x, int n, float fill) {
  const __m256 f = _mm256_set1_ps(fill);
  return (vec){_mm256_blendv_ps(f, x.low, _mm256_castsi256_ps(v_first_eight(n))),
               _mm256_blendv_ps(f, x.high, _mm256_castsi256_ps(v_first_eight(n - 8)))};
}
static inline vec v_load_if(bool on, const float *p) { return on ? v_load(p) : v_set(0.0f); }
static inline vec v_where_positive(vec y, vec x) {
  const __m256 zero = _mm256_setzero_ps();
  return (vec){_mm256_and_ps(_mm256_cmp_ps(y.low, zero, _CMP_GT_OQ), x.low),
               _mm256_and_ps(_mm256_cmp_ps(y.high, zero, _CMP_GT_OQ), x.high)};
}

#else
#include <string.h>
#if defined(MZ_ISA_neon)
#include <arm_neon.h>
#endif

typedef float v_four __attribute__((vector_size(16)));
typedef int32_t v_mask __attribute__((vector_size(16)));
typedef struct vec {
  v_four a, b, c, d;
} vec;
#define V_OF(a, b, c, d) ((vec){a, b, c, d})
static inline v_four v_four_load(const float *p) {
  v_four x;
  memcpy(&x, p, sizeof x);
  return x;
}
static inline v_four v_four_choose(v_mask mask, v_four yes, v_four no) {
  return (v_four)(((v_mask)yes & mask) | ((v_mask)no & ~mask));
}
static inline v_mask v_four_first(int n) { return (v_mask){0, 1, 2, 3} < (v_mask){n, n, n, n}; }
static inline vec v_set(float x) {
  const v_four f = {x, x, x, x};
  return V_OF(f, f, f, f);
}
static inline vec v_load(const float *p) {
  return V_OF(v_four_load(p), v_four_load(p + 4), v_four_load(p + 8), v_four_load(p + 12));
}
static inline void v_store(float *p, vec x) { memcpy(p, &x, sizeof x); }
static inline vec v_add(vec x, vec y) { return V_OF(x.a + y.a, x.b + y.b, x.c + y.c, x.d + y.d); }
static inline vec v_sub(vec x, vec y) { return V_OF(x.a - y.a, x.b - y.b, x.c - y.c, x.d - y.d); }
static inline vec v_mul(vec x, vec y) { return V_OF(x.a * y.a, x.b * y.b, x.c * y.c, x.d * y.d); }
#if defined(MZ_ISA_neon)
static inline v_four v_four_fma(v_four x, v_four y, v_four z) {
  return (v_four)vfmaq_f32((float32x4_t)z, (float32x4_t)x, (float32x4_t)y);
}
static inline vec v_fma(vec x, vec y, vec z) {
  return V_OF(v_four_fma(x.a, y.a, z.a), v_four_fma(x.b, y.b, z.b), v_four_fma(x.c, y.c, z.c), v_four_fma(x.d, y.d, z.d));
}
#else
static inline vec v_fma(vec x, vec y, vec z) { return v_add(v_mul(x, y), z); }
#endif
static inline v_four v_four_max(v_four x, v_four y) { return v_four_choose(x > y, x, y); }
static inline v_four v_four_min(v_four x, v_four y) { return v_four_choose(x < y, x, y); }
static inline vec v_max(vec x, vec y) {
  return V_OF(v_four_max(x.a, y.a), v_four_max(x.b, y.b), v_four_max(x.c, y.c), v_four_max(x.d, y.d));
}
static inline vec v_min(vec x, vec y) {
  return V_OF(v_four_min(x.a, y.a), v_four_min(x.b, y.b), v_four_min(x.c, y.c), v_four_min(x.d, y.d));
}
static inline vec v_load_first(const float *p, int n) {
  vec x = v_set(0.0f);
  memcpy(&x, p, (size_t)n * sizeof(float));
  return x;
}
static inline vec v_keep_first(vec x, int n, float fill) {
  const vec f = v_set(fill);
  return V_OF(v_four_choose(v_four_first(n), x.a, f.a), v_four_choose(v_four_first(n - 4), x.b, f.b),
              v_four_choose(v_four_first(n - 8), x.c, f.c), v_four_choose(v_four_first(n - 12), x.d, f.d));
}
static inline vec v_load_if(bool on, const float *p) { return on ? v_load(p) : v_set(0.0f); }
static inline vec v_where_positive(vec y, vec x) {
  const v_four zero = {0.0f, 0.0f, 0.0f, 0.0f};
  return V_OF(v_four_choose(y.a > zero, x.a, zero), v_four_choose(y.b > zero, x.b, zero), v_four_choose(y.c > zero, x.c, zero),
              v_four_choose(y.d > zero, x.d, zero));
}
static inline v_four v_swap_pairs(v_four x) { return __builtin_shufflevector(x, x, 2, 3, 0, 1); }
static inline v_four v_swap_neighbours(v_four x) { return __builtin_shufflevector(x, x, 1, 0, 3, 2); }
static inline float v_sum(vec x) {
  v_four four = (x.a + x.c) + (x.b + x.d);
  four = four + v_swap_pairs(four);
  return (four + v_swap_neighbours(four))[0];
}
static inline float v_largest(vec x) {
  v_four four = v_four_max(v_four_max(x.a, x.c), v_four_max(x.b, x.d));
  four = v_four_max(four, v_swap_pairs(four));
  return v_four_max(four, v_swap_neighbours(four))[0];
}
static inline float v_smallest(vec x) {
  v_four four = v_four_min(v_four_min(x.a, x.c), v_four_min(x.b, x.d));
  four = v_four_min(four, v_swap_pairs(four));
  return v_four_min(four, v_swap_neighbours(four))[0];
}
#endif

#if defined(MZ_ISA_avx512) || defined(MZ_ISA_avx2) /* sixteen lanes to one, as above; first to the four after two halvings */
#define V_QUARTERS(x, op256, op128)                                                                                              \
  op128(_mm256_castps256_ps128(V_HALVES(x, op256)), _mm256_extractf128_ps(V_HALVES(x, op256), 1))
static inline __m128 v_swap_pairs(__m128 x) { return _mm_movehl_ps(x, x); }
static inline __m128 v_swap_neighbours(__m128 x) { return _mm_shuffle_ps(x, x, 1); }
static inline float v_sum(vec x) {
  __m128 four = V_QUARTERS(x, _mm256_add_ps, _mm_add_ps);
  four = _mm_add_ps(four, v_swap_pairs(four));
  return _mm_cvtss_f32(_mm_add_ss(four, v_swap_neighbours(four)));
}
static inline float v_largest(vec x) {
  __m128 four = V_QUARTERS(x, _mm256_max_ps, _mm_max_ps);
  four = _mm_max_ps(four, v_swap_pairs(four));
  return _mm_cvtss_f32(_mm_max_ss(four, v_swap_neighbours(four)));
}
static inline float v_smallest(vec x) {
  __m128 four = V_QUARTERS(x, _mm256_min_ps, _mm_min_ps);
  four = _mm_min_ps(four, v_swap_pairs(four));
  return _mm_cvtss_f32(_mm_min_ss(four, v_swap_neighbours(four)));
}
#endif
