#include "base/arena.h"
#include <stdint.h>
#include <string.h>

enum { LINE = 64 };

void mz_carve(mz_carver *carver, void *slot, size_t count, size_t element_size) {
  MZ_ASSERT(carver->count < MZ_CARVE_MAX);
  carver->slots[carver->count] = slot;
  carver->offsets[carver->count] = carver->bytes;
  carver->count++;
  size_t size = 0, end = 0;
  if (__builtin_mul_overflow(count, element_size, &size) || size > SIZE_MAX - (LINE - 1) ||
      __builtin_add_overflow(carver->bytes, (size + LINE - 1) / LINE * LINE, &end)) {
    end = SIZE_MAX; /* more than there can be; stays so, and commit reports it */
  }
  carver->bytes = end;
}

mz_status mz_carve_commit(mz_carver *carver, void **block) {
  MZ_TRY(mz_alloc(block, carver->bytes, 1));
  mz_carve_within(carver, *block);
  return MZ_OK;
}

void mz_carve_within(const mz_carver *carver, void *block) {
  for (int i = 0; i < carver->count; i++) {
    void *start = (char *)block + carver->offsets[i];
    memcpy(carver->slots[i], &start, sizeof start); /* the slot may be a pointer of any object type */
  }
}
