#include "muzero/base/digest.h"
#include <xxhash.h>

uint64_t mz_hash(const void *data, size_t size, uint64_t seed) { return XXH64(data, size, seed); }

uint64_t mz_hash_combine(uint64_t digest, uint64_t value) {
  uint8_t bytes[16]; /* little-endian on every machine */
  for (int i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(digest >> 8 * i);
    bytes[8 + i] = (uint8_t)(value >> 8 * i);
  }
  return XXH64(bytes, sizeof bytes, 0);
}
