/* A model of one chain of nodes. */
#pragma once
#include "tests/selfplay/table_model.h"

enum { ACTIONS_MAX = 9, ROOTS = 37 };

/* ---- backups ---- */

/* One action, reward 0.1 on every edge, value 1 at the fourth node and 0 elsewhere. */
static inline void chain_initial(void *context, int n, const void *observations, float *pool, const int32_t *out, float *policy,
                                 float *value) {
  (void)context, (void)observations;
  for (int i = 0; i < n; i++) pool[out[i]] = policy[i] = value[i] = 0;
}

static inline void chain_recurrent(void *context, int n, float *pool, const int32_t *in, const int32_t *action,
                                   const int32_t *out, float *policy, float *value, float *reward) {
  (void)context, (void)action;
  for (int i = 0; i < n; i++) {
    pool[out[i]] = pool[in[i]] + 1;
    value[i] = pool[out[i]] == 4;
    reward[i] = 0.1f;
    policy[i] = 0;
  }
}
