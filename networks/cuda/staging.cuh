/* Pinned memory of a lane through which rows go to its device and come back, so that nobody waits for a copy: what goes is copied here at
 * once, what comes lands here and is handed over at the next synchronisation. Memory grows with what is needed between two
 * synchronisations, to a few pieces at most, and stays until the lane is closed. */
#pragma once
#include "networks/cuda/check.cuh"

typedef struct mz_cuda_arrival { /* on its way to the host */
  void *to;
  const void *from;
  size_t bytes;
} mz_cuda_arrival;

typedef struct mz_cuda_staging {
  char *pinned;
  size_t size, used;
  mz_cuda_arrival *arrivals;
  int arrival_count, arrival_capacity;
  void *scratch; /* of the device: rows between their dense form and a tape's */
  size_t scratch_size;
  cudaEvent_t done; /* what a thread sleeps on: CUDA's other ways of waiting keep a core busy */
} mz_cuda_staging;

void mz_cuda_staging_free(mz_cuda_staging *staging);
/* Gives memory back that is more than lanes begin with. Nothing is under way. */
void mz_cuda_staging_trim(mz_cuda_staging *staging);
/* Returns the most bytes of pinned memory where `moved` bytes, of at most a few hundred copies, go between two synchronisations. */
double mz_cuda_staging_pinned(double moved);
/* Copies host bytes to the device, where `to` is. They may be changed when this returns. */
mz_status mz_cuda_staging_send(mz_cuda_staging *staging, cudaStream_t stream, void *to, const void *from, size_t bytes);
/* Copies the device's bytes to the host: they are in `to` after mz_cuda_staging_sync. */
mz_status mz_cuda_staging_receive(mz_cuda_staging *staging, cudaStream_t stream, void *to, const void *from, size_t bytes);
/* Waits for the stream and hands over what has come. */
mz_status mz_cuda_staging_sync(mz_cuda_staging *staging, cudaStream_t stream);
/* Waits for the stream; what has come is wanted no more. */
mz_status mz_cuda_staging_forget(mz_cuda_staging *staging, cudaStream_t stream);
/* Memory of the device that each call may use until the next one of it on the stream; *out: at least `bytes`. */
mz_status mz_cuda_staging_scratch(mz_cuda_staging *staging, cudaStream_t stream, size_t bytes, void **out);
