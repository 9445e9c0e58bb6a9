/* The inner loops of the cpu backend, one table per instruction-set level. kernels/ is compiled once per level. Matrices are rows
 * of `stride` floats, stride a multiple of 16, `columns` of them in use and the rest 0, which every kernel preserves.
 * Levels agree bit for bit, except that the product and the tiles' transforms of the plain level round a multiply-add twice. */
#pragma once
#include "networks/isa.h"
#include "networks/parameters/params.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C[m][n] = act( start[m][n] + Σ over terms Σ over k of A(m, k) · B[k][n] ),  A(m, k) = a[m·a_row + k·a_step],
 * start = C itself (`add`), or bias[n] + table[index[m]][n], where NULL stands for 0. Every element of C is one accumulator
 * that runs over terms and k in ascending order, whatever the shape: a row never depends on its neighbours.
 * Rows of B and C hold `columns` entries padded to 16; where columns is not a multiple of 16, B may be packed tight: it is read
 * no further than `columns`, and C's padding becomes 0. */
typedef struct mz_term {
  const float *a, *b;
} mz_term;

typedef struct mz_product {
  int rows, columns, depth;
  int term_count;
  const mz_term *terms;
  ptrdiff_t a_row, a_step, b_stride;
  float *c;
  ptrdiff_t c_stride;
  bool add, relu;
  const float *bias, *table;
  const int32_t *index;
  ptrdiff_t table_stride;
} mz_product;

/* Rows of logits, as EXPECTATION, SOFTMAX and SOFTMAX_XENT read them. */
typedef struct mz_logits {
  const float *x;
  int rows, columns;
  ptrdiff_t stride;
} mz_logits;

/* A group of rows that batch norm normalises together: n positions of `channels`, a multiple of 16, one behind the other. */
typedef struct mz_norm_group {
  int positions, channels;
  const float *x;
  void *y; /* floats, or bfloat16 (`bf16`) */
  const float *gamma, *beta;
  float epsilon;
  bool relu, bf16;
  float *mean, *variance, *inverse; /* [channels] of x; 1/√(variance + ε): written by forward, read by backward */
  float *dy;                        /* where `relu`, backward leaves 0 behind where what it cuts off is not positive */
  float *dx;                        /* NULL: not wanted */
  bool overwrite;
  float *sum_dy, *sum_dy_x; /* [channels] Σ dy and Σ dy · (x − mean) · inverse: written by backward */
} mz_norm_group;

/* Boards of positions × channels, a multiple of 16, to rows of twice as many entries: means, then maxima. */
typedef struct mz_pooling {
  int rows, positions, channels;
  const void *x; /* floats, or bfloat16 (`bf16`) */
  bool bf16;
  float *y;
  const float *dy;
  float *dx;
  bool overwrite;
} mz_pooling;

/* Positions normalised one by one over their channels, a multiple of 16, one behind the other. */
typedef struct mz_layer_norm {
  int positions, channels;
  const float *x;
  float *y;
  const float *gamma, *beta;
  float epsilon;
  float *mean, *inverse; /* [positions] of x; 1/√(variance + epsilon): written by forward, read by backward */
  const float *dy;
  float *dx;
  bool overwrite;
  float *dgamma, *dbeta; /* [channels]: what layer_norm_gradients adds to */
} mz_layer_norm;

/* One graph, of channels a multiple of 16: attention along its edges (tape.h, mz_tape_edge_attention). */
typedef struct mz_edge_attention {
  int nodes, edges, channels, heads;
  const int32_t *targets;   /* [edges], −1: absent */
  const float *q, *k, *v;   /* [nodes], [edges], [edges] × channels */
  float *y;                 /* [nodes][channels] */
  float *weights;           /* [edges · heads, padded to 16]: the softmax, written by forward, read by backward */
  const float *dy;          /* as y */
  float *dq, *dk, *dv;      /* NULL: not wanted */
  bool overwrite[3];        /* of dq, dk, dv */
  float *by_node, *by_edge; /* scratch: [2][nodes · heads], [edges · heads] */
} mz_edge_attention;

/* One graph: means, then maxima, of the positions whose type is not negative. */
typedef struct mz_masked_pooling {
  int positions, channels;
  const int32_t *types;
  const float *x;
  float *y;
  const float *dy;
  float *dx;
  bool overwrite;
} mz_masked_pooling;

/* A side of a board cut into tiles for minimal filtering: `wide` ones of `tile` outputs, 3 to 6, the last of which may stand out,
 * then `narrow` ones of one output less (`tile` is even). What a tile sees, one input more at either end, is known by a
 * polynomial at as many points; a narrow tile's are those of a wide one without the first. */
typedef struct mz_side {
  int length; /* of the board */
  int tile, wide, narrow;
} mz_side;

/* Whole boards in tiles, at their points: [point down][point across][tile][channels], points point_stride apart. Tiles lie in the
 * order (narrow, wide) of (down, across), (wide, wide), (wide, narrow), (narrow, narrow), each for all boards, so that those
 * which are known at a point are neighbours. */
typedef struct mz_tiling {
  mz_side down, across;
  int channels; /* a multiple of 16 */
  int rows;     /* boards to be moved, */
  int first;    /* from this one on */
  int all;      /* of those at these points */
  ptrdiff_t point_stride;
} mz_tiling;

