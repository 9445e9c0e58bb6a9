/* 2048 (Cirulli, 2014), as OpenSpiel has it, but without a largest tile. Tiles are kept as powers of two: 1 is a 2, 11 is 2048. */
#include "envs/bundled.h"
#include <math.h>
#include <string.h>

/* Play makes no larger tile than 2^17: a pair of them takes 4, 4, 8, 16 … 2^16 beside one, which is a cell too many. Boards
 * from outside may hold such pairs: they do not merge. */
enum { SIDE = 4, CELLS = 16, POWER_MAX = 17, PLANES = POWER_MAX + 1, ACTIONS = 4 };
enum { UP, RIGHT, DOWN, LEFT };

/* All tiles together: a move pays no more, and a game pays less than for the making of the largest tiles there can be. */
#define SUM_MAX 262140.0f
#define RETURN_MAX 3932156.0f

typedef struct board {
  uint8_t cells[CELLS]; /* row by row; 0: empty */
  uint32_t moves;
  uint8_t ended, padding[3];
} board;

/* The cells of line `i`, beginning at the edge to which the tiles move. */
static void line_of(int action, int i, int out[SIDE]) {
  for (int k = 0; k < SIDE; k++) {
    const int along = action == RIGHT || action == DOWN ? SIDE - 1 - k : k;
    out[k] = action == UP || action == DOWN ? SIDE * along + i : SIDE * i + along;
  }
}

/* Moves the tiles of one line, and merges each pair of equal ones once; returns the sum of the merged tiles. */
static unsigned slide(uint8_t *cells, const int line[SIDE]) {
  uint8_t out[SIDE] = {0};
  int count = 0;
  bool merges = false; /* the last of `out` is not merged yet */
  unsigned sum = 0;
  for (int k = 0; k < SIDE; k++) {
    const uint8_t tile = cells[line[k]];
    if (tile == 0) continue;
    if (merges && out[count - 1] == tile && tile < POWER_MAX) {
      sum += 1u << ++out[count - 1];
      merges = false;
    } else {
      out[count++] = tile;
      merges = true;
    }
  }
  for (int k = 0; k < SIDE; k++) cells[line[k]] = out[k];
  return sum;
}

static unsigned slide_all(board *b, int action) {
  unsigned sum = 0;
  for (int i = 0; i < SIDE; i++) {
    int line[SIDE];
    line_of(action, i, line);
    sum += slide(b->cells, line);
  }
  return sum;
}

/* Which moves change the board, a bit each: a pair of neighbours can move apart or merge. */
static unsigned moves_of(const board *b) {
  unsigned moves = 0;
  for (int row = 0; row < SIDE; row++) {
    for (int k = 0; k < SIDE - 1; k++) {
      const uint8_t left = b->cells[SIDE * row + k], right = b->cells[SIDE * row + k + 1];
      const uint8_t upper = b->cells[SIDE * k + row], lower = b->cells[SIDE * (k + 1) + row];
      const unsigned merged = left && left == right && left < POWER_MAX, piled = upper && upper == lower && upper < POWER_MAX;
      moves |= (merged | (!left && right)) << LEFT | (merged | (left && !right)) << RIGHT;
      moves |= (piled | (!upper && lower)) << UP | (piled | (upper && !lower)) << DOWN;
    }
  }
  return moves;
}

static int empty_cells(const board *b, uint8_t out[CELLS]) {
  int count = 0;
  for (int cell = 0; cell < CELLS; cell++) {
    out[count] = (uint8_t)cell;
    count += b->cells[cell] == 0;
  }
  return count;
}

