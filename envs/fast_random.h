/* A generator for rollouts, where speed is all that is asked: xorshift64* (S. Vigna, ACM TOMS 42(4), 2016). */
#pragma once
#include <stdint.h>

/* 0 … n−1 (n ≥ 1), uniform up to n / 2^32. *state is never 0. */
static inline uint32_t mz_fast_below(uint64_t *state, uint32_t n) {
  uint64_t x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return (uint32_t)(((x * 0x2545F4914F6CDD1Dull) >> 32) * n >> 32);
}
