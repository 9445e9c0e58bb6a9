#include "networks/cuda/sequence.cuh"
#include "networks/cuda/check.cuh"

/* Captured work is not run; a failure ends the capture, too. */
static mz_status capture(const mz_cuda_lane *lane, mz_status (*enqueue)(void *context), void *context, cudaGraphExec_t *out) {
  cudaGraph_t graph = nullptr;
  MZ_CUDA_TRY(cudaStreamBeginCapture(lane->stream, cudaStreamCaptureModeThreadLocal));
  const mz_status status = enqueue(context);
  const cudaError_t ended = cudaStreamEndCapture(lane->stream, &graph);
  if (status == MZ_OK && ended == cudaSuccess) {
    const cudaError_t error = cudaGraphInstantiate(out, graph, 0);
    (void)cudaGraphDestroy(graph);
    MZ_CUDA_TRY(error);
    return MZ_OK;
  }
  if (ended != cudaSuccess)
    (void)cudaStreamEndCapture(lane->stream, &graph); /* a stream that stays captured is lost for everything */
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  MZ_TRY(status);
  MZ_CUDA_TRY(ended);
  return MZ_OK;
}

mz_status mz_cuda_sequence_run(mz_cuda_sequence *sequence, const mz_cuda_lane *lane, mz_status (*enqueue)(void *context),
                               void *context) {
  if (!sequence->has_run) {
    MZ_TRY(enqueue(context));
    sequence->has_run = true;
    return MZ_OK;
  }
  if (sequence->graph == nullptr) MZ_TRY(capture(lane, enqueue, context, &sequence->graph));
  MZ_CUDA_TRY(cudaGraphLaunch(sequence->graph, lane->stream));
  return MZ_OK;
}

void mz_cuda_sequence_drop(mz_cuda_sequence *sequence) {
  if (sequence->graph != nullptr) (void)cudaGraphExecDestroy(sequence->graph);
  *sequence = {};
}
