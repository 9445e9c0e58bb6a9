#include "networks/cpu/winograd.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/transpose.h"

static int points_along(const mz_side *side) { return side->tile + MZ_KERNEL - 1; }

/* As few tiles of `wide` outputs and of one less as cover a length. */
static mz_side cut(int length, int wide) {
  const int tiles = (length + wide - 1) / wide, over = length - (wide - 1) * tiles;
  return over > 0 ? (mz_side){length, wide, over, tiles - over} : (mz_side){length, wide - 1, tiles, 0};
}

/* Products along a side, of each line across it. */
static int products_along(const mz_side *side) { return (side->wide + side->narrow) * points_along(side) - side->narrow; }

/* Tiles of up to 4, which round less, unless ones of 5 and 6 take fewer products. */
static mz_side side_of(int length) {
  const mz_side small = cut(length, 4), large = cut(length, 6);
  return products_along(&large) < products_along(&small) ? large : small;
}

static int smaller(int a, int b) { return a < b ? a : b; }

static int tiles_along(const mz_side *side) { return side->wide + side->narrow; }

mz_winograd mz_winograd_of(mz_board board, int inputs, int outputs) {
  enum { BLOCK_TILES = 32 };
  mz_winograd w = {.down = side_of(board.height), .across = side_of(board.width), .inputs = inputs, .outputs = outputs};
  w.points = points_along(&w.down) * points_along(&w.across);
  w.tiles = tiles_along(&w.down) * tiles_along(&w.across);
  w.block = w.tiles < BLOCK_TILES ? BLOCK_TILES / w.tiles : 1;
  return w;
}

static int pairs(const mz_winograd *w) { return w->inputs * w->outputs; }

/* From one point to the next, of tiles and of kernels: a line of cache more than they need, for points are read and written one
 * after the other. Else, with powers of two for channels, all of them fall into one set. */
static ptrdiff_t point_stride(const mz_winograd *w, int channels) { return (ptrdiff_t)w->block * w->tiles * channels + MZ_LANES; }
static ptrdiff_t kernel_stride(const mz_winograd *w) { return pairs(w) + MZ_LANES; }

/* Computes `rows` of `all` boards, from `first` on. */
static mz_tiling tiling_of(const mz_winograd *w, int all, int first, int rows, int channels) {
  return (mz_tiling){.down = w->down,
                     .across = w->across,
                     .channels = channels,
                     .rows = rows,
                     .first = first,
                     .all = all,
                     .point_stride = point_stride(w, channels)};
}

static size_t board_size(const mz_winograd *w, int channels) {
  return (size_t)w->down.length * (size_t)w->across.length * (size_t)channels;
}

static size_t points_size(const mz_winograd *w, int channels) { return (size_t)w->points * (size_t)point_stride(w, channels); }

/* Tiles known at a point: all but narrow ones, along a side of which it is the first. */
typedef struct tile_range {
  int begin, count;
} tile_range;

static tile_range tiles_at(const mz_winograd *w, int rows, int point) {
  const mz_side *down = &w->down, *across = &w->across;
  const bool first_down = point < points_along(across), first_across = point % points_along(across) == 0;
  const int begin = first_down ? down->narrow * across->wide : 0;
  int end = tiles_along(down) * across->wide;
  if (!first_across) end += down->wide * across->narrow;
  if (!first_across && !first_down) end += down->narrow * across->narrow;
  return (tile_range){rows * begin, rows * (end - begin)};
}

static mz_board tile_of(const mz_winograd *w) { return (mz_board){w->down.tile, w->across.tile}; }

/* ---- kernels ---- */

void mz_winograd_pack(const mz_winograd *w, const float *weights, float *packed) {
  const mz_taps taps = {tile_of(w), pairs(w), pairs(w), kernel_stride(w)};
  mz_kernels_get()->taps_filter_transform(&taps, weights, packed);
}

void mz_winograd_pack_data(const mz_winograd *w, const float *weights, float *packed) {
  enum { SIDE = MZ_LANES, TAPS = MZ_KERNEL * MZ_KERNEL };
  float square[TAPS][SIDE][SIDE]; /* [tap][output][input] */
  const mz_taps turned = {tile_of(w), SIDE, -(ptrdiff_t)(SIDE * SIDE), kernel_stride(w)};
  for (int input = 0; input < w->inputs; input += SIDE) {
    for (int output = 0; output < w->outputs; output += SIDE) {
      for (int tap = 0; tap < TAPS; tap++) {
        const float *from = weights + (ptrdiff_t)tap * pairs(w) + (ptrdiff_t)input * w->outputs + output;
        mz_transpose(from, SIDE, SIDE, w->outputs, square[tap][0], SIDE);
      }
      for (int i = 0; i < SIDE; i++) {
        mz_kernels_get()->taps_filter_transform(&turned, square[TAPS - 1][i],
                                                packed + (ptrdiff_t)(output + i) * w->inputs + input);
      }
    }
  }
}

