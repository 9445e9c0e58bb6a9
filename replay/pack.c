#include "replay/pack.h"
#include "muzero/base/digest.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static const char magic[8] = "MZPACK01";
static const char suffix[] = ".pack";
enum { HEAD_BYTES = 16, ROW_BYTES = 40, CHECKSUM_BYTES = 8, NAME_DIGITS = 16, LEVEL = 1 };

static size_t table_bytes(size_t count) { return HEAD_BYTES + count * ROW_BYTES + CHECKSUM_BYTES; }

bool mz_pack_is_name(const char *name) {
  return strspn(name, "0123456789abcdef") == NAME_DIGITS && strcmp(name + NAME_DIGITS, suffix) == 0;
}

static void write_table(const mz_pack_row *rows, int count, mz_writer *writer) {
  mz_write(writer, magic, sizeof magic);
  mz_write_u64(writer, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    mz_write_u64(writer, rows[i].hash);
    mz_write_u64(writer, rows[i].offset);
    mz_write_u64(writer, rows[i].compressed);
    mz_write_u64(writer, rows[i].raw);
    mz_write_u64(writer, rows[i].checksum);
  }
  if (!writer->failed) mz_write_u64(writer, mz_hash(writer->data, writer->size, 0));
}

/* Appends the segment's frame to `frames` and describes it, with its offset among the frames. */
static mz_status compress_segment(ZSTD_CCtx *zstd, const mz_segment *segment, size_t obs_bytes, mz_writer *raw, mz_writer *frame,
                                  mz_writer *frames, mz_pack_row *row) {
  raw->size = 0;
  mz_segment_write(segment, obs_bytes, raw);
  size_t bound = ZSTD_compressBound(raw->size);
  if (frame->capacity < bound) {
    mz_writer_free(frame);
    MZ_TRY(mz_alloc(&frame->data, bound, 1));
    frame->capacity = bound;
  }
  if (raw->failed) return mz_fail(MZ_E_MEMORY, "segments: out of memory while packing");
  size_t size = ZSTD_compress2(zstd, frame->data, frame->capacity, raw->data, raw->size);
  if (ZSTD_isError(size)) return mz_fail(MZ_E_MEMORY, "segments: packing: %s", ZSTD_getErrorName(size));
  *row = (mz_pack_row){.hash = segment->hash,
                       .offset = frames->size,
                       .compressed = size,
                       .raw = raw->size,
                       .checksum = mz_hash(frame->data, size, 0)};
  mz_write(frames, frame->data, size);
  return MZ_OK;
}

mz_status mz_pack_build(mz_segment *const *segments, int count, size_t obs_bytes, mz_writer *file, char name[64]) {
  mz_writer raw = {0}, frame = {0}, frames = {0};
  mz_pack_row *rows = NULL;
  mz_status status;
  *file = (mz_writer){0};
  ZSTD_CCtx *zstd = ZSTD_createCCtx();
  if (!zstd || ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, LEVEL)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))
    MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "segments: out of memory while packing"));
  MZ_TRY_CLEANUP(mz_alloc(&rows, (size_t)count, sizeof *rows));
  for (int i = 0; i < count; i++) MZ_TRY_CLEANUP(compress_segment(zstd, segments[i], obs_bytes, &raw, &frame, &frames, &rows[i]));
  for (int i = 0; i < count; i++) rows[i].offset += table_bytes((size_t)count);
  write_table(rows, count, file);
  size_t table_end = file->size;
  mz_write(file, frames.data, frames.size);
  if (frames.failed || file->failed) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "segments: out of memory while packing"));
  mz_reader end = mz_reader_over(file->data + table_end - CHECKSUM_BYTES, CHECKSUM_BYTES);
  snprintf(name, 64, "%016llx%s", (unsigned long long)mz_read_u64(&end), suffix);
