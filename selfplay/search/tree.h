/* Search trees as arrays over (slot, node, edge): indices and offsets, no pointers, so that a tile of slots can be copied,
 * checked and batched. Shared with GPUs (base/shared.h). Mathematics in selfplay/search/score.h; the numbering is that of mctx's
 * tree.py.
 *
 * A node is one record: a header of 32 bytes, then four arrays [actions] over its edges (mz_edges), padded to whole cache lines.
 * All that one selection reads lies together: with two actions a node is exactly one line.
 *
 * Node 0 of a slot is its root; node i > 0 is the one that simulation i expanded. A simulation that expands nothing (it met
 * max_depth on an expanded node) leaves its index unused: walk a tree by `child`, not by index. */
#pragma once
#include "base/shared.h"
#include <stddef.h>
#include <stdint.h>

enum { MZ_NO_NODE = -1, MZ_TREE_LINE = 64 };

typedef struct mz_tree_node {
  float value;                   /* mean of the values backed up through the node, its own evaluation included */
  float raw_value;               /* the network's */
  float reward;                  /* on the edge into the node; of the root: 0 */
  int32_t visits;                /* 1 + Σ child visits (one more for each re-evaluation at max_depth) */
  int32_t parent, parent_action; /* of the root: MZ_NO_NODE */
  int32_t next_action, next;     /* what the next simulation takes from here, and child[next_action] */
} mz_tree_node;

/* The edges of one node; arrays are [actions]. */
typedef struct mz_edges {
  float *
      prior; /* softmax of the logits, at least MZ_PRIOR_MIN (selfplay/search/score.h); root: over legal actions, with noise, and for
                   what is illegal −INFINITY (puct: no score can overcome it) or 0 (gumbel) */
  float *q; /* reward + discount · value of the child; 0 when unvisited */
  int32_t *visits;
  int32_t *child; /* node index or MZ_NO_NODE */
} mz_edges;

typedef struct mz_tree {
  int slots, nodes, actions; /* nodes: simulations + 1 */
  size_t node_bytes;         /* mz_tree_node_bytes(actions) */
  unsigned char *records;    /* [slots][nodes] records of node_bytes */
} mz_tree;

MZ_SHARED size_t mz_tree_node_bytes(int actions) {
  const size_t bytes = sizeof(mz_tree_node) + (size_t)actions * (2 * sizeof(float) + 2 * sizeof(int32_t));
  return (bytes + MZ_TREE_LINE - 1) / MZ_TREE_LINE * MZ_TREE_LINE;
}

MZ_SHARED mz_tree_node *mz_tree_at(const mz_tree *tree, int slot, int node) {
  return (mz_tree_node *)(void *)(tree->records + ((size_t)slot * (size_t)tree->nodes + (size_t)node) * tree->node_bytes);
}

/* Another node of the root's slot, where the size of a record is a constant of the caller. */
MZ_SHARED mz_tree_node *mz_tree_beside(mz_tree_node *root, int node, size_t node_bytes) {
  return (mz_tree_node *)(void *)((unsigned char *)root + (size_t)node * node_bytes);
}

MZ_SHARED mz_edges mz_tree_edges(mz_tree_node *node, int actions) {
  mz_edges edges;
  edges.prior = (float *)(void *)(node + 1);
  edges.q = edges.prior + actions;
  edges.visits = (int32_t *)(void *)(edges.q + actions);
  edges.child = edges.visits + actions;
  return edges;
}
