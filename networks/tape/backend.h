/* A backend runs the nodes of a tape. One struct of functions; `cpu` (float), `ref` (double, for checking) and `cuda` (float,
 * networks/module.h) implement it.
 * A backend has no state of its own: what a thread needs is its lane's (networks/lane.h), and what a node needs is prepared once,
 * when the tape is planned. */
#pragma once
#include "base/status.h"
#include "networks/parameters/params.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct mz_tape mz_tape;
typedef struct mz_node mz_node;
typedef struct mz_lane mz_lane;
typedef struct mz_backend mz_backend;
typedef struct mz_updater mz_updater;
typedef struct mz_searcher mz_searcher;

/* Brings a parameter into the form in which tapes read it, convolutions packed, matrices transposed, when it has changed: once
 * for all threads, different parameters at once from any. values: the parameter's; out: its place (mz_backend_layout); bf16: for
 * tapes of bf16 values. */
typedef mz_status mz_pack(const mz_lane *lane, const mz_param *param, const void *values, bool bf16, void *out);

/* Memory that is not the host's: copies (networks/lane.h), and rows of a tape in and out (networks/tape/tape.h, mz_tape_put …). */
typedef struct mz_device_memory {
  mz_status (*alloc)(const mz_lane *lane, void *out_pointer, size_t bytes);
  void (*free)(const mz_lane *lane, void *memory);
  mz_status (*load)(const mz_lane *lane, void *to, const void *from, size_t bytes);
  mz_status (*fetch)(const mz_lane *lane, void *to, const void *from, size_t bytes);
  mz_status (*copy)(const mz_lane *lane, void *to, const void *from, size_t bytes);
  mz_status (*sync)(const mz_lane *lane);
  /* Returns the most bytes of the host that a lane keeps for copies, which moves `moved` bytes between two calls of sync. */
  double (*pinned)(double moved);
  mz_status (*put)(mz_tape *tape, int value, int first, const float *rows, int count);
  mz_status (*put_bytes)(mz_tape *tape, int value, const uint8_t *rows, int count);
  mz_status (*put_list)(mz_tape *tape, int list, int first, const int32_t *entries, int count);
  mz_status (*get)(mz_tape *tape, int value, int first, float *rows, int count);
  mz_status (*put_pooled)(mz_tape *tape, int value, const float *pool, const int32_t *from, int count);
  mz_status (*get_pooled)(mz_tape *tape, int value, float *pool, const int32_t *to, int count);
} mz_device_memory;

struct mz_backend {
  const char *name;
  size_t element_size; /* 4: float, 8: double; every activation, gradient and parameter of a tape on this backend */
  /* Fill and empty lane->own; NULL: there is nothing to own. */
  mz_status (*open)(mz_lane *lane);
  void (*close)(mz_lane *lane);
  bool (*halves)(const mz_lane *lane); /* the device multiplies bf16 (tape.h); NULL: never */
  const mz_device_memory *memory;      /* NULL: the host's */
  /* Called once per node when the tape is planned; `node->prepared` is the backend's. */
  mz_status (*prepare)(mz_tape *tape, mz_node *node);
  void (*release)(mz_tape *tape, mz_node *node);
  /* Returns the bytes that a prepared node has for itself, and claims the scratch that preparing claims; NULL: hardly any of both. Asked
   * of a tape that is only measured: values have no data, and no gradients. */
  size_t (*node_bytes)(mz_tape *tape, const mz_node *node, bool sends_gradient);
  /* rows: how many of the planned rows are live (the leading ones). */
  mz_status (*forward)(mz_tape *tape, mz_node *node, int rows);
  mz_status (*backward)(mz_tape *tape, mz_node *node, int rows);
  /* A whole pass at once, gradients of unused parameters included; what it keeps for later ones is in tape->passes, which `forget` frees.
   * NULL: node by node. */
  mz_status (*run)(mz_tape *tape, bool backward, int rows);
  void (*forget)(mz_tape *tape);
  mz_status (*loss)(mz_tape *tape, double *loss); /* mz_tape_loss; NULL: the tape reads its values */
  /* A parameter as forward, and as backward's data gradients, read it. NULL: nothing is ever to be done, tapes read the values. */
  mz_pack *pack_forward, *pack_backward;
  /* Elements that a packed parameter takes; NULL: as many as its values. */
  int64_t (*packed_size)(const mz_param *param);
  const mz_updater *updater;   /* networks/update.h; NULL: there are no updates */
  const mz_searcher *searcher; /* selfplay/search/searcher.h: trees on the device; NULL: on CPUs */
};

/* Returns the elements of a packed parameter. */
int64_t mz_backend_packed(const mz_backend *backend, const mz_param *param);
/* Returns the elements of a vector of packed parameters; offsets: where each begins, [params->count], or NULL. */
int64_t mz_backend_layout(const mz_backend *backend, const mz_params *params, int64_t *offsets);

extern const mz_backend mz_backend_cpu;
extern const mz_backend mz_backend_ref;
