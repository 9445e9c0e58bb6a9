/* The file tier of the buffer: an append-only temporary file of packed segments, each with a checksum that is verified when it is read.
 * The file is unlinked as soon as it is open, so that nothing stays behind however the program ends. Records leave in the
 * order in which they came, as the ring of segments has it: the front gives its blocks back to the disk, so the file takes
 * there about what is still wanted; the end is cut off when records go back to memory.
 * One writer; any number of readers between its calls. Internal to this room. */
#pragma once
#include "replay/segments/packed.h"

typedef struct mz_spill mz_spill;
/* Makes the file in that folder. MZ_E_IO. */
mz_status mz_spill_open(mz_spill **out, const char *folder);
void mz_spill_close(mz_spill *spill); /* NULL is fine */

/* Where a record begins, to read it by. All or nothing: MZ_E_IO (the disk is full), MZ_E_MEMORY. */
mz_status mz_spill_append(mz_spill *spill, const mz_packed *packed, uint64_t *offset);
/* Reads the record of the segment with this hash, of which `size` bytes are data, into `out`, which has memory for them. MZ_E_IO
 * naming the file where it is not as it was written. */
mz_status mz_spill_read(const mz_spill *spill, uint64_t offset, uint32_t size, uint64_t hash, mz_packed *out);

/* Nothing before `offset` is read again; what of it can be given back is. */
void mz_spill_forget(mz_spill *spill, uint64_t offset);
/* Nothing from `offset` on is read again. */
void mz_spill_cut(mz_spill *spill, uint64_t offset);
