/* A search from inside: what search.c (memory, tiles), search_roots.c (their beginning and result) and search_simulation.c (the hot
 * path) share. */
#pragma once
#include "selfplay/search/score.h"
#include "selfplay/search/search.h"

/* Tabulates what scoring needs of the settings for nodes of up to `visits_max` visits. MZ_E_CONFIG when the bounds of min_max are
 * not in order. */
mz_status mz_scorer_init(mz_scorer *scorer, const mz_search_settings *settings, float discount, int visits_max);
void mz_scorer_deinit(mz_scorer *scorer);
double mz_scorer_bytes(int visits_max); /* that init takes */

struct mz_search {
  mz_search_settings settings;
  mz_scorer scorer;
  int slots; /* of a tile */
  mz_tree tree;
  int latent_stride;
  int considered_max;
  int32_t *schedules; /* gumbel: [considered_max + 1][schedule_simulations] */
  int schedule_simulations;
  /* roots, [slots] or [slots][actions] */
  float *root_logits;        /* −INFINITY where illegal */
  float *root_gumbel_logits; /* gumbel: g + logits − max */
  int32_t *root_first;       /* the first legal action */
  int32_t *root_considered;  /* gumbel: min(search.considered_actions, legal actions) */
  float *score;              /* [actions], scratch */
  /* The simulation under way. Slots whose simulation ends on an expanded node (max_depth) have no row. */
  int rows;
  int32_t *leaf, *row;            /* [slots]; row: MZ_NO_NODE for none */
  int32_t *in, *action, *out;     /* [rows]: latents are numbered slot·nodes + node */
  float *policy, *value, *reward; /* the model's answers, by row */
  void *block;
  bool counting;
  mz_search_cost cost;
};

/* After the initial inference of slot's root (policy and value in row `slot`): mask, noise, first choice. */
void mz_search_init_root(mz_search *search, int slot, const mz_root *root);
void mz_search_result(mz_search *search, int slot, mz_root_result *result);

/* First simulation of the slot: a leaf to evaluate. Later ones are begun by mz_search_finish. */
void mz_search_begin(mz_search *search, int slot);
/* Takes the model's answers for `simulation` (1 …) of n slots and begins the next one, unless this is the last. */
void mz_search_finish(mz_search *search, int n, int simulation, bool last);

/* Returns the action that the next simulation takes at the root. */
static inline int mz_search_choose(const mz_search *s, const mz_scorer *scorer, int slot, const mz_tree_node *root,
                                   mz_edges edges, int actions, bool gumbel) {
  if (!gumbel) return mz_score_puct(scorer, root, edges, actions, s->root_first[slot], s->score);
  const int32_t *schedule = s->schedules + (size_t)s->root_considered[slot] * (size_t)s->schedule_simulations;
  return mz_score_gumbel_root(scorer, root, edges, actions, s->root_first[slot],
                              s->root_gumbel_logits + (size_t)slot * (size_t)actions, schedule[root->visits - 1], s->score);
}

/* A node's edges, unvisited, with priors from logits. */
static inline void mz_search_open(mz_edges edges, int actions, const float *logits) {
  mz_softmax(logits, actions, edges.prior);
  for (int a = 0; a < actions; a++) edges.q[a] = 0;
  for (int a = 0; a < actions; a++) edges.visits[a] = 0;
  for (int a = 0; a < actions; a++) edges.child[a] = MZ_NO_NODE;
}

static inline void mz_search_bound(mz_edges edges, int actions) {
  for (int a = 0; a < actions; a++) edges.prior[a] = edges.prior[a] > MZ_PRIOR_MIN ? edges.prior[a] : MZ_PRIOR_MIN;
}