/* The last step of a convolution: y = relu?(sum + bias? + add?). */
typedef struct mz_tile_finish {
  const float *bias; /* [channels] or NULL */
  const float *add;  /* as y, which it may be, or NULL */
  bool relu;
} mz_tile_finish;

/* `count` 3 × 3 kernels, a multiple of 16, side by side: [tap][count] and [point][count]. A negative tap_stride, with the last tap
 * first, turns them by half a turn. */
typedef struct mz_taps {
  mz_board tile; /* the widest, in outputs */
  int count;
  ptrdiff_t tap_stride, point_stride;
} mz_taps;

typedef struct mz_kernels {
  void (*product)(const mz_product *product);
  /* sums[n] = Σ over terms Σ over rows of b[row][n], n < columns, a multiple of 16. */
  void (*column_sums)(const mz_term *terms, int term_count, int rows, int columns, ptrdiff_t stride, float *sums);

  /* Element by element over `count` floats, a multiple of 16. */
  void (*add)(const float *a, const float *b, float *y, size_t count);
  void (*relu)(const float *x, float *y, size_t count);
  void (*to_bf16)(const float *x, uint16_t *y, size_t count); /* to bfloat16, to the nearest, ties to even; any count */
  void (*relu_mask)(const float *y, float *dy, size_t count); /* dy = 0 where y is not positive */
  void (*relu_backward)(const float *y, const float *dy, float *dx, size_t count, bool overwrite);
  void (*scale)(const float *dy, float factor, float *dx, size_t count, bool overwrite); /* dx (+)= factor · dy */
  void (*gelu)(const float *x, float *y, size_t count);
  void (*gelu_backward)(const float *x, const float *dy, float *dx, size_t count, bool overwrite);

  void (*minmax)(const float *x, float *y, int rows, int columns, ptrdiff_t stride);
  void (*minmax_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns, ptrdiff_t stride,
                          bool overwrite);

  void (*rms)(const float *x, float *y, int rows, int columns, ptrdiff_t stride);
  void (*rms_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns, ptrdiff_t stride,
                       bool overwrite);

  /* Per row r: mse[r·16] = mean of (x − target)²; its gradient times factor · row_weights[r·16]. */
  void (*mse)(const float *x, const float *target, float *mse, int rows, int columns, ptrdiff_t stride);
  void (*mse_backward)(const float *x, const float *target, const float *row_weights, float factor, float *dx, int rows,
                       int columns, ptrdiff_t stride, bool overwrite);

  void (*pool)(const mz_pooling *pooling);
  void (*pool_backward)(const mz_pooling *pooling);
  void (*broadcast)(const float *x, float *y, int rows, int positions, int channels);
  void (*broadcast_backward)(const float *dy, float *dx, int rows, int positions, int channels, bool overwrite);

  void (*norm)(const mz_norm_group *group);
  void (*norm_backward)(const mz_norm_group *group);
  /* y: floats, or bfloat16 (`bf16`). */
  void (*affine)(const float *x, void *y, bool bf16, int positions, int channels, const float *scale, const float *shift,
                 bool relu);

  void (*layer_norm)(const mz_layer_norm *norm);
  void (*layer_norm_backward)(const mz_layer_norm *norm);
  void (*layer_norm_gradients)(const mz_layer_norm *norm); /* adds positions in order */

  void (*edge_attention)(const mz_edge_attention *attention);
  void (*edge_attention_backward)(const mz_edge_attention *attention);
  void (*masked_pool)(const mz_masked_pooling *pooling);
  void (*masked_pool_backward)(const mz_masked_pooling *pooling);

  void (*softmax)(const mz_logits *logits, float *y);
  /* result[row·result_stride]: the mean of bins min, min + step, …, through h⁻¹ if `transform`. */
  void (*expectation)(const mz_logits *logits, float min, float step, bool transform, float *result, ptrdiff_t result_stride);
  /* targets: as the logits. Per row r: entropy[r·16] = −Σ target · log softmax; gradient (NULL: not wanted), of the logits' shape,
   * = factor · row_weights[r·16] · (softmax · Σ target − target). */
  void (*softmax_xent)(const mz_logits *logits, const float *targets, const float *row_weights, float factor, float *entropy,
                       float *gradient);

  /* Boards → points; gradients of boards → points; points → boards. */
  void (*tiles_input_transform)(const mz_tiling *tiling, const float *x, float *points);
  void (*tiles_output_gradient_transform)(const mz_tiling *tiling, const float *dy, float *points);
  void (*tiles_output_transform)(const mz_tiling *tiling, const float *points, const mz_tile_finish *finish, float *y);
  /* Kernels → points; gradients at points → of kernels. */
  void (*taps_filter_transform)(const mz_taps *taps, const float *kernels, float *points);
  void (*taps_filter_gradient_transform)(const mz_taps *taps, const float *points, float *kernel);
} mz_kernels;

extern const mz_kernels mz_kernels_plain, mz_kernels_avx2, mz_kernels_avx512, mz_kernels_neon;

/* Those of mz_isa_level(), or what was selected last. */
const mz_kernels *mz_kernels_get(void);
/* For tests that compare levels; not while another thread runs a tape. false: this processor has no such level. */
bool mz_kernels_select(mz_isa level);
