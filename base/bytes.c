#include "base/bytes.h"
#include <string.h>

static bool move(mz_writer *writer, size_t capacity) {
  uint8_t *data = NULL;
  if (mz_alloc(&data, capacity, 1) != MZ_OK) return false;
  if (writer->size > 0) memcpy(data, writer->data, writer->size);
  free(writer->data);
  writer->data = data;
  writer->capacity = capacity;
  return true;
}

/* Where the next `size` bytes go; NULL: there is no room, or nothing to write. */
static uint8_t *room(mz_writer *writer, size_t size) {
  size_t needed = 0;
  if (size == 0 || writer->failed) return NULL;
  writer->failed = __builtin_add_overflow(writer->size, size, &needed);
  if (!writer->failed && needed > writer->capacity) {
    const size_t grown = writer->capacity < 256 ? 256 : writer->capacity + writer->capacity / 2;
    writer->failed = !move(writer, grown < needed ? needed : grown);
  }
  if (writer->failed) return NULL;
  writer->size = needed;
  return writer->data + needed - size;
}

void mz_writer_reserve(mz_writer *writer, size_t size) {
  size_t needed = 0;
  if (writer->failed) return;
  writer->failed = __builtin_add_overflow(writer->size, size, &needed) || (needed > writer->capacity && !move(writer, needed));
}

void mz_write(mz_writer *writer, const void *data, size_t size) {
  uint8_t *out = room(writer, size);
  if (out) memcpy(out, data, size);
}

void mz_write_zeros(mz_writer *writer, size_t size) {
  uint8_t *out = room(writer, size);
  if (out) memset(out, 0, size);
}

static void write_little_endian(mz_writer *writer, uint64_t value, size_t size) {
  uint8_t bytes[8];
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> 8 * i);
  mz_write(writer, bytes, size);
}

void mz_write_u8(mz_writer *writer, uint8_t value) { mz_write(writer, &value, 1); }

void mz_write_u32(mz_writer *writer, uint32_t value) { write_little_endian(writer, value, 4); }

void mz_write_u64(mz_writer *writer, uint64_t value) { write_little_endian(writer, value, 8); }

void mz_writer_free(mz_writer *writer) {
  free(writer->data);
  *writer = (mz_writer){0};
}

mz_reader mz_reader_over(const void *data, size_t size) { return (mz_reader){.data = data, .size = size, .ok = true}; }

void mz_read(mz_reader *reader, void *out, size_t size) {
  if (size == 0) return;
  if (!reader->ok || size > reader->size - reader->at) {
    reader->ok = false;
    memset(out, 0, size);
    return;
  }
  memcpy(out, reader->data + reader->at, size);
  reader->at += size;
}

static uint64_t read_little_endian(mz_reader *reader, size_t size) {
  uint8_t bytes[8];
  mz_read(reader, bytes, size);
  uint64_t value = 0;
  for (size_t i = 0; i < size; i++) value |= (uint64_t)bytes[i] << 8 * i;
  return value;
}

uint8_t mz_read_u8(mz_reader *reader) { return (uint8_t)read_little_endian(reader, 1); }

uint32_t mz_read_u32(mz_reader *reader) { return (uint32_t)read_little_endian(reader, 4); }

uint64_t mz_read_u64(mz_reader *reader) { return read_little_endian(reader, 8); }

size_t mz_reader_left(const mz_reader *reader) { return reader->ok ? reader->size - reader->at : 0; }
