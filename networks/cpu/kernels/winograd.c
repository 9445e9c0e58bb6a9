/* The transforms of minimal filtering F(m × n, 3 × 3), m and n 3 or 4, sixteen channels at a time (Winograd 1980; Lavin & Gray 2016,
 * arXiv:1509.09308, equations 8 and 12). A tile of m outputs sees m + 2 inputs, as polynomials at that many points: 0, 1, −1, 2, ∞ for
 * m = 3 and 0, 1, −1, 2, −2, ∞ for m = 4. Every map is linear and separable: along rows, then along columns. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"

#define UNROLL _Pragma("GCC unroll 8")
#define INLINE static inline __attribute__((always_inline))
enum { POINTS_MAX = 6 };

INLINE vec times(float factor, vec x) { return v_mul(v_set(factor), x); }
INLINE vec plus(float factor, vec x, vec to) { return v_fma(v_set(factor), x, to); }

/* ---- along one line ---- */

typedef void (*map)(const vec *from, vec *to);

/* What a tile sees → points (Bᵀ d). */
INLINE void see3(const vec *d, vec *v) {
  v[0] = plus(2, v_sub(d[0], d[2]), v_sub(d[3], d[1]));
  v[1] = v_sub(plus(-2, d[1], d[3]), d[2]);
  v[2] = plus(-3, d[2], plus(2, d[1], d[3]));
  v[3] = v_sub(d[3], d[1]);
  v[4] = plus(2, v_sub(d[1], d[3]), v_sub(d[4], d[2]));
}

INLINE void see4(const vec *d, vec *v) {
  const vec even = plus(-4, d[2], d[4]), odd = plus(-4, d[1], d[3]), near = v_sub(d[4], d[2]), far = v_sub(d[3], d[1]);
  v[0] = plus(4, d[0], plus(-5, d[2], d[4]));
  v[1] = v_add(even, odd);
  v[2] = v_sub(even, odd);
  v[3] = plus(2, far, near);
  v[4] = plus(-2, far, near);
  v[5] = plus(4, d[1], plus(-5, d[3], d[5]));
}

/* Points → a tile's outputs (Aᵀ m). */
INLINE void collect3(const vec *m, vec *y) {
  const vec even = v_add(m[1], m[2]), odd = v_sub(m[1], m[2]);
  y[0] = v_add(v_add(m[0], even), m[3]);
  y[1] = plus(2, m[3], odd);
  y[2] = v_add(plus(4, m[3], even), m[4]);
}

INLINE void collect4(const vec *m, vec *y) {
  const vec even = v_add(m[1], m[2]), odd = v_sub(m[1], m[2]), far_even = v_add(m[3], m[4]), far_odd = v_sub(m[3], m[4]);
  y[0] = v_add(v_add(m[0], even), far_even);
  y[1] = plus(2, far_odd, odd);
  y[2] = plus(4, far_even, even);
  y[3] = v_add(plus(8, far_odd, odd), m[5]);
}

/* Gradients of a tile's outputs → points: the transpose of that (A y). */
INLINE void spread3(const vec *y, vec *z) {
  const vec even = v_add(y[0], y[2]);
  z[0] = y[0];
  z[1] = v_add(even, y[1]);
  z[2] = v_sub(even, y[1]);
  z[3] = plus(4, y[2], plus(2, y[1], y[0]));
  z[4] = y[2];
}

INLINE void spread4(const vec *y, vec *z) {
  const vec even = v_add(y[0], y[2]), odd = v_add(y[1], y[3]), far_even = plus(4, y[2], y[0]), far_odd = plus(4, y[3], y[1]);
  z[0] = y[0];
  z[1] = v_add(even, odd);
  z[2] = v_sub(even, odd);
  z[3] = plus(2, far_odd, far_even);
  z[4] = plus(-2, far_odd, far_even);
  z[5] = y[3];
}

/* A kernel's three taps → points (G g). */
INLINE void evaluate3(const vec *g, vec *u) {
  const vec even = v_add(g[0], g[2]), far = plus(4, g[2], g[0]);
  u[0] = times(0.5f, g[0]);
  u[1] = times(-0.5f, v_add(even, g[1]));
  u[2] = times(-1.0f / 6, v_sub(even, g[1]));
  u[3] = times(1.0f / 6, plus(2, g[1], far));
  u[4] = g[2];
}

INLINE void evaluate4(const vec *g, vec *u) {
  const vec even = v_add(g[0], g[2]), far = plus(4, g[2], g[0]);
  u[0] = times(0.25f, g[0]);
  u[1] = times(-1.0f / 6, v_add(even, g[1]));
  u[2] = times(-1.0f / 6, v_sub(even, g[1]));
  u[3] = times(1.0f / 24, plus(2, g[1], far));
  u[4] = times(1.0f / 24, plus(-2, g[1], far));
  u[5] = g[2];
}

