#include "networks/isa.h"
#include "base/log.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
static const char *const names[] = {"plain", "avx2", "avx512"};
#elif defined(__aarch64__)
static const char *const names[] = {"plain", "neon"};
#else
static const char *const names[] = {"plain"};
#endif

const char *mz_isa_name(mz_isa level) { return names[level]; }

bool mz_isa_names_agree(const char *a, const char *b) { return (strcmp(a, names[0]) == 0) == (strcmp(b, names[0]) == 0); }

static mz_isa highest(void) {
#if defined(__aarch64__)
  return MZ_ISA_LEVEL_NEON; /* a part of the architecture */
#elif defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    return MZ_ISA_LEVEL_AVX512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return MZ_ISA_LEVEL_AVX2;
  return MZ_ISA_LEVEL_PLAIN;
#else
  return MZ_ISA_LEVEL_PLAIN;
#endif
}

static mz_isa chosen;

static void choose(void) {
  chosen = highest();
  const char *wanted = getenv("MUZERO_ISA");
  if (wanted == NULL) return;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST; level++) {
    if (strcmp(wanted, names[level]) != 0) continue;
    if (level > chosen) mz_log_write(MZ_LOG_WARNING, "MUZERO_ISA: this processor has no %s; using %s", wanted, names[chosen]);
    if (level < chosen) chosen = level;
    return;
  }
  char list[64];
  size_t used = 0;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST; level++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", names[level]);
  mz_log_write(MZ_LOG_WARNING, "MUZERO_ISA: %s is none of %s; using %s", wanted, list, names[chosen]);
}

mz_isa mz_isa_level(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, choose);
  return chosen;
}

bool mz_isa_has_bf16(void) {
#if defined(__x86_64__)
  return mz_isa_level() == MZ_ISA_LEVEL_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}
