/* Rows of a tape in and out: by the backend where its memory is not the host's, here otherwise. */
#include "networks/tape/tape_state.h"
#include <string.h>

static const mz_device_memory *device_of(const mz_tape *tape) { return tape->lane.backend->memory; }

static bool is_double(const mz_tape *tape) { return tape->lane.backend->element_size == sizeof(double); }

static const mz_tape_value *value_of(mz_tape *tape, mz_value value, int first, int count) {
  const mz_tape_value *found = mz_tape_at(tape, value);
  MZ_ASSERT(!found->bf16 && first >= 0 && count >= 0 && first + count <= tape->rows);
  return found;
}

/* `n` floats from and to the start of a row. */
static inline void write_row(const mz_tape *tape, const mz_tape_value *to, int row, const float *from, size_t n) {
  const size_t at = (size_t)row * (size_t)to->stride;
  if (!is_double(tape)) {
    memcpy((float *)to->data + at, from, n * sizeof *from);
  } else {
    for (size_t i = 0; i < n; i++) ((double *)to->data)[at + i] = from[i];
  }
}

static inline void read_row(const mz_tape *tape, const mz_tape_value *from, int row, float *to, size_t n) {
  const size_t at = (size_t)row * (size_t)from->stride;
  if (!is_double(tape)) {
    memcpy(to, (const float *)from->data + at, n * sizeof *to);
  } else {
    for (size_t i = 0; i < n; i++) to[i] = (float)((const double *)from->data)[at + i];
  }
}

mz_status mz_tape_put(mz_tape *tape, mz_value value, int first, const float *rows, int count) {
  const mz_tape_value *to = value_of(tape, value, first, count);
  if (device_of(tape) != NULL) return device_of(tape)->put(tape, value, first, rows, count);
  const size_t columns = (size_t)to->columns;
  for (int r = 0; r < count; r++) write_row(tape, to, first + r, rows + (size_t)r * columns, columns);
  return MZ_OK;
}

mz_status mz_tape_put_bytes(mz_tape *tape, mz_value value, const uint8_t *rows, int count) {
  const mz_tape_value *to = value_of(tape, value, 0, count);
  if (device_of(tape) != NULL) return device_of(tape)->put_bytes(tape, value, rows, count);
  const size_t columns = (size_t)to->columns, stride = (size_t)to->stride;
  for (size_t r = 0; r < (size_t)count; r++) {
    const uint8_t *from = rows + r * columns;
    if (!is_double(tape)) {
      for (size_t i = 0; i < columns; i++) ((float *)to->data)[r * stride + i] = from[i];
    } else {
      for (size_t i = 0; i < columns; i++) ((double *)to->data)[r * stride + i] = from[i];
    }
  }
  return MZ_OK;
}

mz_status mz_tape_put_list(mz_tape *tape, int list, int first, const int32_t *entries, int count) {
  int32_t *to = mz_tape_index_at(tape, list);
  const size_t length = (size_t)tape->index_lengths[list];
  MZ_ASSERT(first >= 0 && count >= 0 && first + count <= tape->rows);
  if (device_of(tape) != NULL) return device_of(tape)->put_list(tape, list, first, entries, count);
  memcpy(to + (size_t)first * length, entries, (size_t)count * length * sizeof *to);
  return MZ_OK;
}

mz_status mz_tape_get(mz_tape *tape, mz_value value, int first, float *rows, int count) {
  const mz_tape_value *from = value_of(tape, value, first, count);
  if (device_of(tape) != NULL) return device_of(tape)->get(tape, value, first, rows, count);
  const size_t columns = (size_t)from->columns;
  for (int r = 0; r < count; r++) read_row(tape, from, first + r, rows + (size_t)r * columns, columns);
  return MZ_OK;
}

/* Whole strides move: a latent's padding is 0 on the tape and so in the pool. */
mz_status mz_tape_put_pooled(mz_tape *tape, mz_value value, const float *pool, const int32_t *from, int count) {
  const mz_tape_value *to = value_of(tape, value, 0, count);
  if (device_of(tape) != NULL) return device_of(tape)->put_pooled(tape, value, pool, from, count);
  const size_t stride = (size_t)to->stride;
  for (int r = 0; r < count; r++) write_row(tape, to, r, pool + (size_t)from[r] * stride, stride);
  return MZ_OK;
}

mz_status mz_tape_get_pooled(mz_tape *tape, mz_value value, float *pool, const int32_t *to, int count) {
  const mz_tape_value *from = value_of(tape, value, 0, count);
  if (device_of(tape) != NULL) return device_of(tape)->get_pooled(tape, value, pool, to, count);
  const size_t stride = (size_t)from->stride;
  for (int r = 0; r < count; r++) read_row(tape, from, r, pool + (size_t)to[r] * stride, stride);
  return MZ_OK;
}

mz_status mz_tape_sync(mz_tape *tape) { return mz_lane_sync(&tape->lane); }