/* Gradients at the points → of the three taps: the transpose of that (Gᵀ u). */
INLINE void gather3(const vec *u, vec *g) {
  const vec one = times(-0.5f, u[1]), minus = times(-1.0f / 6, u[2]), two = times(1.0f / 6, u[3]);
  g[0] = v_add(plus(0.5f, u[0], one), v_add(minus, two));
  g[1] = plus(2, two, v_sub(one, minus));
  g[2] = v_add(plus(4, two, v_add(one, minus)), u[4]);
}

INLINE void gather4(const vec *u, vec *g) {
  const vec even = times(-1.0f / 6, v_add(u[1], u[2])), odd = times(-1.0f / 6, v_sub(u[1], u[2]));
  const vec far_even = times(1.0f / 24, v_add(u[3], u[4])), far_odd = times(1.0f / 24, v_sub(u[3], u[4]));
  g[0] = v_add(plus(0.25f, u[0], even), far_even);
  g[1] = plus(2, far_odd, odd);
  g[2] = v_add(plus(4, far_even, even), u[5]);
}

/* ---- along both ---- */

typedef vec grid[POINTS_MAX][POINTS_MAX];

/* rows × columns → down_to × across_to; constants in every caller. */
INLINE void both(grid g, const int rows, const map across, const int across_to, const map down, const int down_to) {
  UNROLL for (int r = 0; r < rows; r++) {
    vec to[POINTS_MAX];
    across(g[r], to);
    UNROLL for (int c = 0; c < across_to; c++) g[r][c] = to[c];
  }
  UNROLL for (int c = 0; c < across_to; c++) {
    vec from[POINTS_MAX], to[POINTS_MAX];
    UNROLL for (int r = 0; r < rows; r++) from[r] = g[r][c];
    down(from, to);
    UNROLL for (int r = 0; r < down_to; r++) g[r][c] = to[r];
  }
}

INLINE void load_points(grid g, const int high, const int wide, const float *points, ptrdiff_t stride) {
  UNROLL for (int r = 0; r < high; r++) {
    UNROLL for (int c = 0; c < wide; c++) g[r][c] = v_load(points + (r * wide + c) * stride);
  }
}

INLINE void store_points(grid g, const int high, const int wide, float *points, ptrdiff_t stride) {
  UNROLL for (int r = 0; r < high; r++) {
    UNROLL for (int c = 0; c < wide; c++) v_store(points + (r * wide + c) * stride, g[r][c]);
  }
}

/* rows × columns of a board, its upper left corner at (y, x); 0 beyond the edges. */
INLINE void load_board(grid g, const int rows, const int columns, const mz_tiling *t, const float *board, int y, int x) {
  UNROLL for (int r = 0; r < rows; r++) {
    const bool on = y + r >= 0 && y + r < t->board.height;
    UNROLL for (int c = 0; c < columns; c++) {
      const bool here = on && x + c >= 0 && x + c < t->board.width;
      g[r][c] = here ? v_load(board + ((ptrdiff_t)(y + r) * t->board.width + x + c) * t->channels) : v_set(0.0f);
    }
  }
}

/* ---- a tile of M × N outputs, sixteen channels ---- */

typedef struct tile_place {
  const mz_tiling *tiling;
  int y, x; /* of its upper left output */
} tile_place;

INLINE void finish(grid g, const int high, const int wide, tile_place at, const float *bias, bool add, bool relu, float *board) {
  const mz_tiling *t = at.tiling;
  const vec start = bias != NULL ? v_load(bias) : v_set(0.0f);
  UNROLL for (int r = 0; r < high; r++) {
    if (at.y + r >= t->board.height) break;
    UNROLL for (int c = 0; c < wide; c++) {
      if (at.x + c >= t->board.width) break;
      float *to = board + ((ptrdiff_t)(at.y + r) * t->board.width + at.x + c) * t->channels;
      vec y = v_add(g[r][c], start);
      if (add) y = v_add(y, v_load(to));
      if (relu) y = v_max(v_set(0.0f), y); /* NaN stays, as in product.c */
      v_store(to, y);
    }
  }
}

#define EACH_SHAPE(F) F(3, 3) F(3, 4) F(4, 3) F(4, 4)

