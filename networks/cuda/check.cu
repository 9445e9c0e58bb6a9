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

mz_status mz_cublas_failed(cublasStatus_t status, const char *call) {
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  return mz_fail(memory ? MZ_E_MEMORY : MZ_E_DEVICE, "device %d: cuBLASLt: %s at: %s", current_device(),
                 cublasLtGetStatusString(status), call);
}

bool mz_cudnn_is_out_of_memory(cudnnStatus_t status) {
  return status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

mz_status mz_cudnn_failed(cudnnStatus_t status, const char *call) {
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof reason);
  return mz_fail(mz_cudnn_is_out_of_memory(status) ? MZ_E_MEMORY : MZ_E_DEVICE, "device %d: cuDNN: %s (%s) at: %s",
                 current_device(), cudnnGetErrorString(status), reason, call);
}
