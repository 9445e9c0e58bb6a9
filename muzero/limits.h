/* When a run stops: the limits that hold, and whether it meets one by what it has done and spent. Clocks are read by the caller. */
#pragma once
#include "muzero/trainer.h"

/* Returns the limits that hold: without any given, the settings' own; limits.score holds unless another score is given. */
mz_limits mz_limits_in_force(const mz_limits *given, const mz_settings *settings);

/* Returns the share of the nearest of rounds, moves, updates and time that is done, 0 … 1; 0 where none of them is limited. */
double mz_limits_fraction(const mz_limits *limits, const mz_counters *counters, double invocation_s);

enum { MZ_CONFIRM_GAMES = 100 }; /* that confirm a score, or end a run that stops for another reason */

typedef struct mz_spent {
  mz_counters counters;
  bool stop;            /* somebody has asked for the end */
  double invocation_s;  /* of this invocation */
  double wall_s;        /* of the run, over all invocations */
  double cost, price_s; /* of the run so far; of a second now */
  double round_s;       /* of the longest round: the next one may take as long, under a plan on trial; 0: none was played */
  double game_s;        /* that the next evaluation may take under the plan in force, a game; NAN: none was made */
  int closing_games;    /* evaluated when the run stops here */
} mz_spent;
/* Returns why the run stops at the end of this round, MZ_GOES_ON when it does not. Limits of time and budget leave room for the
 * closing games, at most half of the limit: the rest is for training. Deadline and budget leave it for another round, too. */
mz_reason mz_limits_met(const mz_limits *limits, const mz_allocation_settings *allocation, const mz_spent *spent);
/* Returns what a game of an evaluation takes on `cores` where the last one took game_s on `measured` of them (0: not known): more on
 * fewer, no less on more. */
double mz_limits_game_s(double game_s, int measured, int cores);
