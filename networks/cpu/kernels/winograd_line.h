/* Minimal filtering along a line: Bᵀ (input transform), A (output gradient), Aᵀ (output), G (filter) and Gᵀ (filter gradient) of
 * Lavin & Gray 2016 (arXiv:1509.09308), F(m, 3) by Cook and Toom's interpolation. A tile of m outputs sees m + 2 inputs, as
 * polynomials at that many points: 0, 1, −1, ½, −½, ∞ for m = 4, and 2 and −2 before the ∞ for m = 6; all but the 0 for m = 3 and
 * m = 5. Kernels are the same at a point for both of two neighbours, so that one product takes tiles of either. What p and −p
 * share is summed once. */
#pragma once
#include "networks/cpu/kernels/vec.h"

#ifdef __OPTIMIZE__
#define INLINE static inline __attribute__((always_inline))
#else /* gcc does not see there which function a pointer names, and refuses to compile what it must inline and cannot */
#define INLINE static inline
#endif

INLINE vec times(const float factor, vec x) { return v_mul(v_set(factor), x); }
INLINE vec plus_times(vec y, const float factor, vec x) { return v_fma(v_set(factor), x, y); }

/* two = y ± factor · x */
INLINE void plus_minus(vec y, const float factor, vec x, vec *two) {
  two[0] = factor == 1.0f ? v_add(y, x) : plus_times(y, factor, x);
  two[1] = factor == 1.0f ? v_sub(y, x) : plus_times(y, -factor, x);
}

INLINE void input_transform3(const vec *d, vec *v) {
  const vec even = v_sub(d[2], d[0]), odd = v_sub(d[3], d[1]);
  plus_minus(plus_times(d[2], -0.25f, d[0]), 1.0f, plus_times(d[3], -0.25f, d[1]), v);
  plus_minus(odd, 0.5f, even, v + 2);
  v[4] = plus_times(v_sub(d[4], d[2]), -0.25f, even);
}

INLINE void input_transform4(const vec *d, vec *v) {
  const vec even = v_sub(d[4], d[2]), odd = v_sub(d[3], d[1]);
  v[0] = plus_times(even, 0.25f, v_sub(d[0], d[2]));
  plus_minus(plus_times(d[4], -0.25f, d[2]), 1.0f, plus_times(d[3], -0.25f, d[1]), v + 1);
  plus_minus(odd, 2.0f, even, v + 3);
  v[5] = plus_times(v_sub(d[5], d[3]), -0.25f, odd);
}

INLINE void input_transform5(const vec *d, vec *v) {
  plus_minus(plus_times(v_add(d[4], d[0]), -4.25f, d[2]), 1.0f, plus_times(v_add(d[5], d[1]), -4.25f, d[3]), v);
  plus_minus(plus_times(plus_times(d[5], 4.0f, d[1]), -5.0f, d[3]), 0.5f, plus_times(plus_times(d[4], 4.0f, d[0]), -5.0f, d[2]),
             v + 2);
  plus_minus(plus_times(plus_times(d[5], 0.25f, d[1]), -1.25f, d[3]), 2.0f,
             plus_times(plus_times(d[4], 0.25f, d[0]), -1.25f, d[2]), v + 4);
  v[6] = plus_times(v_sub(d[6], d[0]), 5.25f, v_sub(d[2], d[4]));
}

INLINE void input_transform6(const vec *d, vec *v) {
  v[0] = plus_times(v_sub(d[0], d[6]), 5.25f, v_sub(d[4], d[2]));
  plus_minus(plus_times(v_add(d[6], d[2]), -4.25f, d[4]), 1.0f, plus_times(v_add(d[5], d[1]), -4.25f, d[3]), v + 1);
  plus_minus(plus_times(plus_times(d[5], 4.0f, d[1]), -5.0f, d[3]), 2.0f, plus_times(plus_times(d[6], 4.0f, d[2]), -5.0f, d[4]),
             v + 3);
  plus_minus(plus_times(plus_times(d[5], 0.25f, d[1]), -1.25f, d[3]), 0.5f,
             plus_times(plus_times(d[6], 0.25f, d[2]), -1.25f, d[4]), v + 5);
  v[7] = plus_times(v_sub(d[7], d[1]), 5.25f, v_sub(d[3], d[5]));
}

