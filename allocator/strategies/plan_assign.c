#include "allocator/strategies/plan_assign.h"
#include "allocator/strategies/outlook.h"
#include <math.h>
#include <string.h>

/* T/T₀ where the search ended; 0 where it looked at all plans. */
static double last_temperature(const mz_search_result *r) { return r->temperature > 0 ? r->cooled / r->temperature : 0; }

static void read_used(const mz_pipeline *p, const mz_plan *plan, double used[MZ_RESOURCES]) {
  used[MZ_RESOURCE_CPU] = mz_plan_cores(p, plan);
  used[MZ_RESOURCE_MEMORY] = mz_plan_bytes(p, plan, NULL, 0);
  used[MZ_RESOURCE_GPU] = mz_plan_gpus(p, plan);
}

/* Names what decided: where a plan uses more of a resource than it is given, that resource's bound or the demand itself; otherwise a
 * bound that gives less than is wanted. */
static const char *find_binding(const double used[MZ_RESOURCES], const mz_clamp clamps[MZ_RESOURCES]) {
  for (mz_resource r = 0; r < MZ_RESOURCES; r++) {
    const double amount = r == MZ_RESOURCE_GPU ? ceil(clamps[r].amount) : clamps[r].amount;
    if (used[r] > amount) return clamps[r].binding[0] ? clamps[r].binding : "predicted demand";
  }
  for (mz_resource r = 0; r < MZ_RESOURCES; r++)
    if (clamps[r].wanted > clamps[r].amount) return clamps[r].binding;
  return "";
}

/* Gives back a share of the cores and GPUs that the plan would lose. */
static void give_back(double share, const double used[MZ_RESOURCES], mz_clamp clamps[MZ_RESOURCES]) {
  static const mz_resource resources[] = {MZ_RESOURCE_CPU, MZ_RESOURCE_GPU};
  for (int i = 0; i < 2; i++) {
    mz_clamp *c = &clamps[resources[i]];
    if (!(share > 0) || !(used[resources[i]] > c->amount)) continue;
    c->amount = ceil(c->amount + share * (used[resources[i]] - c->amount));
    c->binding = "predicted time";
  }
}

/* Gives up what does not cost the plan more than the least gain: all that is above its demand, or three quarters of that, or half … */
static double project(const mz_situation *s, const mz_clamp clamps[MZ_RESOURCES], double energy, mz_plan *plan,
                      mz_assigned *out) {
  const double most = energy + log1p(s->settings->gain_min);
  const mz_plan whole = *plan;
  double used[MZ_RESOURCES];
  read_used(s->pipeline, plan, used);
  for (int quarter = 0; quarter <= 4; quarter++) {
    memcpy(out->clamps, clamps, sizeof out->clamps);
    give_back(quarter / 4.0, used, out->clamps);
    out->binding = find_binding(used, out->clamps);
    const mz_assignment given = {.cpu = out->clamps[MZ_RESOURCE_CPU].amount,
                                 .memory = out->clamps[MZ_RESOURCE_MEMORY].amount,
                                 .gpu = out->clamps[MZ_RESOURCE_GPU].amount};
    *plan = whole;
    mz_assign_follow(s->pipeline, &given, plan);
    energy = log(mz_outlook_of(s, plan).cost);
    if (energy <= most) break;
  }
  return energy;
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
    mz_clamp clamps[MZ_RESOURCES];
    mz_assignment assignment;
    mz_assigned a;
    mz_demand_of_plan(&demand, s->model, &plan, mz_outlook_of(s, &plan).prediction.unit_s);
    mz_assign(&assignment, clamps, &demand, temperature, s->bounds);
    const double energy = project(s, clamps, found->kept[i].energy, &plan, &a);
    if (!may_be(s, found, count, &plan)) continue;
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
