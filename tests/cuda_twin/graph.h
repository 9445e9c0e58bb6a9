/* Captures, the graphs that they become, and replays. The lock is held in every function. */
#pragma once
#include "stream.h"
#include <map>
#include <thread>

/* Operations and what each comes after, as positions of earlier nodes. */
struct twin_node {
  twin_op op;
  std::vector<size_t> dependencies;
};

struct twin_capture {
  CUstream_st *origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread; /* that began it */
  bool is_invalid;
  std::vector<twin_node> nodes;
  std::map<CUstream_st *, std::vector<size_t>> ends; /* the last nodes of each stream that takes part */
};

/* cudaGraph_t and cudaGraphExec_t. */
struct CUgraph_st {
  std::vector<twin_node> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<const std::vector<twin_node>> nodes;
  std::vector<std::vector<size_t>> dependents; /* of each node */
  int device;
  std::shared_ptr<twin_record> last; /* of its replays, which run one after the other */
};

/* A replay on its way; it survives its executable. */
struct twin_graph_run {
  std::shared_ptr<const std::vector<twin_node>> nodes;
  std::vector<std::vector<size_t>> dependents;
  std::vector<size_t> waits_for; /* for each node, how many earlier ones have not run */
  std::vector<size_t> ready;     /* nodes that wait for none */
  size_t remaining;
};
std::shared_ptr<twin_graph_run> twin_graph_begin(const CUgraphExec_st &executable);
/* Returns a node that can run now, chosen at random, or NULL when all have run; the caller runs it. */
const twin_op *twin_graph_next(twin_graph_run *run);

/* Records an operation of a stream that is captured. */
cudaError_t twin_capture_record(CUstream_st *stream, const twin_op &op);
/* Makes `stream` take part in the capture, after these nodes. */
void twin_capture_join(const std::shared_ptr<twin_capture> &capture, CUstream_st *stream, const std::vector<size_t> &after);
/* Returns whether this thread may not make calls now that a capture forbids, and invalidates the captures that forbid it. */
bool twin_capture_forbids(void);
/* Invalidates all captures of the device; returns whether there were any. */
bool twin_capture_invalidate(int device);
/* Ends a capture: its streams run what they are given again. */
void twin_capture_end(const std::shared_ptr<twin_capture> &capture);
/* Lists graphs on stderr; returns whether there were any. */
bool twin_graph_list(void);
