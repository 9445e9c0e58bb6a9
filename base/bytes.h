/* Little-endian writing and bounds-checked reading of state, for checkpoints and segment files. A reader never reads past
 * its end: after the first short read every later read gives zeros and `ok` stays false, so one check at the end suffices
 * (but check a count before allocating from it). */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mz_writer {
  uint8_t *data;
  size_t size, capacity;
  bool failed; /* memory ran out; `data` is then incomplete */
} mz_writer;
void mz_write(mz_writer *writer, const void *data, size_t size);
void mz_write_zeros(mz_writer *writer, size_t size);
void mz_writer_reserve(mz_writer *writer, size_t size); /* room for `size` more, so that no copy is made on the way there */
void mz_write_u8(mz_writer *writer, uint8_t value);
void mz_write_u32(mz_writer *writer, uint32_t value);
void mz_write_u64(mz_writer *writer, uint64_t value);
void mz_writer_free(mz_writer *writer);

typedef struct mz_reader {
  const uint8_t *data;
  size_t size, at;
  bool ok;
} mz_reader;
mz_reader mz_reader_over(const void *data, size_t size);
void mz_read(mz_reader *reader, void *out, size_t size);
uint8_t mz_read_u8(mz_reader *reader);
uint32_t mz_read_u32(mz_reader *reader);
uint64_t mz_read_u64(mz_reader *reader);
size_t mz_reader_left(const mz_reader *reader);
