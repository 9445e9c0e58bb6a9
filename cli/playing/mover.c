#include "cli/playing/mover.h"
#include "cli/run_argument.h"
#include "envs/own/shared_object.h"
#include "base/maths/streams.h"
#include "base/text.h"
#include "base/maths/maths.h"
#include <string.h>

#define AT(field) offsetof(mz_mover_arguments, field)
const mz_option mz_mover_options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_RUN_ARGUMENT_HELP},
    {.name = "--sims",
     .type = MZ_OPTION_COUNT,
     .offset = AT(simulations),
     .value = "N",
     .otherwise = "as trained",
     .min = 1,
     .max = 1000000,
     .class_ = MZ_OPERATIONAL,
     .help = "simulations a move"},
    {.name = "--temperature",
     .type = MZ_OPTION_NUMBER,
     .offset = AT(temperature),
     .value = "T",
     .fallback = "0",
     .min = 0,
     .max = 100,
     .class_ = MZ_OPERATIONAL,
     .help = "0: the best move; more: moves drawn from the search's policy (with one simulation the network's), the higher the "
             "more various"},
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .fallback = "1",
     .min = 0,
     .max = 9.2e18,
     .class_ = MZ_OPERATIONAL,
     .help = "of whatever is drawn"},
    {0},
};

/* env: that the agent has to play, of whose kind the states are; NULL: the run's own. */
static mz_status load(mz_mover *mover, const char *run, int64_t simulations, const mz_env *env) {
  MZ_TRY(mz_run_argument_load(&mover->loaded, run, NULL));
  mover->agent = mz_loaded_agent(mover->loaded);
  mz_agent *agent = &mover->agent;
  if (env && !mz_env_is_same_game(agent->env, env))
    return mz_fail(MZ_E_CONFIG, "--opponent %s: plays %s, not %s", run, agent->env->name, env->name);
  if (env) agent->env = env;
  if (simulations != MZ_COUNT_UNSET) agent->simulations = (int)simulations;
  MZ_TRY(mz_alloc(&mover->weights, (size_t)agent->env->spec.actions, sizeof *mover->weights));
  MZ_TRY(mz_alloc(&mover->prior, (size_t)agent->env->spec.actions, sizeof *mover->prior));
  mz_agent deep = *agent; /* the planner has room for hints, too */
  if (simulations == MZ_COUNT_UNSET && mz_agent_simulations(agent) < agent->search->simulations)
    deep.simulations = (int)agent->search->simulations;
  mover->hint_simulations = mz_agent_simulations(&deep);
  MZ_TRY(mz_agent_planner(&deep, 1, &mover->planner));
  mover->planner.results[0].prior = mover->prior;
  return MZ_OK;
}

mz_status mz_mover_init(mz_mover *mover, const mz_mover_arguments *arguments) {
  *mover = (mz_mover){.name = "agent", .temperature = arguments->temperature};
  return load(mover, arguments->run, arguments->simulations, NULL);
}

mz_status mz_mover_init_opponent(mz_mover *mover, const char *who, const mz_env *env) {
  *mover = (mz_mover){0};
  mz_text_printable(who, mover->name, sizeof mover->name);
  if (env->spec.players < 2) return mz_fail(MZ_E_USAGE, "--opponent %s: %s is played alone", who, env->name);
  if (mz_names_run(who)) return load(mover, who, MZ_COUNT_UNSET, env);
  const mz_status status = mz_player_parse_among(who, env, "and the path of a RUN", &mover->player);
  return status == MZ_OK ? MZ_OK : mz_fail(status, "--opponent %s", mz_message());
}

void mz_mover_deinit(mz_mover *mover) {
  mz_planner_deinit(&mover->planner);
  free(mover->weights);
  free(mover->prior);
  mz_loaded_close(mover->loaded);
  *mover = (mz_mover){0};
}

/* Draws from policy^(1/temperature); `policy` is the search's or the network's. */
static int draw(const mz_mover *mover, const float *policy, mz_rng rng) {
  const int actions = mover->agent.env->spec.actions;
  float most = 0;
  for (int a = 0; a < actions; a++) most = policy[a] > most ? policy[a] : most;
  double total = 0;
  for (int a = 0; a < actions; a++) {
    mover->weights[a] = policy[a] > 0 ? mz_exp(mz_log((double)policy[a] / (double)most) / mover->temperature) : 0;
    total += mover->weights[a];
  }
  double left = mz_rng_f64(&rng) * total;
  int chosen = -1;
  for (int a = 0; a < actions && left >= 0; a++) { /* rounding may leave a remainder: then the last one */
    if (mover->weights[a] == 0) continue;
    chosen = a;
    left -= mover->weights[a];
  }
  MZ_ASSERT(chosen >= 0);
  return chosen;
}

static mz_status search(mz_mover *mover, const mz_live_game *game, int simulations, mz_thought *out) {
  MZ_ASSERT(!mz_live_game_over(game));
  mz_planner *planner = &mover->planner;
  MZ_TRY(mz_planner_observe(planner, 0, 1, mz_live_game_state(game)));
  MZ_TRY(mz_planner_search(planner, 1, mover->agent.weights, simulations));
  const mz_root_result *result = &planner->results[0];
  *out = (mz_thought){.action = result->selected,
                      .searched = true,
                      .value = result->value,
                      .raw_value = result->raw_value,
                      .policy = result->prior,
                      .improved = result->policy,
                      .visits = result->visits,
                      .simulations = simulations};
  return MZ_OK;
}

mz_status mz_mover_think(mz_mover *mover, const mz_live_game *game, mz_thought *out) {
  *out = (mz_thought){0};
  if (!mover->loaded) {
    mz_rng rng = mz_stream_prompt_player(game->seed, game->ordinal, game->count);
    return mz_player_move(&mover->player, game->env, mz_live_game_state(game), &rng, &out->action);
  }
  MZ_TRY(search(mover, game, mz_agent_simulations(&mover->agent), out));
  /* One simulation tries one move and compares nothing: what it would teach is no measure of that move. */
  const float *policy = out->simulations > 1 ? out->improved : out->policy;
  if (mover->temperature > 0) out->action = draw(mover, policy, mz_stream_prompt_action(game->seed, game->ordinal, game->count));
  return MZ_OK;
}

mz_status mz_mover_hint(mz_mover *mover, const mz_live_game *game, mz_thought *out) {
  return search(mover, game, mover->hint_simulations, out);
}

static bool is_better(const mz_thought *thought, int a, int b) {
  if (thought->visits[a] != thought->visits[b]) return thought->visits[a] > thought->visits[b];
  return thought->improved[a] > thought->improved[b];
}

int mz_thought_best(const mz_thought *thought, int actions, int n, int32_t *best) {
  int count = 0;
  for (int a = 0; a < actions; a++) {
    if (thought->visits[a] == 0) continue;
    int at = count < n ? count++ : n;
    for (; at > 0 && is_better(thought, a, best[at - 1]); at--)
      if (at < n) best[at] = best[at - 1];
    if (at < n) best[at] = a;
  }
  return count;
}
