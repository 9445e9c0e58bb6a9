#include "replay/buffer_state.h"
#include "base/maths/streams.h"
#include "base/maths/digest.h"
#include "base/maths/maths_inline.h"
#include "replay/segments/moves.h"
#include "replay/batches/targets.h"
#include <string.h>

struct mz_buffer {
  mz_replay_settings settings;
  mz_target_rule rule;
  mz_priority_tree *tree;
  uint32_t *owner; /* [capacity]: low half of the serial of the segment that a leaf belongs to */
  mz_tiers tiers;  /* the segments */
  int64_t head;    /* the leaf after the newest segment's */
  int64_t positions, bytes;
};

mz_status mz_buffer_create(mz_buffer **out, const mz_replay_settings *settings, const mz_spec *spec) {
  if (settings->min_fill > settings->capacity)
    return mz_fail(MZ_E_CONFIG, "replay.min_fill: learning would start at %lld transitions, replay.capacity is %lld",
                   (long long)settings->min_fill, (long long)settings->capacity);
  mz_buffer *buffer;
  MZ_TRY(mz_alloc(&buffer, 1, sizeof *buffer));
  buffer->settings = *settings;
  buffer->rule = mz_target_rule_of(settings, spec);
  mz_status status;
  MZ_TRY_CLEANUP(mz_priority_tree_create(&buffer->tree, settings->capacity));
  MZ_TRY_CLEANUP(mz_alloc(&buffer->owner, (size_t)settings->capacity, sizeof *buffer->owner));
  MZ_TRY_CLEANUP(mz_tiers_init(&buffer->tiers, spec, settings->raw_bytes, settings->packed_bytes));
  *out = buffer;
  return MZ_OK;
cleanup:
  mz_buffer_free(buffer);
  return status;
}

/* ---- what it takes ---- */

enum {
  SHORT = 4,     /* moves of a segment where games are short */
  ROUNDING = 96, /* bytes that an allocation takes beside its own */
};

/* Raw, as replay.bytes counts it. */
static double raw_bytes(const mz_replay_settings *s, const mz_spec *spec, mz_cut cut) {
  const double segment_share = (double)sizeof(mz_segment) / (s->segment_moves && s->segment_moves < SHORT ? 1 : SHORT);
  const double all = (double)s->capacity * (mz_transition_bytes(spec, cut) + segment_share);
  return all < (double)s->bytes_max ? all : (double)s->bytes_max;
}

double mz_buffer_segments_most(const mz_replay_settings *s, const mz_spec *spec, mz_cut cut) {
  const double shortest = s->segment_moves && s->segment_moves < SHORT ? (double)s->segment_moves : SHORT;
  const double bytes = sizeof(mz_segment) + shortest * mz_transition_bytes(spec, (mz_cut){0});
  const double by_moves = (double)s->capacity / shortest, by_bytes = raw_bytes(s, spec, cut) / bytes;
  return 1 + (by_moves < by_bytes ? by_moves : by_bytes);
}

double mz_buffer_positions_most(const mz_replay_settings *s, const mz_spec *spec, mz_cut cut) {
  const double forced = (double)mz_moves_bytes(1, 1, mz_spec_obs_bytes(spec)); /* one legal action */
  const double by_bytes = raw_bytes(s, spec, cut) / forced;
  return by_bytes < (double)s->capacity ? by_bytes : (double)s->capacity;
}

double mz_buffer_content_bytes(const mz_replay_settings *s, const mz_spec *spec, mz_cut cut) {
  return raw_bytes(s, spec, cut) + ROUNDING * mz_buffer_segments_most(s, spec, cut);
}

double mz_buffer_index_bytes(const mz_replay_settings *s, const mz_spec *spec, mz_cut cut) {
  return (double)sizeof(mz_buffer) + mz_priority_tree_bytes(s->capacity) + (double)s->capacity * sizeof(uint32_t) +
         mz_tiers_bytes(mz_buffer_segments_most(s, spec, cut));
}

