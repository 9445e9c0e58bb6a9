#include "muzero/storage/checkpoint.h"
#include "base/maths/digest.h"
#include "base/file/file.h"
#include <limits.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* File: magic[8], u32 version, u32 count, count × {name[16], from format 2 on u32 version of the section and u32 0, then u64
 * each: bytes, compressed, offset, XXH64 of the contents, XXH64 of the compressed bytes}, u64 XXH64 of all before, then the zstd
 * frames. */
static const char MAGIC[8] = {'M', 'Z', 'C', 'H', 'K', 'P', 'T', '\n'};
enum { HEAD_BYTES = 16, COMPRESSION = 3, PIECE_BYTES = 1 << 17, TEXT_BYTES_MAX = 1 << 20 };
enum { WINDOW_LOG_MAX = 22 }; /* of a frame; ours have 21, and a stranger's take no more memory than that to unpack */
static const uint64_t FILE_BYTES_MAX = 1ull << 36;

/* A section's version is raised when its contents change; its reader then takes the two before, too. */
static const struct known {
  const char *name;
  uint32_t version;
} known[] = {{"config", 1}, {"weights", 1},    {"target", 1},    {"optimizer", 2}, {"average", 1},
             {"replay", 1}, {"games", 1},      {"counters", 1},  {"segments", 1},  {"session", 1},
             {"guard", 1},  {"loop_count", 1}, {"batch_size", 1}};

static uint32_t version_of(const char *name) {
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].name, name) == 0) return known[i].version;
  return 1;
}

static size_t entry_bytes(uint32_t format) { return 16 + 5 * 8 + (format >= 2 ? 8 : 0); }

static mz_status damaged(const mz_checkpoint *c, const char *what) { return mz_fail(MZ_E_CHECKPOINT, "%s: %s", c->path, what); }

static mz_status damaged_section(const mz_checkpoint *c, const mz_section *s, const char *what) {
  return mz_fail(MZ_E_CHECKPOINT, "%s: section '%.15s': %s", c->path, s->name, what);
}

static mz_status read_table(mz_checkpoint *c) {
  if (c->size < HEAD_BYTES || memcmp(c->file, MAGIC, sizeof MAGIC) != 0)
    return damaged(c, "section 'header': not a muzero checkpoint");
  mz_reader reader = mz_reader_over(c->file, c->size);
  reader.at = sizeof MAGIC;
  c->version = mz_read_u32(&reader);
  if (c->version > MZ_CHECKPOINT_VERSION)
    return mz_fail(MZ_E_CHECKPOINT,
                   "%s: section 'header': written in format %u by a newer muzero; this one reads up to format %d", c->path,
                   c->version, MZ_CHECKPOINT_VERSION);
  uint32_t count = mz_read_u32(&reader);
  if (c->version < 1 || count < 1 || count > MZ_SECTIONS_MAX)
    return damaged(c, "section 'header': impossible version or section count");
  size_t table_end = HEAD_BYTES + (size_t)count * entry_bytes(c->version);
  if (c->size < table_end + 8) return damaged(c, "section 'table': truncated");
  uint64_t hash = mz_hash(c->file, table_end, 0), at = table_end + 8;
  for (uint32_t i = 0; i < count; i++) {
    mz_section *s = &c->sections[i];
    mz_read(&reader, s->name, sizeof s->name);
    s->version = c->version >= 2 ? mz_read_u32(&reader) : 1;
    if (c->version >= 2) mz_read_u32(&reader);
    s->bytes = mz_read_u64(&reader);
    s->compressed = mz_read_u64(&reader);
    s->offset = mz_read_u64(&reader);
    s->xxh64 = mz_read_u64(&reader);
    s->stored_xxh64 = mz_read_u64(&reader);
  }
  if (mz_read_u64(&reader) != hash) return damaged(c, "section 'table': checksum does not match");
  for (uint32_t i = 0; i < count; i++) {
    const mz_section *s = &c->sections[i];
    if (s->name[sizeof s->name - 1] != 0 || s->offset != at || s->compressed > c->size - at)
      return damaged_section(c, s, "truncated");
    at += s->compressed;
  }
  if (at != c->size) return damaged(c, "section 'table': bytes follow the last section");
  c->count = (int)count;
  return MZ_OK;
}

