#include "base/machine/machine.h"
#include "base/threads/pool.h"
#include "cli/commands.h"
#include "cli/evaluation/eval_gtp.h"
#include "cli/evaluation/eval_judge.h"
#include "cli/evaluation/eval_ladder.h"
#include "cli/evaluation/eval_outcome.h"
#include "cli/print.h"
#include "cli/run_argument.h"
#include "envs/own/shared_object.h"
#include "muzero/trainer.h"
#include "muzero/run_score.h"
#include "selfplay/evaluation/opening.h"
#include <math.h>
#include <string.h>

typedef struct eval_arguments {
  const char *run, *opponent, *device;
  int64_t games, simulations, opponent_simulations, openings, positions, seed, threads;
  bool symmetry, ladder, json;
} eval_arguments;

#define AT(field) offsetof(eval_arguments, field)
static const mz_option options[] = {
    {.name = "RUN", .type = MZ_OPTION_TEXT, .offset = AT(run), .help = MZ_RUN_ARGUMENT_HELP},
    {.name = "--games",
     .type = MZ_OPTION_COUNT,
     .offset = AT(games),
     .value = "N",
     .otherwise = "100; a ladder 20",
     .min = 1,
     .max = 10000000,
     .class_ = MZ_OPERATIONAL,
     .help = "games to play, in a ladder by each pair; seats alternate"},
    {.name = "--opponent",
     .type = MZ_OPTION_TEXT,
     .offset = AT(opponent),
     .value = "WHO",
     .otherwise = "random (two players)",
     .class_ = MZ_OPERATIONAL,
     .help = "random, rule, perfect, mcts:SIMS, another RUN (or RUN@best, RUN@ROUND), gtp:COMMAND (a program that speaks GTP; "
             "games without chance), "
             "a baseline that `muzero envs ENV` names, or all: every line that any opponent can play, as many games; in "
             "single-player games: a player given the same starting states, for comparison (random, perfect, mcts:SIMS, a "
             "baseline)"},
    {.name = "--sims",
     .type = MZ_OPTION_COUNT,
     .offset = AT(simulations),
     .value = "N",
     .otherwise = "as trained",
     .min = 1,
     .max = 1000000,
     .class_ = MZ_OPERATIONAL,
     .help = "simulations a move"},
    {.name = "--symmetry",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(symmetry),
     .otherwise = "as trained",
     .class_ = MZ_OPERATIONAL,
     .help = "policy and value of a position are means over all symmetries of the board (eval.symmetry)"},
    {.name = "--opponent-sims",
     .type = MZ_OPTION_COUNT,
     .offset = AT(opponent_simulations),
     .value = "N",
     .otherwise = "as it was trained",
     .min = 1,
     .max = 1000000,
     .class_ = MZ_OPERATIONAL,
     .help = "simulations a move of another RUN as opponent"},
    {.name = "--openings",
     .type = MZ_OPTION_COUNT,
     .offset = AT(openings),
     .value = "PLIES",
     .otherwise = "0; RUN or gtp: 4",
     .min = 0,
     .max = 1000,
     .class_ = MZ_OPERATIONAL,
     .help = "random moves that begin each game, fewer where they would end it; both seats get each opening (against a RUN or "
             "gtp: on up to 9 cells: 2)"},
    {.name = "--positions",
     .type = MZ_OPTION_COUNT,
     .offset = AT(positions),
     .value = "N",
     .otherwise = "games",
     .min = 1,
     .max = 10000000,
     .class_ = MZ_OPERATIONAL,
     .help =
         "no games: how often the agent, and --opponent beside it, keeps the outcome in N positions where a move can throw it "
         "away, as perfect play knows"},
    {.name = "--ladder",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(ladder),
     .class_ = MZ_OPERATIONAL,
     .help = "the run's checkpoints play each other and random, rule, mcts:100: Elo ratings (checkpoint.spaced keeps more)"},
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .fallback = "1",
     .min = 0,
     .max = 9.2e18,
     .class_ = MZ_OPERATIONAL,
     .help = "of the games' starts and openings, and of the opponent"},
    MZ_OPTION_DEVICE(AT(device), "auto", "where networks are evaluated: auto, cpu, cuda or cuda:N"),
    MZ_OPTION_THREADS(AT(threads), "worker threads"),
    MZ_OPTION_JSON(AT(json)),
    {0},
};

