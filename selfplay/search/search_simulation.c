#include "selfplay/search/search_state.h"

static int depth_limit(const mz_search *s) { return s->settings.max_depth > 0 ? (int)s->settings.max_depth : INT32_MAX; }

/* Follows what back_up has chosen, to an edge without a child, which gets node `simulation` and a row of the batch; or to an
 * expanded node at max_depth, which counts as evaluated again. Nothing is ever below it, so its value is the network's still. */
static inline void select_leaf(mz_search *s, int slot, int simulation, int depth_max, uint64_t *edges_walked) {
  const mz_tree *tree = &s->tree;
  mz_tree_node *const root = mz_tree_at(tree, slot, 0);
  mz_tree_node *node = root;
  int32_t at = 0;
  int depth = 1;
  while (node->next != MZ_NO_NODE && depth < depth_max) {
    at = node->next;
    node = mz_tree_beside(root, at, tree->node_bytes);
    depth++;
  }
  *edges_walked += (uint64_t)depth;
  if (node->next != MZ_NO_NODE) {
    mz_tree_beside(root, node->next, tree->node_bytes)->visits++;
    s->leaf[slot] = node->next;
    s->row[slot] = MZ_NO_NODE;
    return;
  }
  const int action = node->next_action, row = s->rows++;
  mz_tree_node *leaf = mz_tree_beside(root, simulation, tree->node_bytes);
  leaf->parent = at;
  leaf->parent_action = action;
  mz_tree_edges(node, tree->actions).child[action] = simulation;
  s->leaf[slot] = simulation;
  s->row[slot] = row;
  s->in[row] = slot * tree->nodes + at;
  s->action[row] = action;
  s->out[row] = slot * tree->nodes + simulation;
}

static inline void expand(const mz_search *s, mz_tree_node *leaf, int row, int actions) {
  const mz_edges edges = mz_tree_edges(leaf, actions);
  const float *policy = s->policy + (size_t)row * (size_t)actions;
  leaf->value = leaf->raw_value = s->value[row];
  leaf->reward = s->reward[row];
  leaf->visits = 1;
  leaf->next = MZ_NO_NODE;
  mz_search_open(edges, actions, policy);
  /* Without visits every Q is alike, and both algorithms take the largest prior. */
  leaf->next_action = mz_argmax(edges.prior, actions, 0);
  mz_search_bound(edges, actions);
}

/* Carries the leaf's value to the root: G ← r + γG on each edge. What the next simulation takes from a node depends on this node
 * alone, so it is chosen here, where the node's numbers are at hand and one node need not wait for another; selection is then
 * a walk. */
static inline __attribute__((always_inline)) void back_up(mz_search *s, const mz_scorer *scorer, int slot, int actions,
                                                          bool gumbel, bool last) {
  const size_t node_bytes = mz_tree_node_bytes(actions);
  mz_tree_node *const root = mz_tree_at(&s->tree, slot, 0);
  mz_tree_node *child = mz_tree_beside(root, s->leaf[slot], node_bytes);
  float value = child->value;
  for (;;) {
    mz_tree_node *node = mz_tree_beside(root, child->parent, node_bytes);
    const mz_edges edges = mz_tree_edges(node, actions);
    const int action = child->parent_action;
    const float reward = child->reward;
    value = reward + scorer->discount * value;
    const float q = reward + scorer->discount * child->value;
    for (int a = 0; a < actions; a++) { /* whole arrays: reading them as vectors would have to wait for a store of one entry */
      edges.q[a] = a == action ? q : edges.q[a];
      edges.visits[a] += a == action;
    }
    const float count = (float)node->visits;
    node->value = (node->value * count + value) / (count + 1);
    node->visits++;
    if (node == root) break;
    node->next_action = gumbel ? mz_score_gumbel_interior(scorer, node, edges, actions, s->score)
                               : mz_score_puct(scorer, node, edges, actions, 0, s->score);
    node->next = edges.child[node->next_action];
    child = node;
  }
  if (last) return;
  const mz_edges edges = mz_tree_edges(root, actions);
  root->next_action = mz_search_choose(s, scorer, slot, root, edges, actions, gumbel);
  root->next = edges.child[root->next_action];
}

/* Takes the model's answers and begins the next simulation, slot by slot, while a slot's tree is in the first-level cache. */
static inline __attribute__((always_inline)) void finish_slots(mz_search *s, int n, int simulation, bool last, int actions,
                                                               bool gumbel) {
  const mz_scorer scorer = s->scorer; /* a copy that stores into the trees cannot change */
  const int depth_max = depth_limit(s);
  uint64_t walked = 0;
  s->rows = 0;
  for (int slot = 0; slot < n; slot++) {
    if (s->row[slot] != MZ_NO_NODE) expand(s, mz_tree_at(&s->tree, slot, s->leaf[slot]), s->row[slot], actions);
    back_up(s, &scorer, slot, actions, gumbel, last);
    if (!last) select_leaf(s, slot, simulation + 1, depth_max, &walked);
  }
  if (s->counting) s->cost.edges += walked;
}

/* The same for an environment's number of actions as a constant, where that is small or a bundled game's. */
static inline __attribute__((always_inline)) void finish_simulation(mz_search *s, int n, int simulation, bool last, bool gumbel) {
  switch (s->tree.actions) {
    case 2: finish_slots(s, n, simulation, last, 2, gumbel); break;
    case 3: finish_slots(s, n, simulation, last, 3, gumbel); break;
    case 4: finish_slots(s, n, simulation, last, 4, gumbel); break;
    case 9: finish_slots(s, n, simulation, last, 9, gumbel); break;
    default: finish_slots(s, n, simulation, last, s->tree.actions, gumbel);
  }
}

void mz_search_finish(mz_search *s, int n, int simulation, bool last) {
  if (s->settings.algorithm == MZ_GUMBEL)
    finish_simulation(s, n, simulation, last, true);
  else
    finish_simulation(s, n, simulation, last, false);
}

void mz_search_begin(mz_search *s, int slot) {
  uint64_t walked = 0;
  select_leaf(s, slot, 1, depth_limit(s), &walked);
  if (s->counting) s->cost.edges += walked;
}
