/* How an edge is scored: small pure functions on one node's arrays, shared with GPUs (base/shared.h).
 * Sources: mctx action_selection.py, qtransforms.py, seq_halving.py; formulas and golden values in the tests.
 *
 * N is a node's visits, 1 + Σn over its edges; Q = reward + discount·V(child) is kept by the tree. The functions are inline:
 * where `actions` is a constant at the call, the loops unroll. What a search has found cannot be predicted, so choices are
 * written as selections, not as jumps. Sums run in the order of the actions, and exp is ours: a result is the same bits wherever
 * it is computed. `first` is the action that wins when nothing compares (all scores NaN): 0, at the root the first legal one, so
 * that even then nothing illegal is played. */
#pragma once
#include "base/maths/maths_inline.h"
#include "base/shared.h"
#include "base/status.h"
#include "selfplay/search/tree.h"
#include <stdbool.h>

#define MZ_PRIOR_MIN 1e-30f /* keeps the weights of v_mix and π·exp(σ) among the normal numbers */
#define MZ_SPAN_MIN 1e-8f   /* least difference of Q that is scaled to 1 */

/* The settings that scoring needs, tabulated by visits: [visits_max + 1]. */
typedef struct mz_scorer {
  float discount;     /* on every edge, where edges have none of their own; −γ for players in turn */
  float *exploration; /* puct: √N·(c_init + ln((N + c_base + 1)/c_base)) */
  int min_max;        /* puct: Q is scaled by fixed bounds instead of by parent and siblings */
  float spread_min;   /* puct, by parent and siblings: least spread that is scaled to 1, as a share of |V(node)| */
  float q_low, q_span;
  float *q_scale; /* gumbel: (maxvisit_init + n)·value_scale */
  float *q_decay; /* gumbel: exp(−q_scale) */
  int rescale;
} mz_scorer;

MZ_C_BEGIN

/* Sequential halving (Danihelka et al. 2022, figure 1): out[i] = the visit count that considered actions have before simulation i,
 * for `considered` actions; ≤ 1: 0 … simulations−1. */
void mz_halving_schedule(int considered, int simulations, int32_t *out);

MZ_C_END

/* A choice that compilers do not make a branch of. */
MZ_SHARED float mz_choose(bool condition, float yes, float no) {
  return mz_f32_of_bits(condition ? mz_bits_of_f32(yes) : mz_bits_of_f32(no));
}

/* out = softmax of logits over those that are not −INFINITY; 0 for these. */
MZ_SHARED void mz_softmax(const float *logits, int actions, float *out) {
  float top = logits[0], sum = 0;
  for (int a = 1; a < actions; a++) top = logits[a] > top ? logits[a] : top;
  for (int a = 0; a < actions; a++) out[a] = mz_expf_inline(logits[a] - top);
  for (int a = 0; a < actions; a++) sum += out[a];
  for (int a = 0; a < actions; a++) out[a] /= sum;
}

/* The first index of the largest score. */
MZ_SHARED int mz_argmax(const float *score, int actions, int first) {
  int best = first;
  float best_score = score[first];
  for (int a = first + 1; a < actions; a++) {
    best = score[a] > best_score ? a : best;
    best_score = score[a] > best_score ? score[a] : best_score;
  }
  return best;
}

/* argmax of Q̄ + P·exploration(N)/(n+1). Q̄: Q scaled to [0, 1] by the least and largest of V(node) and the visited edges' Q, where
 * these differ by less than spread_min·|V(node)| to less than 1; or by fixed bounds; 0 where unvisited. score: [actions], overwritten. */
MZ_SHARED int mz_score_puct(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, int first,
                            float *score) {
  const float explore = scorer->exploration[node->visits];
  float low = scorer->q_low, span = scorer->q_span;
  if (!scorer->min_max) {
    const float value = node->value;
    float high = low = value;
    for (int a = 0; a < actions; a++) {
      const float q = edges.q[a], seen = edges.visits[a] > 0 ? q : value;
      low = seen < low ? seen : low;
      high = seen > high ? seen : high;
    }
    const float least = mz_choose(value < 0, -value, value) * scorer->spread_min,
                bound = least > MZ_SPAN_MIN ? least : MZ_SPAN_MIN;
    span = high - low > bound ? high - low : bound;
  }
  for (int a = 0; a < actions; a++) {
    const float q = (edges.q[a] - low) / span;
    score[a] = (edges.visits[a] > 0 ? q : 0.0f) + explore * edges.prior[a] / (float)(edges.visits[a] + 1);
  }
  return mz_argmax(score, actions, first);
}

/* v_mix = (v̂ + ΣN·(Σ_visited πq / Σ_visited π)) / (ΣN + 1): the value of actions not visited. */
MZ_SHARED float mz_mixed_value(const mz_tree_node *node, mz_edges edges, int actions) {
  float mass = 0, weight = 0; /* Q is 0 where unvisited */
  for (int a = 0; a < actions; a++) {
    const float prior = edges.prior[a];
    mass += edges.visits[a] > 0 ? prior : 0.0f;
    weight += prior * edges.q[a];
  }
  const float count = (float)(node->visits - 1);
  return mass > 0 ? (node->raw_value * mass + count * weight) / (mass * (count + 1)) : node->raw_value;
}