/* ---- the ring ---- */

static int64_t leaf_at(const mz_buffer *buffer, int64_t first_leaf, int position) {
  int64_t leaf = first_leaf + position;
  return leaf < buffer->settings.capacity ? leaf : leaf - buffer->settings.capacity;
}

static void evict(mz_buffer *buffer) {
  int64_t first_leaf = mz_tiers_at(&buffer->tiers, buffer->tiers.oldest)->first_leaf;
  mz_entry entry = mz_tiers_pop(&buffer->tiers);
  for (int i = 0; i < entry.moves; i++) mz_priority_tree_set(buffer->tree, leaf_at(buffer, first_leaf, i), 0);
  buffer->positions -= entry.moves;
  buffer->bytes -= (int64_t)entry.bytes;
}

static void clear(mz_buffer *buffer) {
  while (buffer->tiers.oldest < buffer->tiers.next) evict(buffer);
}

void mz_buffer_free(mz_buffer *buffer) {
  if (!buffer) return;
  mz_tiers_deinit(&buffer->tiers);
  mz_priority_tree_free(buffer->tree);
  free(buffer->owner);
  free(buffer);
}

/* A game's last segment has its look-ahead, too. */
static mz_status check_bounds(const mz_replay_settings *settings, const mz_segment *segment) {
  const char *const shorter = settings->segment_moves > 0 ? "lower replay.segment_moves or td_steps"
                                                          : "set replay.segment_moves, which is 0 and keeps games whole";
  if (segment->moves > settings->capacity)
    return mz_fail(MZ_E_CONFIG, "replay.capacity: a segment of %d transitions exceeds %lld; raise it, or %s", segment->moves,
                   (long long)settings->capacity, shorter);
  if (segment->bytes > MZ_SEGMENT_BYTES_MAX)
    return mz_fail(MZ_E_CONFIG, "replay.segment_moves: a segment of %zu bytes exceeds %d, which none may have; %s",
                   segment->bytes, MZ_SEGMENT_BYTES_MAX, shorter);
  if ((int64_t)segment->bytes > settings->bytes_max)
    return mz_fail(MZ_E_CONFIG, "replay.bytes: a segment of %zu bytes exceeds %lld; raise it, or %s", segment->bytes,
                   (long long)settings->bytes_max, shorter);
  return MZ_OK;
}

/* Takes the segment over unless it fails; its leaves, from *first_leaf on, have their owner and still no priority. It is raw
 * until the tiers are settled. */
static mz_status place(mz_buffer *buffer, mz_segment *segment, int64_t *first_leaf) {
  const mz_replay_settings *settings = &buffer->settings;
  MZ_TRY(check_bounds(settings, segment));
  while (buffer->positions + segment->moves > settings->capacity || buffer->bytes + (int64_t)segment->bytes > settings->bytes_max)
    evict(buffer);
  uint64_t serial = buffer->tiers.next;
  *first_leaf = buffer->head;
  MZ_TRY(mz_tiers_push(&buffer->tiers, segment, *first_leaf));
  for (int i = 0; i < segment->moves; i++) buffer->owner[leaf_at(buffer, *first_leaf, i)] = (uint32_t)serial;
  buffer->head = leaf_at(buffer, *first_leaf, segment->moves);
  buffer->positions += segment->moves;
  buffer->bytes += (int64_t)segment->bytes;
  return MZ_OK;
}

static void set_first_priorities(mz_buffer *buffer, const mz_segment *segment, int64_t first_leaf) {
  const mz_replay_settings *s = &buffer->settings;
  uint32_t priority = mz_priority_from_error(0, 0);
  for (int t = 0; t < segment->moves; t++) {
    if (s->priority_exponent != 0) {
      const mz_target target = mz_target_at(segment, t, segment->value + t, &buffer->rule);
      const float error = target.value_known ? segment->value[t] - target.value : MZ_ERROR_UNKNOWN;
      priority = mz_priority_from_error(error, s->priority_exponent);
    }
    mz_priority_tree_set(buffer->tree, leaf_at(buffer, first_leaf, t), priority);
  }
}

