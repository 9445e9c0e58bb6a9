/* A shared object that other processes play (own/process/), so that its crash is not the program's. A state is the file's own bytes
 * and behind them its observation, legal actions and player (row_layout.h): only resets, steps, checks of states and texts go to a
 * process. States hold all that the game remembers, so a row whose process was lost is asked again, of a new process, with the same
 * state, action and random numbers: the game is the same as without the loss. A row that loses MZ_WORKERS_LOST_MAX processes is given
 * up. Any thread may call. */
#pragma once
#include "envs/env.h"
#include "envs/own/row_layout.h"
#include "envs/worker/workers.h"

typedef struct mz_own_isolated mz_own_isolated;

typedef struct mz_own_isolation {
  bool on;
  int workers;      /* processes; 0: as many as there are cores */
  double timeout_s; /* that an answer may take */
} mz_own_isolation;

typedef struct mz_own_object {
  const char *path;     /* for messages; lives as long as the result */
  const uint8_t *bytes; /* [size] of the file; likewise */
  size_t size;
} mz_own_object;

/* Starts a process that opens and describes the object. *abi: its numbers and texts, with functions that are there or NULL, and never
 * called; lives as long as the result. MZ_E_CONFIG with what is wrong with the file, MZ_E_MEMORY. */
mz_status mz_own_isolated_create(mz_own_isolated **out, const mz_own_object *object, const mz_own_isolation *isolation,
                                 const muzero_env_abi **abi);
/* Shares memory with the process, once the numbers were found to be in their ranges. */
mz_status mz_own_isolated_begin(mz_own_isolated *o);
void mz_own_isolated_free(mz_own_isolated *o); /* NULL is fine */

const mz_own_layout *mz_own_isolated_layout(const mz_own_isolated *o);
mz_env_workers *mz_own_isolated_workers(const mz_own_isolated *o);

/* A complaint of one of the object's functions. */
typedef struct mz_own_complaint {
  const char *function; /* "step"; NULL: none */
  char why[MZ_OWN_ROW_TEXT_BYTES];
} mz_own_complaint;

/* Each: MZ_E_CONFIG where processes were lost too often, naming the function and how it ended. Generators are Philox's
 * (mz_generator_from_rng) or NumPy's (mz_generator_from_numpy); others are refused. */
mz_status mz_own_isolated_reset(mz_own_isolated *o, void *state, const mz_generator *generator, mz_own_complaint *complaint);
/* n states one behind the other. generators NULL: drawing is a complaint. */
mz_status mz_own_isolated_step(mz_own_isolated *o, void *states, int n, const int32_t *actions, const mz_generator *generators,
                               muzero_env_step *results, mz_own_complaint *complaint);
/* *valid: the object takes the state for one of a game in play, and all parts behind it are what it says of it. */
mz_status mz_own_isolated_valid(mz_own_isolated *o, const void *state, bool *valid);
/* Finds the parts behind the object's own state. *valid: the object takes it for one of a game in play. */
mz_status mz_own_isolated_complete(mz_own_isolated *o, void *state, bool *valid);
/* state NULL: the text of an action. */
mz_status mz_own_isolated_text(mz_own_isolated *o, const void *state, int action, char out[MZ_OWN_ROW_TEXT_BYTES]);
