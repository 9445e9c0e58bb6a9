/* A search from inside: what search.c (memory, tiles), search_roots.c (their beginning and result), search_simulation.c (the hot
 * path) and search_told.c (the same with discounts of edges) share. */
#pragma once
#include "selfplay/search/roots.h"
#include "selfplay/search/search_scorer.h"

struct mz_search {
  mz_search_settings settings;
  mz_scorer scorer;
  int slots; /* of a tile */
  mz_tree tree;
  int latent_stride;
  mz_roots roots;
  float *score; /* [actions], scratch */
  /* The simulation under way. Slots whose simulation ends on an expanded node (max_depth) have no row. */
  int rows;
  int32_t *leaf, *row;            /* [slots]; row: MZ_NO_NODE for none */
  int32_t *in, *action, *out;     /* [rows]: latents are numbered slot·nodes + node */
  float *policy, *value, *reward; /* the model's answers, by row */
  /* MZ_TURNS_TOLD; elsewhere NULL: */
  float *discount;      /* likewise */
  float *edge_discount; /* [slots][nodes], as in mz_slot */
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
/* The same where edges have discounts of their own. */
void mz_search_finish_told(mz_search *search, int n, int simulation, bool last);

/* Returns the slot as the functions of simulation.h and roots.h see it. */
static inline mz_slot mz_search_slot(const mz_search *s, int index) {
  return (mz_slot){.index = index,
                   .root = mz_tree_at(&s->tree, index, 0),
                   .actions = s->tree.actions,
                   .gumbel = s->settings.algorithm == MZ_GUMBEL,
                   .scorer = &s->scorer,
                   .score = s->score,
                   .discount = s->edge_discount ? s->edge_discount + (size_t)index * (size_t)s->tree.nodes : NULL};
}
