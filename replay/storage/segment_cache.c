#include "replay/storage/segment_cache.h"
#include "replay/buffer_state.h"

typedef struct mz_wanted {
  uint64_t serial;
  int draw;
} mz_wanted;

void mz_segment_cache_clear(mz_segment_cache *cache) {
  for (int i = 0; i < cache->copy_count; i++) mz_segment_release(cache->copies[i]);
  cache->copy_count = 0;
}

static void free_lists(mz_segment_cache *cache) {
  mz_segment_cache_clear(cache);
  free(cache->wanted);
  free(cache->copies);
  cache->wanted = NULL;
  cache->copies = NULL;
  cache->capacity = 0;
}

void mz_segment_cache_deinit(mz_segment_cache *cache) {
  free_lists(cache);
  mz_unpacker_deinit(&cache->unpacker);
}

static mz_status reserve(mz_segment_cache *cache, int n) {
  if (cache->capacity >= n) return MZ_OK;
  free_lists(cache);
  MZ_TRY(mz_alloc(&cache->wanted, (size_t)n, sizeof *cache->wanted));
  MZ_TRY(mz_alloc(&cache->copies, (size_t)n, sizeof *cache->copies));
  cache->capacity = n;
  return MZ_OK;
}

static int by_serial(const void *a, const void *b) {
  const mz_wanted *x = a, *y = b;
  return (x->serial > y->serial) - (x->serial < y->serial);
}

/* In the order of serials: what is spilled is read forwards. */
static int list_wanted(mz_segment_cache *cache, int n, const mz_draw *draws) {
  int count = 0;
  for (int i = 0; i < n; i++)
    if (!draws[i].segment) cache->wanted[count++] = (mz_wanted){.serial = draws[i].serial, .draw = i};
  qsort(cache->wanted, (size_t)count, sizeof *cache->wanted, by_serial);
  return count;
}

mz_status mz_buffer_load(const mz_buffer *buffer, mz_segment_cache *cache, int n, mz_draw *draws) {
  const mz_tiers *tiers = mz_buffer_tiers(buffer);
  if (tiers->first_raw == tiers->oldest) return MZ_OK; /* everything is raw */
  mz_segment_cache_clear(cache);
  MZ_TRY(reserve(cache, n));
  int count = list_wanted(cache, n, draws);
  for (int i = 0; i < count; i++) {
    const mz_wanted *w = &cache->wanted[i];
    if (i == 0 || w->serial != w[-1].serial) {
      MZ_TRY(mz_tiers_unpack(tiers, w->serial, &cache->unpacker, &cache->copies[cache->copy_count]));
      cache->copy_count++;
    }
    draws[w->draw].segment = cache->copies[cache->copy_count - 1];
  }
  return MZ_OK;
}
