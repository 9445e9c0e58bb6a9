/* What one thread owns on a device: a stream, on which all its work runs in order, the libraries' handles, and workspace for them. */
#pragma once
#include "base/status.h"
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

typedef struct mz_cuda_lane {
  int device;
  cudaStream_t stream;
  cublasLtHandle_t blas;
  cudnnHandle_t dnn;
  void *workspace; /* of the libraries' calls, one after the other */
  size_t workspace_bytes;
  bool halves;                      /* the device multiplies bf16: compute capability 8.0 on */
  int processors, shared_bytes_max; /* multiprocessors; dynamic shared memory that a block may ask for */
} mz_cuda_lane;
