/* The rows of `muzero doctor` about GPUs: the CUDA module, the versions it was built with and found, each device with a self-test. */
#pragma once
#include "cli/explaining/check.h"

enum { MZ_GPU_CHECKS_MAX = 40 };

/* Writes the rows, as many as it returns. Clears *numbers_ok where a device computes wrong. */
int mz_gpu_checks(mz_check out[MZ_GPU_CHECKS_MAX], bool *numbers_ok);
