/* A tape from the inside, for the backends and the tape's own files. */
#pragma once
#include "networks/tape/backend.h"
#include "networks/tape/tape.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_TAPE_INDICES_MAX = 32, MZ_TAPE_NODES_MAX = 4096 };

struct mz_tape {
  const mz_backend *backend;
  const mz_params *params;
  int rows;
  bool with_backward, planned;
  double share;      /* of an update's rows */
  mz_status failure; /* of building; mz_tape_plan returns it */

  mz_node *nodes; /* one value each: node i writes value i */
  mz_tape_value *values;
  int node_count, node_capacity;
  int32_t *indices[MZ_TAPE_INDICES_MAX]; /* [rows] each */
  int index_count;

  int *uses;     /* what the nodes' `uses` point into */
  bool *unused;  /* [params->count]: no node of backward reads it; its gradient is 0 */
  void *block;   /* activations, gradients, indices */
  size_t bytes;  /* of block */
  void *scratch; /* what any node may use while it runs */
  size_t scratch_bytes;

  /* Of the running pass: */
  const void *weights, *transposed;
  void *gradients;
  int live_rows;
};

/* While nodes are prepared. */
static inline void mz_tape_claim_scratch(mz_tape *tape, size_t bytes) {
  if (bytes > tape->scratch_bytes) tape->scratch_bytes = bytes;
}

/* Has parameters of its own, `weight` among them; nodes that share it are uses of one and the same. */
static inline bool mz_node_trains(const mz_node *node) {
  return node->op == MZ_OP_LINEAR || node->op == MZ_OP_CONV || node->op == MZ_OP_ACTION_MAP || node->op == MZ_OP_NORM;
}

/* Adds to the tape's loss; of its inputs the first alone learns. */
static inline bool mz_node_is_loss(const mz_node *node) { return node->op == MZ_OP_SOFTMAX_XENT || node->op == MZ_OP_MSE; }

static inline bool mz_node_writes_gradient(const mz_tape *tape, const mz_node *node, int input) {
  return tape->values[node->inputs[input]].gradient != NULL;
}
