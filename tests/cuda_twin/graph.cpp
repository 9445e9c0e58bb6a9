#include "graph.h"
#include "state.h"
#include <algorithm>

static std::vector<std::weak_ptr<twin_capture>> &captures() {
  static auto &list = *new std::vector<std::weak_ptr<twin_capture>>();
  return list;
}

const twin_op *twin_graph_next(twin_graph_run *run) {
  std::vector<size_t> able;
  for (size_t node = 0; node < run->nodes.size(); node++) {
    if (run->is_done[node]) continue;
    const std::vector<size_t> &after = run->nodes[node].after;
    if (std::all_of(after.begin(), after.end(), [run](size_t earlier) { return run->is_done[earlier]; })) able.push_back(node);
  }
  if (able.empty()) return nullptr;
  const size_t chosen = able[twin_random(able.size())];
  run->is_done[chosen] = true;
  run->remaining--;
  return &run->nodes[chosen].op;
}

cudaError_t twin_capture_record(CUstream_st *stream, const twin_op &op) {
  twin_capture *const capture = stream->capture.get();
  if (capture->is_invalid) return cudaErrorStreamCaptureInvalidated;
  std::vector<size_t> &ends = capture->ends[stream];
  capture->nodes.push_back({op, ends});
  ends.assign(1, capture->nodes.size() - 1);
  return cudaSuccess;
}

void twin_capture_join(const std::shared_ptr<twin_capture> &capture, CUstream_st *stream, const std::vector<size_t> &after) {
  if (stream->capture != capture) captures().push_back(capture);
  stream->capture = capture;
  std::vector<size_t> &ends = capture->ends[stream];
  for (size_t node : after)
    if (std::find(ends.begin(), ends.end(), node) == ends.end()) ends.push_back(node);
}

void twin_capture_end(const std::shared_ptr<twin_capture> &capture) {
  const std::shared_ptr<twin_capture> held = capture; /* the argument may be a stream's own */
  for (auto &end : held->ends) end.first->capture = nullptr;
}

/* Returns the captures that have not ended. */
static std::vector<std::shared_ptr<twin_capture>> live_captures() {
  std::vector<std::shared_ptr<twin_capture>> live;
  for (const std::weak_ptr<twin_capture> &entry : captures()) {
    const std::shared_ptr<twin_capture> capture = entry.lock();
    if (capture && capture->origin->capture == capture) live.push_back(capture);
  }
  captures().assign(live.begin(), live.end());
  return live;
}

bool twin_capture_forbids(void) {
  bool forbids = false;
  for (const std::shared_ptr<twin_capture> &capture : live_captures()) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    if (capture->mode == cudaStreamCaptureModeRelaxed || (capture->mode == cudaStreamCaptureModeThreadLocal && !is_own)) continue;
    capture->is_invalid = true;
    forbids = true;
  }
  return forbids;
}

bool twin_capture_invalidate(int device) {
  bool any = false;
  for (const std::shared_ptr<twin_capture> &capture : live_captures()) {
    if (capture->origin->device != device) continue;
    capture->is_invalid = true;
    any = true;
  }
  return any;
}
