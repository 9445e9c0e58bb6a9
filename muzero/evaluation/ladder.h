/* The strength of a run over time: its checkpoints play each other and a few fixed players, and get Elo ratings. */
#pragma once
#include "muzero/evaluation/ratings.h"
#include "selfplay/evaluation/evaluate.h"

typedef struct mz_rung {
  char name[64];                      /* "random", "round-000000120" */
  bool checkpoint;                    /* or else an anchor: random, rule and mcts:100, as far as the game offers them */
  int64_t rounds, updates, env_steps; /* of a checkpoint, as is wall_s: of training until then */
  double wall_s;
  double elo, elo_error;   /* random is 0; standard error of the difference from it */
  double gain, gain_error; /* over the checkpoint before; NAN where there is none */
  int64_t games;
  double points;
} mz_rung;

typedef struct mz_ladder_result {
  int a, b;                 /* rungs */
  mz_evaluation evaluation; /* of a */
} mz_ladder_result;

typedef struct mz_ladder {
  const mz_env *env;
  int count, result_count;
  mz_rung *rungs;                   /* anchors, then checkpoints from the oldest on */
  mz_ladder_result *results;        /* one for each pair that played */
  int games, openings, simulations; /* of a pair; random moves a game; of the latest checkpoint, a move */
} mz_ladder;

typedef struct mz_ladder_options {
  int games;       /* that a pair plays, ≥ 1 */
  int openings;    /* random moves that begin a game; −1: mz_opening_default */
  int simulations; /* a move; 0: as each was trained */
  uint64_t seed;
  const char *device;                  /* as --device; NULL: "auto" */
  void (*tick)(int played, int pairs); /* after each pair; may be NULL */
} mz_ladder_options;

/* Plays the ladder of the checkpoints in DIR/checkpoints. Anchors all meet each other and every checkpoint; checkpoints meet
 * those 1, 2, 4, 8 … places further on, so that n of them play n log n pairs. The same for any number of threads. A checkpoint
 * that is damaged or vanishes (the run may still train) is left out with a warning. MZ_E_CONFIG for a path that is no directory,
 * a game for one, or no openings where only they tell games apart; otherwise as mz_run_checkpoint_path and mz_loaded_open. */
mz_status mz_ladder_play(mz_ladder *out, const char *dir, const mz_ladder_options *options, mz_pool *pool);
void mz_ladder_deinit(mz_ladder *ladder);
