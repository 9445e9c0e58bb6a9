#include "networks/cuda/staging.cuh"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PINNED_MIN = 256 << 10, PIECE_MAX = 64 << 20, ALIGNMENT = 256 };
enum { ENOUGH = 2 * PIECE_MAX }; /* of pinned memory: a piece lands while one leaves */

void mz_cuda_staging_free(mz_cuda_staging *s) {
  if (s->pinned != nullptr) cudaFreeHost(s->pinned);
  if (s->scratch != nullptr) cudaFree(s->scratch);
  if (s->done != nullptr) cudaEventDestroy(s->done);
  free(s->arrivals);
  *s = {};
}

void mz_cuda_staging_trim(mz_cuda_staging *s) {
  MZ_ASSERT(s->used == 0);
  if (s->size > PINNED_MIN) {
    (void)cudaFreeHost(s->pinned);
    s->pinned = nullptr;
    s->size = 0;
  }
  if (s->scratch_size > PINNED_MIN) {
    (void)cudaFree(s->scratch);
    s->scratch = nullptr;
    s->scratch_size = 0;
  }
}

/* Asleep: the cores are other threads', and what a stage waits for its device is no CPU time of it. */
static cudaError_t wait(mz_cuda_staging *s, cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  if (s->done == nullptr) error = cudaEventCreateWithFlags(&s->done, cudaEventBlockingSync | cudaEventDisableTiming);
  if (error == cudaSuccess) error = cudaEventRecord(s->done, stream);
  return error == cudaSuccess ? cudaEventSynchronize(s->done) : error;
}

mz_status mz_cuda_staging_sync(mz_cuda_staging *s, cudaStream_t stream) {
  const cudaError_t error = wait(s, stream);
  for (int i = 0; i < s->arrival_count && error == cudaSuccess; i++)
    memcpy(s->arrivals[i].to, s->arrivals[i].from, s->arrivals[i].bytes);
  s->arrival_count = 0;
  s->used = 0;
  MZ_CUDA_TRY(error);
  return MZ_OK;
}

mz_status mz_cuda_staging_forget(mz_cuda_staging *s, cudaStream_t stream) {
  s->arrival_count = 0;
  return mz_cuda_staging_sync(s, stream);
}

/* Sizes are doubled until what is wanted fits, up to ENOUGH. */
double mz_cuda_staging_pinned(double moved) { return fmin(PINNED_MIN + 2 * moved, ENOUGH); }

static size_t round_up(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Finds pinned room for `bytes`; where it has run out, all that is under way is waited for first. */
static mz_status take(mz_cuda_staging *s, cudaStream_t stream, size_t bytes, char **out) {
  if (s->used + bytes > s->size) {
    const size_t wanted = s->size < ENOUGH ? s->used + bytes : bytes;
    MZ_TRY(mz_cuda_staging_sync(s, stream));
    if (wanted > s->size) { /* twice as much, so that one synchronisation's rows soon fit */
      size_t size = s->size < PINNED_MIN ? (size_t)PINNED_MIN : s->size;
      while (size < wanted) size *= 2;
      char *const outgrown = s->pinned;
      s->pinned = nullptr; /* also where freeing it reports an error */
      s->size = 0;
      if (outgrown != nullptr) MZ_CUDA_TRY(cudaFreeHost(outgrown));
      MZ_CUDA_TRY(cudaMallocHost((void **)&s->pinned, size));
      s->size = size;
    }
  }
  *out = s->pinned + s->used;
  s->used += round_up(bytes);
  return MZ_OK;
}

mz_status mz_cuda_staging_send(mz_cuda_staging *s, cudaStream_t stream, void *to, const void *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes - done < PIECE_MAX ? bytes - done : (size_t)PIECE_MAX;
    char *room = nullptr;
    MZ_TRY(take(s, stream, piece, &room));
    memcpy(room, (const char *)from + done, piece);
    MZ_CUDA_TRY(cudaMemcpyAsync((char *)to + done, room, piece, cudaMemcpyHostToDevice, stream));
    done += piece;
  }
  return MZ_OK;
}

static mz_status expect(mz_cuda_staging *s, const mz_cuda_arrival *arrival) {
  MZ_TRY(mz_reserve_one(&s->arrivals, &s->arrival_capacity, s->arrival_count, sizeof *s->arrivals));
  s->arrivals[s->arrival_count++] = *arrival;
  return MZ_OK;
}

mz_status mz_cuda_staging_receive(mz_cuda_staging *s, cudaStream_t stream, void *to, const void *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t piece = bytes - done < PIECE_MAX ? bytes - done : (size_t)PIECE_MAX;
    char *room = nullptr;
    MZ_TRY(take(s, stream, piece, &room));
    MZ_CUDA_TRY(cudaMemcpyAsync(room, (const char *)from + done, piece, cudaMemcpyDeviceToHost, stream));
    const mz_cuda_arrival arrival = {(char *)to + done, room, piece};
    MZ_TRY(expect(s, &arrival));
    done += piece;
  }
  return MZ_OK;
}

mz_status mz_cuda_staging_scratch(mz_cuda_staging *s, cudaStream_t stream, size_t bytes, void **out) {
  if (bytes > s->scratch_size) {
    MZ_TRY(mz_cuda_staging_sync(s, stream));
    void *const outgrown = s->scratch;
    s->scratch = nullptr;
    s->scratch_size = 0;
    if (outgrown != nullptr) MZ_CUDA_TRY(cudaFree(outgrown));
    MZ_CUDA_TRY(cudaMalloc(&s->scratch, 2 * bytes));
    s->scratch_size = 2 * bytes;
  }
  *out = s->scratch;
  return MZ_OK;
}
