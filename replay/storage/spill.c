#include "replay/storage/spill.h"
#include "base/maths/digest.h"
#include "base/file/file.h"
#include <limits.h>
#include <string.h>

/* A record: the frame; the bytes it unpacks to (4); XXH64 of both (8), seeded with the segment's hash, so that the sound record
 * of another segment is none. */
enum { TAIL_BYTES = 4 + 8 };
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

static mz_status compose(mz_writer *record, const mz_frame *frame) {
  record->size = 0;
  mz_write(record, frame->data, frame->size);
  mz_write_u32(record, frame->raw);
  if (!record->failed) mz_write_u64(record, mz_hash(record->data, record->size, frame->hash));
  if (!record->failed) return MZ_OK;
  mz_writer_free(record);
  return mz_fail(MZ_E_MEMORY, "replay: out of memory while spilling");
}

mz_status mz_spill_append(mz_spill *spill, const mz_frame *frame, uint64_t *offset) {
  MZ_TRY(compose(&spill->record, frame));
  MZ_TRY(mz_file_size(spill->fd, spill->name, offset));
  return mz_file_append(spill->fd, spill->name, spill->record.data, spill->record.size);
}

/* The tail is read behind the frame's data, where there is room for it. */
static mz_status read_record(const mz_spill *spill, uint64_t offset, uint32_t size, mz_frame *frame) {
  MZ_TRY(mz_file_read_at(spill->fd, spill->name, offset, frame->data, (size_t)size + TAIL_BYTES, NULL));
  mz_reader tail = mz_reader_over(frame->data + size, TAIL_BYTES);
  frame->size = size;
  frame->raw = mz_read_u32(&tail);
  if (mz_read_u64(&tail) == mz_hash(frame->data, size + sizeof frame->raw, frame->hash)) return MZ_OK;
  return mz_fail(MZ_E_IO, "%s: segment %016llx at byte %llu is damaged (checksum)", spill->name, (unsigned long long)frame->hash,
                 (unsigned long long)offset);
}

mz_status mz_spill_read(const mz_spill *spill, uint64_t offset, uint32_t size, uint64_t hash, mz_frame **out) {
  mz_frame *frame;
  MZ_TRY(mz_frame_alloc(size + TAIL_BYTES, &frame));
  frame->hash = hash;
  mz_status status = read_record(spill, offset, size, frame);
  if (status == MZ_OK)
    *out = frame;
  else
    mz_frame_release(frame);
  return status;
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
