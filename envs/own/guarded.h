/* Memory with marked bytes on both sides, which tell of writes that go too far. */
#pragma once
#include "base/status.h"
#include <stdint.h>
#include <string.h>

typedef struct mz_guarded {
  uint8_t *block, *bytes; /* bytes: the middle, at a multiple of 64 */
  size_t size, guard;
} mz_guarded;

enum { MZ_GUARD_BYTE = 0xA5, MZ_GUARD_BYTES_MIN = 256 };

/* guard: bytes of each side are at least so many. */
static inline mz_status mz_guarded_init(mz_guarded *g, size_t size, size_t guard) {
  const size_t side = ((guard < MZ_GUARD_BYTES_MIN ? MZ_GUARD_BYTES_MIN : guard) + 63) / 64 * 64;
  *g = (mz_guarded){.size = size, .guard = side};
  MZ_TRY(mz_alloc(&g->block, size + 2 * side, 1));
  memset(g->block, MZ_GUARD_BYTE, size + 2 * side);
  g->bytes = g->block + side;
  return MZ_OK;
}
static inline void mz_guarded_deinit(mz_guarded *g) { free(g->block); }

/* Returns whether marked bytes beyond the first `used` of the middle have changed, or bytes before them, and marks them anew. */
static inline bool mz_guarded_broken(mz_guarded *g, size_t used) {
  bool broken = false;
  const size_t from[2] = {0, g->guard + used}, to[2] = {g->guard, 2 * g->guard + g->size};
  for (int side = 0; side < 2; side++) {
    for (size_t i = from[side]; i < to[side] && !broken; i++) broken = g->block[i] != MZ_GUARD_BYTE;
    memset(g->block + from[side], MZ_GUARD_BYTE, to[side] - from[side]);
  }
  return broken;
}
