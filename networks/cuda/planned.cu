#include "networks/cuda/planned.cuh"
#include <stdlib.h>
#include <string.h>

struct mz_cuda_planned {
  mz_cudnn_descriptors descriptors; /* of the target */
  mz_cuda_conv_target target;
  mz_cuda_convolution *kept[MZ_CUDA_PLANNED_MAX]; /* the one that was taken last comes first */
  int count;
};

static mz_status ensure(mz_cuda_lane *lane) {
  if (lane->planned != nullptr) return MZ_OK;
  MZ_TRY(mz_alloc(&lane->planned, 1, sizeof *lane->planned));
  lane->free_planned = mz_cuda_planned_free;
  const mz_status status = mz_cuda_conv_target_init(&lane->planned->target, &lane->planned->descriptors, lane);
  if (status != MZ_OK) mz_cuda_planned_free(lane);
  return status;
}

static void insert_first(mz_cuda_planned *planned, int last, mz_cuda_convolution *convolution) {
  memmove(&planned->kept[1], &planned->kept[0], (size_t)last * sizeof planned->kept[0]);
  planned->kept[0] = convolution;
}

mz_status mz_cuda_planned_take(mz_cuda_lane *lane, const mz_cuda_convolution_settings *settings, mz_cuda_convolution **out) {
  MZ_TRY(ensure(lane));
  mz_cuda_planned *planned = lane->planned;
  for (int i = 0; i < planned->count; i++) {
    if (!mz_cuda_convolution_is_of(planned->kept[i], settings)) continue;
    mz_cuda_convolution *found = planned->kept[i];
    insert_first(planned, i, found);
    *out = mz_cuda_convolution_share(found);
    return MZ_OK;
  }
  mz_cuda_convolution *created = nullptr;
  MZ_TRY(mz_cuda_convolution_create(&created, &planned->target, settings));
  if (planned->count == MZ_CUDA_PLANNED_MAX)
    mz_cuda_convolution_free(planned->kept[--planned->count]); /* its tapes have their share */
  insert_first(planned, planned->count++, created);
  *out = mz_cuda_convolution_share(created);
  return MZ_OK;
}

void mz_cuda_planned_free(mz_cuda_lane *lane) {
  mz_cuda_planned *planned = lane->planned;
  if (planned == nullptr) return;
  for (int i = 0; i < planned->count; i++) mz_cuda_convolution_free(planned->kept[i]);
  mz_cudnn_descriptors_free(&planned->descriptors);
  free(planned);
  lane->planned = nullptr;
}
