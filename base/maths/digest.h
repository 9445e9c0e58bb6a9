/* XXH64 over canonical bytes: the one number that says whether two states are the same. */
#pragma once
#include <stddef.h>
#include <stdint.h>
uint64_t mz_hash(const void *data, size_t size, uint64_t seed);
/* XXH3, several times as fast over kilobytes: for what this process alone reads again, never for a digest or a lasting file. */
uint64_t mz_checksum(const void *data, size_t size, uint64_t seed);
/* The same over bytes that come piece by piece, seed 0. NULL when memory is out; mz_hash_end frees it. */
typedef struct XXH64_state_s mz_hash_stream;
mz_hash_stream *mz_hash_begin(void);
void mz_hash_add(mz_hash_stream *stream, const void *data, size_t size);
uint64_t mz_hash_end(mz_hash_stream *stream);
/* Order matters: digest' = XXH64(digest ‖ value). */
uint64_t mz_hash_combine(uint64_t digest, uint64_t value);
