#include "replay/buffer.h"
#include "muzero/base/digest.h"
#include "replay/targets.h"
#include <string.h>

typedef struct entry {
  mz_segment *segment;
  int64_t first_leaf; /* of its `moves` consecutive leaves, modulo the capacity */
} entry;

struct mz_buffer {
  mz_replay_settings settings;
  size_t obs_bytes;
  bool alternating;
  mz_priority_tree *tree;
  uint32_t *owner;         /* [capacity]: low half of the serial of the segment that a leaf belongs to */
  entry *entries;          /* ring: the entry of a serial is entries[serial & (entry_capacity − 1)] */
  uint64_t entry_capacity; /* a power of two */
  uint64_t oldest, next;   /* serials: oldest … next−1 are here */
  int64_t head;            /* the leaf after the newest segment's */
  int64_t positions, bytes;
};

mz_status mz_buffer_create(mz_buffer **out, const mz_replay_settings *settings, const mz_spec *spec) {
  if (settings->min_fill > settings->capacity)
    return mz_fail(MZ_E_CONFIG, "replay.min_fill: learning would start at %lld transitions, replay.capacity is %lld",
                   (long long)settings->min_fill, (long long)settings->capacity);
  mz_buffer *buffer;
  MZ_TRY(mz_alloc(&buffer, 1, sizeof *buffer));
  buffer->settings = *settings;
  buffer->obs_bytes = mz_spec_obs_bytes(spec);
  buffer->alternating = spec->alternating;
  buffer->entry_capacity = 64;
  mz_status status;
  MZ_TRY_CLEANUP(mz_priority_tree_create(&buffer->tree, settings->capacity));
  MZ_TRY_CLEANUP(mz_alloc(&buffer->owner, (size_t)settings->capacity, sizeof *buffer->owner));
  MZ_TRY_CLEANUP(mz_alloc(&buffer->entries, buffer->entry_capacity, sizeof *buffer->entries));
  *out = buffer;
  return MZ_OK;
cleanup:
  mz_buffer_free(buffer);
  return status;
}

static entry *entry_at(const mz_buffer *buffer, uint64_t serial) {
  return &buffer->entries[serial & (buffer->entry_capacity - 1)];
}

static int64_t leaf_at(const mz_buffer *buffer, const entry *e, int position) {
  int64_t leaf = e->first_leaf + position;
  return leaf < buffer->settings.capacity ? leaf : leaf - buffer->settings.capacity;
}

static void evict(mz_buffer *buffer) {
  entry *e = entry_at(buffer, buffer->oldest++);
  for (int i = 0; i < e->segment->moves; i++) mz_priority_tree_set(buffer->tree, leaf_at(buffer, e, i), 0);
  buffer->positions -= e->segment->moves;
  buffer->bytes -= (int64_t)e->segment->bytes;
  mz_segment_release(e->segment);
}

static void clear(mz_buffer *buffer) {
  while (buffer->oldest < buffer->next) evict(buffer);
}

void mz_buffer_free(mz_buffer *buffer) {
  if (!buffer) return;
  if (buffer->entries && buffer->tree) clear(buffer);
  mz_priority_tree_free(buffer->tree);
  free(buffer->owner);
  free(buffer->entries);
  free(buffer);
}

static mz_status grow_entries(mz_buffer *buffer) {
  entry *old = buffer->entries, *entries;
  uint64_t capacity = 2 * buffer->entry_capacity;
  MZ_TRY(mz_alloc(&entries, capacity, sizeof *entries));
  for (uint64_t serial = buffer->oldest; serial < buffer->next; serial++)
    entries[serial & (capacity - 1)] = *entry_at(buffer, serial);
  buffer->entries = entries;
  buffer->entry_capacity = capacity;
  free(old);
  return MZ_OK;
}

static mz_status check_bounds(const mz_replay_settings *settings, const mz_segment *segment) {
  if (segment->moves > settings->capacity)
    return mz_fail(MZ_E_CONFIG,
                   "replay.capacity: a segment of %d transitions exceeds %lld; raise it or lower replay.segment_moves",
                   segment->moves, (long long)settings->capacity);
  if ((int64_t)segment->bytes > settings->bytes_max)
    return mz_fail(MZ_E_CONFIG, "replay.bytes: a segment of %zu bytes exceeds %lld; raise it or lower replay.segment_moves",
                   segment->bytes, (long long)settings->bytes_max);
  return MZ_OK;
}

