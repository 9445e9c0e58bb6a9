#include "networks/cuda/finish.cuh"
#include "networks/cuda/quads.cuh"

enum { THREADS = 256 };

/* Four channels a thread. */
template <typename T>
static __global__ void finish_quads(const float *sums, const float *bias, const float *add, bool relu, T *result, size_t count,
                                    int channels) {
  const size_t i = mz_cuda_thread() * MZ_QUAD;
  if (i >= count) return;
  float4 sum = mz_quad_load(sums + i);
  if (bias != nullptr) sum = mz_quad_add(sum, mz_quad_load(bias + i % (size_t)channels));
  if (add != nullptr) sum = mz_quad_add(sum, mz_quad_load(add + i));
  mz_quad_store(result + i, relu ? mz_quad_relu(sum) : sum);
}

template <typename T> static cudaError_t launch(const mz_cuda_lane *lane, const mz_cuda_finish *f) {
  return mz_launch(finish_quads<T>, mz_cuda_blocks(f->count / MZ_QUAD, THREADS), dim3(THREADS), 0, lane->stream, f->sums, f->bias,
                   f->add, f->relu, (T *)f->result, f->count, f->channels);
}

mz_status mz_cuda_finish_run(const mz_cuda_lane *lane, const mz_cuda_finish *finish) {
  MZ_CUDA_TRY(finish->bf16 ? launch<uint16_t>(lane, finish) : launch<float>(lane, finish));
  return MZ_OK;
}
