/* How an edge is scored: small pure functions on one node's arrays, the same for CPU and CUDA.
 * Sources: mctx action_selection.py, qtransforms.py, seq_halving.py; formulas and golden values in the tests.
 *
 * N is a node's visits, 1 + Σn over its edges; Q = reward + discount·V(child) is kept by the tree. Arrays lie in groups of four
 * (selfplay/lanes.h), and the functions are inline: where `actions` is a constant at the call, the loops unroll. `first` is the action that wins when
 * nothing compares (all scores NaN): 0, at the root the first legal one, so that even then nothing illegal is played. */
#pragma once
#include "muzero/base/status.h"
#include "selfplay/lanes.h"


struct mz_search_settings;

#define MZ_PRIOR_MIN 1e-30f /* keeps the weights of v_mix and π·exp(σ) among the normal numbers */

/* What scoring needs of the settings, in the form it needs it. */
typedef struct mz_scorer {
  float discount;           /* −γ for alternating players */
  const float *exploration; /* puct: √N·(c_init + ln((N + c_base + 1)/c_base)), [visits_max + 1] */
  float *exploration_storage;
  int visits_max;
  int min_max; /* puct: Q is scaled by fixed bounds instead of by parent and siblings */
  float q_low, q_span;
  float value_scale, maxvisit_init; /* gumbel */
  int rescale;
} mz_scorer;

/* Exploration for nodes of up to `visits_max` visits is tabulated. MZ_E_CONFIG when bounds of min_max are not in order. */
mz_status mz_scorer_init(mz_scorer *scorer, const struct mz_search_settings *settings, float discount, int visits_max);
void mz_scorer_deinit(mz_scorer *scorer);

/* Sequential halving (Danihelka et al. 2022, figure 1): out[i] = the visit count that considered actions have before simulation i,
 * for `considered` actions; ≤ 1: 0 … simulations−1. */
void mz_halving_schedule(int considered, int simulations, int32_t *out);

/* out = softmax of logits over those that are not −INFINITY; 0 for these. Arrays [stride], padded with −INFINITY. */
static inline void mz_softmax(const float *logits, int actions, float *out) {
  const int stride = mz_tree_stride(actions);
  mz_f4 top = mz_f4_load(logits), sum = {0};
  for (int a = MZ_GROUP; a < stride; a += MZ_GROUP) top = mz_f4_max(top, mz_f4_load(logits + a));
  const mz_f4 largest = mz_f4_set(mz_f4_largest(top));
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_f4 e = mz_f4_exp(mz_f4_load(logits + a) - largest);
    mz_f4_store(out + a, e);
    sum += e;
  }
  const mz_f4 total = mz_f4_set(mz_f4_sum(sum));
  for (int a = 0; a < stride; a += MZ_GROUP) mz_f4_store(out + a, mz_f4_load(out + a) / total);
}

/* The first index of the largest score, lane by lane; no branch, because which action is best cannot be predicted. */
typedef struct mz_best { mz_f4 score, index; } mz_best; /* indices as floats: exact, and they have a minimum everywhere */

static inline mz_best mz_best_none(int first) {
  return (mz_best){mz_f4_set(-INFINITY), mz_f4_set((float)first)};
}

/* Enters the group of scores that begins at action a; padding is not entered. */
static inline void mz_best_enter(mz_best *best, mz_f4 score, int a, int actions) {
  const mz_i4 greater = (score > best->score) & mz_i4_below(a, actions);
  best->score = mz_f4_select(greater, score, best->score);
  best->index = mz_f4_select(greater, mz_f4_of_i4((mz_i4){a, a + 1, a + 2, a + 3}), best->index);
}

static inline int mz_best_index(const mz_best *best) {
  const mz_i4 largest = best->score == mz_f4_set(mz_f4_largest(best->score));
  return (int)mz_f4_least(mz_f4_select(largest, best->index, mz_f4_set(INFINITY)));
}

/* argmax of Q̄ + P·exploration(N)/(n+1). Q̄: Q scaled to [0, 1] by the least and largest of V(node) and the visited edges' Q, or by
 * fixed bounds; 0 where unvisited. */
static inline int mz_score_puct(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, int first) {
  const int stride = mz_tree_stride(actions);
  const mz_f4 explore = mz_f4_set(scorer->exploration[node->visits]);
  float low = scorer->q_low, span = scorer->q_span;
  if (!scorer->min_max) {
    const mz_f4 value = mz_f4_set(node->value);
    mz_f4 lows = value, highs = value;
    for (int a = 0; a < stride; a += MZ_GROUP) {
      const mz_f4 q = mz_f4_select(mz_i4_load(edges.visits + a) > 0, mz_f4_load(edges.q + a), value);
      lows = mz_f4_min(lows, q);
      highs = mz_f4_max(highs, q);
    }
    low = mz_f4_least(lows);
    span = mz_f4_largest(highs) - low;
    span = span > 1e-8f ? span : 1e-8f;
  }
  mz_best best = mz_best_none(first);
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_i4 visits = mz_i4_load(edges.visits + a);
    const mz_f4 q = mz_f4_select(visits > 0, (mz_f4_load(edges.q + a) - low) / span, mz_f4_set(0));
    mz_best_enter(&best, q + explore * mz_f4_load(edges.prior + a) / mz_f4_of_i4(visits + 1), a, actions);
  }
  return mz_best_index(&best);
}