/* Takes the segment over unless it fails; its leaves have their owner and still no priority. */
static mz_status place(mz_buffer *buffer, mz_segment *segment, entry **out) {
  const mz_replay_settings *settings = &buffer->settings;
  MZ_TRY(check_bounds(settings, segment));
  while (buffer->positions + segment->moves > settings->capacity || buffer->bytes + (int64_t)segment->bytes > settings->bytes_max)
    evict(buffer);
  if (buffer->next - buffer->oldest == buffer->entry_capacity) MZ_TRY(grow_entries(buffer));
  uint64_t serial = buffer->next++;
  entry *e = entry_at(buffer, serial);
  *e = (entry){.segment = segment, .first_leaf = buffer->head};
  for (int i = 0; i < segment->moves; i++) buffer->owner[leaf_at(buffer, e, i)] = (uint32_t)serial;
  buffer->head = leaf_at(buffer, e, segment->moves);
  buffer->positions += segment->moves;
  buffer->bytes += (int64_t)segment->bytes;
  *out = e;
  return MZ_OK;
}

static void set_first_priorities(mz_buffer *buffer, const entry *e) {
  const mz_segment *segment = e->segment;
  const mz_replay_settings *s = &buffer->settings;
  uint32_t priority = mz_priority_from_error(0, 0);
  for (int t = 0; t < segment->moves; t++) {
    if (s->priority_exponent != 0) {
      mz_target target = mz_target_at(segment, t, segment->value, (int)s->n_step, (float)s->discount, buffer->alternating);
      priority = mz_priority_from_error(segment->value[t] - target.value, s->priority_exponent);
    }
    mz_priority_tree_set(buffer->tree, leaf_at(buffer, e, t), priority);
  }
}

mz_status mz_buffer_insert(mz_buffer *buffer, mz_segment *segment) {
  entry *e;
  mz_status status = place(buffer, segment, &e);
  if (status == MZ_OK)
    set_first_priorities(buffer, e);
  else
    mz_segment_release(segment);
  return status;
}

