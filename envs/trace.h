/* `envs ENV --trace`: one JSON line per step, to compare an environment with its reference implementation.
 * Keys: t, player, state (mz_env.numbers), observation (flat, in memory order) and legal (the legal actions) before the step;
 * action; reward, terminated, truncated after it. After an end the next line is t 0 of a new game.
 *
 * Games are drawn from NumPy's generator seeded once, as Gymnasium's reset(seed=...) and later reset() draw them. */
#pragma once
#include "envs/env.h"
#include "base/json/json.h"

typedef struct mz_trace_options {
  int steps; /* lines; with `actions` an upper limit, where 0 is none */
  uint64_t seed;
  const int32_t *actions; /* NULL: uniformly random legal ones */
  int action_count;       /* the trace ends with the actions; an illegal one is MZ_E_CONFIG */
} mz_trace_options;

/* `line` gets one object a step and does not keep it; a status other than MZ_OK stops the trace. */
mz_status mz_env_trace(const mz_env *env, const mz_trace_options *options, mz_status (*line)(void *context, cJSON *object),
                       void *context);
/* The spec as JSON: name, title, options {key: value}, observation {type, shape, meaning}, actions, players, …;
 * NULL when memory is out. */
cJSON *mz_env_to_json(const mz_env *env);
