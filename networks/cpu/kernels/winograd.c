/* The transforms of minimal filtering F(m × n, 3 × 3), sixteen channels at a time (Winograd 1980; Lavin & Gray 2016,
 * arXiv:1509.09308, equations 8 and 12): linear and separable, along rows and then along columns. On the way to points what is
 * between goes line by line through memory, for it does not fit into registers; on the way back there is less of it, and
 * unrolling pays. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/winograd_line.h"

#define LOOP _Pragma("GCC unroll 1")
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* unrolled, what they add takes minutes to compile */
#define UNROLL LOOP
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
enum { POINTS_MAX = 8 };

typedef vec grid[POINTS_MAX][POINTS_MAX];
typedef void (*map)(const vec *from, vec *to); /* of a line; like all sizes a constant in every caller */

/* Columns of `rows` to columns of down_to. */
INLINE void store_columns(grid g, const int rows, const int columns, const map down, const int down_to, float *to,
                          ptrdiff_t to_down, ptrdiff_t to_across) {
  LOOP for (int c = 0; c < columns; c++, to += to_across) {
    vec from[POINTS_MAX], column[POINTS_MAX];
    UNROLL for (int r = 0; r < rows; r++) from[r] = g[r][c];
    down(from, column);
    UNROLL for (int r = 0; r < down_to; r++) v_store(to + r * to_down, column[r]);
  }
}

INLINE void load_rows(grid g, const int rows, const int columns, const map across, const float *from, ptrdiff_t from_down,
                      ptrdiff_t from_across) {
  UNROLL for (int r = 0; r < rows; r++, from += from_down) {
    vec row[POINTS_MAX];
    UNROLL for (int c = 0; c < columns; c++) row[c] = v_load(from + c * from_across);
    across(row, g[r]);
  }
}

/* ---- a tile of M × N outputs, sixteen channels ---- */

/* Rows or columns of a board that a tile reads or writes. Those beyond an edge read as 0; their offset is another's, for even a
 * load of nothing is slow where there is no memory. */
typedef struct lines {
  bool inside[POINTS_MAX];
  ptrdiff_t offset[POINTS_MAX];
} lines;

static void lines_find(lines *l, int count, int first, int length, ptrdiff_t stride) {
  for (int i = 0; i < count; i++) {
    l->inside[i] = first + i >= 0 && first + i < length;
    l->offset[i] = l->inside[i] ? (first + i) * stride : 0;
  }
}

/* A tile's place on a board and among the points. */
typedef struct tile {
  lines down, across;
  ptrdiff_t points_down, points_across;
} tile;

INLINE void to_points(const tile *t, const float *board, float *points, const int rows, const int columns, const map across,
                      const int across_to, const map down, const int down_to) {
  grid g;
  LOOP for (int r = 0; r < rows; r++) {
    const float *from = board + t->down.offset[r];
    vec row[POINTS_MAX];
    if (t->down.inside[r]) {
      UNROLL for (int c = 0; c < columns; c++) row[c] = v_load_if(t->across.inside[c], from + t->across.offset[c]);
      across(row, g[r]);
    } else {
      UNROLL for (int c = 0; c < across_to; c++) g[r][c] = v_set(0.0f);
    }
  }
  store_columns(g, rows, across_to, down, down_to, points, t->points_down, t->points_across);
}

/* To a board, as far as it goes. */
INLINE void from_points(const tile *t, const float *points, const mz_tile_finish *f, float *board, const int rows,
                        const int columns, const map across, const int wide, const map down, const int high) {
  grid g;
  load_rows(g, rows, columns, across, points, t->points_down, t->points_across);
  const vec start = f->bias != NULL ? v_load(f->bias) : v_set(0.0f);
  UNROLL for (int c = 0; c < wide; c++) {
    if (!t->across.inside[c]) break;
    vec from[POINTS_MAX], column[POINTS_MAX];
    UNROLL for (int r = 0; r < rows; r++) from[r] = g[r][c];
    down(from, column);
    UNROLL for (int r = 0; r < high; r++) {
      if (!t->down.inside[r]) break;
      const ptrdiff_t to = t->down.offset[r] + t->across.offset[c];
      vec y = v_add(column[r], start);
      if (f->add != NULL) y = v_add(y, v_load(f->add + to));
      if (f->relu) y = v_max(v_set(0.0f), y); /* NaN stays, as in product.c */
      v_store(board + to, y);
    }
  }
}

