#include "allocator/search/search_looks.h"
#include "base/maths/digest.h"
#include <math.h>
#include <string.h>

enum { BUDGET_LEAST = 100, SHARE_OF_SPACE = 10 };

void mz_looks_init(mz_looks *l, const mz_search_options *options, mz_search_result *result) {
  memset(l, 0, sizeof *l);
  memset(result, 0, sizeof *result);
  l->options = options;
  l->result = result;
  mz_space_init(&l->space, options->pipeline, &options->start);
  result->plans = mz_space_plans(&l->space);
  const int64_t tenth = result->plans / SHARE_OF_SPACE;
  l->budget = options->evaluations > 0            ? options->evaluations
              : tenth < BUDGET_LEAST              ? BUDGET_LEAST
              : tenth > MZ_SEARCH_EVALUATIONS_MAX ? MZ_SEARCH_EVALUATIONS_MAX
                                                  : (int)tenth;
  MZ_ASSERT(l->budget <= MZ_LOOK_PLACES / 2);
}

bool mz_looks_spent(const mz_looks *l) { return l->result->evaluated >= l->budget; }

static void keep(mz_search_result *r, const mz_plan *plan, double energy) {
  if (r->count == MZ_SEARCH_KEPT_MAX && !(energy < r->kept[r->count - 1].energy)) return;
  int at = r->count < MZ_SEARCH_KEPT_MAX ? r->count++ : MZ_SEARCH_KEPT_MAX - 1;
  for (; at > 0 && energy < r->kept[at - 1].energy; at--) r->kept[at] = r->kept[at - 1];
  r->kept[at].plan = *plan;
  r->kept[at].energy = energy;
}

/* Limits and tabu are looked up, not predicted: that costs no evaluation, and no place in the memo. */
static bool is_refused(const mz_search_options *o, const mz_plan *plan) {
  return mz_plan_refused(o->pipeline, o->bounds, plan) || (o->tabu && o->tabu(o->tabu_context, plan));
}

static double evaluate(mz_looks *l, const mz_plan *plan) {
  const double energy = l->options->energy(l->options->context, plan);
  l->result->evaluated++;
  if (!isfinite(energy)) return INFINITY;
  keep(l->result, plan, energy);
  return energy;
}

double mz_looks_evaluate(mz_looks *l, const mz_point *point) {
  const mz_plan plan = mz_space_plan(&l->space, point);
  return is_refused(l->options, &plan) ? INFINITY : evaluate(l, &plan);
}

double mz_looks_at(mz_looks *l, const mz_point *point) {
  uint64_t key = mz_hash(point->at, (size_t)l->space.axes * sizeof *point->at, 0);
  if (key == 0) key = 1;
  size_t place = key % MZ_LOOK_PLACES;
  for (; l->keys[place] != 0; place = (place + 1) % MZ_LOOK_PLACES)
    if (l->keys[place] == key) return l->energies[place];
  const mz_plan plan = mz_space_plan(&l->space, point);
  if (mz_looks_spent(l) || is_refused(l->options, &plan)) return INFINITY;
  l->keys[place] = key;
  l->energies[place] = (float)evaluate(l, &plan);
  return l->energies[place];
}
