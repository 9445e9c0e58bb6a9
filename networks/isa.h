/* Which instruction-set level the kernels run at: the highest that this processor has, or lower by MUZERO_ISA
 * (plain, avx2, avx512, neon; for tests and comparisons). Read once; thread safe. All levels but plain give the same bits. */
#pragma once
#include <stdbool.h>

typedef enum mz_isa { /* of the architecture that the program is built for, each with those before it */
                      MZ_ISA_LEVEL_PLAIN,
#if defined(__x86_64__)
                      MZ_ISA_LEVEL_AVX2,
                      MZ_ISA_LEVEL_AVX512,
                      MZ_ISA_LEVEL_LAST = MZ_ISA_LEVEL_AVX512
#elif defined(__aarch64__)
                      MZ_ISA_LEVEL_NEON,
                      MZ_ISA_LEVEL_LAST = MZ_ISA_LEVEL_NEON
#else
                      MZ_ISA_LEVEL_LAST = MZ_ISA_LEVEL_PLAIN
#endif
} mz_isa;
mz_isa mz_isa_level(void);
/* The processor multiplies bfloat16 (AVX512_BF16) at that level. */
bool mz_isa_has_bf16(void);
const char *mz_isa_name(mz_isa level);
/* Whether kernels at two levels, which may be another architecture's, give the same bits: plain ones round a multiply-add twice. */
bool mz_isa_names_agree(const char *a, const char *b);
/* oneDNN's version, for doctor and env.json. */
const char *mz_onednn_version(void);