mz_status mz_buffer_insert(mz_buffer *buffer, mz_segment *segment) {
  int64_t first_leaf;
  mz_status status = place(buffer, segment, &first_leaf);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  set_first_priorities(buffer, segment, first_leaf);
  mz_tiers_settle(&buffer->tiers);
  return MZ_OK;
}

/* The serial is one of those here, so its low half determines it. */
static uint64_t owner_serial(const mz_buffer *buffer, int64_t leaf) {
  return buffer->tiers.oldest + (uint32_t)(buffer->owner[leaf] - (uint32_t)buffer->tiers.oldest);
}

/* Points in 0 … total−1 for the draws from `first` (even) on. Two draws share a block of random bits; the multiplication's
 * bias is below total / 2^64. */
static void choose_points(mz_rng stream, uint64_t total, int first, int n, uint64_t *points) {
  for (int i = 0; i < n; i += 2) {
    uint32_t words[4];
    stream.counter[2] = (uint32_t)(first + i) / 2;
    mz_philox4x32(stream.counter, stream.key, words);
    points[i] = (uint64_t)((unsigned __int128)(words[0] | (uint64_t)words[1] << 32) * total >> 64);
    points[i + 1] = (uint64_t)((unsigned __int128)(words[2] | (uint64_t)words[3] << 32) * total >> 64);
  }
}

void mz_buffer_draw(const mz_buffer *buffer, uint64_t seed, uint32_t update, int n, mz_draw *draws) {
  enum { GROUP = 64 };
  uint64_t total = mz_priority_tree_total(buffer->tree);
  MZ_ASSERT(total > 0);
  const uint32_t *priorities = mz_priority_tree_leaves(buffer->tree);
  const double share = 1 / (double)total;
  mz_rng stream = mz_stream_sample(seed, update, 0);
  uint64_t points[GROUP];
  int64_t leaves[GROUP];
  for (int first = 0; first < n; first += GROUP) {
    int count = n - first < GROUP ? n - first : GROUP;
    choose_points(stream, total, first, count, points);
    mz_priority_tree_find(buffer->tree, count, points, leaves);
    for (int i = 0; i < count; i++) {
      uint64_t serial = owner_serial(buffer, leaves[i]);
      const mz_kept *k = mz_tiers_at(&buffer->tiers, serial);
      int64_t position = leaves[i] - k->first_leaf;
      draws[first + i] = (mz_draw){
          .segment = k->segment,
          .position = (int)(position >= 0 ? position : position + buffer->settings.capacity),
          .leaf = leaves[i],
          .serial = serial,
          .probability = (double)priorities[leaves[i]] * share,
      };
    }
  }
}

void mz_buffer_set_priority(mz_buffer *buffer, int64_t leaf, uint64_t serial, float error) {
  MZ_ASSERT(leaf >= 0 && leaf < buffer->settings.capacity);
  if (serial < buffer->tiers.oldest || serial >= buffer->tiers.next || owner_serial(buffer, leaf) != serial) return;
  mz_priority_tree_set(buffer->tree, leaf, mz_priority_from_error(error, buffer->settings.priority_exponent));
}

int64_t mz_buffer_positions(const mz_buffer *buffer) { return buffer->positions; }
int64_t mz_buffer_bytes(const mz_buffer *buffer) { return buffer->bytes; }
int mz_buffer_segments(const mz_buffer *buffer) { return (int)(buffer->tiers.next - buffer->tiers.oldest); }

const mz_tiers *mz_buffer_tiers(const mz_buffer *buffer) { return &buffer->tiers; }

