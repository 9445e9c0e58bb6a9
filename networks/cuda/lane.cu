#include "networks/cuda/lane.cuh"
#include <mutex>
#include <stdio.h>
#include <stdlib.h>

static std::mutex kept_mutex;
static mz_cuda_lane *kept; /* closed lanes of all devices */

mz_status mz_cuda_device_enter(int device) {
  int current;
  MZ_CUDA_TRY(cudaGetDevice(&current));
  if (current != device) MZ_CUDA_TRY(cudaSetDevice(device));
  return MZ_OK;
}

mz_status mz_cuda_lane_enter(const mz_lane *lane, mz_cuda_lane **out) {
  *out = (mz_cuda_lane *)lane->own;
  MZ_ASSERT(*out != nullptr);
  return mz_cuda_device_enter((*out)->device);
}

static void destroy(mz_cuda_lane *own) {
  (void)mz_cuda_device_enter(own->device);
  if (own->stream != nullptr) (void)cudaStreamSynchronize(own->stream);
  mz_cuda_staging_free(&own->staging);
  if (own->planned != nullptr) own->free_planned(own);
  if (own->dnn != nullptr) (void)cudnnDestroy(own->dnn);
  if (own->blas != nullptr) (void)cublasLtDestroy(own->blas);
  if (own->workspace != nullptr) (void)cudaFree(own->workspace);
  if (own->stream != nullptr) (void)cudaStreamDestroy(own->stream);
  free(own);
}

static mz_status attribute(int device, cudaDeviceAttr name, int *out) {
  MZ_CUDA_TRY(cudaDeviceGetAttribute(out, name, device));
  return MZ_OK;
}

static mz_status open_libraries(mz_cuda_lane *own) {
  MZ_CUBLAS_TRY(cublasLtCreate(&own->blas));
  MZ_CUDNN_TRY(cudnnCreate(&own->dnn));
  MZ_CUDNN_TRY(cudnnSetStream(own->dnn, own->stream));
  return MZ_OK;
}

/* Libraries that find no memory when they are opened say that they are not initialised. */
static mz_status or_no_memory(mz_status status) {
  const size_t of_both = (size_t)256 << 20;
  size_t free_bytes, total;
  if (status != MZ_E_DEVICE || cudaMemGetInfo(&free_bytes, &total) != cudaSuccess || free_bytes >= of_both) return status;
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  return mz_fail(MZ_E_MEMORY, "%s; the device has %zu MiB free", why, free_bytes >> 20);
}

static mz_status fill(mz_cuda_lane *own) {
  int major;
  MZ_TRY(mz_cuda_device_enter(own->device));
  MZ_TRY(attribute(own->device, cudaDevAttrComputeCapabilityMajor, &major));
  MZ_TRY(attribute(own->device, cudaDevAttrMultiProcessorCount, &own->processors));
  MZ_TRY(attribute(own->device, cudaDevAttrMaxSharedMemoryPerBlockOptin, &own->shared_bytes_max));
  own->halves = major >= 8;
  MZ_CUDA_TRY(cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking));
  MZ_CUDA_TRY(cudaMalloc(&own->workspace, MZ_CUDA_WORKSPACE_BYTES)); /* first: CUDA itself tells when there is no memory */
  own->workspace_bytes = MZ_CUDA_WORKSPACE_BYTES;
  return or_no_memory(open_libraries(own));
}

static mz_cuda_lane *take_kept(int device) {
  const std::lock_guard<std::mutex> lock(kept_mutex);
  for (mz_cuda_lane **at = &kept; *at != nullptr; at = &(*at)->next) {
    mz_cuda_lane *own = *at;
    if (own->device != device) continue;
    *at = own->next;
    return own;
  }
  return nullptr;
}

mz_status mz_cuda_lane_open(mz_lane *lane) {
  mz_cuda_lane *own = take_kept(lane->device);
  if (own == nullptr) {
    MZ_TRY(mz_alloc(&own, 1, sizeof *own));
    own->device = lane->device;
    const mz_status status = fill(own);
    if (status != MZ_OK) {
      destroy(own);
      return status;
    }
  }
  lane->own = own;
  return MZ_OK;
}

void mz_cuda_lane_close(mz_lane *lane) {
#ifndef __CUDACC__ /* the twin counts what leaks; parts of cuDNN, which loads them late, are gone when a program of devices ends */
  static const struct freer {
    ~freer() { mz_cuda_lanes_free(); }
  } freer;
#endif
  mz_cuda_lane *own = (mz_cuda_lane *)lane->own;
  (void)mz_cuda_device_enter(own->device);
  if (mz_cuda_staging_forget(&own->staging, own->stream) != MZ_OK) {
    destroy(own); /* whatever went wrong is nobody else's */
    return;
  }
  mz_cuda_staging_trim(&own->staging); /* the next one moves as much as it needs, and its share of memory counts that */
  const std::lock_guard<std::mutex> lock(kept_mutex);
  own->next = kept;
  kept = own;
}

void mz_cuda_lanes_free(void) {
  const std::lock_guard<std::mutex> lock(kept_mutex);
  while (kept != nullptr) {
    mz_cuda_lane *own = kept;
    kept = own->next;
    destroy(own);
  }
}

bool mz_cuda_lane_halves(const mz_lane *lane) {
  int major = 0;
  if (lane->own != nullptr) return ((const mz_cuda_lane *)lane->own)->halves;
  return attribute(lane->device, cudaDevAttrComputeCapabilityMajor, &major) == MZ_OK && major >= 8;
}
