/* bfloat16: the upper half of a float's bits. */
#pragma once
#include "base/maths/maths_inline.h"

/* Rounds to the nearest, ties to even. NaN stays NaN: rounding would carry some of them into the sign. */
MZ_SHARED uint16_t mz_bf16_of_f32(float x) {
  const uint32_t bits = mz_bits_of_f32(x), rounded = bits + 0x7FFF + (bits >> 16 & 1);
  return (uint16_t)(((bits & 0x7FFFFFFF) > 0x7F800000 ? bits | 0x400000 : rounded) >> 16);
}

MZ_SHARED float mz_f32_of_bf16(uint16_t x) { return mz_f32_of_bits((uint32_t)x << 16); }
