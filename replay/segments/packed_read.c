#include "replay/segments/packed_columns.h"
#include "replay/segments/packed_frames.h"
#include "replay/segments/segment_build.h"
#include <string.h>

/* Byte i of the result is bit i: each byte keeps its own bit of a copy, and the addition carries it into the byte's highest. */
static uint64_t scatter_bits(uint8_t bits) {
  const uint64_t own = bits * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
  return (own + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
}

static void read_bits(const uint8_t *bits, int count, uint8_t *entries) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint64_t eight = scatter_bits(bits[i / 8]);
    memcpy(entries + i, &eight, sizeof eight);
  }
  const uint64_t rest = i < count ? scatter_bits(bits[i / 8]) : 0;
  memcpy(entries + i, &rest, (size_t)(count - i));
}

static void read_rows(const mz_column *c, int first, int count, void *out) {
  uint8_t *to = out;
  const uint8_t *from = c->rows + c->stride * (size_t)first;
  if (c->stride > 0)
    memcpy(to, from, c->width * (size_t)count);
  else
    for (int t = 0; t < count; t++) memcpy(to + c->width * (size_t)t, from, c->width);
}

static void read_stacks(const mz_spec *spec, const mz_column *c, int first, int count, uint8_t *out) {
  for (int t = 0; t < count; t++, out += mz_spec_obs_bytes(spec)) {
    for (int f = 0; f < mz_frames_of(spec); f++) mz_frame_put(spec, c->rows + c->stride * (size_t)(first + t + f), f, out);
  }
}

static void read_observations(const mz_packed *packed, const mz_spec *spec, const mz_column *c, int first, int count,
                              uint8_t *out) {
  if (packed->is_stacked) {
    read_stacks(spec, c, first, count, out);
    return;
  }
  if (!packed->is_bits) {
    read_rows(c, first, count, out);
    return;
  }
  for (int t = 0; t < count; t++)
    read_bits(c->rows + c->stride * (size_t)(first + t), spec->obs_size, out + (size_t)t * (size_t)spec->obs_size);
}

/* Returns how many weights are kept of the moves before; of listed actions, how many entries there are. */
static uint32_t first_kept(const mz_column *starts, int t) {
  uint32_t start;
  memcpy(&start, starts->rows + starts->stride * (size_t)t, sizeof start);
  return starts->stride ? start : start * (uint32_t)t;
}

/* Reads the legal actions and their weights of one move into `segment` from entry `entry` on. Returns the entry behind them. */
static uint32_t read_policy(const mz_column columns[MZ_COLUMNS], int t, const uint8_t *weights, mz_segment *segment,
                            uint32_t entry) {
  const uint8_t *legal = columns[MZ_COLUMN_LEGAL].rows + columns[MZ_COLUMN_LEGAL].stride * (size_t)t;
  const uint8_t *weighted = columns[MZ_COLUMN_WEIGHTED].rows + columns[MZ_COLUMN_WEIGHTED].stride * (size_t)t;
  weights += first_kept(&columns[MZ_COLUMN_START], t) * sizeof(float);
  for (size_t byte = 0; byte < columns[MZ_COLUMN_LEGAL].width; byte++) {
    for (unsigned bits = legal[byte]; bits; bits &= bits - 1) {
      const int bit = __builtin_ctz(bits);
      segment->policy_action[entry] = (uint16_t)(8 * byte + (unsigned)bit);
      segment->policy_weight[entry] = 0;
      if (weighted[byte] >> bit & 1) {
        memcpy(&segment->policy_weight[entry], weights, sizeof(float));
        weights += sizeof(float);
      }
      entry++;
    }
  }
  return entry;
}

/* The same of listed actions; list: all of them, then their weights. */
static uint32_t read_listed(const mz_packed *packed, const mz_column *starts, int t, const uint8_t *list, mz_segment *segment,
                            uint32_t entry) {
  const uint32_t first = first_kept(starts, t);
  const uint32_t count = (t + 1 < packed->length ? first_kept(starts, t + 1) : packed->entries) - first;
  const uint8_t *weights = list + packed->entries * sizeof(uint16_t);
  memcpy(segment->policy_action + entry, list + first * sizeof(uint16_t), count * sizeof(uint16_t));
  memcpy(segment->policy_weight + entry, weights + first * sizeof(float), count * sizeof(float));
  return entry + count;
}

