/* The named parameters of a model in one flat vector: what is trained, averaged, published, saved. Matrices are stored
 * [rows][stride] with the stride padded to 16 columns; the padding is zero, stays zero under every optimizer, and lets
 * kernels run without column tails. Offsets are multiples of 16 elements. Immutable once the model is built. */
#pragma once
#include "muzero/base/json.h"
#include "muzero/base/rng.h"
#include "muzero/base/status.h"

enum { MZ_PARAMS_MAX = 256, MZ_LANES = 16 };
static inline int mz_padded(int columns) { return (columns + MZ_LANES - 1) / MZ_LANES * MZ_LANES; }

typedef enum mz_init {
  MZ_INIT_ZERO,
  MZ_INIT_HE,
  MZ_INIT_GLOROT,
  MZ_INIT_SMALL
} mz_init; /* SMALL: 0.01 × Glorot, for output heads */

typedef struct mz_param {
  char name[64];     /* "dynamics.hidden.weight" */
  int rows, columns; /* a weight maps rows (inputs) to columns (outputs): y = x W + b; a bias has 1 row */
  int stride;        /* mz_padded(columns) */
  int64_t offset;    /* elements into the flat vector */
  bool decay;        /* weight decay applies (weights, not biases) */
  int fan_in;        /* for initialisation */
  mz_init init;
} mz_param;

typedef struct mz_params {
  int count;
  int64_t size; /* elements of the flat vector, padding included */
  mz_param items[MZ_PARAMS_MAX];
} mz_params;

/* Returns the new parameter's index. */
int mz_params_add(mz_params *params, const char *name, int rows, int columns, bool decay, mz_init init, int fan_in);
int mz_params_find(const mz_params *params, const char *name); /* -1 when absent */
/* Trainable values, padding excluded. */
int64_t mz_params_trainable(const mz_params *params);
/* Deterministic in (seed, parameter index). */
void mz_params_init(const mz_params *params, uint64_t seed, float *values);
