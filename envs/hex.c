/* Hex. Cells, and the actions that fill them, are numbered row by row from a1, the corner at the top left, as in OpenSpiel. */
#include "envs/bundled.h"
#include "envs/fast_random.h"
#include "envs/variants.h"
#include <string.h>

enum { SIDE = 11, SIDE_MIN = 3, SIDE_MAX = 19, CELLS_MAX = SIDE_MAX * SIDE_MAX, CHANNELS = 5, NEIGHBOURS = 6 };

/* A cell is empty or bears a player's stone, which may be connected to one of the player's edges; one that were connected to both
 * ends the game. */
enum { EMPTY = 0, STONE = 1, FIRST_EDGE = 2, LAST_EDGE = 4, EDGES = FIRST_EDGE | LAST_EDGE, SECOND_PLAYER = 8 };

typedef struct options {
  int64_t size;
} options;

typedef struct position {
  uint16_t moves;
  uint8_t size, ended;
  uint8_t cells[CELLS_MAX + 3]; /* those beyond the board are 0 */
} position;
_Static_assert(sizeof(position) % 8 == 0, "states are multiples of 8 bytes");

static int mover(const position *p) { return p->moves & 1; }

static int neighbours_of(const position *p, int cell, int *out) {
  const int size = p->size, row = cell / size, column = cell % size;
  int count = 0;
  if (row > 0) out[count++] = cell - size;
  if (row > 0 && column < size - 1) out[count++] = cell - size + 1;
  if (column > 0) out[count++] = cell - 1;
  if (column < size - 1) out[count++] = cell + 1;
  if (row < size - 1 && column > 0) out[count++] = cell + size - 1;
  if (row < size - 1) out[count++] = cell + size;
  return count;
}

/* The first player connects the top and the bottom, the second left and right. */
static int edges_at(const position *p, int cell, int player) {
  const int place = player == 0 ? cell / p->size : cell % p->size;
  return (place == 0 ? FIRST_EDGE : 0) | (place == p->size - 1 ? LAST_EDGE : 0);
}

/* Gives a stone's edge to its chain. What has an edge already is not visited: each stone is visited once in a game. */
static void spread(position *p, int cell) {
  const uint8_t mark = p->cells[cell], loose = mark & (uint8_t)~EDGES;
  uint16_t waiting[CELLS_MAX];
  int count = 0;
  waiting[count++] = (uint16_t)cell;
  while (count > 0) {
    int around[NEIGHBOURS];
    const int n = neighbours_of(p, waiting[--count], around);
    for (int i = 0; i < n; i++) {
      if (p->cells[around[i]] != loose) continue;
      p->cells[around[i]] = mark;
      waiting[count++] = (uint16_t)around[i];
    }
  }
}

/* Puts the player's stone on the cell; true when it connects both edges. */
static bool place(position *p, int cell, int player) {
  const int stone = STONE | (player == 1 ? SECOND_PLAYER : 0);
  int around[NEIGHBOURS], edges = edges_at(p, cell, player);
  bool loose = false; /* a neighbour is connected to no edge */
  const int n = neighbours_of(p, cell, around);
  for (int i = 0; i < n; i++) {
    const int other = p->cells[around[i]];
    if ((other & ~EDGES) != stone) continue;
    edges |= other & EDGES;
    loose |= other == stone;
  }
  const bool won = edges == EDGES;
  p->cells[cell] = (uint8_t)(won ? stone : stone | edges); /* nobody asks about chains after the end */
  if (loose && !won && edges != 0) spread(p, cell);
  return won;
}

/* True when the move wins. */
static bool play(position *p, int cell) {
  p->ended = place(p, cell, mover(p));
  p->moves++;
  return p->ended;
}

/* --- the environment --- */

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)generator;
  const options *o = env->options;
  memset(state, 0, sizeof(position));
  ((position *)state)->size = (uint8_t)o->size;
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++, p++) {
    MZ_ASSERT(actions[i] >= 0 && actions[i] < p->size * p->size && p->cells[actions[i]] == EMPTY && !p->ended);
    const bool won = play(p, actions[i]);
    results[i] = (mz_step){.reward = won ? 1 : 0, .terminated = won};
  }
  return MZ_OK;
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const position *p = states;
  uint8_t *out = observations;
  for (int i = 0; i < n; i++, p++) {
    const int own = mover(p) == 1 ? SECOND_PLAYER : 0;
    for (int cell = 0; cell < p->size * p->size; cell++) {
      const int stone = p->cells[cell];
      const bool is_own = stone != EMPTY && (stone & SECOND_PLAYER) == own, is_other = stone != EMPTY && !is_own;
      *out++ = is_own;
      *out++ = is_other;
      *out++ = own == 0;
      *out++ = is_own && (stone & EDGES); /* which of the two is not said: half a turn exchanges them */
      *out++ = is_other && (stone & EDGES);
    }
  }
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  const position *p = state;
  const int cells = env->spec.actions;
  for (int cell = 0; cell < cells; cell++) mask[cell] = p->cells[cell] == EMPTY && !p->ended;
  return p->ended ? 0 : cells - p->moves;
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return mover(state);
}

