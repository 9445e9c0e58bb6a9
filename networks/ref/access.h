/* Access of the reference backend's ops to a tape. */
#pragma once
#include "networks/tape/tape_state.h"

typedef struct mz_ref_param {
  const double *values;
  double *gradient; /* NULL in forward */
  int rows, columns, stride;
} mz_ref_param;

static inline mz_ref_param mz_ref_param_at(const mz_tape *tape, int index) {
  const mz_param *item = &tape->params->items[index];
  return (mz_ref_param){(const double *)tape->weights + item->offset,
                        tape->gradients == NULL ? NULL : (double *)tape->gradients + item->offset, item->rows, item->columns,
                        item->stride};
}

static inline void mz_ref_clear(const mz_tape *tape, int index) {
  const mz_ref_param param = mz_ref_param_at(tape, index);
  for (int i = 0; i < param.rows * param.stride; i++) param.gradient[i] = 0.0;
}

static inline double *mz_ref_data(const mz_tape *tape, mz_value value, int r) {
  const mz_tape_value *v = &tape->values[value];
  return (double *)v->data + (ptrdiff_t)r * v->stride;
}

/* NULL where none is wanted. */
static inline double *mz_ref_gradient(const mz_tape *tape, mz_value value, int r) {
  const mz_tape_value *v = &tape->values[value];
  return v->gradient == NULL ? NULL : (double *)v->gradient + (ptrdiff_t)r * v->stride;
}
