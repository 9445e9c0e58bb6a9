/* Go as slowly and plainly as its rules are written (https://tromp.github.io/go.html, without suicide), to compare with: no chains
 * kept, every question answered by flood fill, every earlier position kept whole. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { NAIVE_SIDE_MAX = 9, NAIVE_CELLS_MAX = NAIVE_SIDE_MAX * NAIVE_SIDE_MAX, NAIVE_POSITIONS_MAX = 2 * NAIVE_CELLS_MAX + 1 };

typedef struct naive_go {
  int side, moves, passes;
  int8_t cells[NAIVE_CELLS_MAX]; /* 1 black, -1 white */
  int8_t past[NAIVE_POSITIONS_MAX][NAIVE_CELLS_MAX];
  int past_count;
} naive_go;

static inline void naive_reset(naive_go *g, int side) {
  memset(g, 0, sizeof *g);
  g->side = side;
  g->past_count = 1; /* the empty board */
}

static inline int naive_mover(const naive_go *g) { return g->moves % 2 ? -1 : 1; }

/* The neighbours of a cell; returns how many. */
static inline int naive_neighbours(const naive_go *g, int cell, int out[4]) {
  const int row = cell / g->side, column = cell % g->side;
  int count = 0;
  if (row > 0) out[count++] = cell - g->side;
  if (column > 0) out[count++] = cell - 1;
  if (column < g->side - 1) out[count++] = cell + 1;
  if (row < g->side - 1) out[count++] = cell + g->side;
  return count;
}

/* Marks the cells of one content that hang together with `cell`, and the other cells they touch. */
static inline void naive_fill(const naive_go *g, int cell, bool *inside, bool *touched) {
  inside[cell] = true;
  int around[4];
  const int count = naive_neighbours(g, cell, around);
  for (int i = 0; i < count; i++) {
    if (g->cells[around[i]] != g->cells[cell])
      touched[around[i]] = true;
    else if (!inside[around[i]])
      naive_fill(g, around[i], inside, touched);
  }
}

static inline int naive_liberties(const naive_go *g, int cell) {
  bool inside[NAIVE_CELLS_MAX] = {false}, touched[NAIVE_CELLS_MAX] = {false};
  int count = 0;
  naive_fill(g, cell, inside, touched);
  for (int c = 0; c < g->side * g->side; c++) count += touched[c] && g->cells[c] == 0;
  return count;
}

/* Takes off what of this colour has no liberties; returns how many stones. */
static inline int naive_clear(naive_go *g, int colour) {
  bool gone[NAIVE_CELLS_MAX] = {false};
  int count = 0;
  for (int c = 0; c < g->side * g->side; c++) gone[c] = g->cells[c] == colour && naive_liberties(g, c) == 0;
  for (int c = 0; c < g->side * g->side; c++) {
    if (!gone[c]) continue;
    g->cells[c] = 0;
    count++;
  }
  return count;
}

/* Places the stone of the player to move in `cells` alone; false: occupied, or suicide. */
static inline bool naive_place(naive_go *g, int cell) {
  if (g->cells[cell] != 0) return false;
  g->cells[cell] = (int8_t)naive_mover(g);
  naive_clear(g, -naive_mover(g));
  return naive_clear(g, naive_mover(g)) == 0;
}

static inline bool naive_is_past(const naive_go *g, int first, int end) {
  bool found = false;
  for (int i = first; i < end; i++) found |= memcmp(g->past[i], g->cells, sizeof g->cells) == 0;
  return found;
}

typedef struct naive_verdict {
  bool possible; /* neither occupied nor suicide */
  bool repeats;  /* an earlier position … */
  bool ko;       /* … that of before the last move, which was a stone */
} naive_verdict;

static inline naive_verdict naive_judge(const naive_go *g, int cell) {
  naive_go next;
  memcpy(&next, g, sizeof next);
  naive_verdict v = {.possible = naive_place(&next, cell)};
  v.repeats = v.possible && naive_is_past(&next, 0, g->past_count);
  v.ko = v.possible && g->passes == 0 && g->past_count >= 2 && naive_is_past(&next, g->past_count - 2, g->past_count - 1);
  return v;
}

/* cell = side²: a pass. */
static inline void naive_play(naive_go *g, int cell) {
  if (cell == g->side * g->side) {
    g->passes++;
  } else {
    naive_place(g, cell);
    g->passes = 0;
    memcpy(g->past[g->past_count++], g->cells, sizeof g->cells);
  }
  g->moves++;
}

/* Black's area less White's. */
static inline int naive_area(const naive_go *g) {
  int area = 0;
  for (int c = 0; c < g->side * g->side; c++) {
    area += g->cells[c];
    if (g->cells[c] != 0) continue;
    bool inside[NAIVE_CELLS_MAX] = {false}, touched[NAIVE_CELLS_MAX] = {false}, black = false, white = false;
    naive_fill(g, c, inside, touched);
    for (int t = 0; t < g->side * g->side; t++) {
      black |= touched[t] && g->cells[t] > 0;
      white |= touched[t] && g->cells[t] < 0;
    }
    area += black - white;
  }
  return area;
}
