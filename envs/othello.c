/* Othello on bitboards. Bit 8 · row + column of an 8 × 8 field, a1 lowest; a smaller board lies in its middle, where it has the
 * same first position and an empty border that no run of discs crosses. */
#include "envs/bundled.h"
#include "envs/fast_random.h"
#include <string.h>

enum { FIELD = 8, SMALL = 6, TEXT_MAX = 256 };

typedef struct variant {
  int size; /* FIELD or SMALL */
} variant;

typedef struct position {
  uint64_t discs[2]; /* black, who begins, and white */
  uint64_t moves;    /* where the player to move may place a disc; 0 where they must pass, or the game has ended */
  uint8_t mover;
  uint8_t ended;
  uint8_t size;
  uint8_t padding[5];
} position;

static const uint64_t first_cells = 1ull << 27 | 1ull << 28 | 1ull << 35 | 1ull << 36; /* occupied from the start */

static int cell_count(const position *p) { return p->size * p->size; }

static int bit_of_cell(int size, int cell) {
  const int margin = (FIELD - size) / 2;
  return FIELD * (cell / size + margin) + cell % size + margin;
}

static uint64_t board_cells(int size) { return size == FIELD ? ~0ull : 0x007e7e7e7e7e7e00; }

/* --- runs of discs --- */

enum { DIRECTIONS = 4 }; /* each upwards (to higher bits) and downwards */
static const int shifts[DIRECTIONS] = {1, FIELD, FIELD - 1, FIELD + 1};

/* Cells that a run may go through: sideways never the outer columns, from where a shift would wrap into the next row. */
static uint64_t passable(uint64_t discs, int direction) { return direction == 1 ? discs : discs & 0x7e7e7e7e7e7e7e7e; }

/* The cells of `through` that follow those of `from` without a gap, at most six (Kogge–Stone: doubling steps). */
static inline uint64_t run_up(uint64_t from, uint64_t through, int shift) {
  uint64_t run = through & from << shift;
  run |= through & run << shift;
  const uint64_t pairs = through & through << shift;
  run |= pairs & run << 2 * shift;
  return run | (pairs & run << 2 * shift);
}
static inline uint64_t run_down(uint64_t from, uint64_t through, int shift) {
  uint64_t run = through & from >> shift;
  run |= through & run >> shift;
  const uint64_t pairs = through & through >> shift;
  run |= pairs & run >> 2 * shift;
  return run | (pairs & run >> 2 * shift);
}

/* Where `own` may place a disc: an empty cell behind a run of `other`. */
static inline uint64_t find_moves(uint64_t own, uint64_t other, uint64_t board) {
  uint64_t behind = 0;
  for (int d = 0; d < DIRECTIONS; d++) {
    const uint64_t through = passable(other, d);
    behind |= run_up(own, through, shifts[d]) << shifts[d] | run_down(own, through, shifts[d]) >> shifts[d];
  }
  return behind & board & ~(own | other);
}

/* Returns the discs that one of `own` placed on `cell` turns over: the runs that end at another disc of `own`. */
static inline uint64_t find_flips(uint64_t cell, uint64_t own, uint64_t other) {
  uint64_t flips = 0;
  for (int d = 0; d < DIRECTIONS; d++) {
    const uint64_t through = passable(other, d);
    const uint64_t up = run_up(cell, through, shifts[d]), down = run_down(cell, through, shifts[d]);
    flips |= (up << shifts[d] & own ? up : 0) | (down >> shifts[d] & own ? down : 0);
  }
  return flips;
}

/* --- moves --- */

/* 1, 0 or -1: who has more discs, for `own`. */
static float outcome(uint64_t own, uint64_t other) {
  const int lead = __builtin_popcountll(own) - __builtin_popcountll(other);
  return (float)((lead > 0) - (lead < 0));
}

/* Sets what follows from the discs and the player to move. */
static void find_state(position *p) {
  const uint64_t own = p->discs[p->mover], other = p->discs[1 - p->mover], board = board_cells(p->size);
  p->moves = find_moves(own, other, board);
  p->ended = !p->moves && !find_moves(other, own, board);
}

