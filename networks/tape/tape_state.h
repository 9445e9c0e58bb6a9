/* A tape from the inside, for the backends and the tape's own files. */
#pragma once
#include "networks/lane.h"
#include "networks/tape/tape.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_TAPE_INDICES_MAX = 32, MZ_TAPE_NODES_MAX = 4096 };

struct mz_tape {
  mz_lane lane;
  const mz_params *params;
  int64_t *layout; /* [params->count]: where each parameter begins in what forward and backward read (mz_backend_layout) */
  int rows;
  bool with_backward, planned;
  double share;      /* of an update's rows */
  mz_status failure; /* of building; mz_tape_plan returns it */

  mz_node *nodes; /* one value each: node i writes value i */
  mz_tape_value *values;
  int node_count, node_capacity;
  int32_t *indices[MZ_TAPE_INDICES_MAX]; /* [rows][index_lengths[i]] each */
  int index_lengths[MZ_TAPE_INDICES_MAX], index_count;

  int *uses;     /* what the nodes' `uses` point into */
  bool *unused;  /* [params->count]: no node of backward reads it; its gradient is 0 */
  void *block;   /* of the lane's memory: activations, gradients, indices */
  size_t bytes;  /* of block */
  void *scratch; /* likewise: what any node may use while it runs */
  size_t scratch_bytes;

  void *passes; /* the backend's, of whole passes */

  /* The running pass: */
  const void *weights, *transposed;
  void *gradients;
  int live_rows;
};

/* Returns the bytes of the host that a tape takes while it is built; a measure of it counts them, too. */
static inline size_t mz_tape_host_bytes(const mz_tape *tape) {
  return sizeof *tape + (size_t)tape->node_capacity * (sizeof *tape->nodes + sizeof *tape->values);
}

/* A value and an index list from the inside. */
static inline mz_tape_value *mz_tape_at(mz_tape *tape, mz_value value) {
  MZ_ASSERT(tape->planned && value >= 0 && value < tape->node_count);
  return &tape->values[value];
}

static inline int32_t *mz_tape_index_at(mz_tape *tape, int list) {
  MZ_ASSERT(tape->planned && list >= 0 && list < tape->index_count);
  return tape->indices[list];
}

/* Returns the entries of row r of an index list, one for each position. */
static inline const int32_t *mz_tape_list_at(const mz_tape *tape, int list, int r) {
  return tape->indices[list] + (size_t)r * (size_t)tape->index_lengths[list];
}

/* While nodes are prepared. */
static inline void mz_tape_claim_scratch(mz_tape *tape, size_t bytes) {
  if (bytes > tape->scratch_bytes) tape->scratch_bytes = bytes;
}

/* Properties of an op beside its kernels, for the tape's own files and the backends: adding an op adds a row (tape_ops.c). */
typedef struct mz_op_traits {
  const char *name;
  bool runs;           /* forward has something to compute */
  bool trains;         /* has parameters of its own, `weight` among them; nodes that share it are uses of one and the same */
  bool is_loss;        /* adds to the tape's loss; of its inputs the first alone learns */
  bool inference_only; /* no gradient flows through it */
  bool is_summand;     /* made to be added by a convolution, in whose output it then lies */
  bool writes_bf16;    /* can round its output to bf16 as it writes it */
} mz_op_traits;
extern const mz_op_traits mz_op_table[MZ_OPS];
static inline const mz_op_traits *mz_node_traits(const mz_node *node) { return &mz_op_table[node->op]; }
