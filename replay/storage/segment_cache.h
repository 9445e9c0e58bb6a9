/* Contents of what was drawn: raw segments are there already, of the others a cache has unpacked copies, one a segment however
 * many rows were drawn from it. A cache serves one thread at a time; many may work on one buffer between its inserts. */
#pragma once
#include "replay/buffer.h"
#include "replay/segments/frame.h"

typedef struct mz_segment_cache { /* zeroed: ready for use; memory is had when something packed is first drawn */
  mz_unpacker unpacker;
  struct mz_wanted *wanted; /* [capacity] draws without contents, by serial */
  mz_segment **copies;      /* [capacity] */
  int copy_count, capacity;
} mz_segment_cache;
void mz_segment_cache_deinit(mz_segment_cache *cache);

/* Sets `segment` of those draws where it is NULL. The copies stay until the next hold or drop; at the most they take the raw
 * bytes of `n` segments. MZ_E_MEMORY; MZ_E_IO naming the file when what is spilled cannot be read or is damaged. */
mz_status mz_buffer_load(const mz_buffer *buffer, mz_segment_cache *cache, int n, mz_draw *draws);
void mz_segment_cache_clear(mz_segment_cache *cache);
