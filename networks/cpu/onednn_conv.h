/* 3 × 3 convolutions of boards, NHWC, padded with zeros, that multiply bfloat16 (isa.h) and add in floats, by oneDNN on the calling
 * thread. Weights are packed as its kernels read them, once for all threads and numbers of rows. A plan belongs to one thread and
 * allocates nothing when it runs. A board's result does not depend on the others it is run with. */
#pragma once
#include "base/status.h"
#include "networks/parameters/params.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct mz_conv_shape {
  mz_board board;
  int inputs, outputs; /* channels: multiples of 16 */
} mz_conv_shape;

typedef enum mz_conv_direction { MZ_CONV_FORWARD, MZ_CONV_DATA, MZ_CONV_WEIGHTS } mz_conv_direction;

typedef struct mz_conv_settings {
  mz_conv_shape shape;
  int rows; /* boards, at most */
  mz_conv_direction direction;
  bool bias, add, relu; /* forward: y = relu?(conv(x) + bias? + y?) */
  bool bf16_out;        /* forward: y in bfloat16; not with `add` */
} mz_conv_settings;

typedef struct mz_conv mz_conv;
mz_status mz_conv_create(mz_conv **out, const mz_conv_settings *settings);
void mz_conv_free(mz_conv *conv);

/* weights: packed for the direction. bias: [outputs] floats. x [rows][board][inputs] → y [rows][board][outputs]. */
void mz_conv_forward(mz_conv *conv, int rows, const uint16_t *x, const float *weights, const float *bias, void *y);
/* weights: packed for the data gradient. dx = Σ dy · w. */
void mz_conv_data(mz_conv *conv, int rows, const uint16_t *dy, const float *weights, float *dx);
/* The weight gradient of several uses, one after the other: begin, add …, end, which writes `gradient`, HWIO. */
void mz_conv_weights_begin(mz_conv *conv);
void mz_conv_weights_add(mz_conv *conv, int rows, const uint16_t *x, const uint16_t *dy);
void mz_conv_weights_end(mz_conv *conv, float *gradient);

/* HWIO → packed for a direction: at most as many floats. Plans of the shape must exist in this process, or it is made ready here.
 * Any thread, one at a time. */
mz_status mz_conv_pack(const mz_conv_shape *shape, mz_conv_direction direction, const float *weights, float *packed);
