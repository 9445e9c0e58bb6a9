/* Who chooses the moves of a game at a prompt: a trained agent, or one of the built-in players. One thread. */
#pragma once
#include "cli/command.h"
#include "cli/playing/live_game.h"
#include "muzero/trainer.h"
#include "selfplay/planner.h"

typedef struct mz_mover_arguments { /* the first member of the arguments of a command that has mz_mover_options */
  const char *run;
  int64_t simulations, seed;
  double temperature;
} mz_mover_arguments;
extern const mz_option mz_mover_options[]; /* RUN, --sims, --seed, --temperature */

typedef struct mz_mover {
  char name[64];     /* "agent", "mcts:100", a run's path */
  mz_loaded *loaded; /* an agent; NULL: `player` */
  mz_agent agent;
  mz_planner planner;
  double temperature;   /* 0: the move that the search selects; otherwise drawn from improved^(1/temperature) */
  double *weights;      /* [actions]: of that draw */
  float *prior;         /* [actions]: of the last search */
  int hint_simulations; /* of mz_mover_hint: --sims, or the more of the search's setting and the evaluation's */
  mz_player player;
} mz_mover;

/* The agent of arguments->run. Deinit is safe on a zeroed mover and after a failed init. */
mz_status mz_mover_init(mz_mover *mover, const mz_mover_arguments *arguments);
/* Another one for the same games: `who` is a run, or random, rule, perfect, mcts:SIMS. MZ_E_CONFIG for a run of another game. */
mz_status mz_mover_init_opponent(mz_mover *mover, const char *who, const mz_env *env);
void mz_mover_deinit(mz_mover *mover);

typedef struct mz_thought { /* arrays hold until the mover thinks again */
  int action;
  bool searched;         /* an agent's; otherwise nothing below is known */
  float value;           /* for the side to move */
  float raw_value;       /* of the network, without a search */
  const float *policy;   /* [actions]: the network's, over the legal actions, before the search */
  const float *improved; /* [actions]: what the search would teach the network */
  const int32_t *visits; /* [actions] */
  int simulations;
} mz_thought;

/* A move for the side to move in a game that is not over: a function of the position, the game's seed and ordinal and the number
 * of plies, so that asking again gives the same answer. */
mz_status mz_mover_think(mz_mover *mover, const mz_live_game *game, mz_thought *out);
/* Thinks as somebody who advises: with at least the simulations that self-play searches with, where the agent may move with fewer
 * (eval.simulations), and without temperature. For an agent. */
mz_status mz_mover_hint(mz_mover *mover, const mz_live_game *game, mz_thought *out);
/* The actions with the most visits, more of the improved policy first on ties; how many there are, at most n. */
int mz_thought_best(const mz_thought *thought, int actions, int n, int32_t *best);
