#include "allocator/strategies/plan_search.h"
#include "allocator/strategies/outlook.h"
#include <math.h>

static double energy(void *context, const mz_plan *plan) {
  const mz_situation *const *s = context;
  return log(mz_outlook_of(*s, plan).cost);
}

void mz_plan_search(const mz_situation *situation, mz_search_result *out) {
  const mz_search_options options = {.pipeline = situation->pipeline,
                                     .bounds = situation->bounds,
                                     .start = *situation->plan,
                                     .seed = (uint64_t)(situation->window ? situation->window->round : 0),
                                     .energy = energy,
                                     .context = (void *)&situation,
                                     .tabu = situation->tabu,
                                     .tabu_context = situation->tabu_context};
  if (situation->settings->search == MZ_SEARCH_RANDOM)
    mz_search_random(&options, out);
  else
    mz_search_anneal(&options, out);
}

int mz_plan_search_choose(const mz_situation *situation, const mz_search_result *found, double base_cost) {
  int chosen = -1;
  for (int i = 0; i < found->count; i++) {
    if (found->kept[i].energy > found->kept[0].energy + MZ_OUTLOOK_TIE) break;
    if (!(exp(found->kept[i].energy) < base_cost * (1 - MZ_OUTLOOK_TIE))) break;
    if (chosen < 0 || mz_outlook_reserved(situation, &found->kept[i].plan, &found->kept[chosen].plan) < 0) chosen = i;
  }
  return chosen;
}
