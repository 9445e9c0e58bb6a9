/* Rows of a batch that lies on a device, into the inputs of a tape there: all inputs in one launch. */
#pragma once
#include "networks/cuda/check.cuh"
#include "networks/cuda/lane.cuh"

typedef enum mz_cuda_source_kind {
  MZ_CUDA_DENSE,   /* floats [rows][columns] */
  MZ_CUDA_TWO_HOT, /* floats [rows]: scalars, which become mz_two_hot over `columns` bins, bit for bit the cpu's */
  MZ_CUDA_LIST,    /* int32 [rows][columns], of an index list */
} mz_cuda_source_kind;

typedef struct mz_cuda_source {
  mz_cuda_source_kind kind;
  int columns;
  const void *from;               /* the first row */
  void *to;                       /* data of a value, whose padding becomes 0; LIST: its entries */
  float support_min, support_max; /* TWO_HOT, as in mz_support */
  bool transform;
} mz_cuda_source;

/* Enqueues on the lane's stream. `sources` is on the host and read at once; what it points to is in the device's memory. */
mz_status mz_cuda_inputs_put(const mz_cuda_lane *lane, const mz_cuda_source *sources, int count, int rows);