/* The same stones, laid anew: which edges they are connected to follows from where they are. */
static void lay(position *p, const position *stones) {
  memset(p, 0, sizeof *p);
  p->size = stones->size;
  p->moves = stones->moves;
  for (int cell = 0; cell < p->size * p->size; cell++) {
    const int stone = stones->cells[cell];
    if (stone != EMPTY) p->ended |= place(p, cell, stone & SECOND_PLAYER ? 1 : 0);
  }
}

static bool valid(const mz_env *env, const void *state) {
  const position *p = state;
  int stones[2] = {0};
  if (p->size != ((const options *)env->options)->size || p->ended) return false;
  for (int cell = 0; cell < (int)sizeof p->cells; cell++) {
    if (p->cells[cell] == EMPTY) continue;
    if (cell >= p->size * p->size || !(p->cells[cell] & STONE)) return false;
    stones[(p->cells[cell] & SECOND_PLAYER) != 0]++;
  }
  if (stones[0] + stones[1] != p->moves || stones[0] != (p->moves + 1) / 2) return false;
  position again;
  lay(&again, p);
  return memcmp(&again, p, sizeof again) == 0;
}

/* A parallelogram: every row stands half a cell to the right of the one above. */
static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char picture[(SIDE_MAX + 1) * 4 * SIDE_MAX], *at = picture;
  at += sprintf(at, "   ");
  for (int column = 0; column < p->size; column++) at += sprintf(at, "%c ", 'a' + column);
  at[-1] = '\n';
  for (int row = 0; row < p->size; row++) {
    at += sprintf(at, "%*s%2d ", row, "", row + 1);
    for (int column = 0; column < p->size; column++) {
      const int stone = p->cells[row * p->size + column];
      at += sprintf(at, "%c ", stone == EMPTY ? '.' : stone & SECOND_PLAYER ? 'o' : 'x');
    }
    at[-1] = '\n';
  }
  return snprintf(out, size, "%s", picture);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  const int side = env->spec.obs_shape[1];
  return snprintf(out, size, "%c%d", 'a' + action % side, 1 + action / side);
}

/* Random moves to the first connection, drawn from a list of the empty cells. */
static float rollout(const mz_env *env, const void *state, uint64_t *random) {
  const position *p = state;
  const int cells = env->spec.actions, me = mover(p);
  uint16_t order[CELLS_MAX];
  int left = 0;
  for (int cell = 0; cell < cells; cell++)
    if (p->cells[cell] == EMPTY) order[left++] = (uint16_t)cell;
  position full = *p;
  bool won = false;
  while (!won) {
    const uint32_t chosen = mz_fast_below(random, (uint32_t)left);
    const int cell = order[chosen];
    order[chosen] = order[--left];
    won = play(&full, cell);
  }
  return ((full.moves - 1) & 1) == me ? 1.0f : -1.0f;
}

static int numbers(const mz_env *env, const void *state, double *out) {
  const position *p = state;
  for (int cell = 0; cell < env->spec.actions; cell++)
    out[cell] = p->cells[cell] == EMPTY ? 0 : p->cells[cell] & SECOND_PLAYER ? -1 : 1;
  return env->spec.actions;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  position stones = {.size = (uint8_t)env->spec.obs_shape[1], .moves = (uint16_t)moves};
  for (int cell = 0; cell < env->spec.actions; cell++)
    stones.cells[cell] = from[cell] == 0 ? EMPTY : from[cell] > 0 ? STONE : STONE | SECOND_PLAYER;
  lay(state, &stones);
}

static const mz_setting rows[] = {
    MZ_SETTING(options, size, "size", MZ_INT, MZ_ALGORITHMIC, SIDE_MIN, SIDE_MAX, "11", "", "rows and columns of the board"),
};

static mz_status fill(mz_env *env, const char *where) {
  (void)where;
  const int size = (int)((const options *)env->options)->size;
  env->spec.obs_shape[0] = env->spec.obs_shape[1] = size;
  env->spec.obs_size = size * size * CHANNELS;
  env->spec.actions = size * size;
  return MZ_OK;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_hex = {
    .name = "hex",
    .title = "Hex on an 11 × 11 board, or up to 19 × 19: connect your two edges",
    .rules =
        "Two players fill one empty cell in turn; nobody may swap. The first connects the top and the bottom edge, the second "
        "left and right: reward 1 to the player who does. There are no draws. A cell touches six others: those beside it, "
        "above it and one to the right of that, below it and one to the left. Actions are cells, row by row: a1 b1 … As "
        "OpenSpiel's hex.",
    .observation =
        "cells × 5 planes of 0 and 1: own stones, opponent's stones, all ones where the side to move began, own stones "
        "that are connected to one of their two edges, the opponent's likewise",
    .spec = {.obs_kind = MZ_OBS_U8,
             .obs_shape = {SIDE, SIDE, CHANNELS},
             .obs_size = SIDE * SIDE * CHANNELS,
             .actions = SIDE * SIDE,
             .players = 2,
             .turns = MZ_TURNS_ALTERNATE,
             .action_kind = MZ_ACTIONS_CELLS,
             .symmetries = 2,
             .half_turn = true,
             .reward_min = 0,
             .reward_max = 1,
             .return_min = -1,
             .return_max = 1},
    .state_size = sizeof(position),
    .copies = true,
    .options = &(const options){.size = SIDE},
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
