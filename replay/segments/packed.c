#include "replay/segments/packed.h"
#include "replay/segments/packed_columns.h"
#include "replay/segments/packed_frames.h"
#include <stddef.h>
#include <string.h>

size_t mz_packed_bytes(uint32_t size) { return sizeof(mz_packed) + size; }

mz_status mz_packed_alloc(uint32_t size, mz_packed **out) {
  MZ_TRY(mz_alloc(out, mz_packed_bytes(size), 1));
  atomic_init(&(*out)->references, 1);
  (*out)->size = size;
  return MZ_OK;
}

void mz_packed_retain(mz_packed *packed) { atomic_fetch_add_explicit(&packed->references, 1, memory_order_relaxed); }

void mz_packed_release(mz_packed *packed) {
  if (!packed) return;
  int before = atomic_fetch_sub_explicit(&packed->references, 1, memory_order_acq_rel);
  MZ_ASSERT(before > 0);
  if (before == 1) free(packed);
}

/* ---- bits ---- */

/* Gathers eight bytes of 0 or 1 into one: the multiplication moves byte i to bit 56 + i, and no two to the same bit. */
static uint8_t gather_bits(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return (uint8_t)(word * UINT64_C(0x0102040810204080) >> 56);
}

/* Returns where the next bits go. */
static uint8_t *write_bits(const uint8_t *entries, int count, uint8_t *out) {
  uint8_t last[8] = {0};
  int i = 0;
  for (; i + 8 <= count; i += 8) *out++ = gather_bits(entries + i);
  if (i == count) return out;
  memcpy(last, entries + i, (size_t)(count - i));
  *out = gather_bits(last);
  return out + 1;
}

/* ---- packing ---- */

static bool all_bits(const mz_segment *segment, const mz_spec *spec) {
  if (spec->obs_kind != MZ_OBS_U8) return false;
  const size_t count = (size_t)segment->length * (size_t)spec->obs_size;
  uint8_t any = 0;
  for (size_t i = 0; i < count; i++) any |= segment->obs[i];
  return any <= 1;
}

/* By its bits: −0 is a weight. */
static bool is_weight(float weight) {
  uint32_t bits;
  memcpy(&bits, &weight, sizeof bits);
  return bits != 0;
}

static uint32_t weights_in(const mz_segment *segment, uint32_t first, uint32_t end) {
  uint32_t count = 0;
  for (uint32_t e = first; e < end; e++) count += is_weight(segment->policy_weight[e]);
  return count;
}

/* Writes the actions of entries first … end−1, or those with a weight only, as bits. Returns where the next go. */
static uint8_t *write_actions(const mz_segment *segment, uint32_t first, uint32_t end, bool weighted, size_t width,
                              uint8_t *out) {
  memset(out, 0, width);
  for (uint32_t e = first; e < end; e++) {
    const uint16_t action = segment->policy_action[e];
    if (!weighted || is_weight(segment->policy_weight[e])) out[action / 8] |= (uint8_t)(1u << action % 8);
  }
  return out + width;
}

static uint8_t *write_starts(const mz_segment *segment, bool listed, uint8_t *out) {
  uint32_t start = 0;
  for (int t = 0; t < segment->length; t++, out += sizeof start) {
    const uint32_t first = segment->policy_start[t], end = segment->policy_start[t + 1];
    memcpy(out, &start, sizeof start);
    start += listed ? end - first : weights_in(segment, first, end);
  }
  return out;
}

/* Writes the frames before the first move's newest, then the newest of each move. */
static uint8_t *write_frames(const mz_segment *segment, const mz_spec *spec, uint8_t *out) {
  const size_t frame = mz_frame_bytes(spec);
  const int newest = mz_frames_of(spec) - 1;
  for (int f = 0; f < newest; f++, out += frame) mz_frame_take(spec, segment->obs, f, out);
  for (int t = 0; t < segment->length; t++, out += frame)
    mz_frame_take(spec, segment->obs + (size_t)t * mz_spec_obs_bytes(spec), newest, out);
  return out;
}

