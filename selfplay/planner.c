#include "selfplay/planner.h"
#include "base/arena.h"
#include <math.h>
#include <string.h>

static void carve(mz_planner *planner, const mz_spec *spec, mz_carver *carver) {
  const size_t n = (size_t)planner->slots, actions = (size_t)spec->actions;
  mz_carve(carver, &planner->observations, n, mz_spec_obs_bytes(spec));
  mz_carve(carver, &planner->legal, n, actions);
  mz_carve(carver, &planner->roots, n, sizeof *planner->roots);
  mz_carve(carver, &planner->results, n, sizeof *planner->results);
  mz_carve(carver, &planner->policies, n * actions, sizeof *planner->policies);
  mz_carve(carver, &planner->visits, n * actions, sizeof *planner->visits);
}

mz_status mz_planner_bytes(const mz_spec *spec, const mz_search_settings *search, const mz_model *model, const mz_lane *where,
                           int slots, double *bytes) {
  mz_planner planner = {.slots = slots};
  mz_carver carver = {0};
  carve(&planner, spec, &carver);
  MZ_TRY(mz_network_search_bytes(spec, search, model, where, slots, bytes));
  *bytes += (double)carver.bytes;
  return MZ_OK;
}

mz_status mz_planner_init(mz_planner *planner, const mz_env *env, const mz_search_settings *search, const mz_model *model,
                          const mz_lane *where, double discount, int slots) {
  MZ_ASSERT(slots >= 1);
  const int actions = env->spec.actions;
  const size_t n = (size_t)slots;
  *planner = (mz_planner){.env = env, .slots = slots, .simulations = (int)search->simulations};

  mz_carver carver = {0};
  carve(planner, &env->spec, &carver);
  mz_status status;
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &planner->block));
  MZ_TRY_CLEANUP(mz_network_search_init(&planner->search, &env->spec, search, model, where, discount, slots));
  memset(planner->legal, 1, n * (size_t)actions);
  for (int i = 0; i < slots; i++) {
    planner->roots[i].observation = planner->observations + (size_t)i * mz_spec_obs_bytes(&env->spec);
    planner->roots[i].legal = env->legal ? planner->legal + (size_t)i * (size_t)actions : NULL;
    planner->results[i].policy = planner->policies + (size_t)i * (size_t)actions;
    planner->results[i].visits = planner->visits + (size_t)i * (size_t)actions;
  }
  return MZ_OK;
cleanup:
  mz_planner_deinit(planner);
  return status;
}

void mz_planner_deinit(mz_planner *planner) {
  mz_network_search_deinit(&planner->search);
  free(planner->block);
  *planner = (mz_planner){0};
}

mz_status mz_planner_observe(mz_planner *planner, int at, int n, const void *states) {
  MZ_ASSERT(at >= 0 && n >= 0 && at + n <= planner->slots);
  const mz_env *env = planner->env;
  env->observe(env, states, n, planner->observations + (size_t)at * mz_spec_obs_bytes(&env->spec));
  if (env->failure) MZ_TRY(env->failure(env));
  if (!env->legal) return MZ_OK;
  for (int i = 0; i < n; i++) {
    const int count = env->legal(env, (const uint8_t *)states + (size_t)i * env->state_size,
                                 planner->legal + (size_t)(at + i) * (size_t)env->spec.actions);
    if (count < 1) return mz_fail(MZ_E_CONFIG, "search: %s: no action is legal in a game that has not ended", env->name);
  }
  return MZ_OK;
}

mz_status mz_planner_search(mz_planner *planner, int n, const mz_prepared *weights, int simulations) {
  MZ_ASSERT(n <= planner->slots);
  if (simulations < 0 || simulations > planner->simulations)
    return mz_fail(MZ_E_CONFIG, "search: %d simulations a move; the planner was made for at most %d", simulations,
                   planner->simulations);
  MZ_TRY(mz_network_search_run(&planner->search, weights, n, planner->roots, simulations, planner->results));
  for (int i = 0; i < n; i++) {
    if (!isfinite(planner->results[i].value)) {
      return mz_fail(MZ_E_DIVERGED, "search: a root's value is %g: the network has diverged", (double)planner->results[i].value);
    }
  }
  return MZ_OK;
}
