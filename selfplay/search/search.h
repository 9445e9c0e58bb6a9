/* Batched Monte-Carlo tree search over a learned model, many roots in lock step: select → one batched recurrent inference →
 * expand → back up; in tiles of slots that keep trees and latents in the second-level cache. A root's result depends only on
 * its observation, legal mask, noise stream, weights and settings: never on the batch it is searched in.
 *
 * puct: MuZero (Schrittwieser et al. 2020, appendix B) with mctx's visit count and Q transforms.
 * gumbel: Gumbel MuZero (Danihelka et al. 2022): sequential halving at the root, completed Q, improved policy as target.
 * One mz_search belongs to one thread. */
#pragma once
#include "base/config/config.h"
#include "base/maths/rng.h"
#include "selfplay/search/search_model.h"
#include "selfplay/search/tree.h"

typedef enum mz_algorithm { MZ_PUCT, MZ_GUMBEL } mz_algorithm;
typedef enum mz_q_transform {
  MZ_Q_PARENT_AND_SIBLINGS,
  MZ_Q_MIN_MAX
} mz_q_transform; /* puct; gumbel always completes by mix value */

typedef struct mz_search_settings {
  int32_t algorithm;   /* search.algorithm */
  int64_t simulations; /* simulations */
  int64_t max_depth;   /* search.max_depth; 0: none. A simulation that reaches it on an expanded node re-evaluates that node */
  /* puct */
  int32_t q_transform;
  double c_init, c_base, dirichlet_alpha, dirichlet_fraction;
  double min_value, max_value; /* MZ_Q_MIN_MAX */
  double spread_min;           /* MZ_Q_PARENT_AND_SIBLINGS */
  double prior_min;            /* at the root */
  /* gumbel */
  int64_t considered; /* search.considered_actions */
  double value_scale, maxvisit_init, gumbel_scale;
  bool rescale_values;
  /* search.symmetry: roots are looked at in all symmetries of the board (symmetric_model.h). The trees are the CPU's then, whatever runs
   * the network. */
  bool symmetry;
} mz_search_settings;
extern const mz_settings_table mz_search_table; /* keys simulations, search.algorithm … */

typedef struct mz_root {
  const void *observation;
  const uint8_t *legal; /* [actions], at least one of them set; NULL: all */
  bool noise;           /* Dirichlet noise, or Gumbel noise; false: none, and the result is deterministic */
  mz_rng rng;           /* its own stream */
} mz_root;

typedef struct mz_root_result {
  int selected;    /* puct: most visited (first index wins ties); gumbel: the halving rule's pick */
  float value;     /* mean value of the root, for the player to move */
  float raw_value; /* the network's */
  float *policy;   /* [actions], caller's memory: the training target. puct: visit shares; gumbel: improved policy */
  int32_t *visits; /* [actions], caller's memory, or NULL */
  /* [actions], caller's memory, or NULL: the network's policy over the legal actions, raised by prior_min, without noise */
  float *prior;
} mz_root_result;

typedef struct mz_search mz_search;
/* discount: γ in [0, 1]. A node's value is seen by its own player to move: of players in turn −γ is used, Q = r − γ·V(child); with
 * MZ_TURNS_TOLD the model's discount of each edge (recurrent_discounted). slots: roots searched together at most (the knob
 * mcts_storage_size); fewer make a tile where more would not stay in the second-level cache. MZ_E_CONFIG when search.max_value does
 * not exceed search.min_value (min_max only). */
mz_status mz_search_create(mz_search **out, const mz_search_settings *settings, int actions, int latent_stride, double discount,
                           mz_turns turns, int slots);
void mz_search_free(mz_search *search);
/* Bytes of trees and latents per slot of a tile; the slots of a tile, at most `slots`; the latents that a search names; and bytes that
 * create takes. */
size_t mz_search_slot_bytes(const mz_search_settings *settings, int actions, int latent_stride);
int mz_search_tile(const mz_search_settings *settings, int actions, int latent_stride, int slots);
int mz_search_latents(const mz_search_settings *settings, int actions, int latent_stride, int slots);
double mz_search_bytes(const mz_search_settings *settings, int actions, int latent_stride, mz_turns turns, int slots);
/* Any n. simulations: at most the settings' number, for which the trees are made; 0: that number. Fails as the model does; results
 * mean nothing then. */
mz_status mz_search_run(mz_search *search, const mz_search_model *model, int n, const mz_root *roots, int simulations,
                        mz_root_result *results);
/* The trees of the last tile, slot by root, for tests. */
const mz_tree *mz_search_tree(const mz_search *search);
/* Time inside the model and edges walked since creation, for `bench` (only counted when `on`). */
typedef struct mz_search_cost {
  uint64_t model_ns, total_ns, edges, simulations;
} mz_search_cost;
void mz_search_count_cost(mz_search *search, bool on);
mz_search_cost mz_search_cost_read(const mz_search *search);
