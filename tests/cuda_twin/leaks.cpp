#include "leaks.h"
#include "graph.h"
#include "memory.h"
#include "state.h"

bool twin_leaks_list(void) {
  std::lock_guard<std::mutex> guard(twin().lock);
  bool any = twin_memory_list();
  any |= twin_stream_list();
  any |= twin_event_list();
  any |= twin_graph_list();
  return any;
}

void twin_reset(void) {
  std::lock_guard<std::mutex> guard(twin().lock);
  for (size_t device = 0; device < twin().sticky.size(); device++) {
    twin_stream_drop((int)device);
    twin_capture_invalidate((int)device);
    twin().sticky[device] = cudaSuccess;
  }
}
