#include "replay/storage/pack.h"
#include "base/maths/digest.h"
#include "base/file/file.h"
#include <ctype.h>
#include <string.h>

static const char magic[8] = "MZPACK01";
enum { MAGIC_NAME_BYTES = 6 }; /* then two digits: the format */
static const char suffix[] = ".pack";
enum { HEAD_BYTES = 16, ROW_BYTES = 40, CHECKSUM_BYTES = 8, NAME_DIGITS = 16 };

static size_t table_bytes(size_t count) { return HEAD_BYTES + count * ROW_BYTES + CHECKSUM_BYTES; }

bool mz_pack_is_name(const char *name) {
  return strspn(name, "0123456789abcdef") == NAME_DIGITS && strcmp(name + NAME_DIGITS, suffix) == 0;
}

static void put_u64(uint8_t **at, uint64_t value) {
  for (int i = 0; i < 8; i++) *(*at)++ = (uint8_t)(value >> 8 * i);
}

/* At the file's beginning, where room was left for it. Returns the table's hash. */
static uint64_t fill_table(const mz_pack_row *rows, int count, uint8_t *file) {
  uint8_t *at = file + sizeof magic;
  memcpy(file, magic, sizeof magic);
  put_u64(&at, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    put_u64(&at, rows[i].hash);
    put_u64(&at, rows[i].offset);
    put_u64(&at, rows[i].compressed);
    put_u64(&at, rows[i].raw);
    put_u64(&at, rows[i].checksum);
  }
  const uint64_t hash = mz_hash(file, (size_t)(at - file), 0);
  put_u64(&at, hash);
  return hash;
}

/* Appends the segment's frame to the file and describes it. */
static mz_status add_segment(mz_packer *packer, const mz_segment *segment, size_t obs_bytes, mz_writer *file, mz_pack_row *row) {
  mz_frame *frame;
  MZ_TRY(mz_frame_pack(packer, segment, obs_bytes, &frame));
  *row = (mz_pack_row){.hash = frame->hash,
                       .offset = file->size,
                       .compressed = frame->size,
                       .raw = frame->raw,
                       .checksum = mz_hash(frame->data, frame->size, 0)};
  mz_write(file, frame->data, frame->size);
  free(frame);
  return MZ_OK;
}

static mz_status add_content(mz_packer *packer, const mz_content *content, const mz_spec *spec, mz_writer *file,
                             mz_pack_row *row) {
  const size_t obs_bytes = mz_spec_obs_bytes(spec);
  if (content->segment) return add_segment(packer, content->segment, obs_bytes, file, row);
  mz_segment *segment;
  MZ_TRY(mz_packed_unpack(content->packed, spec, &segment));
  mz_status status = add_segment(packer, segment, obs_bytes, file, row);
  mz_segment_release(segment);
  return status;
}

/* Nearly always no less than the file: what is compressed seldom grows. */
static size_t expected_bytes(const mz_content *contents, int count) {
  size_t bytes = table_bytes((size_t)count);
  for (int i = 0; i < count; i++) bytes += contents[i].packed ? contents[i].packed->size : contents[i].segment->bytes;
  return bytes;
}

/* One buffer for the table and the frames: two, each growing, took five times the frames at their largest. */
mz_status mz_pack_build(const mz_content *contents, int count, const mz_spec *spec, mz_writer *file, char name[64]) {
  mz_packer packer = {0};
  mz_pack_row *rows = NULL;
  mz_status status;
  *file = (mz_writer){0};
  MZ_TRY_CLEANUP(mz_alloc(&rows, (size_t)count, sizeof *rows));
  mz_writer_reserve(file, expected_bytes(contents, count));
  mz_write_zeros(file, table_bytes((size_t)count));
  for (int i = 0; i < count; i++) MZ_TRY_CLEANUP(add_content(&packer, &contents[i], spec, file, &rows[i]));
  if (file->failed) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "segments: out of memory while packing"));
  snprintf(name, 64, "%016llx%s", (unsigned long long)fill_table(rows, count, file->data), suffix);
cleanup:
  if (status != MZ_OK) mz_writer_free(file);
  mz_packer_deinit(&packer);
  free(rows);
  return status;
}

