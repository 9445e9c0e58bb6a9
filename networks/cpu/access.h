/* Parameters of a tape's running pass, as floats. */
#pragma once
#include "networks/tape/tape_state.h"

/* `vector`: tape->weights or tape->transposed, both packed. param −1: NULL. */
static inline const float *mz_parameter(const mz_tape *tape, const void *vector, int param) {
  return param < 0 ? NULL : (const float *)vector + tape->params->items[param].packed;
}

static inline float *mz_gradient_of(mz_tape *tape, int param) {
  return (float *)tape->gradients + tape->params->items[param].offset;
}