mz_status mz_buffer_set_tiers(mz_buffer *buffer, int64_t raw_bytes, int64_t packed_bytes) {
  return mz_tiers_rebound(&buffer->tiers, raw_bytes, packed_bytes);
}

mz_status mz_buffer_spill_to(mz_buffer *buffer, const char *folder) { return mz_tiers_spill_to(&buffer->tiers, folder); }

mz_tier_use mz_buffer_tier_use(const mz_buffer *buffer) {
  const mz_tiers *t = &buffer->tiers;
  mz_tier_use use = {
      .segments = {(int)(t->next - t->first_raw), (int)(t->first_raw - t->first_packed), (int)(t->first_packed - t->oldest)}};
  memcpy(use.bytes, t->used, sizeof use.bytes);
  return use;
}

static uint64_t serial_at(const mz_buffer *buffer, int index) {
  MZ_ASSERT(index >= 0 && index < mz_buffer_segments(buffer));
  return buffer->tiers.oldest + (uint64_t)index;
}

mz_entry mz_buffer_entry(const mz_buffer *buffer, int index) { return mz_tiers_entry(&buffer->tiers, serial_at(buffer, index)); }

mz_status mz_buffer_content(const mz_buffer *buffer, int index, mz_content *out) {
  return mz_tiers_content(&buffer->tiers, serial_at(buffer, index), out);
}

uint64_t mz_buffer_digest(const mz_buffer *buffer) {
  size_t leaf_bytes = (size_t)buffer->settings.capacity * sizeof(uint32_t);
  uint64_t digest = mz_hash(mz_priority_tree_leaves(buffer->tree), leaf_bytes, 0);
  digest = mz_hash_combine(digest, (uint64_t)buffer->head);
  digest = mz_hash_combine(digest, buffer->tiers.oldest);
  digest = mz_hash_combine(digest, buffer->tiers.next);
  for (uint64_t serial = buffer->tiers.oldest; serial < buffer->tiers.next; serial++)
    digest = mz_hash_combine(digest, mz_tiers_entry(&buffer->tiers, serial).hash);
  return digest;
}

static void write_priorities(const mz_buffer *buffer, int64_t first_leaf, int64_t moves, mz_writer *writer) {
  const uint32_t *leaves = mz_priority_tree_leaves(buffer->tree);
  int64_t to_end = buffer->settings.capacity - first_leaf;
  int64_t ahead = moves < to_end ? moves : to_end;
  mz_write(writer, leaves + first_leaf, (size_t)ahead * sizeof *leaves);
  mz_write(writer, leaves, (size_t)(moves - ahead) * sizeof *leaves);
}

/* The ring of leaves is recorded as it lies: which leaf a point falls into depends on their order. */
void mz_buffer_write(const mz_buffer *buffer, mz_writer *writer) {
  int64_t capacity = buffer->settings.capacity, first = buffer->head - buffer->positions;
  mz_write_u64(writer, (uint64_t)capacity);
  mz_write_u64(writer, mz_bits_of_f64(buffer->settings.priority_exponent));
  mz_write_u64(writer, (uint64_t)(first < 0 ? first + capacity : first));
  const mz_tiers *tiers = &buffer->tiers;
  enum { HEAD_BYTES = 16, ENTRY_BYTES = 12 };
  mz_writer_reserve(writer,
                    HEAD_BYTES + (tiers->next - tiers->oldest) * ENTRY_BYTES + (size_t)buffer->positions * sizeof(uint32_t));
  mz_write_u64(writer, tiers->oldest);
  mz_write_u64(writer, tiers->next - tiers->oldest);
  for (uint64_t serial = tiers->oldest; serial < tiers->next; serial++) {
    mz_entry entry = mz_tiers_entry(tiers, serial);
    mz_write_u64(writer, entry.hash);
    mz_write_u32(writer, (uint32_t)entry.moves);
    write_priorities(buffer, mz_tiers_at(tiers, serial)->first_leaf, entry.moves, writer);
  }
}

