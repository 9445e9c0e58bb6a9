/* A model of one chain of nodes. */
#pragma once
#include "tests/selfplay/table_model.h"

enum { ACTIONS_MAX = 9, ROOTS = 37 };

/* ---- backups ---- */

/* One action, reward 0.1 on every edge, value 1 at the fourth node and 0 elsewhere. */
typedef struct chain {
  int depth[64]; /* of each latent */
} chain;

static inline mz_status chain_initial(void *context, int n, const void *observations, const int32_t *out, float *policy,
                                      float *value) {
  chain *c = context;
  (void)observations;
  for (int i = 0; i < n; i++) {
    c->depth[out[i]] = 0;
    policy[i] = value[i] = 0;
  }
  return MZ_OK;
}

static inline mz_status chain_recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                        float *policy, float *value, float *reward) {
  chain *c = context;
  (void)action;
  for (int i = 0; i < n; i++) {
    c->depth[out[i]] = c->depth[in[i]] + 1;
    value[i] = c->depth[out[i]] == 4;
    reward[i] = 0.1f;
    policy[i] = 0;
  }
  return MZ_OK;
}

static inline mz_search_model chain_model(chain *c) {
  return (mz_search_model){
      .context = c, .actions = 1, .latent_stride = 1, .initial = chain_initial, .recurrent = chain_recurrent};
}
