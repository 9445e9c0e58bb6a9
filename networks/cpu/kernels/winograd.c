/* The transforms of minimal filtering F(m × n, 3 × 3), sixteen channels at a time (Winograd 1980; Lavin & Gray 2016, arXiv:1509.09308,
 * equations 8 and 12). A tile of m outputs sees m + 2 inputs, as polynomials at that many points: ±1, ±½, ∞ for m = 3, 0 more for
 * m = 4. Every map is linear and separable: along rows, then along columns. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"

#define UNROLL _Pragma("GCC unroll 8")
#define INLINE static inline __attribute__((always_inline))
enum { POINTS_MAX = 6 };

/* ---- matrices, a row for each point: Bᵀ, A and G of the paper, by Cook and Toom's interpolation at these points ---- */

static const float see_3[5][5] = {{-0.25f, -0.25f, 1, 1, 0},
                                  {0.25f, -0.25f, -1, 1, 0},
                                  {-0.5f, -1, 0.5f, 1, 0},
                                  {0.5f, -1, -0.5f, 1, 0},
                                  {0.25f, 0, -1.25f, 0, 1}};
static const float spread_3[5][3] = {{1, 1, 1}, {1, -1, 1}, {1, 0.5f, 0.25f}, {1, -0.5f, 0.25f}, {0, 0, 1}};
static const float evaluate_3[5][3] = {{2.0f / 3, 2.0f / 3, 2.0f / 3},
                                       {-2.0f / 3, 2.0f / 3, -2.0f / 3},
                                       {-4.0f / 3, -2.0f / 3, -1.0f / 3},
                                       {4.0f / 3, -2.0f / 3, 1.0f / 3},
                                       {0, 0, 1}};
static const float see_4[6][6] = {{0.25f, 0, -1.25f, 0, 1, 0}, {0, -0.25f, -0.25f, 1, 1, 0}, {0, 0.25f, -0.25f, -1, 1, 0},
                                  {0, -0.5f, -1, 0.5f, 1, 0},  {0, 0.5f, -1, -0.5f, 1, 0},   {0, 0.25f, 0, -1.25f, 0, 1}};
static const float spread_4[6][4] = {
    {1, 0, 0, 0}, {1, 1, 1, 1}, {1, -1, 1, -1}, {1, 0.5f, 0.25f, 0.125f}, {1, -0.5f, 0.25f, -0.125f}, {0, 0, 0, 1}};
static const float evaluate_4[6][3] = {{4, 0, 0},
                                       {2.0f / 3, 2.0f / 3, 2.0f / 3},
                                       {2.0f / 3, -2.0f / 3, 2.0f / 3},
                                       {-8.0f / 3, -4.0f / 3, -2.0f / 3},
                                       {-8.0f / 3, 4.0f / 3, -2.0f / 3},
                                       {0, 0, 1}};

/* ---- along one line ---- */

/* Pairs of rows are those of a point and of its negative: all but the last, ∞, and, where it is one of an even number, the first, 0. */
INLINE int pairs_begin(const int points) { return 1 - points % 2; }
INLINE int pairs_end(const int points) { return points - 1; }

/* sum + factor · x; a constant factor, so that ±1 costs an addition. */
INLINE vec add_times(vec sum, const bool empty, const float factor, vec x) {
  if (factor == 1.0f) return empty ? x : v_add(sum, x);
  if (factor == -1.0f && !empty) return v_sub(sum, x);
  return empty ? v_mul(v_set(factor), x) : v_fma(v_set(factor), x, sum);
}

typedef enum part { WHOLE, SAME, OTHER } part; /* of a row: what the next one has with the same sign, with the other sign */

INLINE vec rowtimes(const float *m, const int columns, const int i, const part wanted, const vec *x) {
  vec sum = v_set(0.0f);
  bool empty = true;
  UNROLL for (int j = 0; j < columns; j++) {
    const float factor = m[i * columns + j];
    if (factor == 0.0f || (wanted != WHOLE && (factor == m[(i + 1) * columns + j]) != (wanted == SAME))) continue;
    sum = add_times(sum, empty, factor, x[j]);
    empty = false;
  }
  return sum;
}

