#include "replay/storage/store.h"
#include "base/file/file.h"
#include "base/log.h"
#include "replay/storage/pack.h"
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { SLICE_BYTES = 16 << 20 }; /* raw, of a pack */

typedef struct pack {
  char name[24]; /* "": removed; the place is used again */
  char *damage;  /* why it cannot be relied on; NULL: it can */
  mz_file_stamp stamp;
  bool suspect; /* a segment of it could not be read */
  bool newer;   /* written by a newer program */
  bool written; /* by this store, not found on opening */
  bool live;    /* while collecting */
} pack;

typedef struct located { /* one stored segment */
  mz_pack_row row;
  int pack;
} located;

struct mz_store {
  char dir[PATH_MAX];
  mz_spec spec;
  pthread_mutex_t mutex; /* guards everything below once it is open; held while files are looked at again and removed, not while
                            segments are read or written */
  pack *packs;
  int pack_count, pack_capacity;
  located *segments;
  uint32_t *slots; /* [slot_count] open addressing by hash: 1 + index into `segments`, 0: free */
  uint32_t count, capacity;
  uint32_t slot_count; /* 2 × capacity, a power of two */
  bool pinned;         /* packs that were found on opening stay */
};

/* The slot that holds the hash, or the free one where it would go. */
static uint32_t *slot_of(const mz_store *store, uint64_t hash) {
  uint32_t mask = store->slot_count - 1;
  for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask)
    if (store->slots[i] == 0 || store->segments[store->slots[i] - 1].row.hash == hash) return &store->slots[i];
}

static const located *find(const mz_store *store, uint64_t hash) {
  uint32_t index = *slot_of(store, hash);
  return index ? &store->segments[index - 1] : NULL;
}

static void add_segment(mz_store *store, const mz_pack_row *row, int pack_index) {
  uint32_t *slot = slot_of(store, row->hash);
  if (*slot) return;
  store->segments[store->count] = (located){.row = *row, .pack = pack_index};
  *slot = ++store->count;
}

/* Room for `more` segments: both arrays anew, twice as large as needed. */
static mz_status reserve_segments(mz_store *store, uint32_t more) {
  if (store->capacity - store->count >= more && store->slots) return MZ_OK;
  uint32_t capacity = 64;
  while (capacity - store->count < more || capacity < store->count) {
    if (capacity > UINT32_MAX / 8) return mz_fail(MZ_E_MEMORY, "%s: too many segments", store->dir);
    capacity *= 2;
  }
  located *old = store->segments, *segments;
  uint32_t *slots, count = store->count;
  MZ_TRY(mz_alloc(&segments, capacity, sizeof *segments));
  if (mz_alloc(&slots, 2 * (size_t)capacity, sizeof *slots) != MZ_OK) {
    free(segments);
    return MZ_E_MEMORY;
  }
  free(store->slots);
  store->segments = segments;
  store->slots = slots;
  store->capacity = capacity;
  store->slot_count = 2 * capacity;
  store->count = 0;
  for (uint32_t i = 0; i < count; i++) add_segment(store, &old[i].row, old[i].pack);
  free(old);
  return MZ_OK;
}

/* The place of a pack of that name (damaged and now written again), or a free one. */
static mz_status place_pack(mz_store *store, const char *name, int *out) {
  int place = store->pack_count;
  for (int i = 0; i < store->pack_count; i++)
    if (strcmp(store->packs[i].name, name) == 0 || (place == store->pack_count && store->packs[i].name[0] == 0)) place = i;
  *out = place;
  if (place < store->pack_count) return MZ_OK;
  return mz_reserve_one(&store->packs, &store->pack_capacity, store->pack_count, sizeof *store->packs);
}