INLINE void output_gradient_transform3(const vec *y, vec *z) {
  plus_minus(v_add(y[0], y[2]), 1.0f, y[1], z);
  plus_minus(plus_times(y[0], 0.25f, y[2]), 0.5f, y[1], z + 2);
  z[4] = y[2];
}

INLINE void output_gradient_transform4(const vec *y, vec *z) {
  z[0] = y[0];
  plus_minus(v_add(y[0], y[2]), 1.0f, v_add(y[1], y[3]), z + 1);
  plus_minus(plus_times(y[0], 0.25f, y[2]), 0.5f, plus_times(y[1], 0.25f, y[3]), z + 3);
  z[5] = y[3];
}

INLINE void output_gradient_transform5(const vec *y, vec *z) {
  plus_minus(v_add(v_add(y[0], y[2]), y[4]), 1.0f, v_add(y[1], y[3]), z);
  plus_minus(plus_times(plus_times(y[0], 0.25f, y[2]), 0.0625f, y[4]), 0.5f, plus_times(y[1], 0.25f, y[3]), z + 2);
  plus_minus(plus_times(plus_times(y[0], 4.0f, y[2]), 16.0f, y[4]), 2.0f, plus_times(y[1], 4.0f, y[3]), z + 4);
  z[6] = y[4];
}

INLINE void output_gradient_transform6(const vec *y, vec *z) {
  z[0] = y[0];
  plus_minus(v_add(v_add(y[0], y[2]), y[4]), 1.0f, v_add(v_add(y[1], y[3]), y[5]), z + 1);
  plus_minus(plus_times(plus_times(y[0], 0.25f, y[2]), 0.0625f, y[4]), 0.5f,
             plus_times(plus_times(y[1], 0.25f, y[3]), 0.0625f, y[5]), z + 3);
  plus_minus(plus_times(plus_times(y[0], 4.0f, y[2]), 16.0f, y[4]), 2.0f, plus_times(plus_times(y[1], 4.0f, y[3]), 16.0f, y[5]),
             z + 5);
  z[7] = y[5];
}

INLINE void output_transform3(const vec *z, vec *y) {
  vec one[2], half[2];
  plus_minus(z[0], 1.0f, z[1], one);
  plus_minus(z[2], 1.0f, z[3], half);
  y[0] = v_add(one[0], half[0]);
  y[1] = plus_times(one[1], 0.5f, half[1]);
  y[2] = v_add(plus_times(one[0], 0.25f, half[0]), z[4]);
}

INLINE void output_transform4(const vec *z, vec *y) {
  vec one[2], half[2];
  plus_minus(z[1], 1.0f, z[2], one);
  plus_minus(z[3], 1.0f, z[4], half);
  y[0] = v_add(v_add(one[0], half[0]), z[0]);
  y[1] = plus_times(one[1], 0.5f, half[1]);
  y[2] = plus_times(one[0], 0.25f, half[0]);
  y[3] = v_add(plus_times(one[1], 0.125f, half[1]), z[5]);
}

INLINE void output_transform5(const vec *z, vec *y) {
  vec one[2], half[2], two[2];
  plus_minus(z[0], 1.0f, z[1], one);
  plus_minus(z[2], 1.0f, z[3], half);
  plus_minus(z[4], 1.0f, z[5], two);
  y[0] = v_add(v_add(one[0], half[0]), two[0]);
  y[1] = plus_times(plus_times(one[1], 0.5f, half[1]), 2.0f, two[1]);
  y[2] = plus_times(plus_times(one[0], 0.25f, half[0]), 4.0f, two[0]);
  y[3] = plus_times(plus_times(one[1], 0.125f, half[1]), 8.0f, two[1]);
  y[4] = v_add(plus_times(plus_times(one[0], 0.0625f, half[0]), 16.0f, two[0]), z[6]);
}

