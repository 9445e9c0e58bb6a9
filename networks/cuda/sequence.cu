#include "networks/cuda/sequence.cuh"
#include "networks/cuda/check.cuh"

static bool cannot_be_captured(cudaError_t error) {
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

/* Captured work is not run; a failure ends the capture, too. *out stays NULL where a library does what captures forbid. */
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
  if (cannot_be_captured(ended)) {
    (void)cudaGetLastError();
    return MZ_OK;
  }
  MZ_TRY(status);
  MZ_CUDA_TRY(ended);
  return MZ_OK;
}

mz_status mz_cuda_sequence_run(mz_cuda_sequence *sequence, const mz_cuda_lane *lane, mz_status (*enqueue)(void *context),
                               void *context) {
  if (sequence->has_run && !sequence->never_captured && sequence->graph == nullptr) {
    MZ_TRY(capture(lane, enqueue, context, &sequence->graph));
    sequence->never_captured = sequence->graph == nullptr;
  }
  if (sequence->graph == nullptr) {
    MZ_TRY(enqueue(context));
    sequence->has_run = true;
    return MZ_OK;
  }
  MZ_CUDA_TRY(cudaGraphLaunch(sequence->graph, lane->stream));
  return MZ_OK;
}

void mz_cuda_sequence_drop(mz_cuda_sequence *sequence) {
  if (sequence->graph != nullptr) (void)cudaGraphExecDestroy(sequence->graph);
  *sequence = {};
}
