/* Four neighbouring floats, loaded and stored at once; each is computed by itself. */
#pragma once
#include "networks/cuda/access.cuh"
#include "networks/math/bf16.h"

enum { MZ_QUAD = 4 };

static inline __device__ float4 mz_quad_of(float x) { return make_float4(x, x, x, x); }
static inline __device__ float4 mz_quad_load(const float *from) { return *(const float4 *)from; }
static inline __device__ void mz_quad_store(float *to, float4 x) { *(float4 *)to = x; }

/* In bfloat16. */
static inline __device__ float4 mz_quad_load(const uint16_t *from) {
  const ushort4 x = *(const ushort4 *)from;
  return make_float4(mz_f32_of_bf16(x.x), mz_f32_of_bf16(x.y), mz_f32_of_bf16(x.z), mz_f32_of_bf16(x.w));
}
static inline __device__ void mz_quad_store(uint16_t *to, float4 x) {
  *(ushort4 *)to = make_ushort4(mz_bf16_of_f32(x.x), mz_bf16_of_f32(x.y), mz_bf16_of_f32(x.z), mz_bf16_of_f32(x.w));
}

static inline __device__ float4 mz_quad_add(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
static inline __device__ float4 mz_quad_subtract(float4 a, float4 b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
static inline __device__ float4 mz_quad_multiply(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
static inline __device__ float4 mz_quad_scale(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }

/* NaN stays. */
static inline __device__ float mz_relu_of(float x) { return 0.0f > x ? 0.0f : x; }
static inline __device__ float4 mz_quad_relu(float4 x) {
  return make_float4(mz_relu_of(x.x), mz_relu_of(x.y), mz_relu_of(x.z), mz_relu_of(x.w));
}
/* x where y is positive, otherwise 0. */
static inline __device__ float4 mz_quad_where_positive(float4 y, float4 x) {
  return make_float4(y.x > 0.0f ? x.x : 0.0f, y.y > 0.0f ? x.y : 0.0f, y.z > 0.0f ? x.z : 0.0f, y.w > 0.0f ? x.w : 0.0f);
}

/* Stores a gradient, or adds it to what is there. */
static inline __device__ void mz_quad_accumulate(float *to, float4 x, bool overwrite) {
  mz_quad_store(to, overwrite ? x : mz_quad_add(mz_quad_load(to), x));
}