static uint8_t *write_column(const mz_segment *segment, const mz_spec *spec, const mz_packed *packed, mz_column_id id,
                             uint8_t *out) {
  const size_t n = (size_t)segment->length, width = mz_column_width(packed, spec, id);
  const void *const plain[MZ_COLUMNS] = {[MZ_COLUMN_VALUE] = segment->value,
                                         [MZ_COLUMN_REWARD] = segment->reward,
                                         [MZ_COLUMN_PLAYER] = segment->player,
                                         [MZ_COLUMN_OBSERVATION] = segment->obs};
  if (id == MZ_COLUMN_START) return write_starts(segment, packed->is_listed, out);
  if (id == MZ_COLUMN_OBSERVATION && packed->is_stacked) return write_frames(segment, spec, out);
  if (plain[id] && !(id == MZ_COLUMN_OBSERVATION && packed->is_bits)) {
    memcpy(out, plain[id], n * width);
    return out + n * width;
  }
  for (size_t t = 0; t < n; t++) {
    const uint16_t action = (uint16_t)segment->action[t];
    if (id == MZ_COLUMN_ACTION)
      out = (uint8_t *)memcpy(out, &action, width) + width;
    else if (id == MZ_COLUMN_OBSERVATION)
      out = write_bits(segment->obs + t * (size_t)spec->obs_size, spec->obs_size, out);
    else
      out = write_actions(segment, segment->policy_start[t], segment->policy_start[t + 1], id == MZ_COLUMN_WEIGHTED, width, out);
  }
  return out;
}

static bool is_constant(const uint8_t *rows, size_t width, int length) {
  return memcmp(rows, rows + width, width * (size_t)(length - 1)) == 0;
}

/* As many weights in every move: kept is how many. */
static bool starts_are_even(uint8_t *rows, int length, uint32_t weights) {
  const uint32_t each = weights / (uint32_t)length;
  if (each * (uint32_t)length != weights) return false;
  for (int t = 0; t < length; t++) {
    uint32_t start;
    memcpy(&start, rows + (size_t)t * sizeof start, sizeof start);
    if (start != each * (uint32_t)t) return false;
  }
  memcpy(rows, &each, sizeof each);
  return true;
}

static uint8_t *write_list(const mz_segment *segment, uint32_t entries, uint8_t *out) {
  const size_t actions = entries * sizeof *segment->policy_action, weights = entries * sizeof *segment->policy_weight;
  memcpy(out, segment->policy_action, actions);
  memcpy(out + actions, segment->policy_weight, weights);
  return out + actions + weights;
}

static uint8_t *write_weights(const mz_segment *segment, uint32_t entries, uint8_t *out) {
  for (uint32_t e = 0; e < entries; e++) {
    if (!is_weight(segment->policy_weight[e])) continue;
    memcpy(out, &segment->policy_weight[e], sizeof(float));
    out += sizeof(float);
  }
  return out;
}

/* Writes all data, for which there is room, and says in `head` how. kept: weights. Returns the bytes written. */
static size_t write_data(const mz_segment *segment, const mz_spec *spec, uint32_t kept, mz_packed *head, uint8_t *data) {
  uint8_t *out = data;
  for (int c = 0; c < MZ_COLUMNS; c++) {
    uint8_t *rows = out;
    const size_t width = mz_column_width(head, spec, (mz_column_id)c);
    if (width == 0) continue;
    out = write_column(segment, spec, head, (mz_column_id)c, rows);
    const bool constant = c == MZ_COLUMN_START ? starts_are_even(rows, segment->length, kept)
                                               : is_constant(rows, width, mz_column_rows(head, spec, (mz_column_id)c));
    if (!constant) continue;
    head->constant |= (uint8_t)(1u << c);
    out = rows + width;
  }
  out = head->is_listed ? write_list(segment, head->entries, out) : write_weights(segment, head->entries, out);
  return (size_t)(out - data);
}

