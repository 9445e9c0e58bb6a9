/* A segment, a game in play or a frame of one, in memory. The first byte says which, and of which environment. The mutator makes
 * a segment's hash right again. */
#include "tests/fuzz/fuzz.h"
#include "envs/env.h"
#include "base/maths/digest.h"
#include "replay/segments/frame.h"
#include <string.h>

enum { ENVS = 3, KINDS = 3 };

static const mz_env *envs[ENVS];
static mz_trajectory *games[ENVS];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const char *const names[ENVS] = {"tictactoe", "cartpole", "go:size=5"};
  (void)argc, (void)argv;
  fuzz_quiet();
  for (int i = 0; i < ENVS; i++) {
    fuzz_must(mz_env_find(names[i], &envs[i]));
    fuzz_must(mz_trajectory_create(&games[i], &envs[i]->spec, (mz_cut){.segment_moves = 4, .look_ahead = 2}, 0));
  }
  return 0;
}

/* What was read is written as it was. */
static void read_segment(const mz_spec *spec, const uint8_t *data, size_t size) {
  mz_reader reader = mz_reader_over(data, size);
  mz_segment *segment;
  if (mz_segment_read(&reader, spec, &segment) != MZ_OK) return;
  mz_writer writer = {0};
  mz_segment_write(segment, mz_spec_obs_bytes(spec), &writer);
  MZ_ASSERT(writer.size == reader.at && memcmp(writer.data, data, writer.size) == 0);
  mz_writer_free(&writer);
  mz_segment_release(segment);
}

static void read_game(mz_trajectory *game, const uint8_t *data, size_t size) {
  mz_reader reader = mz_reader_over(data, size);
  if (mz_trajectory_read(game, &reader) != MZ_OK) return;
  mz_writer writer = {0};
  mz_trajectory_write(game, &writer);
  MZ_ASSERT(writer.size == reader.at && memcmp(writer.data, data, writer.size) == 0);
  mz_writer_free(&writer);
}

static void unpack(const mz_spec *spec, const uint8_t *data, size_t size) {
  mz_frame *frame;
  mz_segment *segment;
  mz_unpacker unpacker = {0};
  uint32_t raw;
  if (size < 12) return;
  memcpy(&raw, data + 8, sizeof raw);
  if (raw > 64u << 20) return; /* such a claim is refused by who reads the pack */
  fuzz_must(mz_frame_alloc((uint32_t)size - 12, &frame));
  memcpy(&frame->hash, data, 8);
  frame->raw = raw;
  memcpy(frame->data, data + 12, size - 12);
  if (mz_frame_unpack(&unpacker, frame, spec, &segment) == MZ_OK) mz_segment_release(segment);
  mz_unpacker_deinit(&unpacker);
  free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  const int i = data[0] % ENVS;
  switch (data[0] / ENVS % KINDS) {
    case 0: read_segment(&envs[i]->spec, data + 1, size - 1); break;
    case 1: read_game(games[i], data + 1, size - 1); break;
    default: unpack(&envs[i]->spec, data + 1, size - 1);
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  if (size < 10 || fuzz_below(&random, 16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  const bool segment = data[0] / ENVS % KINDS == 0;
  const size_t tail = segment ? 8 : 0;
  size = 1 + fuzz_mutate_bytes(data + 1, size - 1 - tail, max_size - 1 - tail, &random);
  if (!segment) return size;
  const uint64_t hash = mz_hash(data + 1, size - 1, 0);
  memcpy(data + size, &hash, 8);
  return size + 8;
}
