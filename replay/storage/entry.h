/* A segment as a buffer lists it, and the tier that keeps it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef enum mz_tier { MZ_TIER_RAW, MZ_TIER_PACKED, MZ_TIER_SPILLED, MZ_TIERS } mz_tier;

typedef struct mz_entry {
  uint64_t serial; /* increases by one per segment ever inserted */
  uint64_t hash;
  int moves;
  size_t bytes; /* raw */
  mz_tier tier;
} mz_entry;