/* rows: NULL where `damage` says why there are none; it is taken over unless this fails. */
static mz_status add_pack(mz_store *store, const char *name, const mz_pack_row *rows, int count, char *damage, pack **out) {
  int place;
  MZ_TRY(place_pack(store, name, &place));
  MZ_TRY(reserve_segments(store, (uint32_t)count));
  pack *p = &store->packs[place];
  free(p->damage);
  *p = (pack){.damage = damage};
  snprintf(p->name, sizeof p->name, "%s", name);
  for (int i = 0; i < count; i++) add_segment(store, &rows[i], place);
  if (place == store->pack_count) store->pack_count++;
  *out = p;
  return MZ_OK;
}

static mz_status open_pack(mz_store *store, const char *name) {
  char path[PATH_MAX];
  mz_pack_row *rows;
  int count;
  pack *added;
  mz_file_stamp stamp = {0};
  MZ_TRY(mz_path_join(path, sizeof path, store->dir, name));
  mz_file_stamp_read(path, &stamp); /* before the file is read: a later change shows */
  mz_status status = mz_pack_read_table(path, &rows, &count);
  if (status == MZ_E_MEMORY) return status;
  char *damage = NULL;
  if (status != MZ_OK) {
    damage = strdup(mz_message());
    if (!damage) return mz_fail(MZ_E_MEMORY, "%s: out of memory", path);
  }
  status = add_pack(store, name, rows, count, damage, &added);
  if (status == MZ_OK) {
    added->stamp = stamp;
    added->newer = damage && mz_pack_is_newer(path);
  } else {
    free(damage);
  }
  free(rows);
  return status;
}

static mz_status open_if_pack(void *store, const char *name) { return mz_pack_is_name(name) ? open_pack(store, name) : MZ_OK; }

mz_status mz_store_open(mz_store **out, const char *dir, const mz_spec *spec) {
  mz_store *store;
  MZ_TRY(mz_alloc(&store, 1, sizeof *store));
  pthread_mutex_init(&store->mutex, NULL);
  store->spec = *spec;
  mz_status status;
  if (snprintf(store->dir, sizeof store->dir, "%s", dir) >= (int)sizeof store->dir)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "%.64s…: the path is too long", dir));
  MZ_TRY_CLEANUP(reserve_segments(store, 1));
  if (mz_file_exists(dir)) MZ_TRY_CLEANUP(mz_file_list(store->dir, open_if_pack, store));
  *out = store;
  return MZ_OK;
cleanup:
  mz_store_close(store);
  return status;
}

void mz_store_close(mz_store *store) {
  if (!store) return;
  for (int i = 0; i < store->pack_count; i++) free(store->packs[i].damage);
  free(store->packs);
  free(store->segments);
  free(store->slots);
  pthread_mutex_destroy(&store->mutex);
  free(store);
}

static void lock(const mz_store *store) { pthread_mutex_lock((pthread_mutex_t *)&store->mutex); }
static void unlock(const mz_store *store) { pthread_mutex_unlock((pthread_mutex_t *)&store->mutex); }

bool mz_store_has(const mz_store *store, uint64_t hash) {
  lock(store);
  bool has = find(store, hash) != NULL;
  unlock(store);
  return has;
}

static mz_status write_pack(mz_store *store, const mz_content *contents, int count, char name[64]) {
  mz_writer file;
  mz_pack_row *rows = NULL;
  pack *added;
  char path[PATH_MAX];
  MZ_TRY(mz_pack_build(contents, count, &store->spec, &file, name));
  mz_status status;
  MZ_TRY_CLEANUP(mz_path_join(path, sizeof path, store->dir, name));
  MZ_TRY_CLEANUP(mz_file_write_atomic(path, file.data, file.size));
  MZ_TRY_CLEANUP(mz_pack_read_table(path, &rows, &count));
  mz_file_stamp stamp = {0};
  mz_file_stamp_read(path, &stamp);
  lock(store);
  status = add_pack(store, name, rows, count, NULL, &added);
  if (status == MZ_OK) {
    added->stamp = stamp;
    added->written = true;
  }
  unlock(store);
cleanup:
  mz_writer_free(&file);
  free(rows);
  return status;
}

