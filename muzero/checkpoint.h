/* A checkpoint file: magic, version, table of sections, each zstd-compressed with the XXH64 of its contents. Nothing is
 * allocated from a file before its table has been checked. Section order is fixed; the learning state's digest is the
 * combination of the sections that determine the future (mz_checkpoint_digest). */
#pragma once
#include "muzero/base/bytes.h"
#include "muzero/base/status.h"

enum { MZ_SECTIONS_MAX = 16, MZ_CHECKPOINT_VERSION = 1 };

typedef struct mz_section {
  char name[16]; /* config weights target optimizer replay games counters session */
  uint64_t bytes, compressed, offset;
  uint64_t xxh64;        /* of the contents */
  uint64_t stored_xxh64; /* of the compressed bytes: zstd frames have bits that it ignores */
} mz_section;

typedef struct mz_checkpoint { /* a read or mapped file */
  char path[512];
  uint32_t version;
  int count;
  mz_section sections[MZ_SECTIONS_MAX];
  uint8_t *file;
  size_t size;
} mz_checkpoint;

/* Reads the file and checks magic, version, table (not yet the contents). MZ_E_IO when the path is not there, MZ_E_CHECKPOINT
 * when it is truncated, foreign, or newer (the version needed is named). */
mz_status mz_checkpoint_open(mz_checkpoint *out, const char *path);
void mz_checkpoint_close(mz_checkpoint *checkpoint);
/* Decompresses and checks one section: MZ_E_CHECKPOINT naming the section. *data: free(). */
mz_status mz_checkpoint_section(const mz_checkpoint *checkpoint, const char *name, uint8_t **data, size_t *size);
mz_status mz_checkpoint_verify(const mz_checkpoint *checkpoint); /* every section */

typedef struct mz_part {
  const char *name;
  const void *data;
  size_t size;
} mz_part;
/* Atomic and durable. */
mz_status mz_checkpoint_write(const char *path, const mz_part *parts, int count);

/* One number over what determines the future of learning: weights, target, optimizer, replay, games, counters. */
enum { MZ_DIGEST_PARTS = 6 };
extern const char *const mz_digest_parts[MZ_DIGEST_PARTS];
uint64_t mz_digest_of_parts(const uint64_t hashes[MZ_DIGEST_PARTS]);
mz_status mz_checkpoint_digest(const mz_checkpoint *checkpoint, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest);

/* RUN (a directory or a checkpoint file) → path of the checkpoint file. MZ_E_IO when nothing is there; MZ_E_CHECKPOINT for a
 * directory without a valid one. */
mz_status mz_run_checkpoint_path(const char *run, char *out, size_t size);
