#include "selfplay/search/search_finish.h"

/* The same for an environment's number of actions as a constant, where that is small or a bundled game's. */
static inline __attribute__((always_inline)) void finish_simulation(mz_search *s, int n, int simulation, bool last, bool gumbel) {
  switch (s->tree.actions) {
    case 2: mz_search_finish_slots(s, n, simulation, last, 2, gumbel, false); break;
    case 3: mz_search_finish_slots(s, n, simulation, last, 3, gumbel, false); break;
    case 4: mz_search_finish_slots(s, n, simulation, last, 4, gumbel, false); break;
    case 9: mz_search_finish_slots(s, n, simulation, last, 9, gumbel, false); break;
    default: mz_search_finish_slots(s, n, simulation, last, s->tree.actions, gumbel, false);
  }
}

void mz_search_finish(mz_search *s, int n, int simulation, bool last) {
  if (s->edge_discount)
    mz_search_finish_told(s, n, simulation, last);
  else if (s->settings.algorithm == MZ_GUMBEL)
    finish_simulation(s, n, simulation, last, true);
  else
    finish_simulation(s, n, simulation, last, false);
}

void mz_search_begin(mz_search *s, int slot) {
  uint64_t walked = 0;
  mz_search_select(s, mz_search_slot(s, slot), 1, mz_search_depth_limit(s), &walked);
  if (s->counting) s->cost.edges += walked;
}
