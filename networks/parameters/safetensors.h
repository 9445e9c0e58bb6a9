/* The safetensors format (huggingface/safetensors README): u64 little-endian header length, a JSON object of tensors, their
 * bytes. Everything is validated before it is used: header length, JSON, no duplicate names, known dtypes, shapes that
 * match sizes, offsets in order without holes or overlaps covering the buffer, at most MZ_TENSORS_MAX tensors. */
#pragma once
#include "base/json/json.h"
#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

enum { MZ_TENSORS_MAX = 4096, MZ_TENSOR_DIMS = 8 };

typedef struct mz_tensor_view { /* one tensor in a parsed file; `data` points into the buffer and may be unaligned */
  const char *name;
  char dtype[8]; /* "F32", "I64" … */
  int dims;
  int64_t shape[MZ_TENSOR_DIMS]; /* row-major; 0 dims: a scalar */
  const uint8_t *data;
  size_t bytes;
} mz_tensor_view;

typedef struct mz_safetensors {
  cJSON *header; /* owned; `__metadata__`, where present, is an object of strings */
  int count;
  mz_tensor_view *tensors; /* in file order */
} mz_safetensors;

/* `data` must outlive the result. Errors are `code` and name `name`; memory: MZ_E_MEMORY. On failure *out is empty. */
mz_status mz_safetensors_parse(const uint8_t *data, size_t size, const char *name, mz_status code, mz_safetensors *out);
void mz_safetensors_deinit(mz_safetensors *file);
const mz_tensor_view *mz_safetensors_find(const mz_safetensors *file, const char *tensor); /* NULL when absent */

/* A writer of any set of dense tensors; views' data is read, `metadata` (string → string object) may be NULL. Names must be
 * distinct and sizes right (asserted). Tensors are stored in the order given, without gaps. *out: free(). */
mz_status mz_safetensors_write(const mz_tensor_view *tensors, int count, const cJSON *metadata, uint8_t **out, size_t *size);
