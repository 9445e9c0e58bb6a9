#include "networks/cpu/winograd.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/transpose.h"

/* Of 3 or 4 outputs what takes fewer points; 3, which rounds less, where both take as many. Tiles of 5 and 6 take up to a fifth fewer on
 * some boards; measured, they round twice as much, and updates are no faster: their points and kernels outgrow the cache. */
static int tile_for(int length) { return (length + 2) / 3 * 5 <= (length + 3) / 4 * 6 ? 3 : 4; }

static int tiles_along(int length, int tile) { return (length + tile - 1) / tile; }

mz_winograd mz_winograd_of(mz_board board, int inputs, int outputs) {
  enum { BLOCK_TILES = 32 };
  const mz_board tile = {tile_for(board.height), tile_for(board.width)};
  mz_winograd w = {.board = board, .tile = tile, .inputs = inputs, .outputs = outputs};
  w.points = (tile.height + MZ_KERNEL - 1) * (tile.width + MZ_KERNEL - 1);
  w.tiles = tiles_along(board.height, tile.height) * tiles_along(board.width, tile.width);
  w.block = w.tiles < BLOCK_TILES ? BLOCK_TILES / w.tiles : 1;
  return w;
}

/* Points lie a line of cache further apart than they need, for they are written one after the other: else, with powers of two for
 * channels, all of them fall into one set. */
static ptrdiff_t point_stride(const mz_winograd *w, int channels) { return (ptrdiff_t)w->block * w->tiles * channels + MZ_LANES; }

static mz_tiling tiling_of(const mz_winograd *w, int rows, int channels) {
  return (mz_tiling){
      .board = w->board, .channels = channels, .rows = rows, .tile = w->tile, .point_stride = point_stride(w, channels)};
}

static size_t board_size(const mz_winograd *w, int channels) {
  return (size_t)w->board.height * (size_t)w->board.width * (size_t)channels;
}

static size_t points_size(const mz_winograd *w, int channels) { return (size_t)w->points * (size_t)point_stride(w, channels); }

static int pairs(const mz_winograd *w) { return w->inputs * w->outputs; }

/* ---- kernels ---- */

void mz_winograd_pack(const mz_winograd *w, const float *weights, float *packed) {
  const mz_taps taps = {w->tile, pairs(w), pairs(w), pairs(w)};
  mz_kernels_get()->taps_evaluate(&taps, weights, packed);
}

void mz_winograd_pack_data(const mz_winograd *w, const float *weights, float *packed) {
  enum { SIDE = MZ_LANES, SQUARE = SIDE * SIDE };
  float square[MZ_CONV_PACKED * SQUARE]; /* [point][input][output] */
  const ptrdiff_t tap = pairs(w);
  const mz_taps turned = {w->tile, SIDE, -tap, SQUARE};
  for (int input = 0; input < w->inputs; input += SIDE) {
    for (int output = 0; output < w->outputs; output += SIDE) {
      const float *last = weights + (MZ_KERNEL * MZ_KERNEL - 1) * tap + (ptrdiff_t)input * w->outputs + output;
      for (int i = 0; i < SIDE; i++)
        mz_kernels_get()->taps_evaluate(&turned, last + (ptrdiff_t)i * w->outputs, square + i * SIDE);
      for (int p = 0; p < w->points; p++) {
        mz_transpose(square + p * SQUARE, SIDE, SIDE, SIDE, packed + p * tap + (ptrdiff_t)output * w->inputs + input, w->inputs);
      }
    }
  }
}

/* ---- forward ---- */

size_t mz_winograd_forward_scratch(const mz_winograd *w) { return points_size(w, w->inputs) + points_size(w, w->outputs); }

static void multiply(const mz_winograd *w, int rows, const float *seen, const float *packed, float *product) {
  const ptrdiff_t from = point_stride(w, w->inputs), to = point_stride(w, w->outputs);
  mz_term term = {0};
  mz_product p = {.rows = rows * w->tiles,
                  .columns = w->outputs,
                  .depth = w->inputs,
                  .term_count = 1,
                  .terms = &term,
                  .a_row = w->inputs,
                  .a_step = 1,
                  .b_stride = w->outputs,
                  .c_stride = w->outputs};
  for (int point = 0; point < w->points; point++) {
    term = (mz_term){seen + point * from, packed + (ptrdiff_t)point * pairs(w)};
    p.c = product + point * to;
    mz_kernels_get()->product(&p);
  }
}

void mz_winograd_forward(const mz_winograd *w, int rows, const float *x, const float *packed, const mz_tile_finish *finish,
                         float *y, float *scratch) {
  const mz_kernels *kernels = mz_kernels_get();
  float *seen = scratch, *product = scratch + points_size(w, w->inputs);
  for (int at = 0; at < rows; at += w->block) {
    const int count = rows - at < w->block ? rows - at : w->block;
    const mz_tiling in = tiling_of(w, count, w->inputs), out = tiling_of(w, count, w->outputs);
    kernels->tiles_see(&in, x + (size_t)at * board_size(w, w->inputs), seen);
    multiply(w, count, seen, packed, product);
    const size_t to = (size_t)at * board_size(w, w->outputs);
    const mz_tile_finish here = {finish->bias, finish->add != NULL ? finish->add + to : NULL, finish->relu};
    kernels->tiles_collect(&out, product, &here, y + to);
  }
}

/* ---- weight gradient ---- */

size_t mz_winograd_weights_scratch(const mz_winograd *w) {
  return (size_t)w->points * (size_t)pairs(w) + points_size(w, w->inputs) + points_size(w, w->outputs);
}

/* sum [point][input][output] (+)= seen · spread */
static void accumulate(const mz_winograd *w, int rows, const float *seen, const float *spread, bool add, float *sum) {
  mz_term term = {0};
  mz_product p = {.rows = w->inputs,
                  .columns = w->outputs,
                  .depth = rows * w->tiles,
                  .term_count = 1,
                  .terms = &term,
                  .a_row = 1,
                  .a_step = w->inputs,
                  .b_stride = w->outputs,
                  .c_stride = w->outputs,
                  .add = add};
  for (int point = 0; point < w->points; point++) {
    term = (mz_term){seen + point * point_stride(w, w->inputs), spread + point * point_stride(w, w->outputs)};
    p.c = sum + (ptrdiff_t)point * pairs(w);
    mz_kernels_get()->product(&p);
  }
}

void mz_winograd_weights(const mz_winograd *w, int rows, const mz_term *terms, int term_count, float *scratch, float *gradient) {
  const mz_kernels *kernels = mz_kernels_get();
  float *sum = scratch, *seen = sum + (size_t)w->points * (size_t)pairs(w), *spread = seen + points_size(w, w->inputs);
  for (int t = 0; t < term_count; t++) {
    for (int at = 0; at < rows; at += w->block) {
      const int count = rows - at < w->block ? rows - at : w->block;
      const mz_tiling in = tiling_of(w, count, w->inputs), out = tiling_of(w, count, w->outputs);
      kernels->tiles_see(&in, terms[t].a + (size_t)at * board_size(w, w->inputs), seen);
      kernels->tiles_spread(&out, terms[t].b + (size_t)at * board_size(w, w->outputs), spread);
      accumulate(w, count, seen, spread, t > 0 || at > 0, sum);
    }
  }
  const mz_taps taps = {w->tile, pairs(w), pairs(w), pairs(w)};
  kernels->taps_gather(&taps, sum, gradient);
}
