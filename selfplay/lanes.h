/* Four lanes of floats or integers, in the vector types that gcc and clang compile for every processor. A node's arrays are padded to
 * groups of four (mz_tree_stride); sums run in four lanes and end as (l0 + l2) + (l1 + l3). Each operation rounds as the scalar one
 * does, so results are the same bits at every instruction-set level. */
#pragma once
#include "muzero/base/maths_inline.h"
#include "selfplay/tree.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef float mz_f4 __attribute__((vector_size(16), may_alias));
typedef int32_t mz_i4 __attribute__((vector_size(16), may_alias));
typedef union mz_f4_lanes { mz_f4 v; float f[MZ_GROUP]; } mz_f4_lanes;

static inline mz_f4 mz_f4_load(const float *x) { return *(const mz_f4 *)(const void *)x; } /* x: 16-byte aligned */
static inline mz_i4 mz_i4_load(const int32_t *x) { return *(const mz_i4 *)(const void *)x; }
static inline void mz_f4_store(float *x, mz_f4 v) { *(mz_f4 *)(void *)x = v; }
static inline mz_f4 mz_f4_set(float x) { return (mz_f4){x, x, x, x}; }
static inline mz_f4 mz_f4_of_i4(mz_i4 v) { return __builtin_convertvector(v, mz_f4); }

/* mask lanes are 0 or −1, as comparisons give them */
static inline mz_f4 mz_f4_select(mz_i4 mask, mz_f4 yes, mz_f4 no) { return (mz_f4)((mask & (mz_i4)yes) | (~mask & (mz_i4)no)); }

/* a where a < b (a > b), else b: one instruction on x86. */
#ifdef __SSE2__
static inline mz_f4 mz_f4_min(mz_f4 a, mz_f4 b) { return (mz_f4)_mm_min_ps((__m128)a, (__m128)b); }
static inline mz_f4 mz_f4_max(mz_f4 a, mz_f4 b) { return (mz_f4)_mm_max_ps((__m128)a, (__m128)b); }
#else
static inline mz_f4 mz_f4_min(mz_f4 a, mz_f4 b) { return mz_f4_select(a < b, a, b); }
static inline mz_f4 mz_f4_max(mz_f4 a, mz_f4 b) { return mz_f4_select(a > b, a, b); }
#endif

/* A loop that compilers turn into the vector form of the scalar function. */
static inline mz_f4 mz_f4_exp(mz_f4 v) {
  mz_f4_lanes x = {v};
#pragma GCC unroll 1 /* unrolled, it would not be vectorised */
  for (int i = 0; i < MZ_GROUP; i++) x.f[i] = mz_expf_inline(x.f[i]);
  return x.v;
}

/* The first `count` entries of x (any alignment), then `fill`. */
static inline mz_f4 mz_f4_load_some(const float *x, int count, float fill) {
  if (count < MZ_GROUP) return (mz_f4){x[0], count > 1 ? x[1] : fill, count > 2 ? x[2] : fill, fill};
  mz_f4 v;
  memcpy(&v, x, sizeof v);
  return v;
}

static inline float mz_f4_sum(mz_f4 v) {
  const mz_f4 pairs = v + __builtin_shufflevector(v, v, 2, 3, 0, 1);
  return pairs[0] + pairs[1];
}

static inline float mz_f4_least(mz_f4 v) {
  const mz_f4 pairs = mz_f4_min(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
  return pairs[0] < pairs[1] ? pairs[0] : pairs[1];
}

static inline float mz_f4_largest(mz_f4 v) {
  const mz_f4 pairs = mz_f4_max(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
  return pairs[0] > pairs[1] ? pairs[0] : pairs[1];
}

/* −1 for the lanes of the group at `first` that are below `count`. */
static inline mz_i4 mz_i4_below(int first, int count) {
  const int left = count - first;
  return (mz_i4){0, 1, 2, 3} < (mz_i4){left, left, left, left};
}

/* x[index] = value, ++x[index]: the whole group is stored, because a load of it would have to wait for a store of one entry. */
static inline void mz_f4_put(float *x, int index, float value) {
  float *group = x + (index & ~(MZ_GROUP - 1));
  const int lane = index & (MZ_GROUP - 1);
  mz_f4_store(group, mz_f4_select((mz_i4){0, 1, 2, 3} == (mz_i4){lane, lane, lane, lane}, mz_f4_set(value), mz_f4_load(group)));
}

static inline void mz_i4_count(int32_t *x, int index) {
  int32_t *group = x + (index & ~(MZ_GROUP - 1));
  const int lane = index & (MZ_GROUP - 1);
  *(mz_i4 *)(void *)group = mz_i4_load(group) - ((mz_i4){0, 1, 2, 3} == (mz_i4){lane, lane, lane, lane});
}
