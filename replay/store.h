/* Segments on disk: append-only packs of zstd-compressed segments with their hashes, shared by all checkpoints of a run and
 * named by their content. Written at a checkpoint with the segments not yet on disk; never changed afterwards. */
#pragma once
#include "replay/frame.h"

typedef struct mz_store mz_store;

/* Opens the folder (made when missing) and reads the packs' tables. A damaged pack is reported only when asked for: by
 * verify, or when a segment is wanted that no other pack holds. Files with other names are left alone. */
mz_status mz_store_open(mz_store **out, const char *dir, const mz_spec *spec);
void mz_store_close(mz_store *store);
bool mz_store_has(const mz_store *store, uint64_t hash);
/* Writes one new pack with those of `contents` not yet stored (none: nothing is written); frames go into it as they are. Atomic and durable. May run on
 * another thread than has/load, one at a time. pack_name: "" or the file's name. */
mz_status mz_store_write(mz_store *store, const mz_content *contents, int count, char pack_name[64]);
/* Checks the pack's and the segment's checksums: MZ_E_CHECKPOINT naming the pack. */
mz_status mz_store_load(mz_store *store, uint64_t hash, mz_segment **out);
/* Removes packs that hold none of the given hashes; damaged ones only when all of these are in others. */
mz_status mz_store_collect(mz_store *store, const uint64_t *live, int count);
/* Every pack, every segment; MZ_E_CHECKPOINT at the first damage, naming it. */
mz_status mz_store_verify(mz_store *store);