static void read_policies(const mz_packed *packed, const mz_column columns[MZ_COLUMNS], int first, int count, const uint8_t *tail,
                          mz_segment *segment) {
  const bool narrow = columns[MZ_COLUMN_ACTION].width == sizeof(uint8_t);
  segment->policy_start[0] = 0;
  for (int t = 0; t < count; t++) {
    const uint8_t *action = columns[MZ_COLUMN_ACTION].rows + columns[MZ_COLUMN_ACTION].stride * (size_t)(first + t);
    segment->action[t] = narrow ? action[0] : action[0] | action[1] << 8;
    const uint32_t entry = segment->policy_start[t];
    segment->policy_start[t + 1] = packed->is_listed
                                       ? read_listed(packed, &columns[MZ_COLUMN_START], first + t, tail, segment, entry)
                                       : read_policy(columns, first + t, tail, segment, entry);
  }
}

static int least(int a, int b) { return a < b ? a : b; }

/* Reads into arrays that have a place. */
static void read_moves(const mz_packed *packed, const mz_spec *spec, int position, const mz_span *span, mz_segment *out) {
  mz_column columns[MZ_COLUMNS];
  const uint8_t *tail = mz_columns_find(packed, spec, columns);
  const int left = packed->length - position, length = least(span->values, left);
  out->hash = packed->hash;
  out->game = packed->game;
  out->ordinal = packed->ordinal;
  out->version = packed->version;
  out->bytes = packed->bytes;
  out->moves = packed->moves - position;
  out->length = length;
  out->end = length == left ? (mz_end)packed->end : MZ_END_OPEN;
  read_rows(&columns[MZ_COLUMN_VALUE], position, length, out->value);
  read_rows(&columns[MZ_COLUMN_REWARD], position, length, out->reward);
  read_rows(&columns[MZ_COLUMN_PLAYER], position, length, out->player);
  read_policies(packed, columns, position, least(span->policies, length), tail, out);
  read_observations(packed, spec, &columns[MZ_COLUMN_OBSERVATION], position, least(span->observations, length), out->obs);
}

mz_status mz_packed_unpack(const mz_packed *packed, const mz_spec *spec, mz_segment **out) {
  const mz_span all = {.values = packed->length, .policies = packed->length, .observations = packed->length};
  MZ_TRY(mz_segment_alloc(packed->length, packed->entries, mz_spec_obs_bytes(spec), out));
  read_moves(packed, spec, 0, &all, *out);
  return MZ_OK;
}

/* ---- spans ---- */

static size_t padded(size_t bytes) { return (bytes + 3) & ~(size_t)3; }

/* Bounds the span by the moves that are left. */
static mz_span within(const mz_span *span, int left) {
  const int length = least(span->values, left);
  return (mz_span){
      .values = length, .policies = least(span->policies, length), .observations = least(span->observations, length)};
}

size_t mz_span_bytes(const mz_span *span, int length, const mz_spec *spec) {
  const mz_span w = within(span, length);
  const size_t values = (size_t)w.values, policies = (size_t)w.policies, entries = policies * (size_t)spec->actions;
  return padded((size_t)w.observations * mz_spec_obs_bytes(spec)) + values * (2 * sizeof(float) + sizeof(uint8_t)) +
         policies * sizeof(int32_t) + (policies + 1) * sizeof(uint32_t) + entries * (sizeof(float) + sizeof(uint16_t));
}

/* Widest elements first, so that everything lies aligned without gaps. */
static void place(const mz_span *w, const mz_spec *spec, void *memory, mz_segment *out) {
  const size_t entries = (size_t)w->policies * (size_t)spec->actions;
  out->obs = memory;
  out->value = (float *)(void *)(out->obs + padded((size_t)w->observations * mz_spec_obs_bytes(spec)));
  out->reward = out->value + w->values;
  out->action = (int32_t *)(out->reward + w->values);
  out->policy_start = (uint32_t *)(out->action + w->policies);
  out->policy_weight = (float *)(out->policy_start + w->policies + 1);
  out->policy_action = (uint16_t *)(out->policy_weight + entries);
  out->player = (uint8_t *)(out->policy_action + entries);
}

void mz_packed_read(const mz_packed *packed, const mz_spec *spec, int position, const mz_span *span, void *memory,
                    mz_segment *out) {
  const mz_span w = within(span, packed->length - position);
  place(&w, spec, memory, out);
  read_moves(packed, spec, position, &w, out);
}
