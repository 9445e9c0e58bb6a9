#include "selfplay/search/search_state.h"
#include <string.h>

/* Masks the root's logits; returns how many actions are legal. */
static int mask_root(mz_search *s, int slot, const uint8_t *legal, const float *policy) {
  const int actions = s->tree.actions;
  float *logits = s->root_logits + (size_t)slot * (size_t)actions;
  int count = 0;
  for (int a = actions - 1; a >= 0; a--) {
    const bool allowed = !legal || legal[a];
    logits[a] = allowed ? policy[a] : -INFINITY;
    if (allowed) s->root_first[slot] = a;
    count += allowed;
  }
  MZ_ASSERT(count >= 1);
  return count;
}

/* P ← (1 − f)·P + f·Dirichlet(α) over the legal actions. */
static void mix_dirichlet(mz_search *s, mz_rng rng, const float *logits, int legal_count, float *prior) {
  const float fraction = (float)s->settings.dirichlet_fraction;
  mz_rng_dirichlet(&rng, (float)s->settings.dirichlet_alpha, legal_count, s->score);
  for (int a = 0, i = 0; a < s->tree.actions; a++)
    if (logits[a] > -INFINITY) prior[a] = (1 - fraction) * prior[a] + fraction * s->score[i++];
}

/* g + logits − max; g = 0 without noise. */
static void add_gumbel(mz_search *s, int slot, const mz_root *root, const float *logits) {
  const int actions = s->tree.actions;
  const float scale = root->noise ? (float)s->settings.gumbel_scale : 0.0f;
  float *out = s->root_gumbel_logits + (size_t)slot * (size_t)actions;
  float top = -INFINITY;
  for (int a = 0; a < actions; a++) top = logits[a] > top ? logits[a] : top;
  mz_rng rng = root->rng;
  for (int a = 0; a < actions; a++) {
    const bool legal = logits[a] > -INFINITY;
    const float g = scale > 0 && legal ? scale * mz_rng_gumbel(&rng) : 0.0f;
    out[a] = legal ? g + (logits[a] - top) : -INFINITY;
  }
}

void mz_search_init_root(mz_search *s, int slot, const mz_root *root) {
  const int actions = s->tree.actions;
  const bool gumbel = s->settings.algorithm == MZ_GUMBEL;
  mz_tree_node *node = mz_tree_at(&s->tree, slot, 0);
  const mz_edges edges = mz_tree_edges(node, actions);
  const int legal_count = mask_root(s, slot, root->legal, s->policy + (size_t)slot * (size_t)actions);
  const float *logits = s->root_logits + (size_t)slot * (size_t)actions;
  *node = (mz_tree_node){.value = s->value[slot],
                         .raw_value = s->value[slot],
                         .visits = 1,
                         .parent = MZ_NO_NODE,
                         .parent_action = MZ_NO_NODE,
                         .next = MZ_NO_NODE};
  mz_search_open(edges, actions, logits);
  if (gumbel) {
    s->root_considered[slot] = s->considered_max < legal_count ? s->considered_max : legal_count;
    add_gumbel(s, slot, root, logits);
  } else if (root->noise && s->settings.dirichlet_fraction > 0) {
    mix_dirichlet(s, root->rng, logits, legal_count, edges.prior);
  }
  mz_search_bound(edges, actions);
  for (int a = 0; a < actions; a++)
    if (logits[a] == -INFINITY) edges.prior[a] = gumbel ? 0 : -INFINITY;
  node->next_action = mz_search_choose(s, &s->scorer, slot, node, edges, actions, gumbel);
}

void mz_search_result(mz_search *s, int slot, mz_root_result *result) {
  const int actions = s->tree.actions;
  mz_tree_node *root = mz_tree_at(&s->tree, slot, 0);
  const mz_edges edges = mz_tree_edges(root, actions);
  const int first = s->root_first[slot];
  const size_t offset = (size_t)slot * (size_t)actions;
  int favourite = first;
  for (int a = first; a < actions; a++)
    if (edges.visits[a] > edges.visits[favourite]) favourite = a;
  result->value = root->value;
  result->raw_value = root->raw_value;
  if (result->prior) mz_softmax(s->root_logits + offset, actions, result->prior);
  if (result->visits) memcpy(result->visits, edges.visits, (size_t)actions * sizeof(int32_t));
  if (s->settings.algorithm == MZ_PUCT) {
    result->selected = favourite;
    for (int a = 0; a < actions; a++) result->policy[a] = (float)edges.visits[a] / (float)(root->visits - 1);
  } else {
    result->selected = mz_score_gumbel_root(&s->scorer, root, edges, actions, first, s->root_gumbel_logits + offset,
                                            edges.visits[favourite], s->score);
    mz_improved_policy(&s->scorer, root, edges, actions, s->root_logits + offset, s->score);
    memcpy(result->policy, s->score, (size_t)actions * sizeof(float));
  }
}