#define DEFINE(M, N)                                                                                                             \
  static void see_##M##x##N(tile_place at, const float *board, float *points) {                                                  \
    grid g;                                                                                                                      \
    load_board(g, M + 2, N + 2, at.tiling, board, at.y - 1, at.x - 1);                                                           \
    both(g, M + 2, see##N, N + 2, see##M, M + 2);                                                                                \
    store_points(g, M + 2, N + 2, points, at.tiling->point_stride);                                                              \
  }                                                                                                                              \
  static void spread_##M##x##N(tile_place at, const float *board, float *points) {                                               \
    grid g;                                                                                                                      \
    load_board(g, M, N, at.tiling, board, at.y, at.x);                                                                           \
    both(g, M, spread##N, N + 2, spread##M, M + 2);                                                                              \
    store_points(g, M + 2, N + 2, points, at.tiling->point_stride);                                                              \
  }                                                                                                                              \
  static void collect_##M##x##N(tile_place at, const float *points, const float *bias, bool add, bool relu, float *board) {      \
    grid g;                                                                                                                      \
    load_points(g, M + 2, N + 2, points, at.tiling->point_stride);                                                               \
    both(g, M + 2, collect##N, N, collect##M, M);                                                                                \
    finish(g, M, N, at, bias, add, relu, board);                                                                                 \
  }                                                                                                                              \
  static void evaluate_##M##x##N(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride) {               \
    grid g;                                                                                                                      \
    load_points(g, MZ_KERNEL, MZ_KERNEL, taps, tap_stride);                                                                      \
    both(g, MZ_KERNEL, evaluate##N, N + 2, evaluate##M, M + 2);                                                                  \
    store_points(g, M + 2, N + 2, points, point_stride);                                                                         \
  }                                                                                                                              \
  static void gather_##M##x##N(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride) {                 \
    grid g;                                                                                                                      \
    load_points(g, M + 2, N + 2, points, point_stride);                                                                          \
    both(g, M + 2, gather##N, MZ_KERNEL, gather##M, MZ_KERNEL);                                                                  \
    store_points(g, MZ_KERNEL, MZ_KERNEL, taps, tap_stride);                                                                     \
  }

EACH_SHAPE(DEFINE)

typedef struct shape_functions {
  void (*see)(tile_place at, const float *board, float *points);
  void (*spread)(tile_place at, const float *board, float *points);
  void (*collect)(tile_place at, const float *points, const float *bias, bool add, bool relu, float *board);
  void (*evaluate)(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride);
  void (*gather)(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride);
} shape_functions;

static const shape_functions *functions_of(int tile_height, int tile_width) {
#define ENTRY(M, N) [M - 3][N - 3] = {see_##M##x##N, spread_##M##x##N, collect_##M##x##N, evaluate_##M##x##N, gather_##M##x##N},
  static const shape_functions table[2][2] = {EACH_SHAPE(ENTRY)};
  return &table[tile_height - 3][tile_width - 3];
}

/* ---- boards ---- */

#define FOR_EACH_TILE(t, offset, at)                                                                                             \
  for (ptrdiff_t row_ = 0, offset = 0; row_ < (t)->rows; row_++)                                                                 \
    for (tile_place at = {t, 0, 0}; at.y < (t)->board.height; at.y += (t)->tile_height)                                          \
      for (at.x = 0; at.x < (t)->board.width; at.x += (t)->tile_width, offset += (t)->channels)

static ptrdiff_t board_size(const mz_tiling *t) { return (ptrdiff_t)t->board.height * t->board.width * t->channels; }

void MZ_LEVEL(mz_tiles_see)(const mz_tiling *t, const float *x, float *points) {
  const shape_functions *own = functions_of(t->tile_height, t->tile_width);
  FOR_EACH_TILE(t, offset, at) {
    for (int c = 0; c < t->channels; c += V_LANES) own->see(at, x + row_ * board_size(t) + c, points + offset + c);
  }
}

void MZ_LEVEL(mz_tiles_spread)(const mz_tiling *t, const float *dy, float *points) {
  const shape_functions *own = functions_of(t->tile_height, t->tile_width);
  FOR_EACH_TILE(t, offset, at) {
    for (int c = 0; c < t->channels; c += V_LANES) own->spread(at, dy + row_ * board_size(t) + c, points + offset + c);
  }
}

void MZ_LEVEL(mz_tiles_collect)(const mz_tiling *t, const float *points, const float *bias, bool add, bool relu, float *y) {
  const shape_functions *own = functions_of(t->tile_height, t->tile_width);
  FOR_EACH_TILE(t, offset, at) {
    for (int c = 0; c < t->channels; c += V_LANES) {
      own->collect(at, points + offset + c, bias != NULL ? bias + c : NULL, add, relu, y + row_ * board_size(t) + c);
    }
  }
}

void MZ_LEVEL(mz_taps_evaluate)(const mz_taps *t, const float *taps, float *points) {
  const shape_functions *own = functions_of(t->tile_height, t->tile_width);
  for (int i = 0; i < t->count; i += V_LANES) own->evaluate(taps + i, t->tap_stride, points + i, t->point_stride);
}

void MZ_LEVEL(mz_taps_gather)(const mz_taps *t, const float *points, float *taps) {
  const shape_functions *own = functions_of(t->tile_height, t->tile_width);
  for (int i = 0; i < t->count; i += V_LANES) own->gather(points + i, t->point_stride, taps + i, t->tap_stride);
}
