/* The part of a run's account that stages take on a GPU: of the host, and of the GPU's own memory. */
#pragma once
#include "muzero/training/memory.h"

/* Fills memory->gpu_…. gpu: not open. MZ_E_CONFIG where the network cannot be. */
mz_status mz_memory_count_gpu(mz_memory *memory, const mz_env *env, const mz_settings *settings, const mz_model *model,
                              const mz_lane *gpu);