static void close_pack(int *fd, const char *path) { (void)mz_file_close(fd, path); } /* it was only read: no error that matters */

static mz_status open_pack(const char *path, int *fd, uint64_t *size) {
  MZ_TRY(mz_file_open(path, MZ_FILE_READ, fd));
  const mz_status status = mz_file_size(*fd, path, size);
  if (status != MZ_OK) close_pack(fd, path);
  return status;
}

static mz_status read_at(int fd, const char *path, uint64_t offset, void *out, size_t size) {
  size_t got = 0;
  MZ_TRY(mz_file_read_at(fd, path, offset, out, size, &got));
  if (got == size) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "%s: the pack is cut off at byte %llu", path, (unsigned long long)(offset + got));
}

/* The frames follow each other from the table to the end of the file: no overlap, no gap, nothing behind. */
static mz_status check_rows(const char *path, const mz_pack_row *rows, size_t count, uint64_t size) {
  uint64_t offset = table_bytes(count);
  for (size_t i = 0; i < count; i++) {
    if (rows[i].offset != offset || rows[i].compressed > size - offset)
      return mz_fail(MZ_E_CHECKPOINT, "%s: the pack's segment %zu is not where it has to be (cut off?)", path, i);
    offset += rows[i].compressed;
  }
  if (offset != size)
    return mz_fail(MZ_E_CHECKPOINT, "%s: the pack has %llu bytes behind its end", path, (unsigned long long)(size - offset));
  return MZ_OK;
}

static mz_status check_table(const char *path, const uint8_t *table, size_t bytes) {
  mz_reader end = mz_reader_over(table + bytes - CHECKSUM_BYTES, CHECKSUM_BYTES);
  uint64_t recorded = mz_read_u64(&end);
  if (mz_hash(table, bytes - CHECKSUM_BYTES, 0) != recorded)
    return mz_fail(MZ_E_CHECKPOINT, "%s: the pack's table is damaged", path);
  const char *slash = strrchr(path, '/');
  if (strtoull(slash ? slash + 1 : path, NULL, 16) != recorded)
    return mz_fail(MZ_E_CHECKPOINT, "%s: the pack's contents are those of %016llx%s", path, (unsigned long long)recorded, suffix);
  return MZ_OK;
}

static bool is_newer(const uint8_t head[8]) {
  return memcmp(head, magic, MAGIC_NAME_BYTES) == 0 && isdigit(head[6]) && isdigit(head[7]) &&
         memcmp(head + MAGIC_NAME_BYTES, magic + MAGIC_NAME_BYTES, sizeof magic - MAGIC_NAME_BYTES) > 0;
}

bool mz_pack_is_newer(const char *path) {
  uint8_t head[sizeof magic];
  uint64_t size;
  int fd;
  if (open_pack(path, &fd, &size) != MZ_OK) return false;
  const bool newer = size >= sizeof head && read_at(fd, path, 0, head, sizeof head) == MZ_OK && is_newer(head);
  close_pack(&fd, path);
  return newer;
}

static mz_status read_table(int fd, const char *path, uint64_t size, uint8_t **table, mz_pack_row **rows, int *count) {
  uint8_t head[HEAD_BYTES];
  if (size < table_bytes(0))
    return mz_fail(MZ_E_CHECKPOINT, "%s: %llu bytes are too few for a pack", path, (unsigned long long)size);
  MZ_TRY(read_at(fd, path, 0, head, sizeof head));
  if (is_newer(head))
    return mz_fail(MZ_E_CHECKPOINT, "%s: a pack of format %.2s by a newer muzero; this one reads up to format %.2s", path,
                   (const char *)head + MAGIC_NAME_BYTES, magic + MAGIC_NAME_BYTES);
  if (memcmp(head, magic, sizeof magic) != 0) return mz_fail(MZ_E_CHECKPOINT, "%s: not a pack of segments", path);
  mz_reader reader = mz_reader_over(head + sizeof magic, HEAD_BYTES - sizeof magic);
  uint64_t n = mz_read_u64(&reader);
  if (n > (size - table_bytes(0)) / ROW_BYTES || n > INT32_MAX)
    return mz_fail(MZ_E_CHECKPOINT, "%s: the pack says it holds %llu segments in %llu bytes", path, (unsigned long long)n,
                   (unsigned long long)size);
  size_t bytes = table_bytes((size_t)n);
  MZ_TRY(mz_alloc(table, bytes, 1));
  MZ_TRY(read_at(fd, path, 0, *table, bytes));
  MZ_TRY(check_table(path, *table, bytes));
  MZ_TRY(mz_alloc(rows, (size_t)n, sizeof **rows));
  reader = mz_reader_over(*table + HEAD_BYTES, (size_t)n * ROW_BYTES);
  for (uint64_t i = 0; i < n; i++) {
    mz_pack_row *row = &(*rows)[i];
    row->hash = mz_read_u64(&reader);
    row->offset = mz_read_u64(&reader);
    row->compressed = mz_read_u64(&reader);
    row->raw = mz_read_u64(&reader);
    row->checksum = mz_read_u64(&reader);
  }
  *count = (int)n;
  return check_rows(path, *rows, (size_t)n, size);
}

