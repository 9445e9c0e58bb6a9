#include "replay/storage/spill.h"
#include "base/maths/digest.h"
#include "base/file/file.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>

/* A record: XXH3 of what follows, seeded with the segment's hash, so that the sound record of another segment is none; then a
 * packed segment from its hash on, as it lies in memory. The checksum therefore takes the place of the references and the size. */
_Static_assert(offsetof(mz_packed, hash) == sizeof(uint64_t), "a checksum has room before the hash");

enum { PUNCH_BYTES = 1 << 20 }; /* blocks are given back in stretches of at least this size */

struct mz_spill {
  int fd;
  uint64_t punched;    /* everything before was given back */
  mz_writer record;    /* scratch */
  char name[PATH_MAX]; /* that it had, for messages */
};

mz_status mz_spill_open(mz_spill **out, const char *folder) {
  mz_spill *spill;
  MZ_TRY(mz_alloc(&spill, 1, sizeof *spill));
  mz_status status = mz_path_join(spill->name, sizeof spill->name, folder, "replay-XXXXXX.spill");
  spill->fd = -1;
  if (status == MZ_OK) status = mz_file_open_unlinked(spill->name, ".spill", &spill->fd);
  if (status == MZ_OK)
    *out = spill;
  else
    mz_spill_close(spill);
  return status;
}

void mz_spill_close(mz_spill *spill) {
  if (!spill) return;
  (void)mz_file_close(&spill->fd, spill->name); /* what was written is not wanted any more: no error that matters */
  mz_writer_free(&spill->record);
  free(spill);
}

static uint64_t checksum(const mz_packed *packed, uint32_t size, uint64_t hash) {
  return mz_checksum(&packed->hash, mz_packed_bytes(size) - offsetof(mz_packed, hash), hash);
}

static mz_status compose(mz_writer *record, const mz_packed *packed) {
  record->size = 0;
  mz_write_u64(record, checksum(packed, packed->size, packed->hash));
  mz_write(record, &packed->hash, mz_packed_bytes(packed->size) - offsetof(mz_packed, hash));
  if (!record->failed) return MZ_OK;
  mz_writer_free(record);
  return mz_fail(MZ_E_MEMORY, "replay: out of memory while spilling");
}

mz_status mz_spill_append(mz_spill *spill, const mz_packed *packed, uint64_t *offset) {
  MZ_TRY(compose(&spill->record, packed));
  MZ_TRY(mz_file_size(spill->fd, spill->name, offset));
  return mz_file_append(spill->fd, spill->name, spill->record.data, spill->record.size);
}

mz_status mz_spill_read(const mz_spill *spill, uint64_t offset, uint32_t size, uint64_t hash, mz_packed *out) {
  uint64_t recorded;
  const mz_status status = mz_file_read_at(spill->fd, spill->name, offset, out, mz_packed_bytes(size), NULL);
  memcpy(&recorded, out, sizeof recorded);
  atomic_init(&out->references, 1);
  out->size = size;
  MZ_TRY(status);
  if (recorded == checksum(out, size, hash)) return MZ_OK;
  return mz_fail(MZ_E_IO, "%s: segment %016llx at byte %llu is damaged (checksum)", spill->name, (unsigned long long)hash,
                 (unsigned long long)offset);
}

/* The kernel keeps a file's length and gives back the blocks. Where the file system has no holes the space comes back only
 * with the end of the file. */
void mz_spill_forget(mz_spill *spill, uint64_t offset) {
  if (offset < spill->punched + PUNCH_BYTES) return;
  (void)mz_file_punch(spill->fd, spill->name, spill->punched, offset);
  spill->punched = offset;
}

void mz_spill_cut(mz_spill *spill, uint64_t offset) {
  uint64_t missing;
  if (mz_file_truncate(spill->fd, spill->name, offset, &missing) != MZ_OK)
    return; /* it stays, unread, until the front reaches it */
  if (spill->punched > offset) spill->punched = offset;
}
