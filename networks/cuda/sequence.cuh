/* Work that is enqueued again and again, all of it the same: kernels and library calls on a lane's stream, with arguments that never
 * change. It is enqueued one by one the first time, since libraries load their kernels then, captured in a CUDA graph the second time,
 * and from then on costs the host one launch. */
#pragma once
#include "networks/cuda/lane.cuh"

typedef struct mz_cuda_sequence {
  bool has_run, never_captured;
  cudaGraphExec_t graph; /* NULL: not captured */
} mz_cuda_sequence;      /* starts zeroed */

/* enqueue: enqueues the work; called at most twice in a sequence's life, unless it fails or cannot be captured, as where a library
 * allocates or waits: then it is called each time. */
mz_status mz_cuda_sequence_run(mz_cuda_sequence *sequence, const mz_cuda_lane *lane, mz_status (*enqueue)(void *context),
                               void *context);
/* Makes it as new, for other work. */
void mz_cuda_sequence_drop(mz_cuda_sequence *sequence);
