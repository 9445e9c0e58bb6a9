#include "graph.h"
#include "state.h"
#include <algorithm>

static std::vector<std::weak_ptr<twin_capture>> &captures() {
  static auto &list = *new std::vector<std::weak_ptr<twin_capture>>();
  return list;
}

std::shared_ptr<twin_graph_run> twin_graph_begin(const CUgraphExec_st &executable) {
  const std::vector<twin_node> &nodes = *executable.nodes;
  const auto run = std::make_shared<twin_graph_run>();
  run->nodes = executable.nodes;
  run->dependents = executable.dependents;
  run->remaining = nodes.size();
  for (size_t node = 0; node < nodes.size(); node++) {
    run->waits_for.push_back(nodes[node].dependencies.size());
    if (nodes[node].dependencies.empty()) run->ready.push_back(node);
  }
  return run;
}

const twin_op *twin_graph_next(twin_graph_run *run) {
  if (run->ready.empty()) return nullptr;
  const size_t chosen = twin_random(run->ready.size()), node = run->ready[chosen];
  run->ready.erase(run->ready.begin() + (long)chosen);
  for (size_t later : run->dependents[node])
    if (--run->waits_for[later] == 0) run->ready.push_back(later);
  run->remaining--;
  return &(*run->nodes)[node].op;
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
