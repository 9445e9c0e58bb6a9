/* Files of safetensors in memory. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "networks/parameters/weights.h"
#include <string.h>

/* A file as bytes of exactly its size, so that the address sanitizer sees every read past the end. */
typedef struct bytes {
  uint8_t *data;
  size_t size;
} bytes;

static inline bytes bytes_of(uint64_t header_size, const char *header, size_t header_bytes, size_t buffer_size) {
  bytes file = {.size = 8 + header_bytes + buffer_size};
  file.data = malloc(file.size);
  assert_non_null(file.data);
  memcpy(file.data, &header_size, 8);
  memcpy(file.data + 8, header, header_bytes);
  for (size_t i = 0; i < buffer_size; i++) file.data[8 + header_bytes + i] = (uint8_t)(i + 1);
  return file;
}

/* Headers are written here with ' for ". */
static inline bytes file_of(const char *header, size_t buffer_size) {
  const bytes file = bytes_of(strlen(header), header, strlen(header), buffer_size);
  for (size_t i = 0; header[i]; i++)
    if (header[i] == '\'') file.data[8 + i] = '"';
  return file;
}