/* The reward of the mover. */
static float play(position *p, int action) {
  uint64_t *own = &p->discs[p->mover], *other = &p->discs[1 - p->mover];
  if (action < cell_count(p)) {
    const uint64_t cell = 1ull << bit_of_cell(p->size, action), flips = find_flips(cell, *own, *other);
    *own |= cell | flips;
    *other &= ~flips;
  }
  p->mover = 1 - p->mover;
  find_state(p);
  return p->ended ? outcome(*own, *other) : 0;
}

static bool is_legal(const position *p, int action) {
  if (p->ended || action < 0) return false;
  if (action < cell_count(p)) return p->moves >> bit_of_cell(p->size, action) & 1;
  return action == cell_count(p) && !p->moves;
}

/* --- the environment --- */

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)generator;
  const variant *options = env->options;
  position p = {.discs = {1ull << 28 | 1ull << 35, 1ull << 27 | 1ull << 36}, .size = (uint8_t)options->size};
  find_state(&p);
  memcpy(state, &p, sizeof p);
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++) {
    MZ_ASSERT(is_legal(&p[i], actions[i]));
    const float reward = play(&p[i], actions[i]);
    results[i] = (mz_step){.reward = reward, .terminated = p[i].ended};
  }
  return MZ_OK;
}

/* NHWC, size × size × 3: {own disc, opponent's disc, the side to move began the game (is black)}. */
static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++) {
    const uint64_t own = p[i].discs[p[i].mover], other = p[i].discs[1 - p[i].mover];
    for (int cell = 0; cell < cell_count(&p[i]); cell++) {
      const int bit = bit_of_cell(p[i].size, cell);
      *out++ = own >> bit & 1;
      *out++ = other >> bit & 1;
      *out++ = p[i].mover == 0;
    }
  }
}

