/* OpenSpiel's recorded games (../shared/openspiel_playthroughs), read state by state. A file describes its first and last states in
 * full; of those between it gives only the action that leads on. For tests: what cannot be read fails the test. Not thread safe. */
#pragma once
#include "envs/env.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
  PLAYTHROUGH_ACTIONS_MAX = 1024,
  PLAYTHROUGH_PICTURE_MAX = 4096,
  PLAYTHROUGH_LINE_MAX = 16384,
  PLAYTHROUGH_STATE_MAX = 16384
};

typedef struct playthrough_state {
  int action; /* leads to the next state; -1: there is none */
  bool full;  /* what follows here is only given where this is set */
  bool terminal;
  int player;                                          /* to move; negative in a terminal state */
  int history_count, history[PLAYTHROUGH_ACTIONS_MAX]; /* the actions up to here */
  int legal_count, legal[PLAYTHROUGH_ACTIONS_MAX];     /* ascending */
  double rewards[2], returns[2];                       /* per player */
  char picture[PLAYTHROUGH_PICTURE_MAX];               /* the state as OpenSpiel prints it, line by line */
} playthrough_state;

/* The file of a game ("connect_four"), before its first state; skips the test where the files are not at hand. The caller closes
 * it. */
static inline FILE *playthrough_open(const char *game) {
  char path[1024];
  snprintf(path, sizeof path, SHARED_DIR "/openspiel_playthroughs/%s.txt", game);
  FILE *file = fopen(path, "r");
  if (!file) {
    print_message("skipped: no %s\n", path);
    skip();
  }
  return file;
}

/* The numbers of "Name() = [0, 1, 2]"; returns how many. */
static inline int playthrough_list(const char *line, int *out) {
  int count = 0;
  const char *at = strchr(line, '[');
  assert_non_null(at);
  for (at++; *at && *at != ']'; at += *at == ',' || *at == ' ') {
    char *end;
    const long number = strtol(at, &end, 10);
    if (end == at) continue;
    assert_in_range(count, 0, PLAYTHROUGH_ACTIONS_MAX - 1);
    out[count++] = (int)number;
    at = end;
  }
  return count;
}

static inline void playthrough_line(playthrough_state *s, const char *line) {
  if (strncmp(line, "IsTerminal() = ", 15) == 0) {
    s->full = true;
    s->terminal = strncmp(line + 15, "True", 4) == 0;
  } else if (strncmp(line, "History() = ", 12) == 0) {
    s->history_count = playthrough_list(line, s->history);
  } else if (strncmp(line, "LegalActions() = ", 17) == 0) {
    s->legal_count = playthrough_list(line, s->legal);
  } else if (line[0] == '#' && !s->full && strncmp(line, "# Apply", 7) != 0) {
    const char *text = line[1] == ' ' ? line + 2 : line + 1;
    const size_t used = strlen(s->picture);
    const int length = snprintf(s->picture + used, sizeof s->picture - used, "%s", text);
    assert_in_range(length, 1, sizeof s->picture - used - 1);
  } else if (sscanf(line, "CurrentPlayer() = %d", &s->player) == 0 &&
             sscanf(line, "Rewards() = [%lf, %lf]", &s->rewards[0], &s->rewards[1]) == 0) {
    (void)!sscanf(line, "Returns() = [%lf, %lf]", &s->returns[0], &s->returns[1]);
  }
}

/* The next state; false after the last. */
static inline bool playthrough_next(FILE *file, playthrough_state *out) {
  static char line[PLAYTHROUGH_LINE_MAX];
  bool within = false;
  *out = (playthrough_state){.action = -1};
  while (fgets(line, sizeof line, file)) {
    assert_non_null(strchr(line, '\n')); /* else it does not fit */
    if (strncmp(line, "# State ", 8) == 0) {
      assert_false(within);
      within = true;
    } else if (within) {
      if (sscanf(line, "action: %d", &out->action) == 1) return true;
      playthrough_line(out, line);
    }
  }
  assert_int_equal(ferror(file), 0);
  return within;
}

