#include "graph.h"
#include "memory.h"
#include "state.h"
#include "stream.h"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  TWIN_CALL(call);
  if (!out || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
    return call.fail(cudaErrorInvalidValue, "flags are %u", flags);
  *out = twin_stream_create(twin_device);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *out) { return cudaStreamCreateWithFlags(out, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int) { return cudaStreamCreateWithFlags(out, flags); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  TWIN_CALL_TO_FREE(call);
  TWIN_FIND_STREAM(call, stream);
  if (stream->capture) twin_capture_end(stream->capture);
  twin_stream_destroy(stream);
  return call.error;
}

/* Returns an error where the stream is captured, which waiting for it would spoil. */
static cudaError_t check_not_captured(twin_call *call, cudaStream_t stream) {
  if (!stream->capture) return cudaSuccess;
  stream->capture->is_invalid = true;
  return call->fail(cudaErrorStreamCaptureUnsupported, "the stream is captured, so its work does not run");
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (check_not_captured(&call, stream) != cudaSuccess) return call.error;
  twin().counters.synchronizations++;
  TWIN_TRY(call, twin_stream_run(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (check_not_captured(&call, stream) != cudaSuccess) return call.error;
  twin_stream_advance(stream);
  TWIN_TRY(call, twin().sticky[(size_t)stream->device]);
  return stream->ops.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize(void) {
  TWIN_CALL(call);
  if (twin_capture_invalidate(twin_device))
    return call.fail(cudaErrorStreamCaptureUnsupported, "a stream of the device is captured");
  twin().counters.synchronizations++;
  TWIN_TRY(call, twin_device_run(twin_device));
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (!function) return call.fail(cudaErrorInvalidValue, "no function");
  twin_op op;
  op.name = __func__;
  op.work = [function, argument] { function(argument); };
  TWIN_TRY(call, twin_stream_push(stream, op));
  return cudaSuccess;
}

cudaError_t twin_enqueue(cudaStream_t stream, const char *name, const std::vector<twin_range> &ranges,
                         std::function<void()> work) {
  twin_call call(name, TWIN_OF_LIBRARY);
  if (call.error != cudaSuccess) return call.error;
  TWIN_FIND_STREAM(call, stream);
  for (const twin_range &range : ranges) {
    const std::string why = twin_range_check(range, stream->device);
    if (!why.empty()) return call.fail(cudaErrorInvalidValue, "%s", why.c_str());
  }
  twin().counters.library_calls++;
  twin_op op;
  op.name = name;
  op.ranges = ranges;
  op.work = std::move(work);
  TWIN_TRY(call, twin_stream_push(stream, op));
  return cudaSuccess;
}