#define EACH_SHAPE(F) EACH_HEIGHT(F, 3) EACH_HEIGHT(F, 4) EACH_HEIGHT(F, 5) EACH_HEIGHT(F, 6)
#define EACH_HEIGHT(F, N) F(3, N) F(4, N) F(5, N) F(6, N)

#define DEFINE(M, N)                                                                                                             \
  static void input_transform_##M##x##N(const tile *t, const float *board, float *points) {                                      \
    to_points(t, board, points, M + 2, N + 2, input_transform##N, N + 2, input_transform##M, M + 2);                             \
  }                                                                                                                              \
  static void output_gradient_transform_##M##x##N(const tile *t, const float *board, float *points) {                            \
    to_points(t, board, points, M, N, output_gradient_transform##N, N + 2, output_gradient_transform##M, M + 2);                 \
  }                                                                                                                              \
  static void output_transform_##M##x##N(const tile *t, const float *points, const mz_tile_finish *f, float *board) {            \
    from_points(t, points, f, board, M + 2, N + 2, output_transform##N, N, output_transform##M, M);                              \
  }                                                                                                                              \
  static void filter_transform_##M##x##N(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride) {       \
    grid g;                                                                                                                      \
    load_rows(g, MZ_KERNEL, MZ_KERNEL, filter_transform##N, taps, tap_stride *MZ_KERNEL, tap_stride);                            \
    store_columns(g, MZ_KERNEL, N + 2, filter_transform##M, M + 2, points, (N + 2) * point_stride, point_stride);                \
  }                                                                                                                              \
  static void filter_gradient_transform_##M##x##N(const float *points, ptrdiff_t point_stride, float *taps,                      \
                                                  ptrdiff_t tap_stride) {                                                        \
    grid g;                                                                                                                      \
    load_rows(g, M + 2, N + 2, filter_gradient_transform##N, points, (N + 2) * point_stride, point_stride);                      \
    store_columns(g, M + 2, MZ_KERNEL, filter_gradient_transform##M, MZ_KERNEL, taps, MZ_KERNEL * tap_stride, tap_stride);       \
  }

EACH_SHAPE(DEFINE)

typedef struct shape_functions {
  void (*input_transform)(const tile *t, const float *board, float *points);
  void (*output_gradient_transform)(const tile *t, const float *board, float *points);
  void (*output_transform)(const tile *t, const float *points, const mz_tile_finish *finish, float *board);
  void (*filter_transform)(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride);
  void (*filter_gradient_transform)(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride);
} shape_functions;

static const shape_functions *functions_of(int high, int wide) {
#define ENTRY(M, N)                                                                                                              \
  [M - 3][N - 3] = {input_transform_##M##x##N, output_gradient_transform_##M##x##N, output_transform_##M##x##N,                  \
                    filter_transform_##M##x##N, filter_gradient_transform_##M##x##N},
  static const shape_functions table[4][4] = {EACH_SHAPE(ENTRY)};
  return &table[high - 3][wide - 3];
}

/* ---- boards ---- */

typedef struct span {
  int begin, end, tile; /* in outputs */
} span;

static span span_of(const mz_side *side, bool narrow) {
  const int wide = side->wide * side->tile;
  return narrow ? (span){wide, wide + side->narrow * (side->tile - 1), side->tile - 1} : (span){0, wide, side->tile};
}

static int span_tiles(const span *s) { return (s->end - s->begin) / s->tile; }

/* Over the tiles of all boards, in mz_tiling's order. */
typedef struct walk {
  const mz_tiling *tiling;
  int border; /* of inputs around a tile's outputs: 1 or 0 */
  int shape;  /* of the four */
  span down, across;
  const shape_functions *own;
  int row, y, x;        /* board; upper left output */
  ptrdiff_t board;      /* offset of the board */
  ptrdiff_t points;     /* offset of the tile's first point */
  ptrdiff_t offset;     /* of the tile from a point's first */
  ptrdiff_t shapes_end; /* offset of the first tile of the next shape */
  tile tile;
} walk;

static ptrdiff_t board_size(const mz_tiling *t) { return (ptrdiff_t)t->down.length * t->across.length * t->channels; }

static walk walk_begin(const mz_tiling *t, int border) {
  walk w = {.tiling = t, .border = border, .shape = -1, .row = t->rows - 1};
  w.tile.points_across = t->point_stride;
  w.tile.points_down = (t->across.tile + MZ_KERNEL - 1) * t->point_stride;
  return w;
}

static void find_rows(walk *w) {
  const mz_tiling *t = w->tiling;
  lines_find(&w->tile.down, w->down.tile + 2 * w->border, w->y - w->border, t->down.length,
             (ptrdiff_t)t->across.length * t->channels);
}

static void find_columns(walk *w) {
  const mz_tiling *t = w->tiling;
  lines_find(&w->tile.across, w->across.tile + 2 * w->border, w->x - w->border, t->across.length, t->channels);
}

static bool next_shape(walk *w) {
  static const struct { bool down, across; } narrow[] = {{true, false}, {false, false}, {false, true}, {true, true}};
  const mz_tiling *t = w->tiling;
  while (++w->shape < (int)(sizeof narrow / sizeof *narrow)) {
    w->down = span_of(&t->down, narrow[w->shape].down);
    w->across = span_of(&t->across, narrow[w->shape].across);
    if (w->down.begin == w->down.end || w->across.begin == w->across.end) continue;
    const ptrdiff_t tiles = span_tiles(&w->down) * span_tiles(&w->across) * t->channels;
    w->offset = w->shapes_end + t->first * tiles;
    w->shapes_end += t->all * tiles;
    w->own = functions_of(w->down.tile, w->across.tile);
    w->points = (t->down.tile - w->down.tile) * w->tile.points_down + (t->across.tile - w->across.tile) * w->tile.points_across;
    return true;
  }
  return false;
}

static bool walk_on(walk *w) {
  const mz_tiling *t = w->tiling;
  w->offset += t->channels;
  w->x += w->across.tile;
  if (w->x >= w->across.end) {
    w->y += w->down.tile;
    if (w->y >= w->down.end) {
      if (++w->row >= t->rows) {
        if (!next_shape(w)) return false;
        w->row = 0;
      }
      w->board = w->row * board_size(t);
      w->y = w->down.begin;
    }
    find_rows(w);
    w->x = w->across.begin;
  }
  find_columns(w);
  return true;
}

void MZ_LEVEL(mz_tiles_input_transform)(const mz_tiling *t, const float *x, float *points) {
  for (walk w = walk_begin(t, 1); walk_on(&w);) {
    for (int c = 0; c < t->channels; c += V_LANES)
      w.own->input_transform(&w.tile, x + w.board + c, points + w.points + w.offset + c);
  }
}

void MZ_LEVEL(mz_tiles_output_gradient_transform)(const mz_tiling *t, const float *dy, float *points) {
  for (walk w = walk_begin(t, 0); walk_on(&w);) {
    for (int c = 0; c < t->channels; c += V_LANES)
      w.own->output_gradient_transform(&w.tile, dy + w.board + c, points + w.points + w.offset + c);
  }
}

void MZ_LEVEL(mz_tiles_output_transform)(const mz_tiling *t, const float *points, const mz_tile_finish *finish, float *y) {
  for (walk w = walk_begin(t, 0); walk_on(&w);) {
    for (int c = 0; c < t->channels; c += V_LANES) {
      const mz_tile_finish here = {finish->bias != NULL ? finish->bias + c : NULL,
                                   finish->add != NULL ? finish->add + w.board + c : NULL, finish->relu};
      w.own->output_transform(&w.tile, points + w.points + w.offset + c, &here, y + w.board + c);
    }
  }
}

void MZ_LEVEL(mz_taps_filter_transform)(const mz_taps *taps, const float *kernel, float *points) {
  const shape_functions *own = functions_of(taps->tile.height, taps->tile.width);
  for (int i = 0; i < taps->count; i += V_LANES)
    own->filter_transform(kernel + i, taps->tap_stride, points + i, taps->point_stride);
}

void MZ_LEVEL(mz_taps_filter_gradient_transform)(const mz_taps *taps, const float *points, float *kernel) {
  const shape_functions *own = functions_of(taps->tile.height, taps->tile.width);
  for (int i = 0; i < taps->count; i += V_LANES)
    own->filter_gradient_transform(points + i, taps->point_stride, kernel + i, taps->tap_stride);
}
