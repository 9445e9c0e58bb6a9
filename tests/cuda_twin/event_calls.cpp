#include "graph.h"
#include "leaks.h"
#include "state.h"
#include "stream.h"
#include <cstdio>
#include <set>

/* cudaEvent_t. */
struct CUevent_st {
  int device;
  unsigned flags;
  std::shared_ptr<twin_record> record; /* NULL: never recorded, or last in a capture */
  std::weak_ptr<twin_capture> capture; /* that it was last recorded in, after the nodes `after` */
  std::vector<size_t> after;
  bool is_captured;
};

static std::set<CUevent_st *> &events() {
  static auto &set = *new std::set<CUevent_st *>();
  return set;
}

bool twin_event_list(void) {
  if (!events().empty()) fprintf(stderr, "cuda twin: leaked: %zu events\n", events().size());
  return !events().empty();
}

#define FIND_EVENT(call, event)                                                                                                  \
  if (!events().count(event)) return call.fail(cudaErrorInvalidResourceHandle, "no event that was created and not destroyed")

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  TWIN_CALL(call);
  if (!out || (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming)))
    return call.fail(cudaErrorInvalidValue, "flags are %u", flags);
  *out = new CUevent_st{twin_device, flags, nullptr, {}, {}, false};
  events().insert(*out);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out) { return cudaEventCreateWithFlags(out, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  TWIN_CALL_TO_FREE(call);
  FIND_EVENT(call, event);
  events().erase(event);
  delete event;
  return call.error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  TWIN_CALL(call);
  FIND_EVENT(call, event);
  TWIN_FIND_STREAM(call, stream);
  if (event->device != stream->device)
    return call.fail(cudaErrorInvalidResourceHandle, "the event is of device %d, the stream of device %d", event->device,
                     stream->device);
  if (stream->capture) {
    if (stream->capture->is_invalid) return call.fail(cudaErrorStreamCaptureInvalidated, "the capture was invalidated");
    event->is_captured = true;
    event->capture = stream->capture;
    event->after = stream->capture->ends[stream];
    event->record = nullptr;
    return cudaSuccess;
  }
  event->is_captured = false;
  event->record = std::make_shared<twin_record>(twin_record{stream, false, 0, {}});
  twin_op op;
  op.name = __func__;
  op.records = event->record;
  return twin_stream_push(stream, op);
}

/* Joins the stream to the capture that the event was recorded in. */
static cudaError_t wait_in_capture(twin_call *call, CUstream_st *stream, const CUevent_st *event) {
  const std::shared_ptr<twin_capture> capture = event->capture.lock();
  if (!capture || (stream->capture && stream->capture != capture)) {
    if (stream->capture) stream->capture->is_invalid = true;
    return call->fail(cudaErrorStreamCaptureIsolation, "the event was recorded in another capture");
  }
  if (capture->is_invalid) return call->fail(cudaErrorStreamCaptureInvalidated, "the capture was invalidated");
  twin_capture_join(capture, stream, event->after);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  TWIN_CALL(call);
  FIND_EVENT(call, event);
  TWIN_FIND_STREAM(call, stream);
  if (flags != cudaEventWaitDefault) return call.fail(cudaErrorInvalidValue, "flags are %u", flags);
  if (event->is_captured) return wait_in_capture(&call, stream, event);
  if (stream->capture) {
    stream->capture->is_invalid = true;
    return call.fail(cudaErrorStreamCaptureIsolation, "a captured stream waits for work outside of its capture");
  }
  if (!event->record) return cudaSuccess;
  twin_op op;
  op.name = __func__;
  op.waits = event->record;
  return twin_stream_push(stream, op);
}

static cudaError_t check_not_captured(twin_call *call, const CUevent_st *event) {
  if (!event->is_captured) return cudaSuccess;
  if (const std::shared_ptr<twin_capture> capture = event->capture.lock()) capture->is_invalid = true;
  return call->fail(cudaErrorCapturedEvent, "the event was last recorded in a capture");
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  TWIN_CALL(call);
  FIND_EVENT(call, event);
  if (twin_capture_forbids()) return call.fail(cudaErrorStreamCaptureUnsupported, "this thread captures");
  if (check_not_captured(&call, event) != cudaSuccess) return call.error;
  if (event->record && !event->record->is_done) twin_stream_advance(event->record->stream);
  TWIN_TRY(call, twin().sticky[(size_t)event->device]);
  if (event->record && !event->record->is_done) return cudaErrorNotReady;
  if (event->record) twin_clock_of_host().join(event->record->clock);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  TWIN_CALL(call);
  FIND_EVENT(call, event);
  if (check_not_captured(&call, event) != cudaSuccess) return call.error;
  twin().counters.synchronizations++;
  if (event->record) TWIN_TRY(call, twin_record_run(event->record, event->device));
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *out_milliseconds, cudaEvent_t start, cudaEvent_t end) {
  TWIN_CALL(call);
  FIND_EVENT(call, start);
  FIND_EVENT(call, end);
  if (!start->record || !end->record || ((start->flags | end->flags) & cudaEventDisableTiming))
    return call.fail(cudaErrorInvalidResourceHandle, "an event was never recorded, or takes no times");
  if (!start->record->is_done || !end->record->is_done) return cudaErrorNotReady;
  *out_milliseconds = (float)((end->record->seconds - start->record->seconds) * 1e3);
  return cudaSuccess;
}