INLINE void output_transform6(const vec *z, vec *y) {
  vec one[2], half[2], two[2];
  plus_minus(z[1], 1.0f, z[2], one);
  plus_minus(z[3], 1.0f, z[4], half);
  plus_minus(z[5], 1.0f, z[6], two);
  y[0] = v_add(v_add(v_add(one[0], half[0]), two[0]), z[0]);
  y[1] = plus_times(plus_times(one[1], 0.5f, half[1]), 2.0f, two[1]);
  y[2] = plus_times(plus_times(one[0], 0.25f, half[0]), 4.0f, two[0]);
  y[3] = plus_times(plus_times(one[1], 0.125f, half[1]), 8.0f, two[1]);
  y[4] = plus_times(plus_times(one[0], 0.0625f, half[0]), 16.0f, two[0]);
  y[5] = v_add(plus_times(plus_times(one[1], 0.03125f, half[1]), 32.0f, two[1]), z[7]);
}

INLINE void filter_transform3(const vec *g, vec *u) {
  plus_minus(times(2.0f / 3, v_add(g[0], g[2])), 1.0f, times(2.0f / 3, g[1]), u);
  plus_minus(times(-2.0f / 3, g[1]), -1.0f / 3, plus_times(g[2], 4.0f, g[0]), u + 2);
  u[4] = g[2];
}

INLINE void filter_transform4(const vec *g, vec *u) {
  u[0] = times(4.0f, g[0]);
  filter_transform3(g, u + 1);
}

INLINE void filter_transform5(const vec *g, vec *u) {
  plus_minus(times(-2.0f / 9, v_add(g[0], g[2])), 1.0f, times(-2.0f / 9, g[1]), u);
  plus_minus(times(8.0f / 45, g[1]), 4.0f / 45, plus_times(g[2], 4.0f, g[0]), u + 2);
  plus_minus(times(2.0f / 45, g[1]), 1.0f / 45, plus_times(g[0], 4.0f, g[2]), u + 4);
  u[6] = g[2];
}

INLINE void filter_transform6(const vec *g, vec *u) {
  u[0] = g[0];
  filter_transform5(g, u + 1);
}

INLINE void filter_gradient_transform3(const vec *u, vec *g) {
  vec one[2], half[2];
  plus_minus(u[0], 1.0f, u[1], one);
  plus_minus(u[2], 1.0f, u[3], half);
  g[0] = plus_times(times(2.0f / 3, one[0]), -4.0f / 3, half[1]);
  g[1] = times(2.0f / 3, v_sub(one[1], half[0]));
  g[2] = v_add(plus_times(times(2.0f / 3, one[0]), -1.0f / 3, half[1]), u[4]);
}

INLINE void filter_gradient_transform4(const vec *u, vec *g) {
  filter_gradient_transform3(u + 1, g);
  g[0] = plus_times(g[0], 4.0f, u[0]);
}

INLINE void filter_gradient_transform5(const vec *u, vec *g) {
  vec one[2], half[2], two[2];
  plus_minus(u[0], 1.0f, u[1], one);
  plus_minus(u[2], 1.0f, u[3], half);
  plus_minus(u[4], 1.0f, u[5], two);
  g[0] = plus_times(plus_times(times(-2.0f / 9, one[0]), 16.0f / 45, half[1]), 1.0f / 45, two[1]);
  g[1] = plus_times(plus_times(times(-2.0f / 9, one[1]), 8.0f / 45, half[0]), 2.0f / 45, two[0]);
  g[2] = v_add(plus_times(plus_times(times(-2.0f / 9, one[0]), 4.0f / 45, half[1]), 4.0f / 45, two[1]), u[6]);
}

INLINE void filter_gradient_transform6(const vec *u, vec *g) {
  filter_gradient_transform5(u + 1, g);
  g[0] = v_add(g[0], u[0]);
}