enum { MATCH_GAMES = 100, LADDER_GAMES = 20 };
enum { EVAL_ROUND = UINT32_MAX }; /* of the streams: no round of training draws the same games */

/* ---- the opponent ---- */

typedef struct opposition { /* what --opponent means */
  bool everyone;
  bool beside;         /* the player plays the same starts, alone */
  const char *command; /* gtp: */
  mz_player player;
  mz_loaded *loaded;
  mz_agent agent;
  mz_side side;     /* refers to the player or the agent; nobody for one player, all lines and gtp */
  const char *name; /* for the record */
} opposition;

static mz_status load_rival(const eval_arguments *arguments, const mz_env *env, opposition *out) {
  MZ_TRY(mz_run_argument_load(&out->loaded, out->name, NULL));
  MZ_TRY(mz_loaded_place(out->loaded, arguments->device));
  out->agent = mz_loaded_agent(out->loaded);
  out->side.agent = &out->agent;
  if (arguments->opponent_simulations != MZ_COUNT_UNSET) out->agent.simulations = (int)arguments->opponent_simulations;
  const char *theirs = out->agent.env->name; /* with its options: "gomoku:size=9" */
  if (mz_env_is_same_game(out->agent.env, env)) {
    out->agent.env = env; /* states are of one kind for both, with processes or without */
    return MZ_OK;
  }
  return mz_fail(MZ_E_CONFIG, "--opponent %s: plays %s%s, but %s plays %s; two agents need one game", out->name,
                 strcmp(theirs, env->name) == 0 ? "another " : "", theirs, arguments->run, env->name);
}

static const char GTP[] = "gtp:";

/* The program is told of moves alone: not of what the game draws, nor of a first position. */
static mz_status call_program(const eval_arguments *arguments, const mz_env *env, opposition *out) {
  out->command = out->name + strlen(GTP);
  if (!*out->command) return mz_fail(MZ_E_USAGE, "--opponent gtp: needs a command, as in --opponent \"gtp:gnugo --mode gtp\"");
  bool chance;
  MZ_TRY(mz_starts_differ(env, &chance));
  if (env->draws || chance)
    return mz_fail(MZ_E_USAGE, "--opponent %s: %s has chance, which each program would draw by itself; give mcts:SIMS or a RUN",
                   out->name, env->name);
  if (arguments->opponent_simulations == MZ_COUNT_UNSET) return MZ_OK;
  return mz_fail(MZ_E_USAGE, "--opponent-sims: not with gtp, whose program takes its own flags");
}

/* Names the flag in a message about its value. */
static mz_status of_flag(mz_status status) { return status == MZ_OK ? MZ_OK : mz_fail(status, "--opponent %s", mz_message()); }

/* In a game for one there is no opponent: another decision maker plays the same starts, for comparison. */
static mz_status compare_with(const char *text, const mz_env *env, opposition *out) {
  if (mz_names_run(text) || strncmp(text, GTP, strlen(GTP)) == 0 || strcmp(text, "all") == 0)
    return mz_fail(MZ_E_USAGE, "--opponent %s: %s is played alone; random, mcts:SIMS and what else plays it can be compared with",
                   text, env->name);
  out->beside = true;
  return of_flag(mz_player_parse(text, env, &out->player));
}

