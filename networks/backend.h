/* A backend runs the nodes of a tape. One struct of functions; `cpu` (float) and `ref` (double, for checking) implement it.
 * A backend has no state of its own: what a node needs is prepared once, when the tape is planned. */
#pragma once
#include "muzero/base/status.h"
#include "networks/tape.h"

struct mz_backend {
  const char *name;
  size_t element_size; /* 4: float, 8: double; every activation, gradient and parameter of a tape on this backend */
  /* Called once per node when the tape is planned; `node->prepared` is the backend's. */
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_tape *tape, mz_node *node);
  /* rows: how many of the planned rows are live (the leading ones). */
  void (*forward)(mz_tape *tape, mz_node *node, int rows);
  void (*backward)(mz_tape *tape, mz_node *node, int rows);
  /* Runs when the parameters a tape reads have changed and backward is to follow: transposed copies and the like, once for all
   * threads that then run backward. `scratch` is params->size elements. NULL: nothing to do. */
  void (*weights_changed)(const mz_params *params, const void *values, void *scratch);
};

extern const mz_backend mz_backend_cpu;
extern const mz_backend mz_backend_ref;
