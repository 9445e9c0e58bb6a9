/* Connect Four on words of bits, laid out as connect_four_board.h says. */
#include "envs/bundled.h"
#include "envs/connect_four/connect_four_board.h"
#include "envs/connect_four/connect_four_perfect.h"
#include "envs/fast_random.h"
#include <string.h>

enum {
  ROWS = MZ_CONNECT_FOUR_ROWS,
  COLUMNS = MZ_CONNECT_FOUR_COLUMNS,
  CELLS = MZ_CONNECT_FOUR_CELLS,
  STRIDE = MZ_CONNECT_FOUR_HEIGHT,
  TEXT_MAX = 128,
};

typedef struct position {
  uint64_t stones[2];
  uint8_t moves;
  uint8_t ended;
  uint8_t padding[6];
} position;

static int mover(const position *p) { return p->moves & 1; }

/* The landing cell of a column; 0 where it is full or the game has ended. */
static uint64_t landing_cell(const position *p, int column) {
  return p->ended ? 0 : mz_connect_four_playable_cells(p->stones[0] | p->stones[1]) & mz_connect_four_column(column);
}

/* --- the environment --- */

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env, (void)generator;
  memset(state, 0, sizeof(position));
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++) {
    MZ_ASSERT(actions[i] >= 0 && actions[i] < COLUMNS && landing_cell(&p[i], actions[i]));
    uint64_t *own = &p[i].stones[mover(&p[i])];
    *own |= landing_cell(&p[i], actions[i]);
    const bool won = mz_connect_four_has_four(*own);
    p[i].moves++;
    p[i].ended = won || p[i].moves == CELLS;
    results[i] = (mz_step){.reward = won ? 1.0f : 0.0f, .terminated = p[i].ended};
  }
  return MZ_OK;
}

/* NHWC, 6 × 7 × 3: {own stone, opponent's stone, the side to move began the game}; row 0 is the top one. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++) {
    const int own = mover(&p[i]);
    for (int cell = 0; cell < CELLS; cell++) {
      const uint64_t bit = mz_connect_four_cell(cell);
      *out++ = (p[i].stones[own] & bit) != 0;
      *out++ = (p[i].stones[1 - own] & bit) != 0;
      *out++ = own == 0;
    }
  }
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  int count = 0;
  for (int column = 0; column < COLUMNS; column++) count += mask[column] = landing_cell(state, column) != 0;
  return count;
}

/* In every column the stones lie on each other, and its seventh bit is clear. */
static bool is_stacked(uint64_t occupied) {
  for (int column = 0; column < COLUMNS; column++) {
    const uint64_t cells = occupied >> STRIDE * column & (MZ_CONNECT_FOUR_COLUMN << 1 | 1);
    if (cells > MZ_CONNECT_FOUR_COLUMN || (cells & (cells + 1))) return false;
  }
  return occupied >> STRIDE * COLUMNS == 0;
}

static bool valid(const mz_env *env, const void *state) {
  (void)env;
  const position *p = state;
  const uint64_t occupied = p->stones[0] | p->stones[1];
  const int moves = __builtin_popcountll(occupied);
  uint8_t rest = p->ended;
  for (size_t i = 0; i < sizeof p->padding; i++) rest |= p->padding[i];
  return !rest && !(p->stones[0] & p->stones[1]) && is_stacked(occupied) && p->moves == moves && moves < CELLS &&
         __builtin_popcountll(p->stones[0]) == (moves + 1) / 2 && !mz_connect_four_has_four(p->stones[0]) &&
         !mz_connect_four_has_four(p->stones[1]);
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return mover(state);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char lines[TEXT_MAX], *at = lines;
  for (int cell = 0; cell < CELLS; cell++) {
    const uint64_t bit = mz_connect_four_cell(cell);
    *at++ = p->stones[0] & bit ? 'x' : p->stones[1] & bit ? 'o' : '.';
    *at++ = cell % COLUMNS == COLUMNS - 1 ? '\n' : ' ';
  }
  *at = 0;
  return snprintf(out, size, "%sa b c d e f g\n", lines);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  return snprintf(out, size, "%c", 'a' + action);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  for (int cell = 0; cell < CELLS; cell++) {
    const uint64_t bit = mz_connect_four_cell(cell);
    out[cell] = ((p->stones[0] & bit) != 0) - ((p->stones[1] & bit) != 0);
  }
  return CELLS;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  position p = {.moves = (uint8_t)moves};
  for (int cell = 0; cell < CELLS; cell++) {
    if (from[cell] != 0) p.stones[from[cell] < 0] |= mz_connect_four_cell(cell);
  }
  p.ended = moves == CELLS || mz_connect_four_has_four(p.stones[0]) || mz_connect_four_has_four(p.stones[1]);
  memcpy(state, &p, sizeof p);
}

/* --- random playouts --- */

/* The columns that are not full, ascending, four bits each from the lowest. */
typedef struct open_columns {
  uint32_t columns;
  unsigned count;
} open_columns;

static void remove_nth(open_columns *open, unsigned nth) {
  const uint32_t below = (1u << 4 * nth) - 1;
  open->columns = (open->columns & below) | (open->columns >> 4 & ~below);
  open->count--;
}

static float rollout(const mz_env *env, const void *state, uint64_t *random) {
  (void)env;
  const position *p = state;
  if (p->ended) return 0;
  uint64_t own = p->stones[mover(p)], other = p->stones[1 - mover(p)], draws = *random;
  open_columns open = {0};
  for (uint32_t column = 0; column < COLUMNS; column++) {
    if (landing_cell(p, (int)column)) open.columns |= column << 4 * open.count++;
  }
  float result = 0, sign = 1;
  while (open.count > 0) {
    const unsigned nth = mz_fast_below(&draws, open.count);
    const uint64_t column = mz_connect_four_column(open.columns >> 4 * nth & 7);
    const uint64_t played = own | (mz_connect_four_playable_cells(own | other) & column);
    if (mz_connect_four_has_four(played)) {
      result = sign;
      break;
    }
    own = other;
    other = played;
    sign = -sign;
    if (((own | other) & column) == column) remove_nth(&open, nth);
  }
  *random = draws;
  return result;
}

const mz_env mz_env_connect_four = {
    .name = "connect4",
    .title = "Connect Four: four in a row on a 6 × 7 board with gravity",
    .rules =
        "Two players drop a stone in one of seven columns in turn; it falls to the lowest empty cell. Four own stones in a row, "
        "column or diagonal win: reward 1 to the player who completes them. A full board without four is a draw. Actions are "
        "columns, from the left: a … g.",
    .observation =
        "6 × 7 cells, the top row first, × 3 planes of 0 and 1: own stones, opponent's stones, all ones where the side to "
        "move began",
    .spec = {.obs_kind = MZ_OBS_U8,
             .obs_shape = {ROWS, COLUMNS, 3},
             .obs_size = 3 * CELLS,
             .actions = COLUMNS,
             .players = 2,
             .turns = MZ_TURNS_ALTERNATE,
             .action_kind = MZ_ACTIONS_COLUMNS,
             .symmetries = 2,
             .reward_min = 0,
             .reward_max = 1,
             .return_min = -1,
             .return_max = 1},
    .state_size = sizeof(position),
    .copies = true,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .to_play = to_play,
    .text = text,
    .action_text = action_text,
    .solver = &mz_connect_four_perfect,
    .rollout = rollout,
    .numbers = numbers,
    .load = load,
};