static mz_status oppose(const eval_arguments *arguments, const mz_env *env, opposition *out) {
  const char *text = arguments->opponent;
  *out = (opposition){.name = "none"};
  if (env->spec.players < 2) {
    if (arguments->opponent_simulations != MZ_COUNT_UNSET)
      return mz_fail(MZ_E_USAGE, "--opponent-sims: %s is played alone", env->name);
    return text ? compare_with(text, env, out) : MZ_OK;
  }
  out->name = text ? text : "random";
  if (strncmp(out->name, GTP, strlen(GTP)) == 0) return call_program(arguments, env, out);
  if (mz_names_run(out->name)) return load_rival(arguments, env, out);
  if (arguments->opponent_simulations != MZ_COUNT_UNSET) {
    return mz_fail(MZ_E_USAGE, "--opponent-sims: only with another RUN as opponent, not %s; a searcher's are in mcts:SIMS",
                   out->name);
  }
  if (strcmp(out->name, "all") == 0) {
    out->everyone = true;
    if (arguments->openings > 0) return mz_fail(MZ_E_USAGE, "--openings: not with all, which plays every opening as it is");
    if (arguments->games != MZ_COUNT_UNSET) return mz_fail(MZ_E_USAGE, "--games: not with all, which plays every game once");
    return MZ_OK;
  }
  out->side.player = &out->player;
  return of_flag(mz_player_parse_among(out->name, env, "all, gtp:COMMAND and the path of a RUN", &out->player));
}

/* ---- the command ---- */

static mz_status ladder(const eval_arguments *arguments, mz_pool *pool) {
  if (arguments->opponent || arguments->opponent_simulations != MZ_COUNT_UNSET)
    return mz_fail(MZ_E_USAGE, "--ladder: has its own opponents; leave --opponent and --opponent-sims out");
  if (arguments->positions != MZ_COUNT_UNSET) return mz_fail(MZ_E_USAGE, "--positions: not with --ladder, which plays games");
  if (arguments->symmetry) return mz_fail(MZ_E_USAGE, "--symmetry: not with --ladder, whose agents play as they were trained");
  const mz_ladder_options how = {
      .games = arguments->games == MZ_COUNT_UNSET ? LADDER_GAMES : (int)arguments->games,
      .openings = (int)arguments->openings, /* MZ_COUNT_UNSET: the default, as there */
      .simulations = arguments->simulations == MZ_COUNT_UNSET ? 0 : (int)arguments->simulations,
      .seed = (uint64_t)arguments->seed,
      .device = arguments->device,
  };
  char run[MZ_RUN_ARGUMENT_SIZE];
  MZ_TRY(mz_run_argument_whole(arguments->run, "a ladder", run));
  return mz_eval_ladder(run, &how, pool, arguments->json);
}

/* Plays the match, and its starts again with the other player. */
static mz_status play_beside(const mz_match *match, const mz_player *player, mz_pool *pool, mz_evaluation *result,
                             mz_eval_outcome *o) {
  const size_t games = (size_t)match->games;
  mz_match other = *match;
  other.sides[0] = (mz_side){.player = player};
  double *returns;
  MZ_TRY(mz_alloc(&returns, 2 * games, sizeof *returns));
  mz_status status = mz_evaluate(match, pool, result, returns);
  if (status == MZ_OK) status = mz_evaluate(&other, pool, &o->beside, returns + games);
  double sum = 0, square_sum = 0;
  for (size_t i = 0; i < games; i++) sum += returns[i] - returns[games + i];
  o->lead = sum / (double)games;
  for (size_t i = 0; i < games; i++) {
    const double apart = returns[i] - returns[games + i] - o->lead;
    square_sum += apart * apart;
  }
  o->lead_ci95 = games > 1 ? 1.96 * sqrt(square_sum / (double)(games - 1) / (double)games) : NAN;
  free(returns);
  return status;
}

static mz_status play(const eval_arguments *arguments, const mz_agent *agent, const opposition *against, mz_pool *pool) {
  mz_match m = {.env = agent->env,
                .sides = {{.agent = agent}, against->side},
                .games = arguments->games == MZ_COUNT_UNSET ? MATCH_GAMES : (int)arguments->games,
                .openings = (int)arguments->openings,
                .seed = (uint64_t)arguments->seed,
                .round = EVAL_ROUND};
  const mz_player outside = {.kind = MZ_PLAYER_RANDOM}; /* for all we know */
  if (against->command) m.sides[1].player = &outside;
  if (arguments->openings == MZ_COUNT_UNSET)
    m.openings = against->side.agent || against->command ? mz_opening_default(&agent->env->spec) : 0;
  mz_evaluation result;
  mz_eval_outcome o = {.result = &result,
                       .agent = agent,
                       .opponent = against->name,
                       .rival = against->side.agent,
                       .exact = against->everyone,
                       .openings = m.openings,
                       .player = against->beside ? against->player.name : NULL};
  if (against->beside)
    MZ_TRY(play_beside(&m, &against->player, pool, &result, &o));
  else if (against->everyone)
    MZ_TRY(mz_evaluate_all(agent, pool, &result));
  else if (against->command)
    MZ_TRY(mz_eval_gtp(&m, against->command, pool, &result));
  else
    MZ_TRY(mz_evaluate(&m, pool, &result, NULL));
  return mz_eval_print(&o, arguments->json);
}