cleanup:
  if (status != MZ_OK) mz_writer_free(file);
  mz_writer_free(&raw);
  mz_writer_free(&frame);
  mz_writer_free(&frames);
  free(rows);
  ZSTD_freeCCtx(zstd);
  return status;
}

static mz_status open_pack(const char *path, int *fd, uint64_t *size) {
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  if (*fd < 0) return mz_fail(MZ_E_IO, "%s: %s", path, strerror(errno));
  struct stat info;
  if (fstat(*fd, &info) == 0 && S_ISREG(info.st_mode)) {
    *size = (uint64_t)info.st_size;
    return MZ_OK;
  }
  close(*fd);
  return mz_fail(MZ_E_IO, "%s: not a regular file", path);
}

static mz_status read_at(int fd, const char *path, uint64_t offset, void *out, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = pread(fd, (uint8_t *)out + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return mz_fail(MZ_E_IO, "%s: %s", path, strerror(errno));
    if (got == 0)
      return mz_fail(MZ_E_CHECKPOINT, "%s: the pack is cut off at byte %llu", path, (unsigned long long)(offset + done));
    done += (size_t)got;
  }
  return MZ_OK;
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

static mz_status read_table(int fd, const char *path, uint64_t size, uint8_t **table, mz_pack_row **rows, int *count) {
  uint8_t head[HEAD_BYTES];
  if (size < table_bytes(0))
    return mz_fail(MZ_E_CHECKPOINT, "%s: %llu bytes are too few for a pack", path, (unsigned long long)size);
  MZ_TRY(read_at(fd, path, 0, head, sizeof head));
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
  close(fd);
  if (status != MZ_OK) {
    free(*rows);
    *rows = NULL;
    *count = 0;
  }
  return status;
}

static mz_status unpack(const char *path, const mz_pack_row *row, const mz_spec *spec, const uint8_t *frame, uint8_t **raw,
                        mz_segment **out) {
  unsigned long long hash = (unsigned long long)row->hash;
  if (mz_hash(frame, row->compressed, 0) != row->checksum)
    return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack is damaged (checksum)", path, hash);
  if (ZSTD_getFrameContentSize(frame, row->compressed) != row->raw || row->raw > UINT32_MAX)
    return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack has another size than the table says", path, hash);
  MZ_TRY(mz_alloc(raw, row->raw, 1));
  size_t size = ZSTD_decompress(*raw, row->raw, frame, row->compressed);
  if (size != row->raw) return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack does not unpack", path, hash);
  mz_reader reader = mz_reader_over(*raw, row->raw);
  mz_segment *segment;
  mz_status status = mz_segment_read(&reader, spec, &segment);
  if (status == MZ_E_CHECKPOINT) {
    char why[256];
    snprintf(why, sizeof why, "%s", mz_message());
    return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack: %s", path, hash, why);
  }
  MZ_TRY(status);
  if (segment->hash == row->hash && mz_reader_left(&reader) == 0) {
    *out = segment;
    return MZ_OK;
  }
  mz_segment_release(segment);
  return mz_fail(MZ_E_CHECKPOINT, "%s: segment %016llx of the pack is another one", path, hash);
}

mz_status mz_pack_read_segment(const char *path, const mz_pack_row *row, const mz_spec *spec, mz_segment **out) {
  int fd;
  uint64_t size;
  uint8_t *frame = NULL, *raw = NULL;
  MZ_TRY(open_pack(path, &fd, &size));
  mz_status status;
  if (row->offset > size || row->compressed > size - row->offset)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CHECKPOINT, "%s: the pack is cut off at byte %llu", path, (unsigned long long)size));
  MZ_TRY_CLEANUP(mz_alloc(&frame, row->compressed, 1));
  MZ_TRY_CLEANUP(read_at(fd, path, row->offset, frame, row->compressed));
  MZ_TRY_CLEANUP(unpack(path, row, spec, frame, &raw, out));
cleanup:
  free(frame);
  free(raw);
  close(fd);
  return status;
}