/* v_mix = (v̂ + ΣN·(Σ_visited πq / Σ_visited π)) / (ΣN + 1): the value of actions not visited. */
static inline float mz_mixed_value(const mz_tree_node *node, mz_edges edges, int actions) {
  const int stride = mz_tree_stride(actions);
  mz_f4 masses = {0}, weights = {0};
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_f4 prior = mz_f4_select(mz_i4_load(edges.visits + a) > 0, mz_f4_load(edges.prior + a), mz_f4_set(0));
    masses += prior;
    weights += prior * mz_f4_load(edges.q + a);
  }
  const float mass = mz_f4_sum(masses), weight = mz_f4_sum(weights), count = (float)(node->visits - 1);
  return mass > 0 ? (node->raw_value * mass + count * weight) / (mass * (count + 1)) : node->raw_value;
}

/* out = σ(completed Q), [stride]: Q, or v_mix where unvisited; rescaled to [0, 1] over all actions when set; ×
 * (maxvisit_init + max n)·value_scale. */
static inline void mz_completed_q(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, float *out) {
  const int stride = mz_tree_stride(actions);
  const mz_f4 mixed = mz_f4_set(mz_mixed_value(node, edges, actions));
  mz_f4 most = {0}, lows = mz_f4_set(INFINITY), highs = mz_f4_set(-INFINITY);
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_i4 visits = mz_i4_load(edges.visits + a), used = mz_i4_below(a, actions);
    const mz_f4 q = mz_f4_select(visits > 0, mz_f4_load(edges.q + a), mixed);
    most = mz_f4_max(most, mz_f4_of_i4(visits));
    lows = mz_f4_min(lows, mz_f4_select(used, q, lows));
    highs = mz_f4_max(highs, mz_f4_select(used, q, highs));
    mz_f4_store(out + a, q);
  }
  float scale = (scorer->maxvisit_init + mz_f4_largest(most)) * scorer->value_scale, low = 0;
  if (scorer->rescale) {
    low = mz_f4_least(lows);
    const float span = mz_f4_largest(highs) - low;
    scale /= span > 1e-8f ? span : 1e-8f;
  }
  for (int a = 0; a < stride; a += MZ_GROUP) mz_f4_store(out + a, scale * (mz_f4_load(out + a) - low));
}

/* Below the root: argmax of π′ − n/N, π′ = softmax(logits + σ) ∝ π·exp(σ). scratch: [stride]. */
static inline int mz_score_gumbel_interior(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, float *scratch) {
  const int stride = mz_tree_stride(actions);
  mz_completed_q(scorer, node, edges, actions, scratch);
  mz_f4 top = mz_f4_load(scratch), sum = {0};
  for (int a = MZ_GROUP; a < stride; a += MZ_GROUP) top = mz_f4_max(top, mz_f4_load(scratch + a));
  const mz_f4 largest = mz_f4_set(mz_f4_largest(top)); /* of a padding lane it may be v_mix: any bound near the largest will do */
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_f4 weight = mz_f4_load(edges.prior + a) * mz_f4_exp(mz_f4_load(scratch + a) - largest);
    mz_f4_store(scratch + a, weight);
    sum += weight;
  }
  const mz_f4 total = mz_f4_set(mz_f4_sum(sum)), count = mz_f4_set((float)node->visits);
  mz_best best = mz_best_none(0);
  for (int a = 0; a < stride; a += MZ_GROUP) { /* both terms times N·Σ, which is positive and saves the divisions */
    mz_best_enter(&best, mz_f4_load(scratch + a) * count - mz_f4_of_i4(mz_i4_load(edges.visits + a)) * total, a, actions);
  }
  return mz_best_index(&best);
}

/* At the root: argmax of max(−1e9, g + logits − max + σ) over legal actions with n = considered_visit. gumbel_logits [stride]:
 * g + logits − max, −INFINITY where illegal. scratch: [stride]. */
static inline int mz_score_gumbel_root(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, int first,
                                       const float *gumbel_logits, int considered_visit, float *scratch) {
  const int stride = mz_tree_stride(actions);
  mz_completed_q(scorer, node, edges, actions, scratch);
  mz_best best = mz_best_none(first);
  for (int a = 0; a < stride; a += MZ_GROUP) {
    const mz_f4 base = mz_f4_load(gumbel_logits + a);
    const mz_i4 allowed = (mz_i4_load(edges.visits + a) == considered_visit) & (base > -INFINITY);
    const mz_f4 score = mz_f4_max(base + mz_f4_load(scratch + a), mz_f4_set(-1e9f));
    mz_best_enter(&best, mz_f4_select(allowed, score, mz_f4_set(-INFINITY)), a, actions);
  }
  return mz_best_index(&best);
}

/* out = π′ = softmax(logits + σ) over legal actions, [stride]; logits [stride] are −INFINITY where illegal. */
static inline void mz_improved_policy(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, const float *logits,
                                      float *out) {
  mz_completed_q(scorer, node, edges, actions, out);
  for (int a = 0; a < mz_tree_stride(actions); a += MZ_GROUP) mz_f4_store(out + a, mz_f4_load(out + a) + mz_f4_load(logits + a));
  mz_softmax(out, actions, out);
}
