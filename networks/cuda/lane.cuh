/* A thread's own on a device: a stream, on which all its work runs in order, the libraries' handles, workspace for them, and
 * pinned memory through which rows come and go (staging.cuh). Lanes that are closed are kept for the next to open: the libraries'
 * handles take their time. */
#pragma once
#include "networks/cuda/staging.cuh"
extern "C" {
#include "networks/lane.h"
}
#include <cublasLt.h>
#include <cudnn.h>

typedef struct mz_cuda_planned mz_cuda_planned; /* planned.cuh */

typedef struct mz_cuda_lane {
  int device;
  cudaStream_t stream;
  cublasLtHandle_t blas;
  cudnnHandle_t dnn;
  void *workspace; /* of the libraries' calls, one after the other */
  size_t workspace_bytes;
  bool halves;                      /* the device multiplies bf16: compute capability 8.0 on */
  int processors, shared_bytes_max; /* multiprocessors; dynamic shared memory that a block may ask for */
  mz_cuda_staging staging;
  mz_cuda_planned *planned;                        /* NULL: no convolution was planned yet */
  void (*free_planned)(struct mz_cuda_lane *lane); /* set with it */
  struct mz_cuda_lane *next;                       /* of those that are closed */
} mz_cuda_lane;

/* Twice what the documentation of cuBLASLt and cuDNN recommends for Hopper: gradients of many channels split their sums. */
enum { MZ_CUDA_WORKSPACE_BYTES = 64 << 20 };

/* The libraries' algorithms for inference are chosen for so many rows, whatever a tape's most, for they may add in another order for
 * another number: so a row has the same bits on every tape. */
enum { MZ_CUDA_CHOICE_ROWS = 1024 };

mz_status mz_cuda_lane_open(mz_lane *lane);
void mz_cuda_lane_close(mz_lane *lane);
bool mz_cuda_lane_halves(const mz_lane *lane); /* need not be open */
/* Frees the lanes that are kept. */
void mz_cuda_lanes_free(void);

/* This thread's next calls run on the device; *out: what the lane, which is open, owns there. */
mz_status mz_cuda_lane_enter(const mz_lane *lane, mz_cuda_lane **out);
mz_status mz_cuda_device_enter(int device);
