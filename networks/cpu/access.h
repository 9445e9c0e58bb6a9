/* Parameters of a tape's running pass, as floats; copies of positions. */
#pragma once
#include "networks/tape/tape_state.h"
#include <string.h>

/* `vector`: tape->weights or tape->transposed, both packed. param −1: NULL. */
static inline const float *mz_parameter(const mz_tape *tape, const void *vector, int param) {
  return param < 0 ? NULL : (const float *)vector + tape->layout[param];
}

static inline float *mz_gradient_of(mz_tape *tape, int param) {
  return (float *)tape->gradients + tape->params->items[param].offset;
}

/* Copies the channels of a position, a multiple of 16: few, so that a call for them all would cost more. */
static inline void mz_copy_channels(const float *from, float *to, size_t channels) {
  for (size_t c = 0; c < channels; c += MZ_LANES) memcpy(to + c, from + c, MZ_LANES * sizeof *to);
}
