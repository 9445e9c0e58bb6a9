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
  float asked[MZ_WORKER_RANGES]; /* that mz_worker_env_find was given; NAN: none */
  bool measured;
  mz_workers *workers;
  mz_mailbox_layout layout;
  char *title, *rules, *observation;
  char **names; /* of actions; NULL: numbers */
  size_t history_max;
  bool has_chance;
  /* Gymnasium's: which instances are in use, and rewards outside of their range. */
  pthread_mutex_t lock;
  uint8_t *used; /* [used_room] */
  int used_count, used_room;
  _Atomic int64_t steps, outside;
  mz_worker_env *next;
};

static inline mz_worker_env *mz_worker_env_data(const mz_env *env) { return (mz_worker_env *)env->options; }

/* Complete the environment from its description: spec, state_size, layout and functions. MZ_E_CONFIG. */
mz_status mz_gym_env_complete(mz_worker_env *w, const cJSON *description);
mz_status mz_spiel_env_complete(mz_worker_env *w, const cJSON *description);
/* Checks the numbers of an observation that a worker gave. MZ_E_CONFIG. */
mz_status mz_worker_env_check_obs(const mz_env *env, const void *observation);
