#include "replay/storage/tiers.h"
#include "base/log.h"
#include <malloc.h>
#include <string.h>

static int64_t bound_of(int64_t bytes) { return bytes > 0 ? bytes : INT64_MAX; }

mz_status mz_tiers_init(mz_tiers *tiers, const mz_spec *spec, int64_t raw_bytes, int64_t packed_bytes) {
  *tiers = (mz_tiers){.spec = *spec, .bound = {bound_of(raw_bytes), bound_of(packed_bytes)}, .capacity = 64};
  MZ_TRY(mz_alloc(&tiers->kept, tiers->capacity, sizeof *tiers->kept));
  return mz_alloc(&tiers->records, tiers->capacity, sizeof *tiers->records);
}

void mz_tiers_deinit(mz_tiers *tiers) {
  if (tiers->records) mz_tiers_restart(tiers, 0);
  mz_writer_free(&tiers->scratch);
  mz_spill_close(tiers->spill);
  free(tiers->folder);
  free(tiers->kept);
  free(tiers->records);
  *tiers = (mz_tiers){0};
}

void mz_tiers_restart(mz_tiers *tiers, uint64_t serial) {
  while (tiers->oldest < tiers->next) mz_tiers_pop(tiers);
  tiers->oldest = tiers->first_packed = tiers->first_raw = tiers->next = serial;
}

/* ---- the rings ---- */

double mz_tiers_bytes(double segments) {
  double capacity = 64;
  while (capacity < segments) capacity *= 2;
  return 1.5 * capacity * (double)(sizeof(mz_kept) + sizeof(mz_record));
}

static mz_status grow(mz_tiers *tiers) {
  mz_tiers larger = *tiers;
  larger.capacity = 2 * tiers->capacity;
  MZ_TRY(mz_alloc(&larger.kept, larger.capacity, sizeof *larger.kept));
  mz_status status = mz_alloc(&larger.records, larger.capacity, sizeof *larger.records);
  if (status != MZ_OK) {
    free(larger.kept);
    return status;
  }
  for (uint64_t serial = tiers->oldest; serial < tiers->next; serial++) {
    *mz_tiers_at(&larger, serial) = *mz_tiers_at(tiers, serial);
    *mz_tiers_record(&larger, serial) = *mz_tiers_record(tiers, serial);
  }
  free(tiers->kept);
  free(tiers->records);
  *tiers = larger;
  return MZ_OK;
}

mz_status mz_tiers_push(mz_tiers *tiers, mz_segment *segment, int64_t first_leaf) {
  if (tiers->next - tiers->oldest == tiers->capacity) MZ_TRY(grow(tiers));
  uint64_t serial = tiers->next++;
  *mz_tiers_at(tiers, serial) = (mz_kept){.segment = segment, .first_leaf = first_leaf};
  tiers->used[MZ_TIER_RAW] += (int64_t)segment->bytes;
  return MZ_OK;
}

mz_tier mz_tiers_tier(const mz_tiers *tiers, uint64_t serial) {
  return serial >= tiers->first_raw ? MZ_TIER_RAW : serial >= tiers->first_packed ? MZ_TIER_PACKED : MZ_TIER_SPILLED;
}

mz_entry mz_tiers_entry(const mz_tiers *tiers, uint64_t serial) {
  mz_entry entry = {.serial = serial, .tier = mz_tiers_tier(tiers, serial)};
  const mz_segment *segment = mz_tiers_at(tiers, serial)->segment;
  const mz_record *record = mz_tiers_record(tiers, serial);
  entry.hash = segment ? segment->hash : record->hash;
  entry.moves = segment ? segment->moves : record->moves;
  entry.bytes = segment ? segment->bytes : record->bytes;
  return entry;
}

/* Returns the bytes that it takes in that tier; packed only once it was packed. */
static int64_t bytes_in(const mz_tiers *tiers, uint64_t serial, mz_tier tier) {
  if (tier == MZ_TIER_RAW) return (int64_t)mz_tiers_entry(tiers, serial).bytes;
  return (int64_t)mz_packed_bytes(mz_tiers_record(tiers, serial)->size);
}

static void count_move(mz_tiers *tiers, uint64_t serial, mz_tier from, mz_tier to) {
  tiers->used[from] -= bytes_in(tiers, serial, from);
  tiers->used[to] += bytes_in(tiers, serial, to);
}

/* Drops the front of the spilled segments. */
static void forget_front(mz_tiers *tiers) {
  if (tiers->oldest < tiers->first_packed)
    mz_spill_forget(tiers->spill, mz_tiers_record(tiers, tiers->oldest)->offset);
  else
    mz_spill_cut(tiers->spill, 0);
}

