#include "networks/cuda/filters.cuh"
#include "networks/cuda/numbers.cuh"

enum { THREADS = 256, TAPS = MZ_KERNEL * MZ_KERNEL };

/* The place in HWIO of an element of KRSC. */
static __device__ size_t hwio_of(size_t i, int inputs, int outputs) {
  const size_t input = i % (size_t)inputs, tap = i / (size_t)inputs % TAPS, output = i / (size_t)inputs / TAPS;
  return (tap * (size_t)inputs + input) * (size_t)outputs + output;
}

template <typename T> static __global__ void pack(const float *hwio, int inputs, int outputs, T *krsc, size_t count) {
  const size_t i = mz_cuda_thread();
  if (i < count) mz_number_store(&krsc[i], hwio[hwio_of(i, inputs, outputs)]);
}

static __global__ void unpack(const float *krsc, int inputs, int outputs, float *hwio, size_t count, bool overwrite) {
  const size_t i = mz_cuda_thread();
  if (i >= count) return;
  float *to = &hwio[hwio_of(i, inputs, outputs)];
  *to = overwrite ? krsc[i] : *to + krsc[i];
}

static size_t count_of(int inputs, int outputs) { return (size_t)TAPS * (size_t)inputs * (size_t)outputs; }

mz_status mz_cuda_filters_pack(const mz_cuda_lane *lane, const float *hwio, int inputs, int outputs, bool bf16, void *krsc) {
  const size_t count = count_of(inputs, outputs);
  const dim3 grid = mz_cuda_blocks(count, THREADS), block(THREADS);
  if (bf16) {
    MZ_CUDA_TRY(mz_launch(pack<uint16_t>, grid, block, 0, lane->stream, hwio, inputs, outputs, (uint16_t *)krsc, count));
  } else {
    MZ_CUDA_TRY(mz_launch(pack<float>, grid, block, 0, lane->stream, hwio, inputs, outputs, (float *)krsc, count));
  }
  return MZ_OK;
}

mz_status mz_cuda_filters_unpack(const mz_cuda_lane *lane, const float *krsc, int inputs, int outputs, float *hwio,
                                 bool overwrite) {
  const size_t count = count_of(inputs, outputs);
  MZ_CUDA_TRY(mz_launch(unpack, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, lane->stream, krsc, inputs, outputs, hwio,
                        count, overwrite));
  return MZ_OK;
}
