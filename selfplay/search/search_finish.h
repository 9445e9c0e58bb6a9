/* The hot path of a search, which search_simulation.c and search_told.c compile: apart, so that what is inlined into the one does not
 * depend on the other. */
#pragma once
#include "selfplay/search/search_state.h"

static inline int mz_search_depth_limit(const mz_search *s) {
  return s->settings.max_depth > 0 ? (int)s->settings.max_depth : INT32_MAX;
}

/* Selects, and gives a slot that needs the model the next row of the batch. */
static inline __attribute__((always_inline)) void mz_search_select(mz_search *s, mz_slot slot, int simulation, int depth_max,
                                                                   uint64_t *edges_walked) {
  const mz_selection selection = mz_simulation_select(slot, simulation, depth_max);
  const int first = slot.index * s->tree.nodes;
  *edges_walked += (uint64_t)selection.depth;
  s->leaf[slot.index] = selection.leaf;
  s->row[slot.index] = MZ_NO_NODE;
  if (selection.parent == MZ_NO_NODE) return;
  const int row = s->rows++;
  s->row[slot.index] = row;
  s->in[row] = first + selection.parent;
  s->action[row] = selection.action;
  s->out[row] = first + selection.leaf;
}

/* Takes the model's answers and begins the next simulation, slot by slot, while a slot's tree is in the first-level cache. */
static inline __attribute__((always_inline)) void mz_search_finish_slots(mz_search *s, int n, int simulation, bool last,
                                                                         int actions, bool gumbel, bool told) {
  const mz_scorer scorer = s->scorer; /* a copy that stores into the trees cannot change */
  const int depth_max = mz_search_depth_limit(s);
  uint64_t walked = 0;
  s->rows = 0;
  for (int i = 0; i < n; i++) {
    mz_slot slot = mz_search_slot(s, i);
    slot.actions = actions;
    slot.gumbel = gumbel;
    slot.scorer = &scorer;
    if (!told) slot.discount = NULL; /* a constant, where the loop has one */
    const int leaf = s->leaf[i], row = s->row[i];
    if (told && row != MZ_NO_NODE) slot.discount[leaf] = s->discount[row];
    if (row != MZ_NO_NODE)
      mz_simulation_expand(slot, leaf, s->policy + (size_t)row * (size_t)actions, s->value[row], s->reward[row]);
    mz_simulation_back_up(slot, leaf);
    if (last) continue;
    mz_roots_choose(&s->roots, slot);
    mz_search_select(s, slot, simulation + 1, depth_max, &walked);
  }
  if (s->counting) s->cost.edges += walked;
}
