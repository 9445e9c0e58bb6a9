#include "muzero/base/file.h"
#include "muzero/base/machine.h"
#include "muzero/base/pool.h"
#include "muzero/cli/commands.h"
#include "muzero/cli/print.h"
#include "muzero/muzero.h"
#include <string.h>

typedef struct eval_arguments {
  const char *run, *opponent;
  int64_t games, simulations, seed, threads;
  bool json;
} eval_arguments;

#define AT(field) offsetof(eval_arguments, field)
static const mz_option options[] = {
    {.name = "RUN",
     .type = MZ_OPTION_TEXT,
     .offset = AT(run),
     .help = "a run's directory (its latest checkpoint) or a checkpoint file"},
    {.name = "--games",
     .type = MZ_OPTION_COUNT,
     .offset = AT(games),
     .value = "N",
     .fallback = "100",
     .min = 1,
     .max = 10000000,
     .class_ = MZ_OPERATIONAL,
     .help = "games to play; seats alternate"},
    {.name = "--opponent",
     .type = MZ_OPTION_TEXT,
     .offset = AT(opponent),
     .value = "WHO",
     .otherwise = "random (two players)",
     .class_ = MZ_OPERATIONAL,
     .help = "random, rule, perfect, mcts:SIMS, another RUN, or all: every line that any opponent can play, as many games"},
    {.name = "--sims",
     .type = MZ_OPTION_COUNT,
     .offset = AT(simulations),
     .value = "N",
     .otherwise = "as trained",
     .min = 1,
     .max = 1000000,
     .class_ = MZ_OPERATIONAL,
     .help = "simulations a move"},
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .fallback = "1",
     .min = 0,
     .max = 9.2e18,
     .class_ = MZ_OPERATIONAL,
     .help = "of the games' starts and of the opponent"},
    MZ_OPTION_THREADS(AT(threads), "worker threads"),
    MZ_OPTION_JSON(AT(json)),
    {0},
};

enum { EVAL_ROUND = UINT32_MAX }; /* of the streams: no round of training draws the same games */

typedef struct opposition { /* what --opponent means */
  bool everyone, has_player;
  mz_player player;
  mz_loaded *rival;
  const char *name; /* for the record */
} opposition;

static mz_status oppose(const char *text, const mz_env *env, opposition *out) {
  *out = (opposition){.name = "none"};
  if (env->spec.players < 2) {
    if (text) return mz_fail(MZ_E_USAGE, "--opponent %s: %s is played alone", text, env->name);
    return MZ_OK;
  }
  out->name = text ? text : "random";
  if (strcmp(out->name, "all") == 0) {
    out->everyone = true;
    return MZ_OK;
  }
  if (strchr(out->name, '/') || mz_file_exists(out->name)) {
    MZ_TRY(mz_loaded_open(&out->rival, out->name));
    const char *theirs = mz_loaded_agent(out->rival).env->name;
    return strcmp(theirs, env->name) == 0 ? MZ_OK
                                          : mz_fail(MZ_E_CONFIG, "--opponent %s: plays %s, not %s", out->name, theirs, env->name);
  }
  out->has_player = true;
  return mz_player_parse(out->name, env, &out->player);
}

static void print_tally(const char *title, const mz_tally *tally) {
  printf("  %-12s %lld games: %lld won, %lld drawn, %lld lost\n", title, (long long)tally->games, (long long)tally->win,
         (long long)tally->draw, (long long)tally->loss);
}

static mz_status report(const mz_evaluation *result, const mz_agent *agent, int64_t simulations, const char *opponent,
                        bool json) {
  const int players = agent->env->spec.players;
  if (json) return mz_print_json(mz_evaluation_to_json(result, players, simulations, opponent));
  char mean[MZ_TEXT_SIZE], ci[MZ_TEXT_SIZE], std[MZ_TEXT_SIZE];
  printf("%s, %lld simulations a move%s%s\n  mean return  %s ± %s (95 %%), standard deviation %s, %lld games\n", agent->env->name,
         (long long)simulations, players > 1 ? ", against " : "", players > 1 ? opponent : "",
         mz_text_number(result->mean_return, mean), mz_text_number(result->ci95, ci), mz_text_number(result->std, std),
         (long long)result->games);
  if (players < 2) return MZ_OK;
  const mz_tally whole = {.games = result->games, .win = result->win, .draw = result->draw, .loss = result->loss};
  print_tally("all", &whole);
  print_tally("moves first", &result->by_seat[0]);
  print_tally("moves second", &result->by_seat[1]);
  return MZ_OK;
}

static mz_status eval(const void *given) {
  const eval_arguments *arguments = given;
  mz_loaded *loaded = NULL;
  mz_pool *pool = NULL;
  opposition against = {0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_loaded_open(&loaded, arguments->run));
  mz_agent agent = mz_loaded_agent(loaded);
  if (arguments->simulations != MZ_COUNT_UNSET) agent.simulations = (int)arguments->simulations;
  MZ_TRY_CLEANUP(oppose(arguments->opponent, agent.env, &against));
  MZ_TRY_CLEANUP(mz_pool_create(&pool, "eval", arguments->threads > 0 ? (int)arguments->threads : mz_machine_cores(), NULL));
  mz_evaluation result;
  if (against.everyone) {
    MZ_TRY_CLEANUP(mz_evaluate_all(&agent, pool, &result));
  } else {
    mz_agent rival;
    if (against.rival) rival = mz_loaded_agent(against.rival);
    MZ_TRY_CLEANUP(mz_evaluate(&agent, against.has_player ? &against.player : NULL, against.rival ? &rival : NULL,
                               (int)arguments->games, (uint64_t)arguments->seed, EVAL_ROUND, pool, &result, NULL));
  }
  const int64_t simulations = agent.simulations > 0 ? agent.simulations : agent.search->simulations;
  status = report(&result, &agent, simulations, against.name, arguments->json);
cleanup:
  if (pool) mz_pool_free(pool);
  if (against.rival) mz_loaded_close(against.rival);
  if (loaded) mz_loaded_close(loaded);
  return status;
}

const mz_command mz_command_eval = {
    .name = "eval",
    .summary = "play games with a trained agent and count",
    .about = "Plays fresh games with a trained agent, without noise, and prints how they ended. Board games are played from both "
             "seats.",
    .options = options,
    .arguments_size = sizeof(eval_arguments),
    .examples = {"eval runs/cp --games 100", "eval runs/t --opponent perfect --games 200 --json"},
    .run = eval,
};
