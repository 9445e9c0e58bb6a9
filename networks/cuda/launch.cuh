/* How kernels are written and launched, the same for nvcc and for g++, which compiles these sources for the tests' twin
 * (tests/cuda_twin/):
 * - a kernel is `static __global__ void NAME(…)`, its arguments plain values and device pointers; launched by mz_launch alone;
 * - __shared__ arrays of constant size as usual, of a size given at the launch by MZ_SHARED_ARRAY; nothing else is static;
 * - barriers by __syncthreads, reached by all threads of a block or by none; between lanes of a warp __shfl_xor_sync,
 *   __shfl_down_sync and __shfl_sync with all 32 lanes; no atomics on floats, no clock, no printf, no inline assembly;
 * - products and sums are rounded one by one (nvcc -fmad=false); fmaf where fusing is meant. */
#pragma once
#include <cuda_runtime.h>

#ifdef __CUDACC__
/* Returns what the launch itself met; errors of the kernel come with the next synchronisation. */
template <typename... Parameters, typename... Arguments>
static inline cudaError_t mz_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                                    cudaStream_t stream, Arguments... arguments) {
  return [&](Parameters... converted) {
    void *pointers[] = {(void *)&converted..., nullptr};
    return cudaLaunchKernel((const void *)kernel, grid, block, pointers, shared_bytes, stream);
  }(arguments...);
}
/* The block's memory whose size the launch gave. */
#define MZ_SHARED_ARRAY(type, name)                                                                                              \
  extern __shared__ __align__(16) unsigned char mz_shared_bytes_[];                                                              \
  type *const name = reinterpret_cast<type *>(mz_shared_bytes_)
#else
#include <twin_launch.h> /* the twin's mz_launch, MZ_SHARED_ARRAY, threadIdx and so on */
#endif
