#include "allocator/strategies/plan_assign.h"
#include "allocator/strategies/outlook.h"
#include <math.h>

/* T/T₀ where the search ended; 0 where it looked at all plans. */
static double last_temperature(const mz_search_result *r) {
  return r->trace_count > 0 && r->temperature > 0 ? r->trace[r->trace_count - 1].temperature / r->temperature : 0;
}

/* What decided: where a plan uses more of a resource than is assigned, that resource's bound or the demand itself; otherwise a bound that
 * gives less than is wanted. */
static const char *find_binding(const mz_pipeline *p, const mz_plan *plan, const mz_clamp clamps[MZ_RESOURCES]) {
  const double used[MZ_RESOURCES] = {[MZ_RESOURCE_CPU] = mz_plan_cores(p, plan),
                                     [MZ_RESOURCE_MEMORY] = mz_plan_bytes(p, plan, NULL, 0),
                                     [MZ_RESOURCE_GPU] = mz_plan_gpus(p, plan)};
  for (mz_resource r = 0; r < MZ_RESOURCES; r++) {
    const double amount = r == MZ_RESOURCE_GPU ? ceil(clamps[r].amount) : clamps[r].amount;
    if (used[r] > amount) return clamps[r].binding[0] ? clamps[r].binding : "predicted demand";
  }
  for (mz_resource r = 0; r < MZ_RESOURCES; r++)
    if (clamps[r].wanted > clamps[r].amount) return clamps[r].binding;
  return "";
}

static void project(const mz_situation *s, mz_demand *demand, double temperature, mz_plan *plan, mz_assigned *out) {
  mz_assignment assignment;
  mz_demand_of_plan(demand, s->model, plan, mz_outlook_of(s, plan).prediction.unit_s);
  mz_assign(&assignment, out->clamps, demand, temperature, s->bounds);
  out->binding = find_binding(s->pipeline, plan, out->clamps);
  mz_assign_follow(s->pipeline, &assignment, plan);
}

static bool may_be(const mz_situation *s, const mz_search_result *found, int count, const mz_plan *plan) {
  if (mz_plan_refused(s->pipeline, s->bounds, plan) || (s->tabu && s->tabu(s->tabu_context, plan))) return false;
  for (int i = 0; i < count; i++)
    if (mz_plan_equal(s->pipeline, &found->kept[i].plan, plan)) return false;
  return true;
}

void mz_plan_assign(const mz_situation *s, mz_search_result *found, mz_assigned assigned[]) {
  const mz_lessons *lessons = mz_champion_lessons(s->champion);
  const double temperature = last_temperature(found);
  mz_demand demand;
  int count = 0;
  mz_demand_read(&demand, s->model, s->plan, NAN, lessons->observations, lessons->observation_count,
                 s->window ? &s->window->usage : NULL);
  for (int i = 0; i < found->count; i++) {
    mz_plan plan = found->kept[i].plan;
    mz_assigned a;
    project(s, &demand, temperature, &plan, &a);
    if (!may_be(s, found, count, &plan)) continue;
    const double energy = log(mz_outlook_of(s, &plan).cost);
    int at = count++;
    for (; at > 0 && energy < found->kept[at - 1].energy; at--) {
      found->kept[at] = found->kept[at - 1];
      assigned[at] = assigned[at - 1];
    }
    found->kept[at].plan = plan;
    found->kept[at].energy = energy;
    assigned[at] = a;
  }
  found->count = count;
}