mz_entry mz_tiers_pop(mz_tiers *tiers) {
  mz_entry entry = mz_tiers_entry(tiers, tiers->oldest++);
  tiers->used[entry.tier] -= entry.tier == MZ_TIER_RAW ? (int64_t)entry.bytes : bytes_in(tiers, entry.serial, entry.tier);
  if (entry.tier == MZ_TIER_RAW) mz_segment_release(mz_tiers_at(tiers, entry.serial)->segment);
  if (entry.tier == MZ_TIER_PACKED) mz_packed_release(mz_tiers_record(tiers, entry.serial)->packed);
  if (tiers->first_packed < tiers->oldest) tiers->first_packed = tiers->oldest;
  if (tiers->first_raw < tiers->oldest) tiers->first_raw = tiers->oldest;
  if (entry.tier == MZ_TIER_SPILLED) forget_front(tiers);
  return entry;
}

/* ---- down: what exceeds a bound ---- */

static mz_status pack_one(mz_tiers *tiers) {
  uint64_t serial = tiers->first_raw;
  mz_segment *segment = mz_tiers_at(tiers, serial)->segment;
  mz_packed *packed;
  MZ_TRY(mz_packed_pack(segment, &tiers->spec, &tiers->scratch, &packed));
  *mz_tiers_record(tiers, serial) = (mz_record){
      .packed = packed, .hash = segment->hash, .bytes = segment->bytes, .moves = segment->moves, .size = packed->size};
  count_move(tiers, serial, MZ_TIER_RAW, MZ_TIER_PACKED);
  mz_tiers_at(tiers, serial)->segment = NULL;
  mz_segment_release(segment);
  tiers->first_raw++;
  return MZ_OK;
}

static mz_status spill_one(mz_tiers *tiers) {
  if (!tiers->folder) return mz_fail(MZ_E_IO, "there is no folder for a file");
  if (!tiers->spill) MZ_TRY(mz_spill_open(&tiers->spill, tiers->folder));
  uint64_t serial = tiers->first_packed, offset;
  mz_record *r = mz_tiers_record(tiers, serial);
  MZ_TRY(mz_spill_append(tiers->spill, r->packed, &offset));
  mz_packed_release(r->packed);
  r->offset = offset;
  count_move(tiers, serial, MZ_TIER_PACKED, MZ_TIER_SPILLED);
  tiers->first_packed++;
  return MZ_OK;
}

static void warn(mz_tiers *tiers, mz_tier above, const char *key) {
  if (!tiers->warned[above])
    mz_log_write(MZ_LOG_WARNING, "%s: more than %lld bytes stay in memory: %s", key, (long long)tiers->bound[above],
                 mz_message());
  tiers->warned[above] = true;
}

void mz_tiers_settle(mz_tiers *tiers) {
  mz_status status = MZ_OK;
  while (status == MZ_OK && tiers->used[MZ_TIER_RAW] > tiers->bound[MZ_TIER_RAW]) status = pack_one(tiers);
  if (status != MZ_OK) warn(tiers, MZ_TIER_RAW, "replay.raw_bytes");
  status = MZ_OK;
  while (status == MZ_OK && tiers->used[MZ_TIER_PACKED] > tiers->bound[MZ_TIER_PACKED]) status = spill_one(tiers);
  if (status != MZ_OK) warn(tiers, MZ_TIER_PACKED, "replay.packed_bytes");
}

mz_status mz_tiers_spill_to(mz_tiers *tiers, const char *folder) {
  char *copy = strdup(folder);
  if (!copy) return mz_fail(MZ_E_MEMORY, "%s: out of memory", folder);
  free(tiers->folder);
  tiers->folder = copy;
  tiers->warned[MZ_TIER_PACKED] = false;
  mz_tiers_settle(tiers);
  return MZ_OK;
}

/* ---- contents ---- */

static mz_status read_spilled(const mz_tiers *tiers, const mz_record *r, mz_packed **out) {
  mz_packed *packed;
  MZ_TRY(mz_packed_alloc(r->size, &packed));
  mz_status status = mz_spill_read(tiers->spill, r->offset, r->size, r->hash, packed);
  if (status == MZ_OK)
    *out = packed;
  else
    mz_packed_release(packed);
  return status;
}

mz_status mz_tiers_content(const mz_tiers *tiers, uint64_t serial, mz_content *out) {
  const mz_record *r = mz_tiers_record(tiers, serial);
  mz_tier tier = mz_tiers_tier(tiers, serial);
  *out = (mz_content){.segment = mz_tiers_at(tiers, serial)->segment};
  if (tier == MZ_TIER_SPILLED) return read_spilled(tiers, r, &out->packed);
  if (tier == MZ_TIER_PACKED) {
    out->packed = r->packed;
    mz_packed_retain(out->packed);
  } else {
    mz_segment_retain(out->segment);
  }
  return MZ_OK;
}

