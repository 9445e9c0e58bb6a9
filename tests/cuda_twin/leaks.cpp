#include "leaks.h"
#include "graph.h"
#include "memory.h"
#include "state.h"

bool twin_leaks_list(void) {
  const twin_guard guard;
  bool any = twin_memory_list();
  any |= twin_stream_list();
  any |= twin_event_list();
  any |= twin_graph_list();
  return any;
}