/* How many of the first make a pack: one at least. */
static int slice_of(const mz_content *contents, int count) {
  size_t bytes = 0;
  int n = 0;
  for (; n < count; n++) {
    bytes += mz_content_bytes(&contents[n]);
    if (n > 0 && bytes > SLICE_BYTES) break;
  }
  return n;
}

/* One buffer of the raw size, and the rows of its table: they are a third of the shortest segments. */
double mz_store_write_bytes(double raw, double longest) {
  const double slice = raw < SLICE_BYTES ? raw : longest > SLICE_BYTES ? longest : SLICE_BYTES;
  return 1.5 * slice;
}

double mz_store_table_bytes(double segments) {
  const double grown = 1.5; /* on average, of doublings */
  return grown * segments * (sizeof(located) + 2 * sizeof(uint32_t));
}

mz_status mz_store_write(mz_store *store, const mz_content *contents, int count, char pack_name[64]) {
  mz_content *missing;
  int missing_count = 0;
  pack_name[0] = 0;
  MZ_TRY(mz_alloc(&missing, (size_t)count, sizeof *missing));
  lock(store);
  for (int i = 0; i < count; i++)
    if (!find(store, mz_content_hash(&contents[i]))) missing[missing_count++] = contents[i];
  unlock(store);
  mz_status status = MZ_OK;
  for (int at = 0; at < missing_count && status == MZ_OK;) {
    const int slice = slice_of(missing + at, missing_count - at);
    status = write_pack(store, missing + at, slice, pack_name);
    at += slice;
  }
  if (status != MZ_OK) pack_name[0] = 0;
  free(missing);
  return status;
}

static const char *first_damage(const mz_store *store) {
  for (int i = 0; i < store->pack_count; i++)
    if (store->packs[i].damage) return store->packs[i].damage;
  return NULL;
}

static mz_status locate(const mz_store *store, uint64_t hash, mz_pack_row *row, char path[PATH_MAX]) {
  const located *at = find(store, hash);
  const char *damage = first_damage(store);
  if (!at && damage) return mz_fail(MZ_E_CHECKPOINT, "%s; segment %016llx is in no other pack", damage, (unsigned long long)hash);
  if (!at) return mz_fail(MZ_E_CHECKPOINT, "%s: no pack holds segment %016llx", store->dir, (unsigned long long)hash);
  *row = at->row;
  return mz_path_join(path, PATH_MAX, store->dir, store->packs[at->pack].name);
}

/* The pack is suspect now. Segments of one that was damaged were written again, and it stays while older ones are wanted of it: another
 * may hold a copy. The message stays that of the failure that led here. */
static bool load_copy(mz_store *store, uint64_t hash, mz_segment **out) {
  char why[MZ_MESSAGE_MAX], path[PATH_MAX];
  bool more = true, found = false;
  snprintf(why, sizeof why, "%s", mz_message());
  for (int i = 0; more && !found; i++) {
    lock(store);
    const located *at = find(store, hash);
    if (i == 0 && at) store->packs[at->pack].suspect = true;
    more = i < store->pack_count;
    const bool usable = more && store->packs[i].name[0] && !store->packs[i].damage &&
                        mz_path_join(path, sizeof path, store->dir, store->packs[i].name) == MZ_OK;
    unlock(store);
    found = usable && mz_pack_find_segment(path, hash, &store->spec, out) == MZ_OK;
  }
  if (!found) mz_fail(MZ_OK, "%s", why);
  return found;
}

mz_status mz_store_load(mz_store *store, uint64_t hash, mz_segment **out) {
  char path[PATH_MAX];
  mz_pack_row row;
  lock(store);
  mz_status status = locate(store, hash, &row, path);
  unlock(store);
  MZ_TRY(status);
  status = mz_pack_read_segment(path, &row, &store->spec, out);
  const bool lost = status == MZ_E_CHECKPOINT || status == MZ_E_IO;
  return lost && load_copy(store, hash, out) ? MZ_OK : status;
}

/* Takes what packs hold that are gone or not to be relied on out of the index. */
static void forget_lost(mz_store *store) {
  uint32_t count = store->count;
  memset(store->slots, 0, (size_t)store->slot_count * sizeof *store->slots);
  store->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    located at = store->segments[i];
    if (store->packs[at.pack].name[0] && !store->packs[at.pack].damage) add_segment(store, &at.row, at.pack);
  }
}