/* The serial is one of those here, so its low half determines it. */
static uint64_t owner_serial(const mz_buffer *buffer, int64_t leaf) {
  return buffer->oldest + (uint32_t)(buffer->owner[leaf] - (uint32_t)buffer->oldest);
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
  mz_rng stream = mz_rng_at(seed, MZ_RNG_SAMPLE, update, 0);
  uint64_t points[GROUP];
  int64_t leaves[GROUP];
  for (int first = 0; first < n; first += GROUP) {
    int count = n - first < GROUP ? n - first : GROUP;
    choose_points(stream, total, first, count, points);
    mz_priority_tree_find(buffer->tree, count, points, leaves);
    for (int i = 0; i < count; i++) {
      uint64_t serial = owner_serial(buffer, leaves[i]);
      const entry *e = entry_at(buffer, serial);
      int64_t position = leaves[i] - e->first_leaf;
      draws[first + i] = (mz_draw){
          .segment = e->segment,
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
  if (serial < buffer->oldest || serial >= buffer->next || owner_serial(buffer, leaf) != serial) return;
  mz_priority_tree_set(buffer->tree, leaf, mz_priority_from_error(error, buffer->settings.priority_exponent));
}

int64_t mz_buffer_positions(const mz_buffer *buffer) { return buffer->positions; }
int64_t mz_buffer_bytes(const mz_buffer *buffer) { return buffer->bytes; }
int mz_buffer_segments(const mz_buffer *buffer) { return (int)(buffer->next - buffer->oldest); }

const mz_segment *mz_buffer_segment(const mz_buffer *buffer, int index, uint64_t *serial) {
  MZ_ASSERT(index >= 0 && index < mz_buffer_segments(buffer));
  uint64_t at = buffer->oldest + (uint64_t)index;
  if (serial) *serial = at;
  return entry_at(buffer, at)->segment;
}

uint64_t mz_buffer_digest(const mz_buffer *buffer) {
  size_t leaf_bytes = (size_t)buffer->settings.capacity * sizeof(uint32_t);
  uint64_t digest = mz_hash(mz_priority_tree_leaves(buffer->tree), leaf_bytes, 0);
  digest = mz_hash_combine(digest, (uint64_t)buffer->head);
  digest = mz_hash_combine(digest, buffer->oldest);
  digest = mz_hash_combine(digest, buffer->next);
  for (uint64_t serial = buffer->oldest; serial < buffer->next; serial++)
    digest = mz_hash_combine(digest, entry_at(buffer, serial)->segment->hash);
  return digest;
}

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void write_priorities(const mz_buffer *buffer, const entry *e, mz_writer *writer) {
  const uint32_t *leaves = mz_priority_tree_leaves(buffer->tree);
  int64_t moves = e->segment->moves, to_end = buffer->settings.capacity - e->first_leaf;
  int64_t ahead = moves < to_end ? moves : to_end;
  mz_write(writer, leaves + e->first_leaf, (size_t)ahead * sizeof *leaves);
  mz_write(writer, leaves, (size_t)(moves - ahead) * sizeof *leaves);
}

/* The ring of leaves is recorded as it lies: which leaf a point falls into depends on their order. */
void mz_buffer_write(const mz_buffer *buffer, mz_writer *writer) {
  int64_t capacity = buffer->settings.capacity, first = buffer->head - buffer->positions;
  mz_write_u64(writer, (uint64_t)capacity);
  mz_write_u64(writer, double_bits(buffer->settings.priority_exponent));
  mz_write_u64(writer, (uint64_t)(first < 0 ? first + capacity : first));
  mz_write_u64(writer, buffer->oldest);
  mz_write_u64(writer, buffer->next - buffer->oldest);
  for (uint64_t serial = buffer->oldest; serial < buffer->next; serial++) {
    const entry *e = entry_at(buffer, serial);
    mz_write_u64(writer, e->segment->hash);
    mz_write_u32(writer, (uint32_t)e->segment->moves);
    write_priorities(buffer, e, writer);
  }
}

/* One segment of the index. `keep`: with its recorded priorities, otherwise with first ones. */
static mz_status read_entry(mz_buffer *buffer, mz_reader *reader, bool keep,
                            mz_status (*load)(void *context, uint64_t hash, mz_segment **out), void *context) {
  uint64_t hash = mz_read_u64(reader);
  uint32_t moves = mz_read_u32(reader);
  if (!reader->ok || moves > mz_reader_left(reader) / sizeof(uint32_t))
    return mz_fail(MZ_E_CHECKPOINT, "replay: the index ends early");
  mz_segment *segment;
  MZ_TRY(load(context, hash, &segment));
  mz_status status = MZ_OK;
  entry *e;
  if (segment->hash != hash || (uint32_t)segment->moves != moves)
    status = mz_fail(MZ_E_CHECKPOINT, "replay: segment %016llx of %d transitions stands for %016llx of %u",
                     (unsigned long long)segment->hash, segment->moves, (unsigned long long)hash, moves);
  if (status == MZ_OK) status = place(buffer, segment, &e);
  if (status != MZ_OK) {
    mz_segment_release(segment);
    return status;
  }
  if (!keep) set_first_priorities(buffer, e);
  for (uint32_t i = 0; i < moves; i++) {
    uint32_t priority = mz_read_u32(reader);
    if (priority < 1 || priority > UINT32_C(1) << 31)
      return mz_fail(MZ_E_CHECKPOINT, "replay: priority %u is out of 1 … 2^31", priority);
    if (keep) mz_priority_tree_set(buffer->tree, leaf_at(buffer, e, (int)i), priority);
  }
  return MZ_OK;
}

mz_status mz_buffer_read(mz_buffer *buffer, mz_reader *reader, mz_status (*load)(void *context, uint64_t hash, mz_segment **out),
                         void *context) {
  uint64_t capacity = mz_read_u64(reader), exponent = mz_read_u64(reader), first_leaf = mz_read_u64(reader);
  uint64_t oldest = mz_read_u64(reader), count = mz_read_u64(reader);
  if (!reader->ok || first_leaf >= capacity || oldest > UINT64_MAX / 2 || count > mz_reader_left(reader))
    return mz_fail(MZ_E_CHECKPOINT, "replay: the index begins with sizes that cannot be");
  clear(buffer);
  buffer->oldest = buffer->next = oldest;
  buffer->head = capacity == (uint64_t)buffer->settings.capacity ? (int64_t)first_leaf : 0;
  bool keep = exponent == double_bits(buffer->settings.priority_exponent);
  for (uint64_t i = 0; i < count; i++) {
    mz_status status = read_entry(buffer, reader, keep, load, context);
    if (status != MZ_OK) {
      clear(buffer);
      return status;
    }
  }
  return MZ_OK;
}
