/* Tic-tac-toe. Cells, and the actions that fill them, are numbered row by row from the top left: 0 is a1, 8 is c3. */
#include "envs/bundled.h"
#include <pthread.h>
#include <string.h>

enum { SIDE = 3, CELLS = 9, FULL = (1 << CELLS) - 1, SYMMETRIES = 8 };

typedef struct position {
  uint16_t stones[2]; /* bit c: the player's stone is on cell c */
  uint8_t moves;
  uint8_t ended;
  uint8_t padding[2];
} position;

static bool has_line(unsigned stones) {
  static const uint16_t lines[] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124}; /* octal: a digit is a row */
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    if ((stones & lines[i]) == lines[i]) return true;
  }
  return false;
}

static unsigned free_cells(const position *p) { return p->ended ? 0 : FULL & ~(unsigned)(p->stones[0] | p->stones[1]); }

static int mover(const position *p) { return p->moves & 1; }

/* The reward of the mover: 1 for a line, else 0. */
static float play(position *p, int cell) {
  uint16_t *own = &p->stones[mover(p)];
  *own = (uint16_t)(*own | 1u << cell);
  const bool won = has_line(*own);
  p->moves++;
  p->ended = won || p->moves == CELLS;
  return won ? 1.0f : 0.0f;
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
    MZ_ASSERT(actions[i] >= 0 && actions[i] < CELLS && free_cells(&p[i]) >> actions[i] & 1);
    const float reward = play(&p[i], actions[i]);
    results[i] = (mz_step){.reward = reward, .terminated = p[i].ended};
  }
  return MZ_OK;
}

/* NHWC, 3 × 3 × 3: {own stone, opponent's stone, the side to move began the game}. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++) {
    const int own = mover(&p[i]);
    for (int cell = 0; cell < CELLS; cell++) {
      *out++ = p[i].stones[own] >> cell & 1;
      *out++ = p[i].stones[1 - own] >> cell & 1;
      *out++ = own == 0;
    }
  }
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const unsigned cells = free_cells(state);
  for (int cell = 0; cell < CELLS; cell++) mask[cell] = cells >> cell & 1;
  return __builtin_popcount(cells);
}

static bool valid(const mz_env *env, const void *state) {
  (void)env;
  const position *p = state;
  const unsigned x = p->stones[0], o = p->stones[1];
  const int moves = __builtin_popcount(x | o);
  return !(x & o) && (x | o) <= FULL && p->moves == moves && moves < CELLS && __builtin_popcount(x) == (moves + 1) / 2 &&
         !has_line(x) && !has_line(o) && !p->ended && !p->padding[0] && !p->padding[1];
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return mover(state);
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char cells[CELLS];
  for (int c = 0; c < CELLS; c++) cells[c] = p->stones[0] >> c & 1 ? 'x' : p->stones[1] >> c & 1 ? 'o' : '.';
  return snprintf(out, size, "  a b c\n1 %c %c %c\n2 %c %c %c\n3 %c %c %c\n", cells[0], cells[1], cells[2], cells[3], cells[4],
                  cells[5], cells[6], cells[7], cells[8]);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  return snprintf(out, size, "%c%d", 'a' + action % SIDE, 1 + action / SIDE);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  for (int c = 0; c < CELLS; c++) out[c] = (p->stones[0] >> c & 1) - (p->stones[1] >> c & 1);
  return CELLS;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  position p = {.moves = (uint8_t)moves};
  for (int c = 0; c < CELLS; c++) {
    if (from[c] != 0) p.stones[from[c] < 0] = (uint16_t)(p.stones[from[c] < 0] | 1u << c);
  }
  p.ended = moves == CELLS || has_line(p.stones[0]) || has_line(p.stones[1]);
  memcpy(state, &p, sizeof p);
}

/* --- perfect play: every position that can be reached, solved on first use --- */

typedef struct solution {
  uint16_t optimal; /* bit c: playing there keeps the value */
  int8_t value;     /* +1, 0, −1 for the player to move */
  bool known;
} solution;

enum { TERNARY = 19683 }; /* 3^9 */
static solution solutions[TERNARY];
static pthread_once_t solved = PTHREAD_ONCE_INIT;

/* Reads the board as a number of nine ternary digits. */
static int position_index(const position *p) {
  int index = 0;
  for (int c = CELLS - 1; c >= 0; c--) index = 3 * index + (p->stones[0] >> c & 1) + 2 * (p->stones[1] >> c & 1);
  return index;
}

static int solve(const position *p) {
  solution *s = &solutions[position_index(p)];
  if (s->known) return s->value;
  *s = (solution){.known = true, .value = -1};
  if (p->ended) { /* whoever won was the last to move */
    s->value = has_line(p->stones[1 - mover(p)]) ? -1 : 0;
    return s->value;
  }
  const unsigned cells = free_cells(p);
  for (int cell = 0; cell < CELLS; cell++) {
    if (!(cells >> cell & 1)) continue;
    position next = *p;
    play(&next, cell);
    const int8_t value = (int8_t)-solve(&next);
    if (value > s->value) *s = (solution){.known = true, .value = value};
    if (value == s->value) s->optimal = (uint16_t)(s->optimal | 1u << cell);
  }
  return s->value;
}

static void solve_all(void) { solve(&(position){0}); }

static void expert(const mz_env *env, const void *state, uint8_t *optimal_mask, float *value) {
  (void)env;
  const int failed = pthread_once(&solved, solve_all);
  MZ_ASSERT(!failed);
  const solution *s = &solutions[position_index(state)];
  MZ_ASSERT(s->known);
  for (int cell = 0; cell < CELLS; cell++) optimal_mask[cell] = s->optimal >> cell & 1;
  *value = s->value;
}

const mz_env mz_env_tictactoe = {
    .name = "tictactoe",
    .title = "Tic-tac-toe: three in a row on a 3 × 3 board",
    .rules = "Two players fill one empty cell in turn. Three own stones in a row, column or diagonal win: reward 1 to the player "
             "who completes them. A full board without a line is a draw. Actions are cells, row by row: a1 b1 c1 a2 … c3.",
    .observation = "3 × 3 cells × 3 planes of 0 and 1: own stones, opponent's stones, all ones where the side to move began",
    .spec = {.obs_kind = MZ_OBS_U8,
             .obs_shape = {SIDE, SIDE, 3},
             .obs_size = 3 * CELLS,
             .actions = CELLS,
             .players = 2,
             .turns = MZ_TURNS_ALTERNATE,
             .action_kind = MZ_ACTIONS_CELLS,
             .symmetries = SYMMETRIES,
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
    .expert = expert,
    .numbers = numbers,
    .load = load,
};