mz_status mz_checkpoint_open(mz_checkpoint *out, const char *path) {
  memset(out, 0, sizeof *out);
  if (snprintf(out->path, sizeof out->path, "%s", path) >= (int)sizeof out->path)
    return mz_fail(MZ_E_IO, "%s: path too long", path);
  if (mz_file_is_endless(path)) return mz_fail(MZ_E_IO, "%s: a device or a pipe, no file with a checkpoint", path);
  MZ_TRY(mz_file_read(path, FILE_BYTES_MAX, &out->file, &out->size));
  mz_status status = read_table(out);
  if (status != MZ_OK) mz_checkpoint_close(out);
  return status;
}

void mz_checkpoint_close(mz_checkpoint *checkpoint) {
  free(checkpoint->file);
  checkpoint->file = NULL;
}

static bool is_newer(const mz_section *s) { return s->version > version_of(s->name); }

bool mz_checkpoint_is_newer(const mz_checkpoint *c) {
  for (int i = 0; i < c->count; i++)
    if (is_newer(&c->sections[i])) return true;
  return c->version > MZ_CHECKPOINT_VERSION;
}

const mz_section *mz_checkpoint_find(const mz_checkpoint *c, const char *name) {
  for (int i = 0; i < c->count; i++)
    if (strcmp(c->sections[i].name, name) == 0) return &c->sections[i];
  return NULL;
}

/* The bytes are those written, the size claimed is the frame's own, and this program knows the version. */
static mz_status check_stored(const mz_checkpoint *c, const mz_section *s) {
  if (is_newer(s))
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': written in version %u by a newer muzero; this one reads up to version %u",
                   c->path, s->name, s->version, version_of(s->name));
  if (mz_hash(c->file + s->offset, s->compressed, 0) != s->stored_xxh64)
    return damaged_section(c, s, "damaged (checksum does not match)");
  if (ZSTD_getFrameContentSize(c->file + s->offset, s->compressed) != s->bytes)
    return damaged_section(c, s, "damaged (its size does not match)");
  return MZ_OK;
}

mz_status mz_checkpoint_section(const mz_checkpoint *c, const char *name, size_t limit, uint8_t **data, size_t *size) {
  const mz_section *s = mz_checkpoint_find(c, name);
  if (!s) return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s' is missing", c->path, name);
  MZ_TRY(check_stored(c, s));
  if (s->bytes > limit)
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': %llu bytes; at most %zu can be needed", c->path, name,
                   (unsigned long long)s->bytes, limit);
  uint8_t *raw;
  MZ_TRY(mz_alloc(&raw, s->bytes + 1, 1));
  const size_t got = ZSTD_decompress(raw, s->bytes, c->file + s->offset, s->compressed);
  const bool no_memory = ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation;
  if (got == s->bytes && mz_hash(raw, s->bytes, 0) == s->xxh64) {
    *data = raw;
    *size = s->bytes;
    return MZ_OK;
  }
  free(raw);
  return no_memory ? mz_fail(MZ_E_MEMORY, "%s: section '%s': no memory to unpack it", c->path, name)
                   : damaged_section(c, s, "damaged (checksum does not match)");
}

mz_status mz_checkpoint_json(const mz_checkpoint *c, const char *name, cJSON **out) {
  uint8_t *text;
  size_t size;
  char where[sizeof c->path + 32];
  MZ_TRY(mz_checkpoint_section(c, name, TEXT_BYTES_MAX, &text, &size));
  snprintf(where, sizeof where, "%s: section '%s'", c->path, name);
  const mz_status status = mz_json_parse((const char *)text, size, where, false, MZ_E_CHECKPOINT, out);
  free(text);
  return status;
}

