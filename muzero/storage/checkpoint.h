/* A checkpoint file: magic, version, table of sections, each zstd-compressed with the XXH64 of its contents and its own version.
 * Nothing is allocated from a file before its table has been checked, and nothing for a section beyond what its reader says it
 * can need. Section order is fixed; the learning state's digest is the combination of the sections that determine the future
 * (mz_checkpoint_digest). Read are the present format and the two before it (tests/data/formats). */
#pragma once
#include "base/bytes.h"
#include "base/json/json.h"
#include "muzero/storage/checkpoint_name.h"

enum { MZ_SECTIONS_MAX = 16, MZ_CHECKPOINT_VERSION = 2 };

typedef struct mz_section {
  char name[16];    /* config weights target optimizer average replay games counters segments session guard */
  uint32_t version; /* of its contents; 1 in files of format 1, which did not say */
  uint64_t bytes, compressed, offset;
  uint64_t xxh64;        /* of the contents */
  uint64_t stored_xxh64; /* of the compressed bytes: zstd frames have bits that it ignores */
} mz_section;

typedef struct mz_checkpoint { /* a file in memory */
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
/* Returns whether a newer program wrote the file, or one of its sections; also of a file that could not be opened for that. */
bool mz_checkpoint_is_newer(const mz_checkpoint *checkpoint);
/* Decompresses and checks one section of at most `limit` bytes: MZ_E_CHECKPOINT naming the section when it is missing, damaged,
 * larger, or of a newer version. A NUL byte follows the contents. *data: free(). */
mz_status mz_checkpoint_section(const mz_checkpoint *checkpoint, const char *name, size_t limit, uint8_t **data, size_t *size);
/* Returns what the table says of a section, NULL where there is none. Claims, to be compared with what is wanted before memory is
 * had. */
const mz_section *mz_checkpoint_find(const mz_checkpoint *checkpoint, const char *name);
/* Sections config and session as JSON. cJSON_Delete(*out). */
mz_status mz_checkpoint_json(const mz_checkpoint *checkpoint, const char *name, cJSON **out);
/* Section 'segments': the hashes of the replay's segments that the checkpoint needs. free(*hashes). */
mz_status mz_checkpoint_segments(const mz_checkpoint *checkpoint, uint64_t **hashes, int *count);
/* Checks every section, in little memory whatever their size. */
mz_status mz_checkpoint_verify(const mz_checkpoint *checkpoint);

typedef struct mz_part {
  const char *name;
  const void *data;
  size_t size;
} mz_part;
/* Atomic and durable. */
mz_status mz_checkpoint_write(const char *path, const mz_part *parts, int count);

/* One number over what determines the future of learning: weights, target, optimizer, replay, games, counters. Section 'average'
 * counts to the part `optimizer`, which its contents end. */
enum { MZ_DIGEST_PARTS = 6 };
extern const char *const mz_digest_parts[MZ_DIGEST_PARTS];
uint64_t mz_digest_of_parts(const uint64_t hashes[MZ_DIGEST_PARTS]);
mz_status mz_checkpoint_digest(const mz_checkpoint *checkpoint, uint64_t hashes[MZ_DIGEST_PARTS], uint64_t *digest);