/* Returns whether the file is the one that was read or written, or another that is sound. */
static mz_status check_file(mz_store *store, pack *p, bool *sound) {
  char path[PATH_MAX];
  mz_file_stamp now = {0};
  MZ_TRY(mz_path_join(path, sizeof path, store->dir, p->name));
  const bool there = mz_file_stamp_read(path, &now);
  *sound = there && !p->suspect && memcmp(&now, &p->stamp, sizeof now) == 0;
  if (*sound) return MZ_OK;
  const mz_status status =
      there ? mz_pack_verify(path, &store->spec) : mz_fail(MZ_E_CHECKPOINT, "%s: is not there any more", path);
  if (status == MZ_E_MEMORY) return status;
  *sound = status == MZ_OK;
  p->stamp = now;
  p->suspect = false;
  return MZ_OK;
}

mz_status mz_store_refresh(mz_store *store) {
  bool lost = false;
  mz_status status = MZ_OK;
  lock(store);
  for (int i = 0; i < store->pack_count && status == MZ_OK; i++) {
    pack *p = &store->packs[i];
    bool sound = true;
    if (p->name[0] && !p->damage) status = check_file(store, p, &sound);
    if (sound || status != MZ_OK) continue;
    p->damage = strdup(mz_message());
    if (!p->damage) status = mz_fail(MZ_E_MEMORY, "%s: out of memory", store->dir);
    mz_log_write(MZ_LOG_WARNING, "%s; its segments that are in memory are written again", mz_message());
    lost = true;
  }
  if (lost) forget_lost(store);
  unlock(store);
  return status;
}

void mz_store_pin(mz_store *store, bool pinned) {
  lock(store);
  store->pinned = pinned;
  unlock(store);
}

/* A damaged pack may hold a live segment that is nowhere else; only when none is missing can it go. */
static void mark_live(mz_store *store, const uint64_t *live, size_t count) {
  bool missing = false;
  for (int i = 0; i < store->pack_count; i++) {
    pack *p = &store->packs[i];
    p->live = p->newer || (store->pinned && !p->written);
  }
  for (size_t i = 0; i < count; i++) {
    const located *at = find(store, live[i]);
    if (at)
      store->packs[at->pack].live = true;
    else
      missing = true;
  }
  for (int i = 0; i < store->pack_count; i++)
    if (store->packs[i].damage && missing) store->packs[i].live = true;
}

/* One that cannot be removed stays for the next time. */
static void remove_dead(mz_store *store) {
  for (int i = 0; i < store->pack_count; i++) {
    pack *p = &store->packs[i];
    char path[PATH_MAX];
    if (p->live || !p->name[0] || mz_path_join(path, sizeof path, store->dir, p->name) != MZ_OK) continue;
    if (mz_file_remove(path) != MZ_OK) {
      mz_log_write(MZ_LOG_WARNING, "%s; it stays", mz_message());
      continue;
    }
    free(p->damage);
    *p = (pack){0};
  }
}

void mz_store_collect(mz_store *store, const uint64_t *live, size_t count) {
  lock(store);
  mark_live(store, live, count);
  remove_dead(store);
  forget_lost(store);
  unlock(store);
}

mz_status mz_store_verify(mz_store *store) {
  for (int i = 0;; i++) {
    char path[PATH_MAX];
    lock(store);
    bool more = i < store->pack_count, removed = more && !store->packs[i].name[0];
    mz_status status = more && !removed ? mz_path_join(path, sizeof path, store->dir, store->packs[i].name) : MZ_OK;
    unlock(store);
    MZ_TRY(status);
    if (!more) return MZ_OK;
    if (removed) continue;
    status = mz_pack_verify(path, &store->spec);
    if (status != MZ_OK && mz_file_exists(path))
      return status; /* otherwise the run that writes here has no use for it any more */
  }
}
