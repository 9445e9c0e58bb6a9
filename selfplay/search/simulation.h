/* One simulation of one slot: select → (the model's answers) → expand → back up. Shared with GPUs (base/shared.h): a CPU runs slot
 * by slot and gives batch rows to the slots that need one, a GPU runs a thread for each slot, whose row is the slot's number. A
 * function touches its own slot alone, so slots may run at the same time.
 *
 * A search begins with mz_roots_init and the selection of simulation 1. After each simulation's answers come mz_simulation_expand
 * (where the selection has a parent), mz_simulation_back_up and, unless it was the last, mz_roots_choose and the next selection. It
 * ends with mz_roots_result.
 *
 * Selection, back-up and the choice at the root are always inlined: where a slot's number of actions is a constant, their loops
 * unroll. Expansion is faster where the compiler may keep it apart. */
#pragma once
#include "selfplay/search/score.h"

/* A slot as the search's functions see it. */
typedef struct mz_slot {
  int index; /* in arrays over the slots */
  mz_tree_node *root;
  int actions;
  bool gumbel; /* false: puct */
  const mz_scorer *scorer;
  float *score;    /* [actions], scratch */
  float *discount; /* [nodes]: of the edge into each node; NULL: the scorer's on every edge */
} mz_slot;

/* The end of a simulation. */
typedef struct mz_selection {
  int32_t leaf;   /* the node whose value is backed up */
  int32_t parent; /* the leaf's, whose latent the model starts from; MZ_NO_NODE: the leaf has been expanded, no model is asked */
  int32_t action; /* from the parent to the leaf */
  int depth;      /* edges from the root to the leaf */
} mz_selection;

/* Follows what mz_simulation_back_up and mz_roots_choose have chosen, to an edge without a child, which gets node `simulation`; or to
 * an expanded node at depth_max, which counts as evaluated again. Nothing is ever below it, so its value is the network's still. */
MZ_SHARED __attribute__((always_inline)) mz_selection mz_simulation_select(mz_slot slot, int simulation, int depth_max) {
  const size_t node_bytes = mz_tree_node_bytes(slot.actions);
  mz_tree_node *node = slot.root;
  mz_selection selection;
  selection.parent = 0;
  selection.depth = 1;
  while (node->next != MZ_NO_NODE && selection.depth < depth_max) {
    selection.parent = node->next;
    node = mz_tree_beside(slot.root, node->next, node_bytes);
    selection.depth++;
  }
  selection.action = node->next_action;
  if (node->next != MZ_NO_NODE) {
    mz_tree_beside(slot.root, node->next, node_bytes)->visits++;
    selection.leaf = node->next;
    selection.parent = MZ_NO_NODE;
    return selection;
  }
  mz_tree_node *leaf = mz_tree_beside(slot.root, simulation, node_bytes);
  leaf->parent = selection.parent;
  leaf->parent_action = selection.action;
  mz_tree_edges(node, slot.actions).child[selection.action] = simulation;
  selection.leaf = simulation;
  return selection;
}

/* A node's edges, unvisited, with priors from logits. */
MZ_SHARED void mz_edges_init(mz_edges edges, int actions, const float *logits) {
  mz_softmax(logits, actions, edges.prior);
  for (int a = 0; a < actions; a++) edges.q[a] = 0;
  for (int a = 0; a < actions; a++) edges.visits[a] = 0;
  for (int a = 0; a < actions; a++) edges.child[a] = MZ_NO_NODE;
}

/* Raises priors to MZ_PRIOR_MIN. */
MZ_SHARED void mz_edges_bound(mz_edges edges, int actions) {
  for (int a = 0; a < actions; a++) edges.prior[a] = edges.prior[a] > MZ_PRIOR_MIN ? edges.prior[a] : MZ_PRIOR_MIN;
}

/* Counts a visit of `action`'s edge and sets its Q. */
MZ_SHARED void mz_edges_visit(mz_edges edges, int actions, int action, float q) {
#ifdef __CUDA_ARCH__
  (void)actions;
  edges.q[action] = q;
  edges.visits[action]++;
#else
  for (int a = 0; a < actions; a++) { /* whole arrays: reading them as vectors would have to wait for a store of one entry */
    edges.q[a] = a == action ? q : edges.q[a];
    edges.visits[a] += a == action;
  }
#endif
}

/* Writes the model's answers (policy: logits, [actions]) into the leaf of a selection that has a parent. The edge's discount, where a
 * slot has them, is the caller's to set. */
MZ_SHARED void mz_simulation_expand(mz_slot slot, int32_t leaf, const float *policy, float value, float reward) {
  mz_tree_node *node = mz_tree_beside(slot.root, leaf, mz_tree_node_bytes(slot.actions));
  const mz_edges edges = mz_tree_edges(node, slot.actions);
  node->value = node->raw_value = value;
  node->reward = reward;
  node->visits = 1;
  node->next = MZ_NO_NODE;
  mz_edges_init(edges, slot.actions, policy);
  /* Without visits every Q is alike, and both algorithms take the largest prior. */
  node->next_action = mz_argmax(edges.prior, slot.actions, 0);
  mz_edges_bound(edges, slot.actions);
}

/* Carries the leaf's value to the root: G ← r + γG on each edge, γ being the edge's. What the next simulation takes from a node below
 * the root depends on this node alone, so it is chosen here, where the node's numbers are at hand and one node need not wait for
 * another; selection is then a walk. At the root mz_roots_choose chooses. */
MZ_SHARED __attribute__((always_inline)) void mz_simulation_back_up(mz_slot slot, int32_t leaf) {
  const mz_scorer *const scorer = slot.scorer;
  const size_t node_bytes = mz_tree_node_bytes(slot.actions);
  mz_tree_node *child = mz_tree_beside(slot.root, leaf, node_bytes);
  float value = child->value;
  int32_t index = leaf;
  for (;;) {
    mz_tree_node *node = mz_tree_beside(slot.root, child->parent, node_bytes);
    const mz_edges edges = mz_tree_edges(node, slot.actions);
    const float reward = child->reward, discount = slot.discount ? slot.discount[index] : scorer->discount;
    value = reward + discount * value;
    mz_edges_visit(edges, slot.actions, child->parent_action, reward + discount * child->value);
    const float count = (float)node->visits;
    node->value = (node->value * count + value) / (count + 1);
    node->visits++;
    if (node == slot.root) return;
    node->next_action = slot.gumbel ? mz_score_gumbel_interior(scorer, node, edges, slot.actions, slot.score)
                                    : mz_score_puct(scorer, node, edges, slot.actions, 0, slot.score);
    node->next = edges.child[node->next_action];
    index = child->parent;
    child = node;
  }
}
