/* A search and the network that it asks. What planner and reanalyze have in common. Belongs to one thread. The trees are where the network
 * is, if the backend has a searcher (searcher.h) and roots are looked at as they stand, otherwise the CPU's. */
#pragma once
#include "selfplay/search/searcher.h"
#include "selfplay/search/symmetric_model.h"

typedef struct mz_network_search {
  mz_lane lane;
  mz_infer *infer;
  int latents; /* that `infer` has room for; with few simulations fewer than slots */
  mz_infer_model adapter;
  mz_search_model model;         /* its context is `adapter`: the struct stays where it was initialized */
  bool *away;                    /* the adapter's, of games with MZ_TURNS_TOLD; else NULL */
  mz_symmetric_model *symmetric; /* between the search and `model`, where roots are looked at in all symmetries; else NULL */
  /* One of the two: */
  mz_search *search;
  mz_device_search *device_search;
} mz_network_search;

/* Up to `slots` roots at a time, on a lane of its own there; discount: γ, whatever the number of players. Deinit is safe on a zeroed
 * struct and after a failed init. */
mz_status mz_network_search_init(mz_network_search *s, const mz_spec *spec, const mz_search_settings *settings,
                                 const mz_model *model, const mz_lane *where, double discount, int slots);
void mz_network_search_deinit(mz_network_search *s);
/* Bytes that init takes, a device's and the host's; and the weights that the search keeps of its own there. */
mz_status mz_network_search_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                  const mz_lane *where, int slots, double *bytes);
/* Returns the bytes of the host that the search's lane keeps for copies, at the most; they are in no other sum. */
double mz_network_search_pinned(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                const mz_lane *where, int slots);
/* Those of mz_network_search_bytes that are the lane's memory; the others are the host's. */
mz_status mz_network_search_lane_bytes(const mz_spec *spec, const mz_search_settings *settings, const mz_model *model,
                                       const mz_lane *where, int slots, double *bytes);
/* Searches n ≤ slots roots. simulations 0: the settings' number, which is the most that there is room for. */
mz_status mz_network_search_run(mz_network_search *s, const mz_prepared *weights, int n, const mz_root *roots, int simulations,
                                mz_root_result *results);
