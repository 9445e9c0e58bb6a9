/* Searches whose trees are in the memory of a backend's device and advance there, so that a search costs the host a few launches for each
 * simulation and one synchronisation. Functions that a backend has (mz_backend.searcher), called through network_search.h.
 *
 * Where the model gives the same answers, trees and results have the bits of mz_search's: both run simulation.h and roots.h. A root's
 * result depends on its observation, legal mask, noise stream, weights and settings alone. */
#pragma once
#include "networks/lane.h"
#include "selfplay/search/search.h"

/* Roots that are searched together at most; more are cut into tiles of nearly equal size. */
enum { MZ_SEARCHER_SLOTS_MAX = 4096 };

typedef struct mz_device_search mz_device_search; /* belongs to one thread */

struct mz_searcher {
  /* infer: on an open lane of the backend, made for `slots` rows and for slots · (simulations + 1) latents at least; outlives the search.
   * discount: γ, whatever the number of players. slots: at most MZ_SEARCHER_SLOTS_MAX. MZ_E_CONFIG as mz_search_create's. */
  mz_status (*create)(mz_device_search **out, mz_infer *infer, const mz_spec *spec, const mz_search_settings *settings,
                      double discount, int slots);
  void (*free)(mz_device_search *search); /* NULL is fine */
  /* As mz_search_run, with the weights that the inference has been given last. */
  mz_status (*run)(mz_device_search *search, int n, const mz_root *roots, int simulations, mz_root_result *results);
  /* Returns the bytes that create takes, and what run moves. */
  mz_lane_bytes (*bytes)(const mz_spec *spec, const mz_search_settings *settings, int slots);
};
