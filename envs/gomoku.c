/* Gomoku, and k in a row on any square board. Cells, and the actions that fill them, are numbered row by row from A1, the corner at
 * the bottom left (board_text.h). */
#include "envs/board_text.h"
#include "envs/bundled.h"
#include "envs/fast_random.h"
#include "envs/variants.h"
#include <string.h>

enum { SIDE_MIN = 5, SIDE_MAX = 19, CELLS_MAX = SIDE_MAX * SIDE_MAX, CHANNELS = 3, SIDE = 15, K = 5 };

typedef struct options {
  int64_t size, k;
} options;

typedef struct position {
  uint32_t stones[2][SIDE_MAX]; /* [player][row], bit c: on column c */
  uint16_t moves;
  uint8_t size, k;
  uint8_t ended;
  uint8_t padding[3];
} position;

static int cells_of(const position *p) { return p->size * p->size; }

static int mover(const position *p) { return p->moves & 1; }

static unsigned has_stone(const uint32_t *rows, int size, int row, int column) {
  return (unsigned)row < (unsigned)size && (unsigned)column < (unsigned)size && rows[row] >> column & 1;
}

/* Whether the stone on this cell is one of k or more in a row. */
static bool in_line(const uint32_t *rows, int size, int k, int row, int column) {
  static const int8_t directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
  for (int d = 0; d < 4; d++) {
    const int down = directions[d][0], right = directions[d][1];
    int length = 1;
    for (int r = row + down, c = column + right; has_stone(rows, size, r, c); r += down, c += right) length++;
    for (int r = row - down, c = column - right; has_stone(rows, size, r, c); r -= down, c -= right) length++;
    if (length >= k) return true;
  }
  return false;
}

/* True when the move wins. */
static bool play(position *p, int cell) {
  const int row = cell / p->size, column = cell % p->size;
  uint32_t *own = p->stones[mover(p)];
  own[row] |= 1u << column;
  p->moves++;
  const bool won = in_line(own, p->size, p->k, row, column);
  p->ended = won || p->moves == cells_of(p);
  return won;
}

/* --- the environment --- */

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)generator;
  const options *o = env->options;
  const position empty = {.size = (uint8_t)o->size, .k = (uint8_t)o->k};
  memcpy(state, &empty, sizeof empty);
  return MZ_OK;
}

static bool is_free(const position *p, int cell) {
  const int row = cell / p->size;
  return !((p->stones[0][row] | p->stones[1][row]) >> cell % p->size & 1);
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++) {
    MZ_ASSERT(!p[i].ended && actions[i] >= 0 && actions[i] < cells_of(&p[i]) && is_free(&p[i], actions[i]));
    const bool won = play(&p[i], actions[i]);
    results[i] = (mz_step){.reward = won ? 1.0f : 0.0f, .terminated = p[i].ended};
  }
  return MZ_OK;
}

/* NHWC, size × size × 3: {own stone, opponent's stone, the side to move began the game}. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++) {
    const int own = mover(&p[i]);
    for (int row = 0; row < p[i].size; row++) {
      for (int column = 0; column < p[i].size; column++) {
        *out++ = p[i].stones[own][row] >> column & 1;
        *out++ = p[i].stones[1 - own][row] >> column & 1;
        *out++ = own == 0;
      }
    }
  }
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const position *p = state;
  const int cells = cells_of(p);
  if (p->ended) {
    memset(mask, 0, (size_t)cells);
    return 0;
  }
  for (int row = 0; row < p->size; row++) {
    const uint32_t unoccupied = ~(p->stones[0][row] | p->stones[1][row]);
    for (int column = 0; column < p->size; column++) *mask++ = unoccupied >> column & 1;
  }
  return cells - p->moves;
}

/* Counts each player's stones; false where one lies beyond the board, on another, or in a line that has won. */
static bool count_stones(const position *p, int counts[2]) {
  for (int row = 0; row < SIDE_MAX; row++) {
    const uint32_t first = p->stones[0][row], second = p->stones[1][row];
    if (first & second || (first | second) >> (row < p->size ? p->size : 0)) return false;
    counts[0] += __builtin_popcount(first);
    counts[1] += __builtin_popcount(second);
  }
  for (int cell = 0; cell < cells_of(p); cell++) {
    const int row = cell / p->size, column = cell % p->size;
    for (int player = 0; player < 2; player++) {
      if (has_stone(p->stones[player], p->size, row, column) && in_line(p->stones[player], p->size, p->k, row, column))
        return false;
    }
  }
  return true;
}

