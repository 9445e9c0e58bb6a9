/* The state in a checkpoint: one table of sections, each with its name, writer, reader and largest size (sections.c). A new part
 * of the state is a row there; it is in the digest by being one. */
#pragma once
#include "muzero/storage/checkpoint.h"
#include "muzero/training/state.h"

/* The sections that hold the state: those of mz_digest_parts, with `average` behind `optimizer`, `loop_count` and `batch_size` behind
 * `counters`. */
enum { MZ_STATE_SECTIONS = MZ_DIGEST_PARTS + 3 };
const char *mz_state_section_name(int section);
/* Writes them; one that a state lacks (`average` without an average, `loop_count` and `batch_size` where they are
 * never moved) stays empty. sections[i].data: mz_writer_free. MZ_E_MEMORY. */
mz_status mz_state_write(const mz_state *state, mz_writer sections[MZ_STATE_SECTIONS]);
/* Restores from a checkpoint into an initialised state of the same shape; segments come from `load`. The state keeps its batch size:
 * whoever continues a run has set that which mz_batch_size_stored says. MZ_E_CHECKPOINT naming the
 * section, or what `load` returns. */
mz_status mz_state_read(mz_state *state, const mz_checkpoint *checkpoint,
                        mz_status (*load)(void *context, uint64_t hash, mz_segment **out), void *context);
mz_status mz_state_digest(const mz_state *state, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest);

/* Section 'optimizer': steps, parameters (8 bytes each), whether there are second moments and an average (a byte each), then first
 * moments and second moments as the flat vector has them. Section 'average': the average of the weights likewise; in version 1 of
 * section 'optimizer' it stood at the end of that. */
enum { MZ_OPTIMIZER_HEAD_BYTES = 18, MZ_OPTIMIZER_VERSION_OF_AVERAGE_SECTION = 2 };
