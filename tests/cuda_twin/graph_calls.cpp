#include "graph.h"
#include "leaks.h"
#include "state.h"
#include <cstdio>
#include <set>

static std::set<CUgraph_st *> &graphs() {
  static auto &set = *new std::set<CUgraph_st *>();
  return set;
}
static std::set<CUgraphExec_st *> &executables() {
  static auto &set = *new std::set<CUgraphExec_st *>();
  return set;
}

bool twin_graph_list(void) {
  if (!graphs().empty()) fprintf(stderr, "cuda twin: leaked: %zu graphs\n", graphs().size());
  if (!executables().empty()) fprintf(stderr, "cuda twin: leaked: %zu instantiated graphs\n", executables().size());
  return !graphs().empty() || !executables().empty();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (stream->capture) return call.fail(cudaErrorIllegalState, "the stream is captured already");
  twin_capture_join(std::make_shared<twin_capture>(twin_capture{stream, mode, std::this_thread::get_id(), false, {}, {}}), stream,
                    {});
  return cudaSuccess;
}

/* Returns whether everything that the capture recorded is before the end of its first stream. */
static bool is_joined(const twin_capture &capture) {
  std::vector<bool> reached(capture.nodes.size(), false);
  for (size_t node : capture.ends.at(capture.origin)) reached[node] = true;
  bool all = true;
  for (size_t node = capture.nodes.size(); node-- > 0;) { /* a node comes after earlier ones only */
    if (reached[node])
      for (size_t earlier : capture.nodes[node].dependencies) reached[earlier] = true;
    else
      all = false;
  }
  return all;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  *out = nullptr;
  const std::shared_ptr<twin_capture> capture = stream->capture;
  if (!capture) return call.fail(cudaErrorIllegalState, "the stream is not captured");
  if (capture->origin != stream) {
    capture->is_invalid = true;
    return call.fail(cudaErrorStreamCaptureUnmatched, "the capture began on another stream");
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return call.fail(cudaErrorStreamCaptureWrongThread, "the capture began on another thread");
  twin_capture_end(capture);
  if (capture->is_invalid) return call.fail(cudaErrorStreamCaptureInvalidated, "the capture was invalidated");
  if (!is_joined(*capture)) return call.fail(cudaErrorStreamCaptureUnjoined, "work of another stream was not waited for");
  *out = new CUgraph_st{capture->nodes};
  graphs().insert(*out);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *out) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  *out = !stream->capture              ? cudaStreamCaptureStatusNone
         : stream->capture->is_invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags) {
  TWIN_CALL(call);
  if (!out || !graphs().count(graph) || flags != 0) return call.fail(cudaErrorInvalidValue, "no graph, or flags %llu", flags);
  std::vector<std::vector<size_t>> dependents(graph->nodes.size());
  for (size_t node = 0; node < graph->nodes.size(); node++)
    for (size_t earlier : graph->nodes[node].dependencies) dependents[earlier].push_back(node);
  *out = new CUgraphExec_st{std::make_shared<const std::vector<twin_node>>(graph->nodes), dependents, twin_device, nullptr};
  executables().insert(*out);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  TWIN_CALL(call);
  TWIN_FIND_STREAM(call, stream);
  if (!executables().count(executable) || executable->device != stream->device)
    return call.fail(cudaErrorInvalidValue, "no instantiated graph of the stream's device");
  if (stream->capture) {
    stream->capture->is_invalid = true;
    return call.fail(cudaErrorNotSupported, "the twin captures no graphs in graphs");
  }
  twin_op op;
  op.name = __func__;
  op.graph = twin_graph_begin(*executable);
  op.waits = executable->last;
  op.records = executable->last = std::make_shared<twin_record>(twin_record{stream, false, 0, {}});
  twin().counters.graph_launches++;
  TWIN_TRY(call, twin_stream_push(stream, op));
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  TWIN_CALL_TO_FREE(call);
  if (!graphs().erase(graph)) return call.fail(cudaErrorInvalidValue, "no graph that was not destroyed");
  delete graph;
  return call.error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  TWIN_CALL_TO_FREE(call);
  if (!executables().erase(executable)) return call.fail(cudaErrorInvalidValue, "no instantiated graph that was not destroyed");
  delete executable;
  return call.error;
}
