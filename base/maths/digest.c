#include "base/maths/digest.h"
#include <xxhash.h>

uint64_t mz_hash(const void *data, size_t size, uint64_t seed) { return XXH64(data, size, seed); }

uint64_t mz_checksum(const void *data, size_t size, uint64_t seed) { return XXH3_64bits_withSeed(data, size, seed); }

mz_hash_stream *mz_hash_begin(void) {
  mz_hash_stream *stream = XXH64_createState();
  if (stream) XXH64_reset(stream, 0);
  return stream;
}

void mz_hash_add(mz_hash_stream *stream, const void *data, size_t size) { XXH64_update(stream, data, size); }

uint64_t mz_hash_end(mz_hash_stream *stream) {
  const uint64_t hash = XXH64_digest(stream);
  XXH64_freeState(stream);
  return hash;
}

uint64_t mz_hash_combine(uint64_t digest, uint64_t value) {
  uint8_t bytes[16]; /* little-endian on every machine */
  for (int i = 0; i < 8; i++) {
    bytes[i] = (uint8_t)(digest >> 8 * i);
    bytes[8 + i] = (uint8_t)(value >> 8 * i);
  }
  return XXH64(bytes, sizeof bytes, 0);
}