mz_status mz_pack_read_table(const char *path, mz_pack_row **rows, int *count) {
  int fd;
  uint64_t size;
  uint8_t *table = NULL;
  *rows = NULL;
  *count = 0;
  MZ_TRY(open_pack(path, &fd, &size));
  mz_status status = read_table(fd, path, size, &table, rows, count);
  free(table);
  close_pack(&fd, path);
  if (status != MZ_OK) {
    free(*rows);
    *rows = NULL;
    *count = 0;
  }
  return status;
}

static mz_status unpack(const char *path, const mz_pack_row *row, const mz_spec *spec, const mz_frame *frame, mz_segment **out) {
  if (mz_hash(frame->data, frame->size, 0) != row->checksum)
    return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack is damaged (checksum)", path, (unsigned long long)row->hash);
  mz_unpacker unpacker = {0};
  mz_status status = mz_frame_unpack(&unpacker, frame, spec, out);
  mz_unpacker_deinit(&unpacker);
  return status == MZ_E_CHECKPOINT ? mz_fail(status, "%s: %s", path, mz_message()) : status;
}

mz_status mz_pack_read_segment(const char *path, const mz_pack_row *row, const mz_spec *spec, mz_segment **out) {
  int fd;
  uint64_t size;
  mz_frame *frame = NULL;
  MZ_TRY(open_pack(path, &fd, &size));
  mz_status status;
  if (row->offset > size || row->compressed > size - row->offset)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CHECKPOINT, "%s: the pack is cut off at byte %llu", path, (unsigned long long)size));
  if (row->compressed > UINT32_MAX || row->raw > UINT32_MAX)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack has a size that cannot be", path,
                           (unsigned long long)row->hash));
  MZ_TRY_CLEANUP(mz_frame_alloc((uint32_t)row->compressed, &frame));
  frame->hash = row->hash;
  frame->raw = (uint32_t)row->raw;
  MZ_TRY_CLEANUP(read_at(fd, path, row->offset, frame->data, frame->size));
  MZ_TRY_CLEANUP(unpack(path, row, spec, frame, out));
cleanup:
  free(frame);
  close_pack(&fd, path);
  return status;
}

mz_status mz_pack_find_segment(const char *path, uint64_t hash, const mz_spec *spec, mz_segment **out) {
  mz_pack_row *rows;
  int count, i = 0;
  MZ_TRY(mz_pack_read_table(path, &rows, &count));
  while (i < count && rows[i].hash != hash) i++;
  const mz_status status =
      i < count ? mz_pack_read_segment(path, &rows[i], spec, out)
                : mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx is not in the pack", path, (unsigned long long)hash);
  free(rows);
  return status;
}

mz_status mz_pack_verify(const char *path, const mz_spec *spec) {
  mz_pack_row *rows;
  int count;
  MZ_TRY(mz_pack_read_table(path, &rows, &count));
  mz_status status = MZ_OK;
  for (int i = 0; i < count && status == MZ_OK; i++) {
    mz_segment *segment;
    status = mz_pack_read_segment(path, &rows[i], spec, &segment);
    if (status == MZ_OK) mz_segment_release(segment);
  }
  free(rows);
  return status;
}
