/* Measure, then carve: describe every buffer, allocate one block, get all pointers at once. Resizing is one clear act:
 * carve anew, free the old block. Each buffer starts on its own 64-byte line and is zeroed. */
#pragma once
#include "base/status.h"
#include <stddef.h>

enum { MZ_CARVE_MAX = 96 };

typedef struct mz_carver {
  int count;
  size_t bytes;
  void *slots[MZ_CARVE_MAX]; /* addresses of the pointers to fill in */
  size_t offsets[MZ_CARVE_MAX];
} mz_carver;

/* `slot` is the address of a pointer (float **, int32_t ** …). */
void mz_carve(mz_carver *carver, void *slot, size_t count, size_t element_size);
/* Allocates carver->bytes and sets every slot; *block is what to free(). */
mz_status mz_carve_commit(mz_carver *carver, void **block);
/* Sets every slot to its place in a block of carver->bytes that the caller has, aligned to 64 bytes. */
void mz_carve_within(const mz_carver *carver, void *block);
