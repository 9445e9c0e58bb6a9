/* A game of Go under test: set up from a picture, moved by the names of points. */
#pragma once
#include "envs/env.h"
#include "envs/go/go_board.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum {
  GO_STATE_MAX = 16384,
  GO_ACTIONS_MAX = MZ_GO_CELLS_MAX + 1,
  GO_CHANNELS = 16,
  GO_OBSERVATION_MAX = MZ_GO_CELLS_MAX * GO_CHANNELS
};

typedef struct go_game {
  const mz_env *env;
  int side;
  mz_step last;
  uint64_t state[GO_STATE_MAX / 8];
} go_game;

static inline const mz_env *go_env(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  assert_in_range(env->state_size, 8, GO_STATE_MAX);
  return env;
}

static inline void go_begin(go_game *g, const char *name) {
  memset(g, 0, sizeof *g);
  g->env = go_env(name);
  g->side = g->env->spec.obs_shape[0];
  assert_int_equal(g->env->reset(g->env, g->state, NULL), MZ_OK);
}

/* `picture`: the rows from the top, without blanks; X and O. */
static inline void go_set_up(go_game *g, const char *name, const char *picture, int moves) {
  go_begin(g, name);
  const int cells = g->side * g->side;
  double numbers[GO_ACTIONS_MAX + 1] = {0};
  assert_int_equal(strlen(picture), cells);
  for (int i = 0; i < cells; i++)
    numbers[(g->side - 1 - i / g->side) * g->side + i % g->side] = picture[i] == 'X' ? 1 : picture[i] == 'O' ? -1 : 0;
  numbers[cells] = -1;
  g->env->load(g->env, g->state, numbers, moves);
}

static inline int go_action_named(const go_game *g, const char *point) {
  char text[8];
  for (int a = 0; a < g->env->spec.actions; a++) {
    g->env->action_text(g->env, a, text, sizeof text);
    if (strcmp(text, point) == 0) return a;
  }
  fail_msg("no point %s", point);
  return -1;
}

static inline bool go_legal(const go_game *g, const char *point) {
  uint8_t mask[GO_ACTIONS_MAX];
  int count = 0;
  const int said = g->env->legal(g->env, g->state, mask);
  for (int a = 0; a < g->env->spec.actions; a++) count += mask[a];
  assert_int_equal(said, count);
  return mask[go_action_named(g, point)];
}

static inline void go_step(go_game *g, int32_t action) {
  assert_int_equal(g->env->step(g->env, g->state, 1, &action, NULL, &g->last), MZ_OK);
}

/* Points with blanks between. */
static inline void go_play(go_game *g, const char *points) {
  char point[8];
  for (int used; sscanf(points, "%7s%n", point, &used) == 1; points += used) {
    assert_true(go_legal(g, point));
    go_step(g, go_action_named(g, point));
  }
}
