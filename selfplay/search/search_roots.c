#include "selfplay/search/search_state.h"

void mz_search_init_root(mz_search *s, int slot, const mz_root *root) {
  const float *policy = s->policy + (size_t)slot * (size_t)s->tree.actions;
  mz_roots_init(&s->roots, mz_search_slot(s, slot), policy, s->value[slot], root->legal, root->noise, root->rng);
}

void mz_search_result(mz_search *s, int slot, mz_root_result *result) {
  const mz_slot searched = mz_search_slot(s, slot);
  result->value = searched.root->value;
  result->raw_value = searched.root->raw_value;
  result->selected = mz_roots_result(&s->roots, searched, result->policy, result->visits, result->prior);
}