/* ---- up: what larger bounds have room for ---- */

/* The lowest serial from which on all up to `end` fit in addition to `used`, raw or packed. */
static uint64_t reach(const mz_tiers *tiers, mz_tier tier, uint64_t end, int64_t used, int64_t bound) {
  uint64_t serial = end;
  while (serial > tiers->oldest) {
    used += bytes_in(tiers, serial - 1, tier);
    if (used > bound) break;
    serial--;
  }
  return serial;
}

typedef struct rise { /* what moves up: serials of from … tiers->first_raw−1 */
  uint64_t from, first_raw;
  mz_content *contents; /* [tiers->first_raw − from] what each will be; neither: it stays */
} rise;

static mz_status unpack(const mz_tiers *tiers, uint64_t serial, mz_segment **out) {
  mz_content content;
  MZ_TRY(mz_tiers_content(tiers, serial, &content));
  mz_status status = mz_packed_unpack(content.packed, &tiers->spec, out);
  mz_content_release(&content);
  return status;
}

static mz_status fetch(const mz_tiers *tiers, const rise *r) {
  for (uint64_t serial = r->from; serial < tiers->first_raw; serial++) {
    mz_content *content = &r->contents[serial - r->from];
    if (serial >= r->first_raw)
      MZ_TRY(unpack(tiers, serial, &content->segment));
    else if (serial < tiers->first_packed)
      MZ_TRY(mz_tiers_content(tiers, serial, content));
  }
  return MZ_OK;
}

static void put(mz_tiers *tiers, uint64_t serial, const mz_content *content) {
  mz_tier from = mz_tiers_tier(tiers, serial), to = content->segment ? MZ_TIER_RAW : MZ_TIER_PACKED;
  if (!content->segment && !content->packed) return;
  count_move(tiers, serial, from, to);
  if (from == MZ_TIER_PACKED) mz_packed_release(mz_tiers_record(tiers, serial)->packed);
  mz_tiers_at(tiers, serial)->segment = content->segment;
  mz_tiers_record(tiers, serial)->packed = content->packed;
}

static void take(mz_tiers *tiers, const rise *r) {
  bool read_back = r->from < tiers->first_packed;
  uint64_t end = r->from > tiers->oldest ? mz_tiers_record(tiers, r->from)->offset : 0;
  for (uint64_t serial = r->from; serial < tiers->first_raw; serial++) put(tiers, serial, &r->contents[serial - r->from]);
  tiers->first_raw = r->first_raw;
  if (!read_back) return;
  tiers->first_packed = r->from;
  mz_spill_cut(tiers->spill, end);
}

/* Everything is fetched before anything is changed. */
static mz_status raise_to(mz_tiers *tiers, uint64_t first_packed, uint64_t first_raw) {
  rise r = {.from = first_packed, .first_raw = first_raw};
  size_t count = tiers->first_raw - r.from;
  MZ_TRY(mz_alloc(&r.contents, count, sizeof *r.contents));
  mz_status status = fetch(tiers, &r);
  if (status == MZ_OK)
    take(tiers, &r);
  else
    for (size_t i = 0; i < count; i++) mz_content_release(&r.contents[i]);
  free(r.contents);
  return status;
}

mz_status mz_tiers_rebound(mz_tiers *tiers, int64_t raw_bytes, int64_t packed_bytes) {
  int64_t raw_bound = bound_of(raw_bytes), packed_bound = bound_of(packed_bytes), packed = tiers->used[MZ_TIER_PACKED];
  uint64_t first_raw = reach(tiers, MZ_TIER_RAW, tiers->first_raw, tiers->used[MZ_TIER_RAW], raw_bound);
  uint64_t first_packed = tiers->first_packed < first_raw ? tiers->first_packed : first_raw;
  for (uint64_t serial = first_raw > tiers->first_packed ? first_raw : tiers->first_packed; serial < tiers->first_raw; serial++)
    packed -= bytes_in(tiers, serial, MZ_TIER_PACKED); /* these leave the packed tier */
  first_packed = reach(tiers, MZ_TIER_PACKED, first_packed, packed, packed_bound);
  if (first_raw < tiers->first_raw || first_packed < tiers->first_packed) MZ_TRY(raise_to(tiers, first_packed, first_raw));
  tiers->bound[MZ_TIER_RAW] = raw_bound;
  tiers->bound[MZ_TIER_PACKED] = packed_bound;
  tiers->warned[MZ_TIER_RAW] = tiers->warned[MZ_TIER_PACKED] = false;
  const int64_t raw_before = tiers->used[MZ_TIER_RAW];
  mz_tiers_settle(tiers);
  if (tiers->used[MZ_TIER_RAW] < raw_before) malloc_trim(0); /* or what was packed stays resident as free memory */
  return MZ_OK;
}
