#include "muzero/checkpoint.h"
#include "muzero/base/digest.h"
#include "muzero/base/file.h"
#include <string.h>
#include <zstd.h>

/* File: magic[8], u32 version, u32 count, count × {name[16], then u64 each: bytes, compressed, offset, XXH64 of the
 * contents, XXH64 of the compressed bytes}, u64 XXH64 of all before, then the zstd frames. */
static const char MAGIC[8] = {'M', 'Z', 'C', 'H', 'K', 'P', 'T', '\n'};
enum { ENTRY_BYTES = 16 + 5 * 8, HEAD_BYTES = 16, COMPRESSION = 3 };
static const uint64_t SECTION_BYTES_MAX = 1ull << 36, FILE_BYTES_MAX = 1ull << 36;

static mz_status damaged(const mz_checkpoint *c, const char *what) { return mz_fail(MZ_E_CHECKPOINT, "%s: %s", c->path, what); }

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
  size_t table_end = HEAD_BYTES + (size_t)count * ENTRY_BYTES;
  if (c->size < table_end + 8) return damaged(c, "section 'table': truncated");
  uint64_t hash = mz_hash(c->file, table_end, 0), at = table_end + 8;
  for (uint32_t i = 0; i < count; i++) {
    mz_section *s = &c->sections[i];
    mz_read(&reader, s->name, sizeof s->name);
    s->bytes = mz_read_u64(&reader);
    s->compressed = mz_read_u64(&reader);
    s->offset = mz_read_u64(&reader);
    s->xxh64 = mz_read_u64(&reader);
    s->stored_xxh64 = mz_read_u64(&reader);
  }
  if (mz_read_u64(&reader) != hash) return damaged(c, "section 'table': checksum does not match");
  for (uint32_t i = 0; i < count; i++) {
    const mz_section *s = &c->sections[i];
    if (s->name[sizeof s->name - 1] != 0 || s->bytes > SECTION_BYTES_MAX || s->offset != at || s->compressed > c->size ||
        at + s->compressed > c->size)
      return mz_fail(MZ_E_CHECKPOINT, "%s: section '%.15s': truncated", c->path, s->name);
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
  MZ_TRY(mz_file_read(path, FILE_BYTES_MAX, &out->file, &out->size));
  mz_status status = read_table(out);
  if (status != MZ_OK) mz_checkpoint_close(out);
  return status;
}

void mz_checkpoint_close(mz_checkpoint *checkpoint) {
  free(checkpoint->file);
  checkpoint->file = NULL;
}

mz_status mz_checkpoint_section(const mz_checkpoint *c, const char *name, uint8_t **data, size_t *size) {
  const mz_section *s = NULL;
  for (int i = 0; i < c->count; i++)
    if (strcmp(c->sections[i].name, name) == 0) s = &c->sections[i];
  if (!s) return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s' is missing", c->path, name);
  /* The bytes must be those written, and the size claimed the frame's own, before memory is taken for it. */
  if (mz_hash(c->file + s->offset, s->compressed, 0) != s->stored_xxh64)
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': damaged (checksum does not match)", c->path, name);
  if (ZSTD_getFrameContentSize(c->file + s->offset, s->compressed) != s->bytes)
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': damaged (its size does not match)", c->path, name);
  uint8_t *raw;
  MZ_TRY(mz_alloc(&raw, s->bytes + 1, 1));
  size_t got = ZSTD_decompress(raw, s->bytes, c->file + s->offset, s->compressed);
  if (ZSTD_isError(got) || got != s->bytes || mz_hash(raw, s->bytes, 0) != s->xxh64) {
    free(raw);
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': damaged (%s)", c->path, name,
                   ZSTD_isError(got) ? ZSTD_getErrorName(got) : "checksum does not match");
  }
  *data = raw;
  *size = s->bytes;
  return MZ_OK;
}

mz_status mz_checkpoint_verify(const mz_checkpoint *checkpoint) {
  for (int i = 0; i < checkpoint->count; i++) {
    uint8_t *data;
    size_t size;
    MZ_TRY(mz_checkpoint_section(checkpoint, checkpoint->sections[i].name, &data, &size));
    free(data);
  }
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
  if (ZSTD_isError(size)) return mz_fail(MZ_E_INTERNAL, "section '%s': %s", part->name, ZSTD_getErrorName(size));
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
  uint64_t at = HEAD_BYTES + (uint64_t)count * ENTRY_BYTES + 8;
  for (int i = 0; i < count; i++) {
    mz_section section = {0};
    MZ_TRY_CLEANUP(compress(context, &parts[i], &bodies, &section));
    char name[16] = {0};
    MZ_ASSERT(strlen(parts[i].name) < sizeof name);
    memcpy(name, parts[i].name, strlen(parts[i].name));
    mz_write(&head, name, sizeof name);
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

mz_status mz_checkpoint_digest(const mz_checkpoint *checkpoint, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest) {
  for (int i = 0; i < MZ_DIGEST_PARTS; i++) {
    uint8_t *data;
    size_t size;
    MZ_TRY(mz_checkpoint_section(checkpoint, mz_digest_parts[i], &data, &size)); /* checks the contents against the table */
    hashes[i] = mz_hash(data, size, 0);
    free(data);
  }
  *digest = mz_digest_of_parts(hashes);
  return MZ_OK;
}

mz_status mz_run_checkpoint_path(const char *run, char *out, size_t size) {
  if (!mz_file_exists(run))
    return mz_fail(MZ_E_IO, "%s: there is nothing here; a run directory or a checkpoint file is wanted", run);
  if (!mz_file_is_dir(run)) {
    if (snprintf(out, size, "%s", run) >= (int)size) return mz_fail(MZ_E_IO, "%s: path too long", run);
    return MZ_OK;
  }
  char latest[512];
  MZ_TRY(mz_path_join(latest, sizeof latest, run, "LATEST"));
  if (!mz_file_exists(latest)) return mz_fail(MZ_E_CHECKPOINT, "%s: no checkpoint in this directory (it has no LATEST)", run);
  uint8_t *name;
  size_t length;
  MZ_TRY(mz_file_read(latest, 256, &name, &length));
  name[strcspn((char *)name, "\n")] = 0;
  char folder[512];
  mz_status status = mz_path_join(folder, sizeof folder, run, "checkpoints");
  if (status == MZ_OK) status = mz_path_join(out, size, folder, (char *)name);
  free(name);
  MZ_TRY(status);
  if (!mz_file_exists(out)) return mz_fail(MZ_E_CHECKPOINT, "%s: LATEST names a checkpoint that is not there: %s", run, out);
  return MZ_OK;
}