/* y = m x, m [points][columns]: a pair of points shares its even and its odd part. */
INLINE void to_points(const float *m, const int points, const int columns, const vec *x, vec *y) {
  if (pairs_begin(points) > 0) y[0] = rowtimes(m, columns, 0, WHOLE, x);
  UNROLL for (int i = pairs_begin(points); i < pairs_end(points); i += 2) {
    const vec same = rowtimes(m, columns, i, SAME, x), other = rowtimes(m, columns, i, OTHER, x);
    y[i] = v_add(same, other);
    y[i + 1] = v_sub(same, other);
  }
  y[points - 1] = rowtimes(m, columns, points - 1, WHOLE, x);
}

/* y = mᵀ x, m [points][columns]. */
INLINE void from_points(const float *m, const int points, const int columns, const vec *x, vec *y) {
  vec sums[POINTS_MAX], differences[POINTS_MAX];
  UNROLL for (int i = pairs_begin(points); i < pairs_end(points); i += 2) {
    sums[i] = v_add(x[i], x[i + 1]);
    differences[i] = v_sub(x[i], x[i + 1]);
  }
  UNROLL for (int j = 0; j < columns; j++) {
    vec sum = v_set(0.0f);
    bool empty = true;
    UNROLL for (int i = 0; i < points; i++) {
      const float factor = m[i * columns + j];
      const bool paired = i >= pairs_begin(points) && i < pairs_end(points);
      if (factor == 0.0f || (paired && (i - pairs_begin(points)) % 2 == 1)) continue; /* with its partner */
      sum = add_times(sum, empty, factor, !paired ? x[i] : factor == m[(i + 1) * columns + j] ? sums[i] : differences[i]);
      empty = false;
    }
    y[j] = sum;
  }
}

#define EACH_LENGTH(F) F(3) F(4)
#define DEFINE_LINES(M)                                                                                                          \
  INLINE void see##M(const vec *d, vec *v) { to_points(&see_##M[0][0], M + 2, M + 2, d, v); }                                    \
  INLINE void spread##M(const vec *y, vec *z) { to_points(&spread_##M[0][0], M + 2, M, y, z); }                                  \
  INLINE void collect##M(const vec *m, vec *y) { from_points(&spread_##M[0][0], M + 2, M, m, y); }                               \
  INLINE void evaluate##M(const vec *g, vec *u) { to_points(&evaluate_##M[0][0], M + 2, MZ_KERNEL, g, u); }                      \
  INLINE void gather##M(const vec *u, vec *g) { from_points(&evaluate_##M[0][0], M + 2, MZ_KERNEL, u, g); }
EACH_LENGTH(DEFINE_LINES)

/* ---- along both ---- */

typedef vec grid[POINTS_MAX][POINTS_MAX];

typedef void (*map)(const vec *from, vec *to);

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
  bool on[POINTS_MAX];
  UNROLL for (int c = 0; c < columns; c++) on[c] = x + c >= 0 && x + c < t->board.width;
  const ptrdiff_t step = t->channels, down = (ptrdiff_t)t->board.width * step;
  UNROLL for (int r = 0; r < rows; r++) {
    const bool here = y + r >= 0 && y + r < t->board.height;
    UNROLL for (int c = 0; c < columns; c++) g[r][c] =
        here && on[c] ? v_load(board + (y + r) * down + (x + c) * step) : v_set(0.0f);
  }
}

/* ---- a tile of M × N outputs, sixteen channels ---- */

typedef struct tile_place {
  const mz_tiling *tiling;
  int y, x; /* of its upper left output */
} tile_place;

