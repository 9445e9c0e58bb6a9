/* Functions that CUDA gives to device code, for g++. Those of a warp take all 32 lanes. */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_runtime.h>

using std::max;
using std::min;

/* Waits until all threads of the block are here. */
void twin_barrier(const char *file, int line);
/* Waits until all lanes of the warp are here; returns the value that lane `source` gave (negative: the own one). */
uint64_t twin_shuffle(unsigned mask, uint64_t value, int source, const char *file, int line);
/* Ends the kernel with a fault. */
[[noreturn]] void twin_trap(const char *file, int line);
int twin_lane(void);

static inline void __syncthreads(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { twin_barrier(file, line); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  twin_shuffle(mask, 0, -1, file, line);
}
[[noreturn]] static inline void __trap(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
  twin_trap(file, line);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <typename To, typename From> static inline To twin_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
template <typename T> static inline T twin_shuffle_value(unsigned mask, T value, int source, const char *file, int line) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = twin_shuffle(mask, bits, source, file, line);
  memcpy(&value, &bits, sizeof value);
  return value;
}
/* `width` lanes, a power of two, exchange among themselves; a source outside of them is the own lane. */
template <typename T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char *file = __builtin_FILE(),
                            int line = __builtin_LINE()) {
  return twin_shuffle_value(mask, value, (twin_lane() & -width) | (source & (width - 1)), file, line);
}
template <typename T>
static inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, const char *file = __builtin_FILE(),
                                int line = __builtin_LINE()) {
  const int lane = twin_lane(), source = lane ^ lanes, end = (lane & -width) + width;
  return twin_shuffle_value(mask, value, source < end ? source : lane, file, line);
}
template <typename T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32, const char *file = __builtin_FILE(),
                                 int line = __builtin_LINE()) {
  const int lane = twin_lane(), source = lane + (int)lanes, end = (lane & -width) + width;
  return twin_shuffle_value(mask, value, source < end ? source : lane, file, line);
}

template <typename T> static inline T __ldg(const T *pointer) { return *pointer; }

static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __double2float_rn(double a) { return (float)a; }
static inline int __float2int_rn(float a) { return (int)rintf(a); }
static inline int __double2int_rn(double a) { return (int)rint(a); }
static inline float __int2float_rn(int a) { return (float)a; }

static inline unsigned __float_as_uint(float a) { return twin_bits<unsigned>(a); }
static inline int __float_as_int(float a) { return twin_bits<int>(a); }
static inline float __uint_as_float(unsigned a) { return twin_bits<float>(a); }
static inline float __int_as_float(int a) { return twin_bits<float>(a); }
static inline long long __double_as_longlong(double a) { return twin_bits<long long>(a); }
static inline double __longlong_as_double(long long a) { return twin_bits<double>(a); }

static inline int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
static inline int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
static inline unsigned __brev(unsigned a) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; bit++) reversed |= (a >> bit & 1) << (31 - bit);
  return reversed;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ typedef unsigned __int128 wide;
  return (unsigned long long)((wide)a * b >> 64);
}

/* Atomics on integers; each returns what was there before. The threads of a launch share one host thread, so that plain accesses
 * do. */
template <typename T> struct twin_atomic {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>,
                "an integer of CUDA's atomics");
  typedef T type;
};
template <typename T> static inline T twin_exchange(T *address, T value) {
  const T before = *address;
  *address = value;
  return before;
}
#define TWIN_ATOMIC(name, after)                                                                                                 \
  template <typename T> static inline T name(T *address, typename twin_atomic<T>::type value) {                                  \
    const T before = *address;                                                                                                   \
    return twin_exchange(address, (T)(after));                                                                                   \
  }
TWIN_ATOMIC(atomicAdd, before + value)
TWIN_ATOMIC(atomicSub, before - value)
TWIN_ATOMIC(atomicMin, before < value ? before : value)
TWIN_ATOMIC(atomicMax, before > value ? before : value)
TWIN_ATOMIC(atomicAnd, before &value)
TWIN_ATOMIC(atomicOr, before | value)
TWIN_ATOMIC(atomicXor, before ^ value)
TWIN_ATOMIC(atomicExch, value)
#undef TWIN_ATOMIC
template <typename T>
static inline T atomicCAS(T *address, typename twin_atomic<T>::type expected, typename twin_atomic<T>::type value) {
  return twin_exchange(address, *address == expected ? value : *address);
}
