#include "networks/cuda/inputs.cuh"
#include "networks/cuda/access.cuh"
#include "networks/math/two_hot.h"

enum { THREADS = 256, SOURCES = 64 }; /* SOURCES: of a launch */

/* A source as the kernel reads it: what mz_cuda_source has, without padding. */
typedef struct row_copy {
  const void *from;
  void *to;
  unsigned kind, columns, stride; /* stride: entries of a row of `to` */
  float support_min, support_max;
  int transform;
} row_copy;

typedef struct copy_list {
  row_copy items[SOURCES];
} copy_list;

static __device__ float two_hot_at(const row_copy &copy, unsigned row, unsigned bin) {
  const float scalar = ((const float *)copy.from)[row];
  const mz_two_hot_place place =
      mz_two_hot_inline(copy.support_min, copy.support_max, (int)copy.columns, copy.transform != 0, scalar);
  if (bin == (unsigned)place.low) return 1.0f - place.above;
  return bin == (unsigned)place.low + 1 && bin < copy.columns ? place.above : 0.0f;
}

/* A thread for each entry; blocks of row i are source i's. */
static __global__ void put(copy_list list, unsigned rows) {
  const row_copy &copy = list.items[blockIdx.y];
  const unsigned at = mz_cuda_thread();
  if (at >= rows * copy.stride) return;
  const unsigned row = at / copy.stride, c = at % copy.stride;
  if (copy.kind == MZ_CUDA_LIST) {
    ((int32_t *)copy.to)[at] = ((const int32_t *)copy.from)[at];
  } else if (copy.kind == MZ_CUDA_TWO_HOT) {
    ((float *)copy.to)[at] = two_hot_at(copy, row, c);
  } else {
    ((float *)copy.to)[at] = c < copy.columns ? ((const float *)copy.from)[(size_t)row * copy.columns + c] : 0.0f;
  }
}

static row_copy copy_of(const mz_cuda_source *source) {
  const int stride = source->kind == MZ_CUDA_LIST ? source->columns : mz_padded(source->columns);
  return {source->from,     source->to,          (unsigned)source->kind, (unsigned)source->columns,
          (unsigned)stride, source->support_min, source->support_max,    source->transform};
}

mz_status mz_cuda_inputs_put(const mz_cuda_lane *lane, const mz_cuda_source *sources, int count, int rows) {
  for (int from = 0; from < count; from += SOURCES) {
    copy_list list = {};
    const int own = count - from < SOURCES ? count - from : (int)SOURCES;
    size_t longest = 0;
    for (int i = 0; i < own; i++) {
      list.items[i] = copy_of(&sources[from + i]);
      const size_t entries = (size_t)rows * list.items[i].stride;
      MZ_ASSERT(entries <= UINT32_MAX / 2);
      longest = entries > longest ? entries : longest;
    }
    const dim3 blocks(mz_cuda_blocks(longest, THREADS).x, (unsigned)own);
    MZ_CUDA_TRY(mz_launch(put, blocks, dim3(THREADS), 0, lane->stream, list, (unsigned)rows));
  }
  return MZ_OK;
}
