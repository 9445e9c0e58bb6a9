/* Environments of workers from inside: what gym_env.c and spiel_env.c have in common with worker_env.c. */
#pragma once
#include "base/json/json.h"
#include "envs/worker/worker_env.h"
#include "envs/worker/workers.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct mz_worker_env mz_worker_env;
struct mz_worker_env {
  mz_env env; /* its `options` point to this struct */
  mz_worker_options given;
  bool asked;                    /* mz_worker_env_find was given ranges */
  bool measured;                 /* the name leaves out some of the ranges: random play gave them, now or when a run began */
  float named[MZ_WORKER_RANGES]; /* as the name gives them; NAN: not given */
  mz_env_workers *workers;
  mz_mailbox_layout layout;
  char *title, *rules, *observation;
  char **names; /* of actions; NULL: numbers */
  bool has_chance;
  float *low, *high; /* [obs_size], of an observation's entries; NULL: not known */
  _Atomic bool told_outside;
  /* Gymnasium's: which instances are in use, and rewards outside of their range. */
  pthread_mutex_t lock;
  uint8_t *used; /* [used_room] */
  int used_count, used_room;
  _Atomic int64_t steps, outside;
  mz_worker_env *next;
};

enum { MZ_WORKER_STATE_HEAD = 16 }; /* bytes of a state before its observation */

static inline mz_worker_env *mz_worker_env_data(const mz_env *env) { return (mz_worker_env *)env->options; }
/* The i-th of states that lie one behind the other, and its observation. */
static inline void *mz_worker_env_state(const mz_env *env, void *states, int i) {
  return (uint8_t *)states + (size_t)i * env->state_size;
}
static inline uint8_t *mz_worker_env_observation(void *state) { return (uint8_t *)state + MZ_WORKER_STATE_HEAD; }
/* Its legal actions as the worker told them, a byte for each, behind the observation. */
static inline uint8_t *mz_worker_env_mask(const mz_env *env, void *state) {
  return mz_worker_env_observation(state) + mz_spec_obs_bytes(&env->spec);
}

/* Complete the environment from its description: spec, state_size, layout and functions. MZ_E_CONFIG. */
mz_status mz_gym_env_complete(mz_worker_env *w, const cJSON *description);
mz_status mz_spiel_env_complete(mz_worker_env *w, const cJSON *description);
/* Gives the spec the ranges of `given`, which are complete now. `source`: of those that the name leaves out
 * (mz_worker_ranges_check). MZ_E_CONFIG where one ends below its beginning. */
mz_status mz_worker_env_set_ranges(mz_worker_env *w, const char *source);
/* mz_env.observe: both kinds have the observation behind the head of a state. */
void mz_worker_env_observe(const mz_env *env, const void *states, int n, void *observations);
/* mz_env.legal: once the game has ended, nothing is legal. */
int mz_worker_env_legal(const mz_env *env, const void *state, bool ended, uint8_t *mask);
/* Checks the position that a worker gave after so many moves. MZ_E_CONFIG: a number of the observation is not finite, one of the mask is
 * none of 0 and 1, or nothing is legal in a game that goes on. The first number out of its space's bounds is told in a warning. */
mz_status mz_worker_env_check_position(const mz_env *env, const void *state, bool ended, int moves);
mz_status mz_worker_env_check_reward(const mz_env *env, float reward); /* MZ_E_CONFIG where it is not finite */