/* Hashes do not compress, but a segment may be there many times. */
mz_status mz_checkpoint_segments(const mz_checkpoint *c, uint64_t **hashes, int *count) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(c, "segments", c->size + ((size_t)16 << 20), &data, &size));
  mz_status status = size % sizeof **hashes == 0 && size / sizeof **hashes <= INT_MAX
                         ? mz_alloc(hashes, size / sizeof **hashes, sizeof **hashes)
                         : mz_fail(MZ_E_CHECKPOINT, "%s: section 'segments': %zu bytes are no hashes", c->path, size);
  if (status == MZ_OK) {
    mz_reader reader = mz_reader_over(data, size);
    *count = (int)(size / sizeof **hashes);
    for (int i = 0; i < *count; i++) (*hashes)[i] = mz_read_u64(&reader);
  }
  free(data);
  return status;
}

/* Unpacks a section piece by piece for its checksum, and for that of `part` (NULL: none), which goes over several sections. */
static mz_status hash_pieces(const mz_checkpoint *c, const mz_section *s, ZSTD_DStream *stream, uint8_t *piece,
                             mz_hash_stream *part) {
  mz_hash_stream *sum = mz_hash_begin();
  if (!sum) return mz_fail(MZ_E_MEMORY, "%s: no memory for a checksum", c->path);
  ZSTD_inBuffer in = {.src = c->file + s->offset, .size = s->compressed};
  uint64_t total = 0;
  size_t left;
  do {
    ZSTD_outBuffer out = {.dst = piece, .size = PIECE_BYTES};
    left = ZSTD_decompressStream(stream, &out, &in);
    if (!ZSTD_isError(left)) mz_hash_add(sum, piece, out.pos);
    if (!ZSTD_isError(left) && part) mz_hash_add(part, piece, out.pos);
    total += out.pos;
    if (out.pos == 0 && in.pos == in.size) break; /* the frame ends early */
  } while (!ZSTD_isError(left) && left != 0);
  const uint64_t hash = mz_hash_end(sum);
  if (ZSTD_isError(left) && ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
    return mz_fail(MZ_E_MEMORY, "%s: section '%s': no memory to unpack it", c->path, s->name);
  const bool whole = left == 0 && in.pos == in.size && total == s->bytes && hash == s->xxh64;
  return whole ? MZ_OK : damaged_section(c, s, "damaged (checksum does not match)");
}

static mz_status hash_section(const mz_checkpoint *c, const mz_section *s, mz_hash_stream *part) {
  uint8_t *piece;
  MZ_TRY(check_stored(c, s));
  MZ_TRY(mz_alloc(&piece, PIECE_BYTES, 1));
  ZSTD_DStream *stream = ZSTD_createDStream();
  const bool ready = stream && !ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
  const mz_status status =
      ready ? hash_pieces(c, s, stream, piece, part) : mz_fail(MZ_E_MEMORY, "%s: no memory to unpack sections", c->path);
  ZSTD_freeDStream(stream);
  free(piece);
  return status;
}

mz_status mz_checkpoint_verify(const mz_checkpoint *c) {
  for (int i = 0; i < c->count; i++) MZ_TRY(hash_section(c, &c->sections[i], NULL));
  return MZ_OK;
}

static mz_status compress(ZSTD_CCtx *context, const mz_part *part, mz_writer *bodies, mz_section *out) {
  size_t bound = ZSTD_compressBound(part->size);
  uint8_t *buffer;
  MZ_TRY(mz_alloc(&buffer, bound, 1));
  size_t size = ZSTD_compress2(context, buffer, bound, part->data, part->size);
  if (!ZSTD_isError(size)) {
    mz_write(bodies, buffer, size);
    out->compressed = size;
    out->stored_xxh64 = mz_hash(buffer, size, 0);
  }
  free(buffer);
  if (ZSTD_isError(size))
    return mz_fail(MZ_E_MEMORY, "checkpoint: section '%s' cannot be packed: %s", part->name, ZSTD_getErrorName(size));
  return MZ_OK;
}

mz_status mz_checkpoint_write(const char *path, const mz_part *parts, int count) {
  MZ_ASSERT(count >= 1 && count <= MZ_SECTIONS_MAX);
  mz_writer head = {0}, bodies = {0};
  mz_status status = MZ_OK;
  ZSTD_CCtx *context = ZSTD_createCCtx();
  if (!context) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "%s: no memory to compress", path));
  if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, COMPRESSION)) ||
      ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))
    MZ_TRY_CLEANUP(mz_fail(MZ_E_INTERNAL, "%s: zstd refuses its parameters", path));
  mz_write(&head, MAGIC, sizeof MAGIC);
  mz_write_u32(&head, MZ_CHECKPOINT_VERSION);
  mz_write_u32(&head, (uint32_t)count);
  uint64_t at = HEAD_BYTES + (uint64_t)count * entry_bytes(MZ_CHECKPOINT_VERSION) + 8;
  for (int i = 0; i < count; i++) {
    mz_section section = {0};
    MZ_TRY_CLEANUP(compress(context, &parts[i], &bodies, &section));
    char name[16] = {0};
    MZ_ASSERT(strlen(parts[i].name) < sizeof name);
    memcpy(name, parts[i].name, strlen(parts[i].name));
    mz_write(&head, name, sizeof name);
    mz_write_u32(&head, version_of(name));
    mz_write_u32(&head, 0);
    mz_write_u64(&head, parts[i].size);
    mz_write_u64(&head, section.compressed);
    mz_write_u64(&head, at);
    mz_write_u64(&head, mz_hash(parts[i].data, parts[i].size, 0));
    mz_write_u64(&head, section.stored_xxh64);
    at += section.compressed;
  }
  mz_write_u64(&head, mz_hash(head.data, head.size, 0));
  mz_write(&head, bodies.data, bodies.size);
  if (head.failed || bodies.failed) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "%s: no memory for the checkpoint", path));
  status = mz_file_write_atomic(path, head.data, head.size);