static mz_status reserve(mz_writer *scratch, size_t bytes) {
  scratch->size = 0;
  mz_writer_reserve(scratch, bytes);
  if (!scratch->failed) return MZ_OK;
  mz_writer_free(scratch);
  return mz_fail(MZ_E_MEMORY, "segments: out of memory while packing (%zu bytes)", bytes);
}

static bool same_actions(const mz_segment *s, uint32_t a, uint32_t b) { return s->policy_action[a] == s->policy_action[b]; }

static bool same_weighted(const mz_segment *s, uint32_t a, uint32_t b) {
  return same_actions(s, a, b) && is_weight(s->policy_weight[a]) == is_weight(s->policy_weight[b]);
}

/* Whether the entries of each move are the first one's: their column is constant. */
static bool moves_are_alike(const mz_segment *s, bool (*same)(const mz_segment *, uint32_t a, uint32_t b)) {
  for (int t = 1; t < s->length; t++) {
    const uint32_t start = s->policy_start[t];
    if (s->policy_start[t + 1] - start != s->policy_start[1]) return false;
    for (uint32_t e = 0; e < s->policy_start[1]; e++)
      if (!same(s, start + e, e)) return false;
  }
  return true;
}

/* Returns the bytes that legal actions and their weights take by bits. */
static size_t bytes_by_bits(const mz_segment *segment, const mz_packed *head, const mz_spec *spec, uint32_t weights) {
  const size_t moves = (size_t)segment->length;
  return (moves_are_alike(segment, same_actions) ? 1 : moves) * mz_column_width(head, spec, MZ_COLUMN_LEGAL) +
         (moves_are_alike(segment, same_weighted) ? 1 : moves) * mz_column_width(head, spec, MZ_COLUMN_WEIGHTED) +
         weights * sizeof(float);
}

mz_status mz_packed_pack(const mz_segment *segment, const mz_spec *spec, mz_writer *scratch, mz_packed **out) {
  const uint32_t entries = segment->policy_start[segment->length], weights = weights_in(segment, 0, entries);
  mz_packed head = {.hash = segment->hash,
                    .ordinal = segment->ordinal,
                    .version = segment->version,
                    .bytes = segment->bytes,
                    .game = segment->game,
                    .entries = entries,
                    .moves = segment->moves,
                    .length = segment->length,
                    .end = (uint8_t)segment->end,
                    .is_bits = all_bits(segment, spec),
                    .is_dense = weights == entries};
  head.is_stacked = !head.is_bits && mz_frames_are_stacked(segment, spec);
  const size_t listed = entries * (sizeof(uint16_t) + sizeof(float));
  head.is_listed = listed < bytes_by_bits(segment, &head, spec, weights);
  head.is_dense = head.is_dense && !head.is_listed;
  size_t room = head.is_listed ? listed : weights * sizeof(float);
  for (int c = 0; c < MZ_COLUMNS; c++)
    room += (size_t)mz_column_rows(&head, spec, (mz_column_id)c) * mz_column_width(&head, spec, (mz_column_id)c);
  MZ_TRY(reserve(scratch, room));
  const size_t size = write_data(segment, spec, head.is_listed ? entries : weights, &head, scratch->data);
  if (size > UINT32_MAX) return mz_fail(MZ_E_MEMORY, "segments: %zu bytes of one are more than a packed one may have", size);
  mz_packed *packed;
  MZ_TRY(mz_packed_alloc((uint32_t)size, &packed));
  const size_t first = offsetof(mz_packed, hash);
  memcpy((uint8_t *)packed + first, (const uint8_t *)&head + first, offsetof(mz_packed, data) - first);
  memcpy(packed->data, scratch->data, size);
  *out = packed;
  return MZ_OK;
}
