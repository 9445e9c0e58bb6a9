#include "networks/cpu/kernels.h"
#include <stdatomic.h>

static const mz_kernels *table_of(mz_isa level) {
#if defined(__x86_64__)
  if (level == MZ_ISA_LEVEL_AVX512) return &mz_kernels_avx512;
  if (level == MZ_ISA_LEVEL_AVX2) return &mz_kernels_avx2;
#elif defined(__aarch64__)
  if (level == MZ_ISA_LEVEL_NEON) return &mz_kernels_neon;
#endif
  (void)level;
  return &mz_kernels_plain;
}

static const mz_kernels *_Atomic current;

const mz_kernels *mz_kernels_get(void) {
  const mz_kernels *kernels = atomic_load_explicit(&current, memory_order_relaxed);
  if (kernels != NULL) return kernels;
  kernels = table_of(mz_isa_level()); /* whoever comes first: all find the same table */
  atomic_store_explicit(&current, kernels, memory_order_relaxed);
  return kernels;
}

bool mz_kernels_select(mz_isa level) {
  if (level > mz_isa_level()) return false;
  atomic_store_explicit(&current, table_of(level), memory_order_relaxed);
  return true;
}
