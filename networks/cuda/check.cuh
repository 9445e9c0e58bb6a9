/* Results of CUDA's calls as mz_status. Out of device memory is MZ_E_MEMORY, everything else MZ_E_DEVICE; the message names the call,
 * the device's answer and where. */
#pragma once
#include "base/status.h"
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

mz_status mz_cuda_failed(cudaError_t error, const char *call);
mz_status mz_cublas_failed(cublasStatus_t status, const char *call);
mz_status mz_cudnn_failed(cudnnStatus_t status, const char *call);
bool mz_cudnn_is_out_of_memory(cudnnStatus_t status);

#define MZ_CUDA_TRY(call)                                                                                                        \
  do {                                                                                                                           \
    const cudaError_t mz_error_ = (call);                                                                                        \
    if (mz_error_ != cudaSuccess) return mz_cuda_failed(mz_error_, #call);                                                       \
  } while (0)
#define MZ_CUBLAS_TRY(call)                                                                                                      \
  do {                                                                                                                           \
    const cublasStatus_t mz_cublas_ = (call);                                                                                    \
    if (mz_cublas_ != CUBLAS_STATUS_SUCCESS) return mz_cublas_failed(mz_cublas_, #call);                                         \
  } while (0)
#define MZ_CUDNN_TRY(call)                                                                                                       \
  do {                                                                                                                           \
    const cudnnStatus_t mz_cudnn_ = (call);                                                                                      \
    if (mz_cudnn_ != CUDNN_STATUS_SUCCESS) return mz_cudnn_failed(mz_cudnn_, #call);                                             \
  } while (0)