/* The lowest eight bits as bytes of 0 and 1, the lowest first. */
static uint64_t bytes_of_bits(uint64_t bits) {
  const uint64_t apart = (bits & 0xff) * 0x0101010101010101 & 0x8040201008040201; /* byte b keeps bit b only */
  return (apart + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101;
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const position *p = state;
  for (int row = 0; row < p->size; row++, mask += p->size) {
    const uint64_t bytes = bytes_of_bits(p->moves >> bit_of_cell(p->size, row * p->size));
    if (p->size == FIELD)
      memcpy(mask, &bytes, FIELD);
    else
      memcpy(mask, &bytes, SMALL);
  }
  *mask = !p->ended && !p->moves;
  return __builtin_popcountll(p->moves) + *mask;
}

static bool valid(const mz_env *env, const void *state) {
  const variant *options = env->options;
  const position *p = state;
  if (p->size != options->size || p->mover > 1 || p->ended) return false;
  for (size_t i = 0; i < sizeof p->padding; i++) {
    if (p->padding[i]) return false;
  }
  const uint64_t discs = p->discs[0] | p->discs[1];
  if (p->discs[0] & p->discs[1] || discs & ~board_cells(p->size) || (discs & first_cells) != first_cells) return false;
  position found = *p;
  find_state(&found);
  return p->moves == found.moves && !found.ended;
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return ((const position *)state)->mover;
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char lines[TEXT_MAX], *at = lines;
  for (int cell = 0; cell < cell_count(p); cell++) {
    const int bit = bit_of_cell(p->size, cell);
    if (cell % p->size == 0) *at++ = (char)('1' + cell / p->size);
    *at++ = ' ';
    *at++ = p->discs[0] >> bit & 1 ? 'x' : p->discs[1] >> bit & 1 ? 'o' : '.';
    if (cell % p->size == p->size - 1) *at++ = '\n';
  }
  *at = 0;
  return snprintf(out, size, " %.*s\n%sx %d  o %d\n", 2 * p->size, " a b c d e f g h", lines, __builtin_popcountll(p->discs[0]),
                  __builtin_popcountll(p->discs[1]));
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  const variant *options = env->options;
  if (action == options->size * options->size) return snprintf(out, size, "pass");
  return snprintf(out, size, "%c%d", 'a' + action % options->size, 1 + action / options->size);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  for (int cell = 0; cell < cell_count(p); cell++) {
    const int bit = bit_of_cell(p->size, cell);
    out[cell] = (int)(p->discs[0] >> bit & 1) - (int)(p->discs[1] >> bit & 1);
  }
  return cell_count(p);
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  const variant *options = env->options;
  position p = {.mover = moves & 1, .size = (uint8_t)options->size};
  for (int cell = 0; cell < cell_count(&p); cell++) {
    if (from[cell] != 0) p.discs[from[cell] < 0] |= 1ull << bit_of_cell(p.size, cell);
  }
  find_state(&p);
  memcpy(state, &p, sizeof p);
}

/* --- random playouts --- */

/* The nth set bit, from the lowest; `bits` has more than nth. */
static inline uint64_t nth_bit(uint64_t bits, unsigned nth) {
  while (nth-- > 0) bits &= bits - 1;
  return bits & -bits;
}

static float rollout(const mz_env *env, const void *state, uint64_t *random) {
  (void)env;
  const position *p = state;
  if (p->ended) return 0;
  const uint64_t board = board_cells(p->size);
  uint64_t own = p->discs[p->mover], other = p->discs[1 - p->mover], moves = p->moves, draws = *random;
  float sign = 1;
  for (bool passed = false;; moves = find_moves(own, other, board)) {
    if (moves) {
      const uint64_t cell = nth_bit(moves, mz_fast_below(&draws, (unsigned)__builtin_popcountll(moves)));
      const uint64_t flips = find_flips(cell, own, other), played = own | cell | flips;
      own = other & ~flips;
      other = played;
      passed = false;
    } else {
      if (passed) break;
      passed = true;
      const uint64_t passing = own;
      own = other;
      other = passing;
    }
    sign = -sign;
  }
  *random = draws;
  return sign * outcome(own, other);
}

/* --- the two boards --- */

static const char rules[] = "Two players, black first, place a disc in turn where it encloses straight runs of the opponent's "
                            "discs between itself and another own disc; all runs enclosed so are turned over. Who cannot must "
                            "pass, and nobody else may. The game ends when neither can; most discs win: reward 1 or -1 to the "
                            "player who moved last, 0 for a draw. Actions are cells, row by row from the top left: a1 b1 …, "
                            "and last the pass. As OpenSpiel's othello.";
static const char observation[] =
    "cells × 3 planes of 0 and 1: own discs, opponent's discs, all ones where the side to move is black";

#define OTHELLO(n)                                                                                                               \
  .rules = rules, .observation = observation,                                                                                    \
  .spec = {.obs_kind = MZ_OBS_U8,                                                                                                \
           .obs_shape = {(n), (n), 3},                                                                                           \
           .obs_size = 3 * (n) * (n),                                                                                            \
           .actions = (n) * (n) + 1,                                                                                             \
           .players = 2,                                                                                                         \
           .turns = MZ_TURNS_ALTERNATE,                                                                                          \
           .action_kind = MZ_ACTIONS_CELLS_PASS,                                                                                 \
           .symmetries = 8,                                                                                                      \
           .reward_min = -1,                                                                                                     \
           .reward_max = 1,                                                                                                      \
           .return_min = -1,                                                                                                     \
           .return_max = 1},                                                                                                     \
  .state_size = sizeof(position), .copies = true, .options = &(const variant){(n)}, .reset = reset, .step = step,                \
  .valid = valid, .observe = observe, .legal = legal, .to_play = to_play, .text = text, .action_text = action_text,              \
  .rollout = rollout, .numbers = numbers, .load = load

const mz_env mz_env_othello = {.name = "othello", .title = "Othello: enclose and turn discs on an 8 × 8 board", OTHELLO(FIELD)};
const mz_env mz_env_othello6 = {.name = "othello6", .title = "Othello on a 6 × 6 board", OTHELLO(SMALL)};
