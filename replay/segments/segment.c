#include "base/maths/digest.h"
#include "replay/segments/segment_build.h"

static int least(int a, int b) { return a < b ? a : b; }

/* Returns the most moves of a game; 0: not known. Two players of a board are taken to come to an end. */
static int game_length_max(const mz_spec *spec) {
  const int cells = spec->obs_shape[0] * spec->obs_shape[1];
  if (spec->max_moves > 0) return spec->max_moves;
  if (spec->longest > 0) return spec->longest;
  return spec->players == 2 && cells > 1 ? 2 * cells : 0;
}

int mz_segment_length_max(const mz_spec *spec, mz_cut cut) {
  enum { WHOLE_GAME = 4096 };
  const int game = game_length_max(spec), cut_at = cut.segment_moves > 0 ? cut.segment_moves + cut.look_ahead : 0;
  const int length = game && cut_at ? least(game, cut_at) : game + cut_at; /* one of them is 0 */
  return least(length ? length : WHOLE_GAME, mz_moves_length_max(spec, MZ_SEGMENT_BYTES_MAX));
}

/* Returns the bytes of the longest segment's moves if all actions were legal at each of them. */
static size_t moves_bytes_max(const mz_spec *spec, mz_cut cut) {
  const int length = mz_segment_length_max(spec, cut);
  return mz_moves_bytes(length, (size_t)length * (size_t)spec->actions, mz_spec_obs_bytes(spec));
}

double mz_segment_bytes_max(const mz_spec *spec, mz_cut cut) {
  const size_t bytes = sizeof(mz_segment) + moves_bytes_max(spec, cut);
  return (double)(bytes < MZ_SEGMENT_BYTES_MAX ? bytes : MZ_SEGMENT_BYTES_MAX);
}

double mz_transition_bytes(const mz_spec *spec, mz_cut cut) {
  const int length = mz_segment_length_max(spec, cut);
  const double move = (double)moves_bytes_max(spec, cut) / length;
  return move * (cut.segment_moves && cut.segment_moves < length ? (double)length / cut.segment_moves : 1);
}

mz_status mz_segment_alloc(int length, size_t entries, size_t obs_bytes, mz_segment **out) {
  size_t bytes = sizeof(mz_segment) + mz_moves_bytes(length, entries, obs_bytes);
  mz_segment *segment;
  MZ_TRY(mz_alloc(&segment, 1, bytes));
  mz_moves moves;
  mz_moves_place(&moves, segment + 1, length, entries, obs_bytes);
  atomic_init(&segment->references, 1);
  segment->length = length;
  segment->bytes = bytes;
  segment->obs = moves.obs;
  segment->action = moves.action;
  segment->reward = moves.reward;
  segment->value = moves.value;
  segment->player = moves.player;
  segment->policy_start = moves.policy_start;
  segment->policy_action = moves.policy_action;
  segment->policy_weight = moves.policy_weight;
  *out = segment;
  return MZ_OK;
}

mz_moves mz_segment_moves(const mz_segment *segment) {
  return (mz_moves){
      .length = segment->length,
      .obs = segment->obs,
      .action = segment->action,
      .reward = segment->reward,
      .value = segment->value,
      .player = segment->player,
      .policy_start = segment->policy_start,
      .policy_action = segment->policy_action,
      .policy_weight = segment->policy_weight,
  };
}

void mz_segment_retain(mz_segment *segment) { atomic_fetch_add_explicit(&segment->references, 1, memory_order_relaxed); }

void mz_segment_release(mz_segment *segment) {
  if (!segment) return;
  int before = atomic_fetch_sub_explicit(&segment->references, 1, memory_order_acq_rel);
  MZ_ASSERT(before > 0);
  if (before == 1) free(segment);
}

static void write_content(const mz_segment *segment, size_t obs_bytes, mz_writer *writer) {
  mz_write_u32(writer, segment->game);
  mz_write_u64(writer, segment->ordinal);
  mz_write_u64(writer, segment->version);
  mz_write_u32(writer, (uint32_t)segment->moves);
  mz_write_u8(writer, (uint8_t)segment->end);
  mz_moves moves = mz_segment_moves(segment);
  mz_moves_write(&moves, obs_bytes, writer);
}

mz_status mz_segment_seal(mz_segment *segment, size_t obs_bytes, mz_writer *scratch) {
  scratch->size = 0;
  write_content(segment, obs_bytes, scratch);
  if (scratch->failed) {
    mz_writer_free(scratch);
    return mz_fail(MZ_E_MEMORY, "segment of game %u: out of memory while hashing", segment->game);
  }
  segment->hash = mz_hash(scratch->data, scratch->size, 0);
  return MZ_OK;
}

void mz_segment_write(const mz_segment *segment, size_t obs_bytes, mz_writer *writer) {
  write_content(segment, obs_bytes, writer);
  mz_write_u64(writer, segment->hash);
}

size_t mz_segment_written_max(const mz_spec *spec) {
  if (spec->max_moves <= 0) return MZ_SEGMENT_BYTES_MAX;
  const size_t around = 2 * sizeof(uint32_t) + 3 * sizeof(uint64_t) + sizeof(uint8_t); /* before the moves, and the hash */
  const size_t longest = around + mz_moves_written_max(spec, spec->max_moves);
  return longest < MZ_SEGMENT_BYTES_MAX ? longest : MZ_SEGMENT_BYTES_MAX;
}

mz_status mz_segment_read(mz_reader *reader, const mz_spec *spec, mz_segment **out) {
  static const char what[] = "segment";
  size_t start = reader->at, obs_bytes = mz_spec_obs_bytes(spec), bytes;
  uint32_t game = mz_read_u32(reader);
  uint64_t ordinal = mz_read_u64(reader), version = mz_read_u64(reader);
  uint32_t drawable = mz_read_u32(reader), entries;
  uint8_t end = mz_read_u8(reader);
  int length;
  MZ_TRY(mz_moves_read_sizes(reader, spec, what, &length, &entries, &bytes));
  if (drawable < 1 || drawable > (uint32_t)length || end > MZ_END_TRUNCATED ||
      (end != MZ_END_OPEN && drawable != (uint32_t)length))
    return mz_fail(MZ_E_CHECKPOINT, "%s: %u positions in %d moves with end %d", what, drawable, length, end);
  if (mz_reader_left(reader) - bytes < sizeof(uint64_t)) return mz_fail(MZ_E_CHECKPOINT, "%s: ends before its hash", what);
  uint64_t hash = mz_hash(reader->data + start, reader->at + bytes - start, 0);
  mz_reader hash_reader = mz_reader_over(reader->data + reader->at + bytes, sizeof(uint64_t));
  uint64_t stored = mz_read_u64(&hash_reader);
  if (hash != stored)
    return mz_fail(MZ_E_CHECKPOINT, "%s: hash %016llx, recorded %016llx", what, (unsigned long long)hash,
                   (unsigned long long)stored);

  mz_segment *segment;
  MZ_TRY(mz_segment_alloc(length, entries, obs_bytes, &segment));
  mz_moves moves = mz_segment_moves(segment);
  mz_status status = mz_moves_read(&moves, entries, reader, spec, what);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  segment->hash = mz_read_u64(reader);
  segment->game = game;
  segment->ordinal = ordinal;
  segment->version = version;
  segment->moves = (int)drawable;
  segment->end = (mz_end)end;
  *out = segment;
  return MZ_OK;
}
