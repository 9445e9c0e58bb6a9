/* The options of what draws simulated situations (allocator/pretraining/practice.h): `muzero pretrain`, `muzero bench predictors`. */
#pragma once
#include "cli/command.h"
#include <math.h>

typedef struct mz_practice_arguments {
  int64_t cores_min, cores_max;
  double gpu_share;
} mz_practice_arguments;

/* `offset`: of an mz_practice_arguments in the command's arguments. */
#define MZ_OPTIONS_PRACTICE(offset_)                                                                                             \
  {.name = "--cores-min",                                                                                                        \
   .type = MZ_OPTION_COUNT,                                                                                                      \
   .offset = offset_ + offsetof(mz_practice_arguments, cores_min),                                                               \
   .value = "N",                                                                                                                 \
   .otherwise = "1",                                                                                                             \
   .min = 1,                                                                                                                     \
   .max = 1024,                                                                                                                  \
   .class_ = MZ_OPERATIONAL,                                                                                                     \
   .help = "cores of a simulated machine, at the least"},                                                                        \
      {.name = "--cores-max",                                                                                                    \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = offset_ + offsetof(mz_practice_arguments, cores_max),                                                           \
       .value = "N",                                                                                                             \
       .otherwise = "128",                                                                                                       \
       .min = 1,                                                                                                                 \
       .max = 1024,                                                                                                              \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "at the most"},                                                                                                   \
  {                                                                                                                              \
    .name = "--gpu-share", .type = MZ_OPTION_NUMBER, .offset = offset_ + offsetof(mz_practice_arguments, gpu_share),             \
    .value = "X", .otherwise = "0.4", .min = 0, .max = 1, .class_ = MZ_OPERATIONAL,                                              \
    .help = "share of the simulated machines that have GPUs, one to eight"                                                       \
  }

/* Returns a flag of these that the user gave; NULL: none. */
static inline const char *mz_practice_given(const mz_practice_arguments *a) {
  return a->cores_min != MZ_COUNT_UNSET   ? "--cores-min"
         : a->cores_max != MZ_COUNT_UNSET ? "--cores-max"
         : !isnan(a->gpu_share)           ? "--gpu-share"
                                          : NULL;
}

/* Copies the arguments, with defaults for those that were not given. */
static inline mz_status mz_practice_complete(const mz_practice_arguments *given, mz_practice_arguments *out) {
  *out = (mz_practice_arguments){.cores_min = given->cores_min == MZ_COUNT_UNSET ? 1 : given->cores_min,
                                 .cores_max = given->cores_max == MZ_COUNT_UNSET ? 128 : given->cores_max,
                                 .gpu_share = isnan(given->gpu_share) ? 0.4 : given->gpu_share};
  if (out->cores_min <= out->cores_max) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "--cores-min: %lld exceeds --cores-max %lld; lower the one or raise the other",
                 (long long)out->cores_min, (long long)out->cores_max);
}
