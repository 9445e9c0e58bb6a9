/* The actions of GTP commands; gtp.c has their syntax. */
#pragma once
#include "cli/playing/mover.h"

typedef struct mz_gtp {
  mz_live_game game;
  mz_mover agent;
  double komi; /* of final_score; the agent plays by that of its game */
  bool quits;
} mz_gtp;

/* Deinit is safe on a zeroed one and after a failed init. MZ_E_CONFIG for a game that is played alone. */
mz_status mz_gtp_init(mz_gtp *gtp, const mz_mover_arguments *arguments);
void mz_gtp_deinit(mz_gtp *gtp);
/* Carries out a command with its arguments, words with spaces between; `line` is written to. The response without its frame goes to
 * `out`; *refused: it says why not, and the game is as it was. Failures are those that end the program. */
mz_status mz_gtp_obey(mz_gtp *gtp, char *line, FILE *out, bool *refused);
