/* A backend runs the nodes of a tape. One struct of functions; `cpu` (float) and `ref` (double, for checking) implement it.
 * A backend has no state of its own: what a node needs is prepared once, when the tape is planned. */
#pragma once
#include "muzero/base/status.h"
#include "networks/tape.h"

struct mz_backend {
  const char *name;
  bool (*halves)(void); /* this processor computes with halves (tape.h); NULL: never */
  size_t element_size;  /* 4: float, 8: double; every activation, gradient and parameter of a tape on this backend */
  /* Called once per node when the tape is planned; `node->prepared` is the backend's. */
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_tape *tape, mz_node *node);
  /* rows: how many of the planned rows are live (the leading ones). */
  void (*forward)(mz_tape *tape, mz_node *node, int rows);
  void (*backward)(mz_tape *tape, mz_node *node, int rows);
  /* Parameters as forward, and as backward's data gradients, read them: convolutions packed, matrices transposed. Made once for all
   * threads when they have changed. out: params->packed elements. half: for tapes of half values. NULL: nothing is ever to be done,
   * tapes read the values. */
  mz_status (*pack_forward)(const mz_params *params, const void *values, bool half, void *out);
  mz_status (*pack_backward)(const mz_params *params, const void *values, bool half, void *out);
};

extern const mz_backend mz_backend_cpu;
extern const mz_backend mz_backend_ref;