/* out = σ(completed Q), [actions]: Q, or v_mix where unvisited; rescaled to [0, 1] over all actions when set; ×
 * (maxvisit_init + max n)·value_scale. */
MZ_SHARED void mz_completed_q(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions, float *out) {
  const float mixed = mz_mixed_value(node, edges, actions);
  int most = 0;
  for (int a = 0; a < actions; a++) {
    const float q = edges.q[a];
    most = edges.visits[a] > most ? edges.visits[a] : most;
    out[a] = edges.visits[a] > 0 ? q : mixed;
  }
  float low = 0, span = 1;
  if (scorer->rescale) {
    float high = low = out[0];
    for (int a = 1; a < actions; a++) {
      low = out[a] < low ? out[a] : low;
      high = out[a] > high ? out[a] : high;
    }
    span = high - low > MZ_SPAN_MIN ? high - low : MZ_SPAN_MIN;
  }
  const float scale = scorer->q_scale[most];
  for (int a = 0; a < actions; a++) out[a] = scale * ((out[a] - low) / span);
}

/* mz_score_gumbel_interior for two actions, whose rescaled Q are 0 and 1: exp(σ) comes from a table. Where only one is visited,
 * v_mix = (v̂ + n·Q)/(n + 1) lies on the side of Q where v̂ lies, N times nearer. False where the two are too near. */
MZ_SHARED bool mz_score_gumbel_two(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int *best) {
  const int n0 = edges.visits[0], n1 = edges.visits[1];
  const float q0 = mz_choose(n0 > 0, edges.q[0], node->raw_value), q1 = mz_choose(n1 > 0, edges.q[1], node->raw_value);
  const float decay = scorer->q_decay[n0 > n1 ? n0 : n1], count = (float)node->visits;
  const float weight0 = edges.prior[0] * mz_choose(q0 < q1, decay, 1), weight1 = edges.prior[1] * mz_choose(q0 < q1, 1, decay);
  const float sum = weight0 + weight1, apart = MZ_SPAN_MIN * mz_choose((n0 > 0) & (n1 > 0), 1, count);
  *best = weight1 * count - (float)n1 * sum > weight0 * count - (float)n0 * sum;
  return (q1 - q0 > apart) | (q0 - q1 > apart);
}

/* Below the root: argmax of π′ − n/N, π′ = softmax(logits + σ) ∝ π·exp(σ). score: [actions], overwritten. */
MZ_SHARED int mz_score_gumbel_interior(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions,
                                       float *score) {
  int best;
  if (actions == 2 && scorer->rescale && mz_score_gumbel_two(scorer, node, edges, &best)) return best;
  mz_completed_q(scorer, node, edges, actions, score);
  float top = score[0], sum = 0;
  for (int a = 1; a < actions; a++) top = score[a] > top ? score[a] : top;
  for (int a = 0; a < actions; a++) score[a] = edges.prior[a] * mz_expf_inline(score[a] - top);
  for (int a = 0; a < actions; a++) sum += score[a];
  const float count = (float)node->visits; /* both terms times N·Σ, which is positive and saves the divisions */
  for (int a = 0; a < actions; a++) score[a] = score[a] * count - (float)edges.visits[a] * sum;
  return mz_argmax(score, actions, 0);
}

/* At the root: argmax of max(−1e9, g + logits − max + σ) over legal actions with n = considered_visit. gumbel_logits:
 * g + logits − max, −INFINITY where illegal. score: [actions], overwritten. */
MZ_SHARED __attribute__((always_inline)) int mz_score_gumbel_root(const mz_scorer *scorer, const mz_tree_node *node,
                                                                  mz_edges edges, int actions, int first,
                                                                  const float *gumbel_logits, int considered_visit,
                                                                  float *score) {
  mz_completed_q(scorer, node, edges, actions, score);
  for (int a = 0; a < actions; a++) {
    const float sum = gumbel_logits[a] + score[a], held = sum > -1e9f ? sum : -1e9f;
    score[a] = ((edges.visits[a] == considered_visit) & (gumbel_logits[a] > -INFINITY)) ? held : -INFINITY;
  }
  return mz_argmax(score, actions, first);
}

/* out = π′ = softmax(logits + σ) over legal actions; logits are −INFINITY where illegal. */
MZ_SHARED void mz_improved_policy(const mz_scorer *scorer, const mz_tree_node *node, mz_edges edges, int actions,
                                  const float *logits, float *out) {
  mz_completed_q(scorer, node, edges, actions, out);
  for (int a = 0; a < actions; a++) out[a] += logits[a];
  mz_softmax(out, actions, out);
}
