#include "networks/cuda/check.cuh"

static int current_device(void) {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

mz_status mz_cuda_failed(cudaError_t error, const char *call) {
  const bool memory = error == cudaErrorMemoryAllocation;
  return mz_fail(memory ? MZ_E_MEMORY : MZ_E_DEVICE, "device %d: CUDA: %s (%s) at: %s", current_device(),
                 cudaGetErrorString(error), cudaGetErrorName(error), call);
}
