#include "selfplay/search/search_finish.h"

void mz_search_finish_told(mz_search *s, int n, int simulation, bool last) {
  mz_search_finish_slots(s, n, simulation, last, s->tree.actions, s->settings.algorithm == MZ_GUMBEL, true);
}
