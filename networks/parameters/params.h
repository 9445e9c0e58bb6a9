/* The named parameters of a model in one flat vector: what is trained, averaged, published, saved. Matrices are stored
 * [rows][stride] with the stride padded to 16 columns; the padding is zero, stays zero under every optimizer, and lets
 * kernels run without column tails. Offsets are multiples of 16 elements. Immutable once the model is built. */
#pragma once
#include "base/json/json.h"
#include "base/maths/rng.h"
#include "base/status.h"

enum { MZ_PARAMS_MAX = 576, MZ_LANES = 16 };
static inline int mz_padded(int columns) { return (columns + MZ_LANES - 1) / MZ_LANES * MZ_LANES; }

typedef enum mz_init {
  MZ_INIT_ZERO,
  MZ_INIT_HE,
  MZ_INIT_GLOROT,
  MZ_INIT_SMALL,
  MZ_INIT_ONE,
  MZ_INIT_FIRST,
  MZ_INIT_LAST,
} mz_init; /* SMALL: 0.01 × Glorot, for output heads; FIRST, LAST: logits of a categorical that has 99 % there */

/* A 3 × 3 convolution over boards of height × width, padded with zeros: its weight has 9 · inputs rows (kernel row, kernel column,
 * input: HWIO), outputs columns. */
enum { MZ_KERNEL = 3 };
typedef struct mz_board {
  int height, width;
} mz_board;

typedef struct mz_param {
  char name[64];     /* "dynamics.hidden.weight" */
  int rows, columns; /* a weight maps rows (inputs) to columns (outputs): y = x W + b; a bias has 1 row */
  int stride;        /* mz_padded(columns) */
  int64_t offset;    /* elements into the flat vector */
  bool decay;        /* weight decay applies (weights, not biases) */
  int fan_in;        /* for initialisation */
  mz_init init;
  mz_board conv;   /* of a convolution's weight; otherwise zeros */
  float statistic; /* share of a batch's statistic that each update takes over (batch norm's mean and variance); 0: trained */
} mz_param;

typedef struct mz_params {
  int count;
  int64_t size;    /* elements of the flat vector, padding included */
  int64_t trained; /* those before the first statistic; statistics come last */
  mz_param items[MZ_PARAMS_MAX];
} mz_params;

/* Returns the new parameter's index. */
int mz_params_add(mz_params *params, const char *name, int rows, int columns, bool decay, mz_init init, int fan_in);
/* A convolution's weight: inputs and outputs are multiples of 16. */
int mz_params_add_conv(mz_params *params, const char *name, mz_board board, int inputs, int outputs, mz_init init);
/* A row of what batches show rather than what is trained. No trained parameter may follow. */
int mz_params_add_statistic(mz_params *params, const char *name, int columns, mz_init init, float share);
int mz_params_find(const mz_params *params, const char *name); /* -1 when absent */
bool mz_params_convolve(const mz_params *params);              /* any of them is a convolution's weight */
/* Values, padding excluded: all, and those that are trained. */
int64_t mz_params_dense(const mz_params *params);
int64_t mz_params_trainable(const mz_params *params);
/* Deterministic in (seed, parameter index). */
void mz_params_init(const mz_params *params, uint64_t seed, float *values);