/* ---- forward ---- */

size_t mz_winograd_forward_scratch(const mz_winograd *w) { return points_size(w, w->inputs) + points_size(w, w->outputs); }

static void multiply(const mz_winograd *w, int rows, const float *input_points, const float *packed, float *product) {
  const ptrdiff_t from = point_stride(w, w->inputs), to = point_stride(w, w->outputs);
  mz_term term = {0};
  mz_product p = {.columns = w->outputs,
                  .depth = w->inputs,
                  .term_count = 1,
                  .terms = &term,
                  .a_row = w->inputs,
                  .a_step = 1,
                  .b_stride = w->outputs,
                  .c_stride = w->outputs};
  for (int point = 0; point < w->points; point++) {
    const tile_range tiles = tiles_at(w, rows, point);
    term = (mz_term){input_points + point * from + (ptrdiff_t)tiles.begin * w->inputs, packed + point * kernel_stride(w)};
    p.c = product + point * to + (ptrdiff_t)tiles.begin * w->outputs;
    p.rows = tiles.count;
    mz_kernels_get()->product(&p);
  }
}

void mz_winograd_forward(const mz_winograd *w, int rows, const float *x, const float *packed, const mz_tile_finish *finish,
                         float *y, float *scratch) {
  const mz_kernels *kernels = mz_kernels_get();
  float *input_points = scratch, *product = scratch + points_size(w, w->inputs);
  for (int at = 0; at < rows; at += w->block) {
    const int count = smaller(w->block, rows - at);
    const mz_tiling in = tiling_of(w, count, 0, count, w->inputs), out = tiling_of(w, count, 0, count, w->outputs);
    kernels->tiles_input_transform(&in, x + (size_t)at * board_size(w, w->inputs), input_points);
    multiply(w, count, input_points, packed, product);
    const size_t to = (size_t)at * board_size(w, w->outputs);
    const mz_tile_finish here = {finish->bias, finish->add != NULL ? finish->add + to : NULL, finish->relu};
    kernels->tiles_output_transform(&out, product, &here, y + to);
  }
}

/* ---- weight gradient ---- */

size_t mz_winograd_weights_scratch(const mz_winograd *w) {
  return (size_t)w->points * (size_t)kernel_stride(w) + points_size(w, w->inputs) + points_size(w, w->outputs);
}

/* sum [point][input][output], points kernel_stride apart, (+)= input_points · gradient_points */
static void accumulate(const mz_winograd *w, int rows, const float *input_points, const float *gradient_points, bool add,
                       float *sum) {
  mz_term term = {0};
  mz_product p = {.rows = w->inputs,
                  .columns = w->outputs,
                  .term_count = 1,
                  .terms = &term,
                  .a_row = 1,
                  .a_step = w->inputs,
                  .b_stride = w->outputs,
                  .c_stride = w->outputs,
                  .add = add};
  for (int point = 0; point < w->points; point++) {
    const tile_range tiles = tiles_at(w, rows, point);
    term = (mz_term){input_points + point * point_stride(w, w->inputs) + (ptrdiff_t)tiles.begin * w->inputs,
                     gradient_points + point * point_stride(w, w->outputs) + (ptrdiff_t)tiles.begin * w->outputs};
    p.depth = tiles.count;
    p.c = sum + point * kernel_stride(w);
    mz_kernels_get()->product(&p);
  }
}

void mz_winograd_weights(const mz_winograd *w, int rows, const mz_term *terms, int term_count, float *scratch, float *gradient) {
  const mz_kernels *kernels = mz_kernels_get();
  float *sum = scratch, *input_points = sum + (size_t)w->points * (size_t)kernel_stride(w),
        *gradient_points = input_points + points_size(w, w->inputs);
  const int total = term_count * rows;
  for (int done = 0, all; done < total; done += all) {
    all = smaller(w->block, total - done);
    for (int first = 0, count; first < all; first += count) {
      const mz_term *term = &terms[(done + first) / rows];
      const int at = (done + first) % rows;
      count = smaller(all - first, rows - at);
      const mz_tiling in = tiling_of(w, all, first, count, w->inputs), out = tiling_of(w, all, first, count, w->outputs);
      kernels->tiles_input_transform(&in, term->a + (size_t)at * board_size(w, w->inputs), input_points);
      kernels->tiles_output_gradient_transform(&out, term->b + (size_t)at * board_size(w, w->outputs), gradient_points);
    }
    accumulate(w, all, input_points, gradient_points, done > 0, sum);
  }
  const mz_taps taps = {tile_of(w), pairs(w), pairs(w), kernel_stride(w)};
  kernels->taps_filter_gradient_transform(&taps, sum, gradient);
}
