/* A backend runs the nodes of a tape. One struct of functions; `cpu` (float) and `ref` (double, for checking) implement it.
 * A backend has no state of its own: what a node needs is prepared once, when the tape is planned. */
#pragma once
#include "base/status.h"
#include "networks/parameters/params.h"
#include <stddef.h>

typedef struct mz_tape mz_tape;
typedef struct mz_node mz_node;
typedef struct mz_backend mz_backend;

/* Brings a parameter into the form in which tapes read it, convolutions packed, matrices transposed, when it has changed: once
 * for all threads, different parameters at once from any. values: all parameters; out: params->packed elements; bf16: for tapes
 * of bf16 values. */
typedef mz_status mz_pack(const mz_param *param, const void *values, bool bf16, void *out);

struct mz_backend {
  const char *name;
  bool (*has_bf16)(void); /* this processor multiplies bf16 (tape.h); NULL: never */
  size_t element_size;    /* 4: float, 8: double; every activation, gradient and parameter of a tape on this backend */
  /* Called once per node when the tape is planned; `node->prepared` is the backend's. */
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_tape *tape, mz_node *node);
  /* Bytes that a prepared node has for itself, beside what it claims of the tape's scratch; NULL: hardly any. Asked of a tape that was
   * only measured: values have no data. */
  size_t (*node_bytes)(mz_tape *tape, const mz_node *node, bool sends_gradient);
  /* rows: how many of the planned rows are live (the leading ones). */
  void (*forward)(mz_tape *tape, mz_node *node, int rows);
  void (*backward)(mz_tape *tape, mz_node *node, int rows);
  /* A parameter as forward, and as backward's data gradients, read it. NULL: nothing is ever to be done, tapes read the values. */
  mz_pack *pack_forward, *pack_backward;
};

static inline mz_status mz_pack_all(mz_pack *pack, const mz_params *params, const void *values, bool bf16, void *out) {
  for (int i = 0; i < params->count; i++) MZ_TRY(pack(&params->items[i], values, bf16, out));
  return MZ_OK;
}

extern const mz_backend mz_backend_cpu;
extern const mz_backend mz_backend_ref;
