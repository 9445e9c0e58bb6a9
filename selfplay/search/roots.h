/* How the search of a slot begins and ends: the root's mask and noise, the choice at the root, the result. Shared with GPUs
 * (base/shared.h), as simulation.h is. */
#pragma once
#include "base/maths/rng_inline.h"
#include "selfplay/search/simulation.h"

/* The roots of all slots, apart from their nodes. The arrays lie where the search runs, in the memory of the CPU or of the GPU. */
typedef struct mz_roots {
  float *logits;        /* [slots][actions]: −INFINITY where illegal */
  float *gumbel_logits; /* gumbel: [slots][actions]: g + logits − max, −INFINITY where illegal */
  int32_t *first;       /* [slots]: the first legal action */
  int32_t *considered;  /* gumbel: [slots]: min(considered_max, legal actions) */
  int considered_max;
  int32_t *schedules; /* gumbel: [considered_max + 1][schedule_simulations]: mz_halving_schedule */
  int schedule_simulations;
  float logit_drop_max; /* search.prior_min: how far a legal action's logit may lie below the largest; INFINITY: any way */
  float dirichlet_alpha, dirichlet_fraction; /* puct: search.dirichlet_alpha, search.dirichlet_fraction */
  float gumbel_scale;                        /* gumbel: search.gumbel_scale */
} mz_roots;

/* Chooses the action that the next simulation takes at the root. */
MZ_SHARED __attribute__((always_inline)) void mz_roots_choose(const mz_roots *roots, mz_slot slot) {
  mz_tree_node *root = slot.root;
  const mz_edges edges = mz_tree_edges(root, slot.actions);
  if (slot.gumbel) {
    const int32_t *schedule = roots->schedules + (size_t)roots->considered[slot.index] * (size_t)roots->schedule_simulations;
    root->next_action = mz_score_gumbel_root(slot.scorer, root, edges, slot.actions, roots->first[slot.index],
                                             roots->gumbel_logits + (size_t)slot.index * (size_t)slot.actions,
                                             schedule[root->visits - 1], slot.score);
  } else {
    root->next_action = mz_score_puct(slot.scorer, root, edges, slot.actions, roots->first[slot.index], slot.score);
  }
  root->next = edges.child[root->next_action];
}

/* Writes the policy's logits, raised to the least that is allowed, −INFINITY where illegal. Returns how many actions are legal. */
MZ_SHARED int mz_roots_mask(const mz_roots *roots, mz_slot slot, const float *policy, const uint8_t *legal) {
  float *logits = roots->logits + (size_t)slot.index * (size_t)slot.actions;
  int count = 0;
  float top = -INFINITY;
  for (int a = slot.actions - 1; a >= 0; a--) {
    const bool allowed = !legal || legal[a];
    logits[a] = allowed ? policy[a] : -INFINITY;
    top = logits[a] > top ? logits[a] : top;
    if (allowed) roots->first[slot.index] = a;
    count += allowed;
  }
  MZ_SHARED_ASSERT(count >= 1);
  const float least = top - roots->logit_drop_max;
  for (int a = 0; a < slot.actions; a++)
    if (logits[a] > -INFINITY && logits[a] < least) logits[a] = least;
  return count;
}

/* P ← (1 − f)·P + f·Dirichlet(α) over the legal actions. */
MZ_SHARED void mz_roots_mix_dirichlet(const mz_roots *roots, mz_slot slot, mz_rng rng, int legal_count) {
  const float *logits = roots->logits + (size_t)slot.index * (size_t)slot.actions;
  float *prior = mz_tree_edges(slot.root, slot.actions).prior;
  const float fraction = roots->dirichlet_fraction;
  mz_rng_dirichlet_inline(&rng, roots->dirichlet_alpha, legal_count, slot.score);
  for (int a = 0, i = 0; a < slot.actions; a++)
    if (logits[a] > -INFINITY) prior[a] = (1 - fraction) * prior[a] + fraction * slot.score[i++];
}

/* g + logits − max; g = 0 without noise. */
MZ_SHARED void mz_roots_add_gumbel(const mz_roots *roots, mz_slot slot, bool noise, mz_rng rng) {
  const int actions = slot.actions;
  const float *logits = roots->logits + (size_t)slot.index * (size_t)actions;
  float *out = roots->gumbel_logits + (size_t)slot.index * (size_t)actions;
  const float scale = noise ? roots->gumbel_scale : 0.0f;
  float top = -INFINITY;
  for (int a = 0; a < actions; a++) top = logits[a] > top ? logits[a] : top;
  for (int a = 0; a < actions; a++) {
    const bool legal = logits[a] > -INFINITY;
    const float g = scale > 0 && legal ? scale * mz_rng_gumbel_inline(&rng) : 0.0f;
    out[a] = legal ? g + (logits[a] - top) : -INFINITY;
  }
}

/* Begins a slot's search with the initial inference's answers (policy: logits, [actions]). legal: [actions], at least one of them
 * set; NULL: all. rng: the stream of its noise. */
MZ_SHARED void mz_roots_init(const mz_roots *roots, mz_slot slot, const float *policy, float value, const uint8_t *legal,
                             bool noise, mz_rng rng) {
  const int actions = slot.actions;
  const float *logits = roots->logits + (size_t)slot.index * (size_t)actions;
  mz_tree_node *root = slot.root;
  const mz_edges edges = mz_tree_edges(root, actions);
  const int legal_count = mz_roots_mask(roots, slot, policy, legal);
  root->value = root->raw_value = value;
  root->reward = 0;
  root->visits = 1;
  root->parent = root->parent_action = MZ_NO_NODE;
  mz_edges_init(edges, actions, logits);
  if (slot.gumbel) {
    roots->considered[slot.index] = roots->considered_max < legal_count ? roots->considered_max : legal_count;
    mz_roots_add_gumbel(roots, slot, noise, rng);
  } else if (noise && roots->dirichlet_fraction > 0) {
    mz_roots_mix_dirichlet(roots, slot, rng, legal_count);
  }
  mz_edges_bound(edges, actions);
  for (int a = 0; a < actions; a++)
    if (logits[a] == -INFINITY) edges.prior[a] = slot.gumbel ? 0 : -INFINITY;
  mz_roots_choose(roots, slot);
}

/* Writes what a slot's search has found, each [actions]: policy, the training target; visits, or NULL; prior, the network's policy
 * over the legal actions, raised by search.prior_min, without noise, or NULL. Returns the selected action (mz_root_result in search.h). */
MZ_SHARED int mz_roots_result(const mz_roots *roots, mz_slot slot, float *policy, int32_t *visits, float *prior) {
  const int actions = slot.actions, first = roots->first[slot.index];
  const size_t offset = (size_t)slot.index * (size_t)actions;
  const mz_edges edges = mz_tree_edges(slot.root, actions);
  int favourite = first;
  for (int a = first; a < actions; a++)
    if (edges.visits[a] > edges.visits[favourite]) favourite = a;
  if (prior) mz_softmax(roots->logits + offset, actions, prior);
  for (int a = 0; visits && a < actions; a++) visits[a] = edges.visits[a];
  if (!slot.gumbel) {
    for (int a = 0; a < actions; a++) policy[a] = (float)edges.visits[a] / (float)(slot.root->visits - 1);
    return favourite;
  }
  mz_improved_policy(slot.scorer, slot.root, edges, actions, roots->logits + offset, policy);
  return mz_score_gumbel_root(slot.scorer, slot.root, edges, actions, first, roots->gumbel_logits + offset,
                              edges.visits[favourite], slot.score);
}
