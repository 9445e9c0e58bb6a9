/* The filters of 3 × 3 convolutions: parameters are HWIO (kernel row, kernel column, input, output), cuDNN's are KRSC (output,
 * kernel row, kernel column, input), each MZ_KERNEL² · inputs · outputs elements, on a device. Functions enqueue on the lane's
 * stream. */
#pragma once
#include "networks/cuda/access.cuh"

/* KRSC in f32, or rounded to bf16. */
mz_status mz_cuda_filters_pack(const mz_cuda_lane *lane, const float *hwio, int inputs, int outputs, bool bf16, void *krsc);
/* Writes f32 filters back, or adds them. */
mz_status mz_cuda_filters_unpack(const mz_cuda_lane *lane, const float *krsc, int inputs, int outputs, float *hwio,
                                 bool overwrite);
