/* Contents of what was drawn: raw segments are there already, of the others a holder has unpacked copies, one a segment however
 * many rows were drawn from it. A holder serves one thread at a time; many may work on one buffer between its inserts. */
#pragma once
#include "replay/buffer.h"
#include "replay/segments/frame.h"

typedef struct mz_holder { /* zeroed: ready for use; memory is had when something packed is first drawn */
  mz_unpacker unpacker;
  struct mz_wanted *wanted; /* [capacity] draws without contents, by serial */
  mz_segment **copies;      /* [capacity] */
  int copy_count, capacity;
} mz_holder;
void mz_holder_deinit(mz_holder *holder);

/* Sets `segment` of those draws where it is NULL. The copies stay until the next hold or drop; at the most they take the raw
 * bytes of `n` segments. MZ_E_MEMORY; MZ_E_IO naming the file when what is spilled cannot be read or is damaged. */
mz_status mz_buffer_hold(const mz_buffer *buffer, mz_holder *holder, int n, mz_draw *draws);
void mz_holder_drop(mz_holder *holder);
