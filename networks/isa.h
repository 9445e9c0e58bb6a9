/* Which instruction-set level the kernels run at: the highest that this processor has, or lower by MUZERO_ISA
 * (plain, avx2, avx512; for tests and comparisons). Read once; thread safe. */
#pragma once
#include <stdbool.h>

typedef enum mz_isa { MZ_ISA_LEVEL_PLAIN, MZ_ISA_LEVEL_AVX2, MZ_ISA_LEVEL_AVX512 } mz_isa;
mz_isa mz_isa_level(void);
/* The processor multiplies bfloat16 (AVX512_BF16) at that level. */
bool mz_isa_has_bf16(void);
const char *mz_isa_name(mz_isa level);
/* oneDNN's version, for doctor and env.json. */
const char *mz_onednn_version(void);
