/* Games made up for the tests of replay: their numbers follow from (game, move), so that a test can say what it expects. */
#pragma once
#include "base/maths/rng.h"
#include "replay/segments/segment.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#define ASSERT_OK(expr) assert_int_equal((expr), MZ_OK)

/* One player, four floats, three actions. */
static inline mz_spec vector_spec(void) {
  return (mz_spec){.obs_kind = MZ_OBS_F32, .obs_shape = {1, 1, 4}, .obs_size = 4, .actions = 3, .players = 1, .symmetries = 1};
}

/* Two alternating players on a 2 × 2 board of bytes, where symmetry 1 mirrors the columns. */
static inline mz_spec board_spec(void) {
  return (mz_spec){.obs_kind = MZ_OBS_U8,
                   .obs_shape = {2, 2, 1},
                   .obs_size = 4,
                   .actions = 4,
                   .action_kind = MZ_ACTIONS_CELLS,
                   .players = 2,
                   .turns = MZ_TURNS_ALTERNATE,
                   .symmetries = 2};
}
/* Two players of a vector, each of whom moves twice running. */
static inline mz_spec told_spec(void) {
  mz_spec spec = vector_spec();
  spec.players = 2;
  spec.turns = MZ_TURNS_TOLD;
  return spec;
}
static inline int board_symmetry_action(int s, int action) { return s ? action ^ 1 : action; }

typedef struct collected {
  mz_segment *segments[4096];
  int count;
} collected;
static inline mz_status collect(void *context, mz_segment *segment) {
  collected *all = context;
  all->segments[all->count++] = segment;
  return MZ_OK;
}
static inline void collected_release(collected *all) {
  for (int i = 0; i < all->count; i++) mz_segment_release(all->segments[i]);
  all->count = 0;
}

/* The record of move t: reward t + 1, value t / 8, action t mod (legal ones), player t mod players (where turns are told: t/2).
 * Action a is illegal at t where (a + t) mod 3 = 2, unless there would be none. */
typedef struct made_move {
  float obs[4], policy[8];
  uint8_t board[4], legal[8];
  mz_move move;
} made_move;
static inline void make_move(made_move *m, const mz_spec *spec, int game, int t) {
  memset(m, 0, sizeof *m);
  int legal[8], count = 0;
  for (int a = 0; a < spec->actions; a++) {
    m->legal[a] = (a + t) % 3 != 2;
    if (m->legal[a]) legal[count++] = a;
  }
  for (int i = 0; i < count; i++) m->policy[legal[i]] = (float)(i + 1) * 2 / (float)(count * (count + 1));
  for (int i = 0; i < 4; i++) {
    m->obs[i] = (float)(1000 * game + 10 * t + i);
    m->board[i] = (uint8_t)(7 * game + 5 * t + i);
  }
  m->move = (mz_move){.obs = spec->obs_kind == MZ_OBS_F32 ? (const void *)m->obs : m->board,
                      .action = legal[t % count],
                      .player = (spec->turns == MZ_TURNS_TOLD ? t / 2 : t) % spec->players,
                      .reward = (float)(t + 1),
                      .value = (float)t / 8,
                      .policy = m->policy,
                      .legal = m->legal};
}

/* Appends a game of `moves` moves that ends so; weight version 100 + t. */
static inline void play_game(mz_trajectory *trajectory, const mz_spec *spec, int game, int moves, mz_end end, collected *all) {
  for (int t = 0; t < moves; t++) {
    made_move m;
    make_move(&m, spec, game, t);
    m.move.terminated = t == moves - 1 && end == MZ_END_TERMINATED;
    m.move.truncated = t == moves - 1 && end == MZ_END_TRUNCATED;
    ASSERT_OK(mz_trajectory_append(trajectory, &m.move, (uint64_t)(100 + t), collect, all));
  }
}

/* A whole game as one segment; of an open one the first `moves` of moves + look_ahead may be drawn. */
static inline mz_segment *make_segment(const mz_spec *spec, int game, int moves, int look_ahead, mz_end end) {
  mz_trajectory *trajectory;
  collected all = {.count = 0};
  mz_cut cut = {.segment_moves = end == MZ_END_OPEN ? moves : 0, .look_ahead = look_ahead};
  ASSERT_OK(mz_trajectory_create(&trajectory, spec, cut, (uint32_t)game));
  play_game(trajectory, spec, game, end == MZ_END_OPEN ? moves + look_ahead : moves, end, &all);
  mz_trajectory_free(trajectory);
  assert_int_equal(all.count, 1);
  return all.segments[0];
}
