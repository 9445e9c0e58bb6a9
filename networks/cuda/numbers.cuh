/* A single number of f32 or bfloat16, for kernels that are written once for both. */
#pragma once
#include "networks/math/bf16.h"
#include <cuda_runtime.h>

static inline __device__ float mz_number_load(const float *from) { return *from; }
static inline __device__ float mz_number_load(const uint16_t *from) { return mz_f32_of_bf16(*from); }
static inline __device__ void mz_number_store(float *to, float x) { *to = x; }
static inline __device__ void mz_number_store(uint16_t *to, float x) { *to = mz_bf16_of_f32(x); }
