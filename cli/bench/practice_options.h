/* The options of what draws simulated situations (allocator/pretraining/practice.h): `muzero pretrain`, `muzero bench predictors`. */
#pragma once
#include "cli/command.h"

#define MZ_OPTIONS_PRACTICE(cores_min_, cores_max_, gpu_share_)                                                                  \
  {.name = "--cores-min",                                                                                                        \
   .type = MZ_OPTION_COUNT,                                                                                                      \
   .offset = cores_min_,                                                                                                         \
   .value = "N",                                                                                                                 \
   .fallback = "1",                                                                                                              \
   .min = 1,                                                                                                                     \
   .max = 1024,                                                                                                                  \
   .class_ = MZ_OPERATIONAL,                                                                                                     \
   .help = "cores of a simulated machine, at the least"},                                                                        \
      {.name = "--cores-max",                                                                                                    \
       .type = MZ_OPTION_COUNT,                                                                                                  \
       .offset = cores_max_,                                                                                                     \
       .value = "N",                                                                                                             \
       .fallback = "128",                                                                                                        \
       .min = 1,                                                                                                                 \
       .max = 1024,                                                                                                              \
       .class_ = MZ_OPERATIONAL,                                                                                                 \
       .help = "at the most"},                                                                                                   \
  {                                                                                                                              \
    .name = "--gpu-share", .type = MZ_OPTION_NUMBER, .offset = gpu_share_, .value = "X", .fallback = "0.4", .min = 0, .max = 1,  \
    .class_ = MZ_OPERATIONAL, .help = "share of the simulated machines that have GPUs, one to eight"                             \
  }

static inline mz_status mz_check_practice_cores(int64_t least, int64_t most) {
  if (least <= most) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "--cores-min: %lld exceeds --cores-max %lld; lower the one or raise the other", (long long)least,
                 (long long)most);
}