/* To a board, as far as it goes. */
INLINE void finish(grid g, const int high, const int wide, tile_place at, const mz_tile_finish *f, float *board) {
  const mz_tiling *t = at.tiling;
  const vec start = f->bias != NULL ? v_load(f->bias) : v_set(0.0f);
  UNROLL for (int r = 0; r < high; r++) {
    if (at.y + r >= t->board.height) break;
    UNROLL for (int c = 0; c < wide; c++) {
      if (at.x + c >= t->board.width) break;
      const ptrdiff_t to = ((ptrdiff_t)(at.y + r) * t->board.width + at.x + c) * t->channels;
      vec y = v_add(g[r][c], start);
      if (f->add != NULL) y = v_add(y, v_load(f->add + to));
      if (f->relu) y = v_max(v_set(0.0f), y); /* NaN stays, as in product.c */
      v_store(board + to, y);
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
  static void collect_##M##x##N(tile_place at, const float *points, const mz_tile_finish *f, float *board) {                     \
    grid g;                                                                                                                      \
    load_points(g, M + 2, N + 2, points, at.tiling->point_stride);                                                               \
    both(g, M + 2, collect##N, N, collect##M, M);                                                                                \
    finish(g, M, N, at, f, board);                                                                                               \
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
  void (*collect)(tile_place at, const float *points, const mz_tile_finish *finish, float *board);
  void (*evaluate)(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride);
  void (*gather)(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride);
} shape_functions;

static const shape_functions *functions_of(mz_board tile) {
#define ENTRY(M, N) [M - 3][N - 3] = {see_##M##x##N, spread_##M##x##N, collect_##M##x##N, evaluate_##M##x##N, gather_##M##x##N},
  static const shape_functions table[2][2] = {EACH_SHAPE(ENTRY)};
  return &table[tile.height - 3][tile.width - 3];
}

/* ---- boards ---- */

#define FOR_EACH_TILE(t, row, offset, at)                                                                                        \
  for (ptrdiff_t row = 0, offset = 0; row < (t)->rows; row++)                                                                    \
    for (tile_place at = {t, 0, 0}; at.y < (t)->board.height; at.y += (t)->tile.height)                                          \
      for (at.x = 0; at.x < (t)->board.width; at.x += (t)->tile.width, offset += (t)->channels)

static ptrdiff_t board_size(const mz_tiling *t) { return (ptrdiff_t)t->board.height * t->board.width * t->channels; }

void MZ_LEVEL(mz_tiles_see)(const mz_tiling *t, const float *x, float *points) {
  const shape_functions *own = functions_of(t->tile);
  FOR_EACH_TILE(t, row, offset, at) {
    for (int c = 0; c < t->channels; c += V_LANES) own->see(at, x + row * board_size(t) + c, points + offset + c);
  }
}

void MZ_LEVEL(mz_tiles_spread)(const mz_tiling *t, const float *dy, float *points) {
  const shape_functions *own = functions_of(t->tile);
  FOR_EACH_TILE(t, row, offset, at) {
    for (int c = 0; c < t->channels; c += V_LANES) own->spread(at, dy + row * board_size(t) + c, points + offset + c);
  }
}

void MZ_LEVEL(mz_tiles_collect)(const mz_tiling *t, const float *points, const mz_tile_finish *finish, float *y) {
  const shape_functions *own = functions_of(t->tile);
  FOR_EACH_TILE(t, row, offset, at) {
    const ptrdiff_t board = row * board_size(t);
    for (int c = 0; c < t->channels; c += V_LANES) {
      const mz_tile_finish here = {finish->bias != NULL ? finish->bias + c : NULL,
                                   finish->add != NULL ? finish->add + board + c : NULL, finish->relu};
      own->collect(at, points + offset + c, &here, y + board + c);
    }
  }
}

void MZ_LEVEL(mz_taps_evaluate)(const mz_taps *t, const float *taps, float *points) {
  const shape_functions *own = functions_of(t->tile);
  for (int i = 0; i < t->count; i += V_LANES) own->evaluate(taps + i, t->tap_stride, points + i, t->point_stride);
}

void MZ_LEVEL(mz_taps_gather)(const mz_taps *t, const float *points, float *taps) {
  const shape_functions *own = functions_of(t->tile);
  for (int i = 0; i < t->count; i += V_LANES) own->gather(points + i, t->point_stride, taps + i, t->tap_stride);
}
