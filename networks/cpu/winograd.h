/* 3 × 3 convolutions of boards in floats, NHWC, padded with zeros, by minimal filtering (Winograd 1980; Lavin & Gray 2016,
 * arXiv:1509.09308): tiles of 3 to 6 outputs a side, as they fit the board, are multiplied at two points more a side. A board of
 * 6 × 7 takes 88 products for each pair of channels where the definition takes 304. Every sum runs in one order, whatever the
 * number of boards. Any thread; `scratch` is the caller's. */
#pragma once
#include "networks/cpu/kernels.h"
#include <stddef.h>

typedef struct mz_winograd {
  mz_side down, across; /* of the board */
  int inputs, outputs;  /* channels: multiples of 16 */
  int points;           /* of the widest tile */
  int tiles;            /* of a board */
  int block;            /* boards that are in the making at once */
} mz_winograd;

mz_winograd mz_winograd_of(mz_board board, int inputs, int outputs);

/* HWIO → [point][input][output], at most MZ_CONV_PACKED · inputs · outputs elements. */
void mz_winograd_pack(const mz_winograd *w, const float *weights, float *packed);
/* HWIO → what makes mz_winograd_forward, inputs and outputs exchanged, the data gradient of `w`. */
void mz_winograd_pack_data(const mz_winograd *w, const float *weights, float *packed);

size_t mz_winograd_forward_scratch(const mz_winograd *w); /* floats */
/* x [rows][board][inputs] → y [rows][board][outputs]. */
void mz_winograd_forward(const mz_winograd *w, int rows, const float *x, const float *packed, const mz_tile_finish *finish,
                         float *y, float *scratch);

/* gradient, HWIO, = Σ over terms of what x = term.a and dy = term.b, boards of one use each, contribute. */
size_t mz_winograd_weights_scratch(const mz_winograd *w); /* floats */
void mz_winograd_weights(const mz_winograd *w, int rows, const mz_term *terms, int term_count, float *scratch, float *gradient);