/* The board in the picture, top row first: 1, -1 and 0 where it shows `first`, `second` and `empty`. Its rows are the lines that
 * consist of `width` such characters, numbers and spaces apart; returns how many there are (height_max: room for). */
static inline int playthrough_board(const char *picture, char first, char second, char empty, int width, int height_max,
                                    double *out) {
  const char symbols[] = {first, second, empty, 0};
  int rows = 0;
  for (const char *line = picture; *line; line = strchr(line, '\n') + 1) {
    int cells = 0;
    const char *at = line;
    for (; *at != '\n'; at++) {
      if (*at == ' ' || (*at >= '0' && *at <= '9')) continue;
      if (!strchr(symbols, *at) || cells == width) break;
      if (rows < height_max) out[rows * width + cells] = *at == first ? 1 : *at == second ? -1 : 0;
      cells++;
    }
    if (*at == '\n' && cells == width) assert_in_range(++rows, 1, height_max);
  }
  return rows;
}

/* What the file says of a state: board, player, end, rewards, legal actions. */
static inline void playthrough_check(const mz_env *env, const void *state, const mz_step *last, const char *symbols,
                                     int (*ours)(const mz_env *env, int theirs), const playthrough_state *expected) {
  static double board[MZ_ENV_NUMBERS_MAX], numbers[MZ_ENV_NUMBERS_MAX];
  static uint8_t mask[PLAYTHROUGH_ACTIONS_MAX];
  const int height = env->spec.obs_shape[0], width = env->spec.obs_shape[1];
  assert_int_equal(playthrough_board(expected->picture, symbols[0], symbols[1], symbols[2], width, height, board), height);
  assert_in_range(env->numbers(env, state, numbers), height * width, MZ_ENV_NUMBERS_MAX);
  for (int cell = 0; cell < height * width; cell++) assert_true(numbers[cell] == board[cell]);

  assert_int_equal(last->terminated || last->truncated, expected->terminal);
  if (!expected->terminal) assert_int_equal(env->to_play(env, state), expected->player);
  for (int player = 0; player < 2; player++) assert_true(expected->rewards[player] == expected->returns[player]);
  assert_int_equal(env->legal(env, state, mask), expected->legal_count);
  for (int i = 0; i < expected->legal_count; i++)
    assert_int_equal(mask[ours ? ours(env, expected->legal[i]) : expected->legal[i]], 1);
}

/* Plays the file's game on `env` and checks each state that the file describes; returns how many states there were. `symbols`: the
 * first player's, the second's and the empty cell, as in playthrough_board; the environment's numbers begin with that board. `ours`
 * gives our action for one of OpenSpiel's; NULL: they are numbered alike. */
static inline int playthrough_follow(const mz_env *env, const char *game, const char *symbols,
                                     int (*ours)(const mz_env *env, int theirs)) {
  static uint64_t state[PLAYTHROUGH_STATE_MAX / 8];
  static playthrough_state expected;
  static int history[PLAYTHROUGH_ACTIONS_MAX];
  assert_true(env->state_size <= sizeof state && env->spec.actions <= PLAYTHROUGH_ACTIONS_MAX);
  FILE *file = playthrough_open(game);
  mz_step last = {0};
  int states = 0, mover = 0;
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  while (playthrough_next(file, &expected)) {
    if (expected.full) {
      playthrough_check(env, state, &last, symbols, ours, &expected);
      assert_true(last.reward == (float)expected.rewards[mover]);
      assert_int_equal(expected.history_count, states);
      assert_memory_equal(expected.history, history, sizeof history[0] * (size_t)states);
    }
    assert_in_range(states, 0, PLAYTHROUGH_ACTIONS_MAX - 1);
    history[states++] = expected.action;
    if (expected.action < 0) break;
    const int32_t action = ours ? ours(env, expected.action) : expected.action;
    mover = env->to_play(env, state);
    assert_int_equal(env->step(env, state, 1, &action, NULL, &last), MZ_OK);
  }
  assert_true(expected.terminal);
  assert_int_equal(fclose(file), 0);
  return states;
}
