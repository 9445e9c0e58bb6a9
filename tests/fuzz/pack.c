/* A pack of segments, opened and verified as a store; what it holds goes through a buffer into a batch, as in training. The mutator
 * works on the contents of frames and makes all hashes right again. */
#include "tests/fuzz/fuzz.h"
#include "envs/env.h"
#include "base/maths/digest.h"
#include "replay/batches/batch.h"
#include "replay/storage/pack.h"
#include "replay/storage/store.h"
#include <string.h>

enum { HEAD_BYTES = 16, ROW_BYTES = 40, ROWS_MAX = 32, CONTENTS_MAX = 1 << 16, CAPACITY = 64 };

static const mz_env *env;
static mz_batch batch;
static const mz_replay_settings settings = {.capacity = CAPACITY,
                                            .bytes_max = 1 << 20,
                                            .min_fill = 1,
                                            .td_steps = 3,
                                            .discount = 0.9,
                                            .lambda = 1,
                                            .priority_exponent = 0.6,
                                            .importance_exponent = 0.4,
                                            .symmetry = true,
                                            .raw_bytes = 512}; /* little: segments are packed and unpacked */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  fuzz_must(mz_env_find("tictactoe", &env));
  fuzz_must(mz_batch_init(&batch, &env->spec, 4, 2, 1));
  return 0;
}

/* The name that the file has if its table is whole. */
static void name_pack(const uint8_t *data, size_t size, char *out, size_t out_size) {
  uint64_t count = 0, name = 0;
  if (size >= HEAD_BYTES) memcpy(&count, data + 8, 8);
  const size_t end = HEAD_BYTES + (count < ROWS_MAX ? (size_t)count : ROWS_MAX) * ROW_BYTES;
  if (size >= end + 8) memcpy(&name, data + end, 8);
  snprintf(out, out_size, FUZZ_FOLDER "/segments/%016llx.pack", (unsigned long long)name);
}

static void train(mz_store *store, const char *path) {
  mz_pack_row *rows;
  int count;
  mz_buffer *buffer;
  if (mz_pack_read_table(path, &rows, &count) != MZ_OK) return;
  fuzz_must(mz_buffer_create(&buffer, &settings, &env->spec));
  for (int i = 0; i < count && i < ROWS_MAX; i++) {
    mz_segment *segment;
    if (mz_store_load(store, rows[i].hash, &segment) == MZ_OK) (void)mz_buffer_insert(buffer, segment);
  }
  const mz_batch_source source = {.buffer = buffer, .settings = &settings, .spec = &env->spec, .seed = 1};
  if (mz_buffer_positions(buffer) > 0) fuzz_must(mz_batch_build(&batch, &source, 1));
  mz_buffer_free(buffer);
  free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  mz_store *store;
  name_pack(data, size, path, sizeof path);
  fuzz_files_clear();
  fuzz_file_put(path, data, size);
  fuzz_must(mz_store_open(&store, FUZZ_FOLDER "/segments", &env->spec));
  (void)mz_store_verify(store);
  train(store, path);
  mz_store_close(store);
  return 0;
}

/* ---- the mutator ---- */

/* Contents end in the hash of all before. */
static size_t mutate_contents(uint8_t *data, size_t size, uint64_t *random) {
  if (size < 8) return size;
  size = fuzz_mutate_bytes(data, size - 8, CONTENTS_MAX - 8, random);
  const uint64_t hash = mz_hash(data, size, 0);
  memcpy(data + size, &hash, 8);
  return size + 8;
}

static void mutate_row(mz_pack_row *row, const uint8_t **frame, mz_writer *packed, uint64_t *random) {
  static mz_writer contents;
  static uint8_t changed[CONTENTS_MAX];
  if (!fuzz_decompress(*frame, row->compressed, CONTENTS_MAX - 8, &contents)) return;
  memcpy(changed, contents.data, contents.size);
  const size_t size = mutate_contents(changed, contents.size, random);
  packed->size = 0;
  fuzz_compress(changed, size, packed);
  if (size >= 8) memcpy(&row->hash, changed + size - 8, 8);
  row->raw = size;
  if (fuzz_below(random, 32) == 0) row->raw = fuzz_claim(packed, random);
  row->compressed = packed->size;
  row->checksum = mz_hash(packed->data, packed->size, 0);
  *frame = packed->data;
}

static void write_pack(const mz_pack_row *rows, const uint8_t *const *frames, int count, int wrong, uint64_t *random,
                       mz_writer *out) {
  uint64_t offset = HEAD_BYTES + (uint64_t)count * ROW_BYTES + 8;
  mz_write(out, "MZPACK01", 8);
  mz_write_u64(out, (uint64_t)count);
  for (int i = 0; i < count; i++) {
    uint64_t fields[] = {rows[i].hash, offset, rows[i].compressed, rows[i].raw, rows[i].checksum};
    if (i == wrong) fuzz_mutate_bytes((uint8_t *)&fields[fuzz_below(random, 5)], 8, 8, random);
    for (int f = 0; f < 5; f++) mz_write_u64(out, fields[f]);
    offset += rows[i].compressed;
  }
  mz_write_u64(out, mz_hash(out->data, out->size, 0));
  for (int i = 0; i < count; i++) mz_write(out, frames[i], rows[i].compressed);
}

static int read_rows(const uint8_t *data, size_t size, mz_pack_row rows[ROWS_MAX], const uint8_t *frames[ROWS_MAX]) {
  mz_reader reader = mz_reader_over(data, size);
  uint8_t magic[8];
  mz_read(&reader, magic, sizeof magic);
  const uint64_t count = mz_read_u64(&reader);
  if (!reader.ok || count > ROWS_MAX) return 0;
  for (uint64_t i = 0; i < count; i++) {
    mz_pack_row *row = &rows[i];
    row->hash = mz_read_u64(&reader);
    row->offset = mz_read_u64(&reader);
    row->compressed = mz_read_u64(&reader);
    row->raw = mz_read_u64(&reader);
    row->checksum = mz_read_u64(&reader);
    if (!reader.ok || row->offset > size || row->compressed > size - row->offset) return 0;
    frames[i] = data + row->offset;
  }
  return (int)count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static mz_writer out, packed;
  uint64_t random = seed;
  mz_pack_row rows[ROWS_MAX];
  const uint8_t *frames[ROWS_MAX];
  int count = read_rows(data, size, rows, frames);
  if (count == 0 || fuzz_below(&random, 32) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const int i = (int)fuzz_below(&random, (uint32_t)count), j = (int)fuzz_below(&random, (uint32_t)count);
  int wrong = -1;
  switch (fuzz_below(&random, 16)) {
    case 0: rows[i] = rows[--count], frames[i] = frames[count]; break;
    case 1: rows[i] = rows[j], frames[i] = frames[j]; break;
    case 2: wrong = i; break;
    default: mutate_row(&rows[i], &frames[i], &packed, &random);
  }
  out.size = 0;
  write_pack(rows, frames, count, wrong, &random, &out);
  if (out.size > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, out.data, out.size);
  return out.size;
}
