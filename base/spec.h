/* Properties of an environment that other rooms need, as plain data. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mz_obs_kind {
  MZ_OBS_U8, /* one byte an entry: a small number (planes of 0/1 …), or brightness; networks read it times obs_scale */
  MZ_OBS_F32,
} mz_obs_kind;

/* Where an action is on a board of height × width: what a convolution is told of it. */
typedef enum mz_action_kind {
  MZ_ACTIONS_PLAIN,      /* nowhere in particular */
  MZ_ACTIONS_CELLS,      /* action = row · width + column */
  MZ_ACTIONS_CELLS_PASS, /* and one more, the last: a pass */
  MZ_ACTIONS_COLUMNS,    /* action = column */
  MZ_ACTIONS_DIRECTIONS, /* up, right, down, left: nowhere in particular, but symmetries turn them */
} mz_action_kind;

/* Who moves next. Two players: what one wins the other loses, so what is good for one counts negatively for the other. */
typedef enum mz_turns {
  MZ_TURNS_ALONE,     /* one player */
  MZ_TURNS_ALTERNATE, /* two players move strictly in turn; a pass is an action */
  MZ_TURNS_TOLD,      /* two players; who moves next depends on the game: the state says (to_play) */
} mz_turns;

typedef struct mz_spec {
  mz_obs_kind obs_kind;
  int obs_shape[3]; /* height, width, channels (NHWC); a vector is {1, 1, n} */
  int obs_size;     /* entries: the product */
  float obs_scale;  /* of bytes, as 1/255 for pictures; 0: 1 */
  int frames;       /* that the channels are stacked of, the oldest first; divides them; 0: 1 */
  int actions;
  mz_action_kind action_kind;
  int players;    /* 1 or 2 */
  mz_turns turns; /* two players: one of the last two */
  int max_moves;  /* time limit in moves after which a game is *truncated*; 0: none */
  int longest;    /* without a limit: moves after which every game has ended by itself, for plans of memory; 0: not known */
  int outcomes;   /* of chance after a move, by number (mz_step.outcome); 0: none, or without numbers */
  int symmetries; /* of the board, including the identity: 1, 2 or 8 (symmetry.h) */
  bool half_turn; /* the second of two symmetries is half a turn, instead of columns mirrored */
  float reward_min, reward_max, return_min, return_max; /* per step; per game */
  bool one_sided; /* neither changes its sign: bins of rewards and values reach from 0 to one side only */
} mz_spec;

/* Whether there is a second player, whose rewards count negatively for the first. */
static inline bool mz_spec_zero_sum(const mz_spec *spec) { return spec->turns != MZ_TURNS_ALONE; }

/* Returns what a reward of the mover is worth to a player: who moved (`own`), or somebody else. */
static inline double mz_spec_gain(const mz_spec *spec, bool own, float reward) {
  return own ? (double)reward : mz_spec_zero_sum(spec) ? -(double)reward : 0;
}

static inline size_t mz_spec_obs_bytes(const mz_spec *spec) {
  return (size_t)spec->obs_size * (spec->obs_kind == MZ_OBS_U8 ? 1 : sizeof(float));
}
