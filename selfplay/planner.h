/* Planning with the learned model: a search over the network, and memory for the observations, legal masks and results of
 * up to `slots` states. What the actor and the evaluation have in common. One planner belongs to one thread. */
#pragma once
#include "envs/env.h"
#include "selfplay/search/network_search.h"

typedef struct mz_planner {
  const mz_env *env;
  int slots, simulations; /* simulations: of the search settings */
  mz_network_search search;
  uint8_t *observations;   /* [slots][mz_spec_obs_bytes] */
  uint8_t *legal;          /* [slots][actions] */
  mz_root *roots;          /* [slots]; noise is off until the caller sets it */
  mz_root_result *results; /* [slots] */
  float *policies;         /* [slots][actions] */
  int32_t *visits;         /* [slots][actions] */
  void *block;
} mz_planner;

/* Deinit is safe on a zeroed planner and after a failed init. It opens a lane of its own. discount: γ, whatever the number of players. */
mz_status mz_planner_init(mz_planner *planner, const mz_env *env, const mz_search_settings *search, const mz_model *model,
                          const mz_lane *where, double discount, int slots);
void mz_planner_deinit(mz_planner *planner);
/* Bytes that init takes. */
mz_status mz_planner_bytes(const mz_spec *spec, const mz_search_settings *search, const mz_model *model, const mz_lane *where,
                           int slots, double *bytes);
/* n states lying one behind the other, of games that have not ended, become the roots at … at+n−1. MZ_E_CONFIG where none of a
 * state's actions is legal: a mistake of the environment. */
mz_status mz_planner_observe(mz_planner *planner, int at, int n, const void *states);
/* Searches the roots 0 … n−1; results, policies and visits hold until the next search. simulations 0: the settings'
 * number, which is the most that there is room for; MZ_E_CONFIG naming both for more. MZ_E_DIVERGED when a root's value is not
 * finite: the network has diverged, and the moves selected mean nothing. */
mz_status mz_planner_search(mz_planner *planner, int n, const mz_prepared *weights, int simulations);