static mz_status judge(const eval_arguments *arguments, const mz_agent *agent, const opposition *against, mz_pool *pool) {
  if (against->everyone || against->command)
    return mz_fail(MZ_E_USAGE, "--opponent %s: not with --positions, which asks one player of ours", against->name);
  if (arguments->games != MZ_COUNT_UNSET || arguments->openings != MZ_COUNT_UNSET)
    return mz_fail(MZ_E_USAGE, "--positions: no games are played; leave --games and --openings out");
  const mz_judge_options how = {.agent = agent,
                                .opponent = arguments->opponent ? &against->side : NULL,
                                .name = against->name,
                                .positions = (int)arguments->positions,
                                .seed = (uint64_t)arguments->seed};
  return mz_eval_judge(&how, pool, arguments->json);
}

static mz_status look_at_images(mz_agent *agent) {
  if (agent->env->spec.symmetries < 2) return mz_fail(MZ_E_USAGE, "--symmetry: %s has no symmetries", agent->env->name);
  agent->symmetry = true;
  return MZ_OK;
}

static mz_status evaluate(const eval_arguments *arguments, mz_pool *pool) {
  mz_loaded *loaded = NULL;
  opposition against = {0};
  mz_status status;
  MZ_TRY_CLEANUP(mz_run_argument_load(&loaded, arguments->run, "eval"));
  MZ_TRY_CLEANUP(mz_loaded_place(loaded, arguments->device));
  mz_agent agent = mz_loaded_agent(loaded);
  if (arguments->simulations != MZ_COUNT_UNSET) agent.simulations = (int)arguments->simulations;
  if (arguments->symmetry) MZ_TRY_CLEANUP(look_at_images(&agent));
  MZ_TRY_CLEANUP(oppose(arguments, agent.env, &against));
  status = (arguments->positions == MZ_COUNT_UNSET ? play : judge)(arguments, &agent, &against, pool);
cleanup:
  if (against.loaded) mz_loaded_close(against.loaded);
  if (loaded) mz_loaded_close(loaded);
  return status;
}

static mz_status eval(const void *given) {
  const eval_arguments *arguments = given;
  mz_pool *pool;
  MZ_TRY(mz_pool_create(&pool, "eval", arguments->threads > 0 ? (int)arguments->threads : mz_machine_cores(), NULL));
  const mz_status status = arguments->ladder ? ladder(arguments, pool) : evaluate(arguments, pool);
  mz_pool_free(pool);
  return status;
}

const mz_command mz_command_eval = {
    .name = "eval",
    .summary = "play games with a trained agent and count",
    .about = "Plays fresh games with a trained agent, without noise, and prints how they ended. Board games are played from both "
             "seats; a draw is half a point. The network's values are compared with the discounted returns that followed them in "
             "games that were not truncated: in --json `value_bias` is the mean difference, `value_correlation` the correlation "
             "over `value_positions`. (Metrics of training with these names compare with targets, which come from such values in "
             "part.) With --positions perfect play judges single moves instead (games with known perfect play only); it needs "
             "fewer samples. With --ladder the checkpoints of a run get Elo ratings (Bradley and Terry's model).",
    .options = options,
    .arguments_size = sizeof(eval_arguments),
    .examples = {"eval runs/t --opponent perfect --games 200 --json", "eval runs/c4 --positions 1000 --opponent mcts:1000"},
    .run = eval,
};
