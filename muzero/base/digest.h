/* XXH64 over canonical bytes: the one number that says whether two states are the same. */
#pragma once
#include <stddef.h>
#include <stdint.h>
uint64_t mz_hash(const void *data, size_t size, uint64_t seed);
/* Order matters: digest' = XXH64(digest ‖ value). */
uint64_t mz_hash_combine(uint64_t digest, uint64_t value);