/* A new tile on a random empty cell: a 2, or with probability 1/10 a 4. Returns the outcome of chance, as OpenSpiel numbers it. */
static int add_tile(board *b, const mz_generator *generator) {
  uint8_t empty[CELLS + 1];
  const int count = empty_cells(b, empty), cell = empty[mz_generator_below(generator, (uint32_t)count)];
  const bool four = mz_generator_f64(generator) >= 0.9;
  b->cells[cell] = four ? 2 : 1;
  return 2 * cell + four;
}

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  board *b = state;
  memset(b, 0, sizeof *b);
  add_tile(b, generator);
  add_tile(b, generator);
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env;
  board *b = states;
  for (int i = 0; i < n; i++, b++) {
    const board before = *b;
    const unsigned sum = slide_all(b, actions[i]);
    MZ_ASSERT(memcmp(before.cells, b->cells, CELLS) != 0);
    const int outcome = add_tile(b, &generators[i]);
    b->moves += b->moves < UINT32_MAX;
    b->ended = moves_of(b) == 0;
    results[i] = (mz_step){.reward = (float)sum, .terminated = b->ended, .outcome = outcome};
  }
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  (void)env;
  const board *b = state;
  for (int cell = 0; cell < CELLS; cell++)
    if (b->cells[cell] > POWER_MAX) return false;
  return moves_of(b) != 0 && !b->ended && !b->padding[0] && !b->padding[1] && !b->padding[2];
}

/* One plane a power of two, and one for empty cells. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  const board *b = states;
  uint8_t *out = observations;
  memset(out, 0, (size_t)n * (size_t)env->spec.obs_size);
  for (int i = 0; i < n; i++, b++)
    for (int cell = 0; cell < CELLS; cell++, out += PLANES) out[b->cells[cell]] = 1;
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const unsigned moves = moves_of(state);
  for (int a = 0; a < ACTIONS; a++) mask[a] = moves >> a & 1;
  return __builtin_popcount(moves);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const board *b = state;
  char picture[CELLS * 16], *at = picture;
  for (int cell = 0; cell < CELLS; cell++) {
    if (b->cells[cell] == 0)
      at += sprintf(at, "%7s", ".");
    else
      at += sprintf(at, "%7lu", 1ul << b->cells[cell]);
    if (cell % SIDE == SIDE - 1) at += sprintf(at, "\n");
  }
  return snprintf(out, size, "%smove %u\n", picture, (unsigned)b->moves);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  static const char *const names[ACTIONS] = {[UP] = "up", [RIGHT] = "right", [DOWN] = "down", [LEFT] = "left"};
  return snprintf(out, size, "%s", names[action]);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const board *b = state;
  for (int cell = 0; cell < CELLS; cell++) out[cell] = b->cells[cell] ? ldexp(1, b->cells[cell]) : 0;
  return CELLS;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  board *b = state;
  memset(b, 0, sizeof *b);
  for (int cell = 0; cell < CELLS; cell++) b->cells[cell] = from[cell] > 0 ? (uint8_t)ilogb(from[cell]) : 0;
  b->moves = (uint32_t)moves;
  b->ended = moves_of(b) == 0;
}

const mz_env mz_env_2048 = {
    .name = "2048",
    .title = "2048: slide and merge tiles on a 4 × 4 board",
    .rules =
        "Actions 0, 1, 2, 3 slide all tiles up, right, down, left as far as they go; two equal tiles that meet become one of "
        "their sum, once a move, and pay it as reward. What would not change the board is not legal. Then a tile appears on "
        "a random empty cell: a 2, or with probability 1/10 a 4. The game ends when nothing can move; there is no largest "
        "tile. Two tiles at the start. As OpenSpiel's 2048 without max_tile.",
    .observation = "4 × 4 cells × 18 planes of 0 and 1: empty, 2, 4, 8 … 131072",
    .spec = {.obs_kind = MZ_OBS_U8,
             .obs_shape = {SIDE, SIDE, PLANES},
             .obs_size = CELLS * PLANES,
             .actions = ACTIONS,
             .action_kind = MZ_ACTIONS_DIRECTIONS,
             .players = 1,
             .symmetries = 8,
             .outcomes = 2 * CELLS,
             .reward_min = 0,
             .reward_max = SUM_MAX,
             .return_min = 0,
             .return_max = RETURN_MAX,
             .one_sided = true},
    .state_size = sizeof(board),
    .copies = true,
    .reset = reset,
    .step = step,
    .draws = true,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .text = text,
    .action_text = action_text,
    .numbers = numbers,
    .load = load,
};
