/* Segments on disk: append-only packs of zstd-compressed segments with their hashes, shared by all checkpoints of a run and
 * named by their content. Written at a checkpoint with the segments not yet on disk; never changed afterwards. */
#pragma once
#include "replay/segments/content.h"

typedef struct mz_store mz_store;

/* Reads the tables of the folder's packs; where there is no folder there are none. A damaged pack is reported only when asked
 * for: by verify, or when a segment is wanted that no other pack holds. Files with other names are left alone. */
mz_status mz_store_open(mz_store **out, const char *dir, const mz_spec *spec);
void mz_store_close(mz_store *store);
bool mz_store_has(const mz_store *store, uint64_t hash);
/* Writes those of `contents` not yet stored (none: nothing is written) into one new pack, into several where they are many: so that
 * packing takes no more memory than mz_store_write_bytes. Each atomic and durable. May run on
 * another thread than has/load, one at a time. pack_name: "" or the last file's name. */
mz_status mz_store_write(mz_store *store, const mz_content *contents, int count, char pack_name[64]);
/* Bytes that writing takes at the most, of so many raw bytes with segments of such a length. */
double mz_store_write_bytes(double raw, double longest);
double mz_store_table_bytes(double segments); /* of the packs' tables, once there are so many */
/* Checks the pack's and the segment's checksums; one that is damaged is read from another pack that holds it, if any does: MZ_E_CHECKPOINT
 * naming the pack. */
mz_status mz_store_load(mz_store *store, uint64_t hash, mz_segment **out);
/* Looks whether the packs' files are still what they were: segments of one that is gone, that was changed and is damaged, or from
 * which a segment could not be read are no longer had, with a warning, so that the next write stores them again. MZ_E_MEMORY. */
mz_status mz_store_refresh(mz_store *store);
/* While pinned, packs that were there when the store was opened are not removed. */
void mz_store_pin(mz_store *store, bool pinned);
/* Removes packs that hold none of the given hashes; damaged ones only when all of these are in others; those of a newer program
 * never. A file that cannot be removed stays, with a warning. */
void mz_store_collect(mz_store *store, const uint64_t *live, size_t count);
/* Every pack, every segment; MZ_E_CHECKPOINT at the first damage, naming it. Packs that another process has removed since the store was
 * opened hold nothing to verify. */
mz_status mz_store_verify(mz_store *store);
