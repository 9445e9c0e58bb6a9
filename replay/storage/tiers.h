/* The tiers in which the segments of a buffer are kept, oldest first: the newest raw, those before them packed in memory, the oldest
 * packed in a temporary file. What is in which tier is a physical matter that no result depends on. Bounds are kept where that can be
 * done: a segment that cannot be packed or spilled (no memory, no folder, a full disk) stays where it is, with one warning. One writer;
 * any number of readers between its calls. Internal to this room. */
#pragma once
#include "replay/storage/entry.h"
#include "replay/segments/content.h"
#include "replay/storage/spill.h"

typedef struct mz_kept { /* one segment: what draws look at, small so that it stays in the cache */
  mz_segment *segment;   /* its contents while they are raw; NULL: packed or spilled */
  int64_t first_leaf;    /* the buffer's: of its consecutive leaves, modulo the capacity */
} mz_kept;

typedef struct mz_record { /* what is left of one that is not raw */
  union {
    mz_packed *packed;
    uint64_t offset; /* spilled: of its record in the file */
  };
  uint64_t hash;
  size_t bytes; /* raw */
  int32_t moves;
  uint32_t size; /* of the packed data */
} mz_record;

typedef struct mz_tiers {
  mz_spec spec;
  int64_t bound[2];       /* by tier, raw and packed; INT64_MAX: none */
  int64_t used[MZ_TIERS]; /* bytes by tier: raw segments; packed ones; packed ones in the file */
  /* [capacity], a power of two; rings: a serial is at serial & (capacity − 1) */
  mz_kept *kept;
  mz_record *records;
  uint64_t capacity;
  /* serials: oldest … first_packed−1 spilled, … first_raw−1 packed, … next−1 raw */
  uint64_t oldest, first_packed, first_raw, next;
  mz_writer scratch; /* for packing */
  char *folder;      /* for the file; NULL: none given */
  mz_spill *spill;
  bool warned[2]; /* by the tier that is above its bound */
} mz_tiers;

/* Bounds in bytes; 0: none. */
mz_status mz_tiers_init(mz_tiers *tiers, const mz_spec *spec, int64_t raw_bytes, int64_t packed_bytes);
void mz_tiers_deinit(mz_tiers *tiers);
double mz_tiers_bytes(double segments); /* of the rings for so many, while they grow to it */
/* Empty, the next serial being this. */
void mz_tiers_restart(mz_tiers *tiers, uint64_t serial);

/* Takes over the reference unless it fails (MZ_E_MEMORY). Its serial is what `next` was; it is raw. */
mz_status mz_tiers_push(mz_tiers *tiers, mz_segment *segment, int64_t first_leaf);
/* The oldest leaves: what it was. */
mz_entry mz_tiers_pop(mz_tiers *tiers);
/* Packs and spills what exceeds the bounds: after a push about as much as was pushed. */
void mz_tiers_settle(mz_tiers *tiers);

/* As mz_buffer_set_tiers and mz_buffer_spill_to. */
mz_status mz_tiers_rebound(mz_tiers *tiers, int64_t raw_bytes, int64_t packed_bytes);
mz_status mz_tiers_spill_to(mz_tiers *tiers, const char *folder);

static inline mz_kept *mz_tiers_at(const mz_tiers *tiers, uint64_t serial) {
  return &tiers->kept[serial & (tiers->capacity - 1)];
}
static inline mz_record *mz_tiers_record(const mz_tiers *tiers, uint64_t serial) {
  return &tiers->records[serial & (tiers->capacity - 1)];
}
mz_entry mz_tiers_entry(const mz_tiers *tiers, uint64_t serial);
mz_tier mz_tiers_tier(const mz_tiers *tiers, uint64_t serial);
/* Contents in the form at hand, with a reference; those of a spilled one are read. */
mz_status mz_tiers_content(const mz_tiers *tiers, uint64_t serial, mz_content *out);
