/* Agents: a loaded network, and the memory that searches with it. */
#include "envs/own/shared_object.h"
#include "muzero/library/call.h"
#include "muzero/library/game.h"
#include "muzero/trainer.h"
#include "selfplay/planner.h"

enum { SLOTS_MAX = 64, SIMULATIONS_MAX = 1000000 };
static const double SEARCH_BYTES_MAX = 0x1p28; /* several games are searched together while their trees fit in this */

typedef struct agent {
  mz_loaded *loaded;
  mz_agent agent;     /* simulations: those that the planner is made for */
  mz_planner planner; /* slots 0: there is none yet */
  int trained_simulations;
} agent;

static void agent_free(agent *a) {
  mz_planner_deinit(&a->planner);
  mz_loaded_close(a->loaded);
  free(a);
}

static muzero_status load(muzero_agent **out, const char *path) {
  agent *a;
  void *handle;
  MUZERO_TRY(mz_failure_of(mz_alloc(&a, 1, sizeof *a)));
  muzero_status status = mz_failure_of(mz_loaded_open(&a->loaded, path));
  if (status == MUZERO_OK) {
    a->agent = mz_loaded_agent(a->loaded);
    a->trained_simulations = mz_agent_simulations(&a->agent);
    status = mz_handle_create(&handle, MZ_HANDLE_AGENT, a);
  }
  if (status == MUZERO_OK)
    *out = handle;
  else
    agent_free(a);
  return status;
}

muzero_status muzero_agent_load(muzero_agent **out, const char *path) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  MUZERO_NOT_NULL(path);
  return mz_call_end(&call, load(out, path));
}

muzero_status muzero_agent_close(muzero_agent *handle) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_AGENT, handle));
  agent_free(call.object);
  return mz_call_end_closed(&call, MUZERO_OK);
}

muzero_status muzero_agent_describe(muzero_agent *handle, muzero_agent_info *out) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_AGENT, handle));
  MUZERO_NOT_NULL(out);
  const agent *a = call.object;
  const mz_counters *counters = mz_loaded_counters(a->loaded);
  const muzero_agent_info info = {.size = sizeof info,
                                  .env = a->agent.env->name,
                                  .actions = a->agent.env->spec.actions,
                                  .simulations = a->trained_simulations,
                                  .rounds = counters->rounds,
                                  .updates = counters->updates,
                                  .env_steps = counters->env_steps,
                                  .seed = mz_loaded_seed(a->loaded)};
  return mz_call_end(&call, mz_call_write(out, sizeof info, &info, sizeof info, __func__, "muzero_agent_info"));
}

/* ---- moves ---- */

/* How many of `count` games to search together: all, where their trees are not too large. */
static mz_status choose_slots(const agent *a, size_t count, int simulations, int *out) {
  mz_search_settings search = *a->agent.search;
  search.simulations = simulations;
  int slots = count < SLOTS_MAX ? (int)count : SLOTS_MAX;
  for (double bytes;; slots /= 2) {
    MZ_TRY(mz_planner_bytes(&a->agent.env->spec, &search, a->agent.model, a->agent.where, slots, &bytes));
    if (bytes <= SEARCH_BYTES_MAX || slots == 1) break;
  }
  *out = slots;
  return MZ_OK;
}

/* Makes a planner for so many simulations, unless there is one with enough slots. */
static mz_status prepare(agent *a, size_t count, int simulations) {
  int slots;
  MZ_TRY(choose_slots(a, count, simulations, &slots));
  if (a->planner.slots >= slots && a->agent.simulations == simulations) return MZ_OK;
  mz_planner_deinit(&a->planner);
  a->agent.simulations = simulations;
  return mz_agent_planner(&a->agent, slots, &a->planner);
}

/* A game becomes the root of a slot, and is left to others while it is searched. */
static muzero_status observe(agent *a, const muzero_game *handle, size_t index, int slot) {
  static const char function[] = "muzero_agent_move";
  void *object;
  muzero_status status = mz_handle_enter(handle, MZ_HANDLE_GAME, function, &object);
  if (status != MUZERO_OK) return status;
  const mz_library_game *game = object;
  const mz_env *env = a->agent.env;
  if (!mz_env_is_same_game(game->env, env)) {
    status =
        mz_failure(MUZERO_E_USAGE, "%s: games[%zu] is of %s; the agent plays %s", function, index, game->env->name, env->name);
  } else if (game->legal_count == 0) {
    status = mz_failure(MUZERO_E_USAGE, "%s: games[%zu] is over", function, index);
  } else {
    a->planner.env = game->env; /* a user's own game is opened for the run, too: only who opened a game knows its states */
    status = mz_failure_of(mz_planner_observe(&a->planner, slot, 1, game->state));
  }
  mz_handle_leave(handle);
  return status;
}

typedef struct results {
  int32_t *actions;
  float *values, *policies;
  int32_t *visits;
} results;

static void write_results(const agent *a, int n, size_t at, const results *out) {
  const size_t actions = (size_t)a->agent.env->spec.actions;
  for (size_t i = 0; i < (size_t)n; i++) {
    const mz_root_result *root = &a->planner.results[i];
    if (out->actions) out->actions[at + i] = root->selected;
    if (out->values) out->values[at + i] = root->value;
    if (out->policies) memcpy(out->policies + (at + i) * actions, root->policy, actions * sizeof(float));
    if (out->visits) memcpy(out->visits + (at + i) * actions, root->visits, actions * sizeof(int32_t));
  }
}

static muzero_status move(agent *a, muzero_game *const *games, size_t count, int32_t simulations, const results *out) {
  static const char function[] = "muzero_agent_move";
  if (count == 0) return mz_failure(MUZERO_E_USAGE, "%s: count is 0; takes 1 or more", function);
  if (simulations < 0 || simulations > SIMULATIONS_MAX)
    return mz_failure(MUZERO_E_USAGE, "%s: simulations is %d; takes 0, for as trained, or 1 … %d", function, (int)simulations,
                      SIMULATIONS_MAX);
  MUZERO_TRY(mz_failure_of(prepare(a, count, simulations ? simulations : a->trained_simulations)));
  const size_t slots = (size_t)a->planner.slots;
  for (size_t at = 0; at < count; at += slots) {
    const int n = (int)(count - at < slots ? count - at : slots);
    for (int i = 0; i < n; i++) MUZERO_TRY(observe(a, games[at + (size_t)i], at + (size_t)i, i));
    MUZERO_TRY(mz_failure_of(mz_planner_search(&a->planner, n, a->agent.weights, 0)));
    write_results(a, n, at, out);
  }
  return MUZERO_OK;
}

muzero_status muzero_agent_move(muzero_agent *handle, muzero_game *const *games, size_t count, int32_t simulations,
                                int32_t *actions, float *values, float *policies, int32_t *visits) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_AGENT, handle));
  MUZERO_NOT_NULL(games);
  const results out = {actions, values, policies, visits};
  return mz_call_end(&call, move(call.object, games, count, simulations, &out));
}
