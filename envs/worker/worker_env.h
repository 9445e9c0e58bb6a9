/* Environments that other processes play: gym:ID and spiel:NAME.
 *
 * A state is flat bytes with all that may be asked of it; resets and steps go to workers. Of Gymnasium's environments a state names
 * an instance that a worker holds (`copies` is false), which is lost with its worker: the episode is then truncated. Of OpenSpiel's
 * games a state is a history, from which any worker finds the position (`copies` is true). */
#pragma once
#include "envs/env.h"
#include "envs/worker/options.h"
#include "envs/worker/workers.h"

/* Finds an environment by its name. `ranges` ([MZ_WORKER_RANGES], or NULL): rewards and returns that a run was made with, instead of
 * what random play shows now. timeout_s: likewise that an answer may take; 0: as the name says. What is found lives as long as the
 * process; equal names, ranges and times give one environment. Any thread may ask. MZ_E_CONFIG as mz_worker_options_read and
 * mz_env_workers_create. */
mz_status mz_worker_env_find(const char *name, const float *ranges, double timeout_s, const mz_env **out);
/* Returns whether random play gave ranges of rewards and returns of this environment, now or when a run began (`ranges` above), and if
 * so all of them. */
bool mz_worker_env_measured(const mz_env *env, float ranges[MZ_WORKER_RANGES]);
/* Returns the seconds that an answer may take, which are not part of env->name; 0 for an environment of another kind. */
double mz_worker_env_timeout_s(const mz_env *env);
/* Returns whether workers play both, and they are one game: names and ranges are equal. */
bool mz_worker_env_is_same_game(const mz_env *a, const mz_env *b);
/* Returns what was lost with its workers since the process began; zeros where this process plays it. Any thread may ask. */
mz_lost_workers mz_worker_env_lost(const mz_env *env);