static bool valid(const mz_env *env, const void *state) {
  const options *o = env->options;
  const position *p = state;
  if (p->size != o->size || p->k != o->k || p->ended || p->padding[0] || p->padding[1] || p->padding[2]) return false;
  int counts[2] = {0};
  return count_stones(p, counts) && p->moves == counts[0] + counts[1] && p->moves < cells_of(p) &&
         counts[0] == (p->moves + 1) / 2;
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return mover(state);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char cells[CELLS_MAX];
  for (int cell = 0; cell < cells_of(p); cell++) {
    const int row = cell / p->size, column = cell % p->size;
    cells[cell] = p->stones[0][row] >> column & 1 ? 'X' : p->stones[1][row] >> column & 1 ? 'O' : '.';
  }
  return mz_board_text(p->size, cells, out, size);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  const options *o = env->options;
  return mz_point_text((int)o->size, action, out, size);
}

static float rollout(const mz_env *env, const void *state, uint64_t *random) {
  (void)env;
  position p = *(const position *)state;
  const int player = mover(&p);
  uint16_t unoccupied[CELLS_MAX];
  uint32_t count = 0;
  for (int cell = 0; cell < cells_of(&p); cell++) {
    if (is_free(&p, cell)) unoccupied[count++] = (uint16_t)cell;
  }
  while (!p.ended) {
    const uint32_t chosen = mz_fast_below(random, count);
    const int by = mover(&p), cell = unoccupied[chosen];
    memmove(&unoccupied[chosen], &unoccupied[chosen + 1], (--count - chosen) * sizeof unoccupied[0]);
    if (play(&p, cell)) return by == player ? 1 : -1;
  }
  return 0;
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  for (int row = 0; row < p->size; row++) {
    for (int column = 0; column < p->size; column++)
      *out++ = (double)(p->stones[0][row] >> column & 1) - (double)(p->stones[1][row] >> column & 1);
  }
  return cells_of(p);
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  position p;
  reset(env, &p, NULL);
  p.moves = (uint16_t)moves;
  for (int cell = 0; cell < cells_of(&p); cell++) {
    if (from[cell] != 0) p.stones[from[cell] < 0][cell / p.size] |= 1u << cell % p.size;
  }
  p.ended = moves == cells_of(&p);
  for (int cell = 0; cell < cells_of(&p) && !p.ended; cell++) {
    if (from[cell] != 0) p.ended = in_line(p.stones[from[cell] < 0], p.size, p.k, cell / p.size, cell % p.size);
  }
  memcpy(state, &p, sizeof p);
}

/* --- variants --- */

static const mz_setting rows[] = {
    MZ_SETTING(options, size, "size", MZ_INT, MZ_ALGORITHMIC, SIDE_MIN, SIDE_MAX, "15", "", "rows and columns of the board"),
    MZ_SETTING(options, k, "k", MZ_INT, MZ_ALGORITHMIC, 3, SIDE_MAX, "5", "", "stones in a row that win; at most size"),
};

#define SPEC(n)                                                                                                                  \
  {                                                                                                                              \
    .obs_kind = MZ_OBS_U8, .obs_shape = {(n), (n), CHANNELS}, .obs_size = (n) * (n)*CHANNELS, .actions = (n) * (n),              \
    .players = 2, .turns = MZ_TURNS_ALTERNATE, .action_kind = MZ_ACTIONS_CELLS, .symmetries = 8, .reward_min = 0,                \
    .reward_max = 1, .return_min = -1, .return_max = 1                                                                           \
  }

static mz_status fill(mz_env *env, const char *where) {
  const options *o = env->options;
  if (o->k > o->size)
    return mz_fail(MZ_E_CONFIG, "%s: k=%lld: does not fit the board; k takes 3 … %lld there", where, (long long)o->k,
                   (long long)o->size);
  const int size = (int)o->size;
  env->spec = (mz_spec)SPEC(size);
  return MZ_OK;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_gomoku = {
    .name = "gomoku",
    .title = "Gomoku: five in a row on a 15 × 15 board, or k on another",
    .rules =
        "Freestyle: two players fill one empty cell in turn, and k or more own stones (5) in a row, column or diagonal win: "
        "reward 1 to the player who completes them. A full board without such a line is a draw. Actions are cells, row by row "
        "from the bottom left: A1 B1 … without I. As OpenSpiel's gomoku.",
    .observation = "cells × 3 planes of 0 and 1: own stones, opponent's stones, all ones where the side to move began",
    .spec = SPEC(SIDE),
    .state_size = sizeof(position),
    .copies = true,
    .options = &(const options){.size = SIDE, .k = K},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .to_play = to_play,
    .text = text,
    .action_text = action_text,
    .rollout = rollout,
    .numbers = numbers,
    .load = load,
};
