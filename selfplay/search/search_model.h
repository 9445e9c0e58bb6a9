/* The model that a search asks. A network answers it (mz_search_model_of_infer); tests answer it from tables. Latents are the model's:
 * the search names them by index, 0 … mz_search_latents − 1. */
#pragma once
#include "networks/infer.h"
#include <stddef.h>
#include <stdint.h>

typedef struct mz_search_model {
  void *context;
  int actions;
  int latent_stride; /* floats that a latent takes, which tiles are cut by; at least 1 */
  size_t obs_bytes;  /* of one observation; 0 when the model reads none */
  /* n observations, one behind the other → latents out[i], policy logits [n][actions], values [n]. Roots whose
   * observations lie one behind the other in memory are evaluated in one call. */
  mz_status (*initial)(void *context, int n, const void *observations, const int32_t *out, float *policy, float *value);
  /* Latent in[i] by action[i] → latent out[i], its policy logits and value, and the reward on the way. */
  mz_status (*recurrent)(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out, float *policy,
                         float *value, float *reward);
  /* The same, and the discount of the edge from in[i] to out[i]: γ or −γ as the same player or the other one moves behind it; 0 where a
   * model that knows ends tells one. A search of a game with MZ_TURNS_TOLD asks this instead; NULL for other models. Values are of who
   * moves at out[i], rewards of who moves at in[i]. */
  mz_status (*recurrent_discounted)(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                    float *policy, float *value, float *reward, float *discount);
} mz_search_model;

typedef struct mz_infer_model {
  mz_infer *infer; /* with room for as many latents as the search names */
  mz_obs_kind kind;
  /* For networks that tell whose turn it is (turns.h): */
  bool *away;     /* [latents]: another player moves there than at its root */
  float discount; /* γ */
} mz_infer_model; /* the context of the adapter */
mz_search_model mz_search_model_of_infer(mz_infer_model *adapter, const mz_model *model);
