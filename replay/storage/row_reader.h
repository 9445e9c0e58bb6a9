/* Contents of drawn rows: of a raw segment they are there already; of a packed one just the moves that a row needs are read. A
 * reader serves one thread at a time; many may work on one buffer between its inserts. */
#pragma once
#include "replay/buffer.h"
#include "replay/segments/packed.h"

typedef struct mz_row_reader { /* zeroed: ready for use; memory is had when something packed is first read */
  mz_packed *record;           /* of a spilled segment, as read from the file */
  size_t record_capacity;      /* bytes */
  mz_segment part;             /* what was read last of a packed segment */
  void *memory;                /* of its arrays */
  size_t memory_capacity;      /* bytes */
} mz_row_reader;
void mz_row_reader_deinit(mz_row_reader *reader);

/* Sets *out to what was drawn, with contents: `segment` holds at least the moves that the span names from `position` on, as far
 * as there are any, and is otherwise what was drawn from or a part of it. It lives until the next read. MZ_E_MEMORY; MZ_E_IO
 * naming the file when what is spilled cannot be read or is damaged. */
mz_status mz_row_read(mz_row_reader *reader, const mz_buffer *buffer, const mz_span *span, const mz_draw *draw, mz_draw *out);