static mz_status read_priorities(mz_buffer *buffer, int64_t first_leaf, uint32_t moves, mz_reader *reader, bool keep) {
  for (uint32_t i = 0; i < moves; i++) {
    uint32_t priority = mz_read_u32(reader);
    if (priority < 1 || priority > UINT32_C(1) << 31)
      return mz_fail(MZ_E_CHECKPOINT, "replay: priority %u is out of 1 … 2^31", priority);
    if (keep) mz_priority_tree_set(buffer->tree, leaf_at(buffer, first_leaf, (int)i), priority);
  }
  return MZ_OK;
}

/* One segment of the index. `keep`: with its recorded priorities, otherwise with first ones. *room: positions that the ring it is
 * of has left. */
static mz_status read_entry(mz_buffer *buffer, mz_reader *reader, bool keep, uint64_t *room,
                            mz_status (*load)(void *context, uint64_t hash, mz_segment **out), void *context) {
  uint64_t hash = mz_read_u64(reader);
  uint32_t moves = mz_read_u32(reader);
  if (!reader->ok || moves > mz_reader_left(reader) / sizeof(uint32_t))
    return mz_fail(MZ_E_CHECKPOINT, "replay: the index ends early");
  if (moves < 1 || moves > *room)
    return mz_fail(MZ_E_CHECKPOINT, "replay: segment %016llx of %u transitions in a ring with room for %llu",
                   (unsigned long long)hash, moves, (unsigned long long)*room);
  *room -= moves;
  mz_segment *segment;
  MZ_TRY(load(context, hash, &segment));
  if (!segment) { /* lost: those behind it move up */
    for (uint32_t i = 0; i < moves; i++) mz_read_u32(reader);
    return MZ_OK;
  }
  mz_status status = MZ_OK;
  int64_t first_leaf;
  if (segment->hash != hash || (uint32_t)segment->moves != moves)
    status = mz_fail(MZ_E_CHECKPOINT, "replay: segment %016llx of %d transitions stands for %016llx of %u",
                     (unsigned long long)segment->hash, segment->moves, (unsigned long long)hash, moves);
  if (status == MZ_OK) status = place(buffer, segment, &first_leaf);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  if (!keep) set_first_priorities(buffer, segment, first_leaf);
  MZ_TRY(read_priorities(buffer, first_leaf, moves, reader, keep));
  mz_tiers_settle(&buffer->tiers);
  return MZ_OK;
}

enum { ENTRY_BYTES_MIN = 16 }; /* hash, number of transitions, one priority */

mz_status mz_buffer_read(mz_buffer *buffer, mz_reader *reader, mz_status (*load)(void *context, uint64_t hash, mz_segment **out),
                         void *context) {
  uint64_t capacity = mz_read_u64(reader), exponent = mz_read_u64(reader), first_leaf = mz_read_u64(reader);
  uint64_t oldest = mz_read_u64(reader), count = mz_read_u64(reader);
  clear(buffer);
  if (!reader->ok || first_leaf >= capacity || oldest > UINT64_MAX / 2 || count > mz_reader_left(reader) / ENTRY_BYTES_MIN)
    return mz_fail(MZ_E_CHECKPOINT, "replay: the index begins with sizes that cannot be");
  mz_tiers_restart(&buffer->tiers, oldest);
  buffer->head = capacity == (uint64_t)buffer->settings.capacity ? (int64_t)first_leaf : 0;
  bool keep = exponent == mz_bits_of_f64(buffer->settings.priority_exponent);
  uint64_t room = capacity;
  for (uint64_t i = 0; i < count; i++) {
    mz_status status = read_entry(buffer, reader, keep, &room, load, context);
    if (status != MZ_OK) {
      clear(buffer);
      return status;
    }
  }
  return MZ_OK;
}