cleanup:
  ZSTD_freeCCtx(context);
  mz_writer_free(&head);
  mz_writer_free(&bodies);
  return status;
}

/* Up to version 1 section 'optimizer' ends with the average of the weights, which has been a section since: the same bytes. Runs that
 * move loop_count or batch_size count them to the counters. */
static mz_status hash_rest_of_part(const mz_checkpoint *c, const mz_section *s, mz_hash_stream *part) {
  static const char *const of_counters[] = {"loop_count", "batch_size", NULL}, *const of_optimizer[] = {"average", NULL},
                           *const none[] = {NULL};
  const char *const *names = strcmp(s->name, "counters") == 0                       ? of_counters
                             : strcmp(s->name, "optimizer") == 0 && s->version >= 2 ? of_optimizer
                                                                                    : none;
  for (; *names; names++) {
    const mz_section *rest = mz_checkpoint_find(c, *names);
    if (rest) MZ_TRY(hash_section(c, rest, part));
  }
  return MZ_OK;
}

static mz_status hash_part(const mz_checkpoint *c, const char *name, uint64_t *hash) {
  const mz_section *s = mz_checkpoint_find(c, name);
  if (!s) return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s' is missing", c->path, name);
  mz_hash_stream *part = mz_hash_begin();
  if (!part) return mz_fail(MZ_E_MEMORY, "%s: no memory for a checksum", c->path);
  mz_status status = hash_section(c, s, part);
  if (status == MZ_OK) status = hash_rest_of_part(c, s, part);
  *hash = mz_hash_end(part);
  return status;
}

mz_status mz_checkpoint_digest(const mz_checkpoint *c, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest) {
  for (int i = 0; i < MZ_DIGEST_PARTS; i++) MZ_TRY(hash_part(c, mz_digest_parts[i], &hashes[i]));
  *digest = mz_digest_of_parts(hashes);
  return MZ_OK;
}
