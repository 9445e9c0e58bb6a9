/* Random games played through OpenSpiel (tests/data/envs/make_games.py, where the format is described), played again move by
 * move: the same actions are legal at every state, each game ends where OpenSpiel's did, and with the same winner. */
#pragma once
#include "envs/env.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RECORDED_STATE_MAX = 16384, RECORDED_ACTIONS_MAX = 1024, RECORDED_LINE_MAX = 4096 };

/* A number in base 64, least significant digit first. */
typedef struct recorded_number {
  int count;
  uint8_t digits[RECORDED_LINE_MAX];
} recorded_number;

static inline recorded_number recorded_number_read(const char *text, int count) {
  static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
  recorded_number number = {.count = count};
  for (int i = 0; i < count; i++) {
    const char *digit = text[i] ? strchr(alphabet, text[i]) : NULL;
    assert_non_null(digit);
    number.digits[i] = (uint8_t)(digit - alphabet);
  }
  return number;
}

/* Divides by `divisor`; returns the remainder. */
static inline int recorded_number_divide(recorded_number *number, int divisor) {
  int remainder = 0;
  for (int i = number->count - 1; i >= 0; i--) {
    const int part = 64 * remainder + number->digits[i];
    number->digits[i] = (uint8_t)(part / divisor);
    remainder = part % divisor;
  }
  while (number->count > 0 && number->digits[number->count - 1] == 0) number->count--;
  return remainder;
}

/* Plays one line. `ours` gives our action for one of OpenSpiel's; NULL: they are numbered alike. */
static inline void recorded_game_replay(const mz_env *env, int (*ours)(const mz_env *env, int theirs), const char *line) {
  static uint64_t state[RECORDED_STATE_MAX / 8];
  static recorded_number moves;
  assert_true(strlen(line) >= 5);
  const int winner = recorded_number_read(line, 1).digits[0] - 1; /* 1, 0 or -1 for player 0 */
  const recorded_number check = recorded_number_read(line + 1, 4);
  moves = recorded_number_read(line + 5, (int)strlen(line + 5));
  uint64_t hash = 0xcbf29ce484222325;
  mz_step last = {0};
  int mover = 0;
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  while (!last.terminated && !last.truncated) {
    uint8_t mask[RECORDED_ACTIONS_MAX];
    const int count = env->legal(env, state, mask);
    assert_in_range(count, 1, env->spec.actions);
    int rank = recorded_number_divide(&moves, count), played = -1;
    for (int a = 0; a < env->spec.actions; a++) {
      if (!mask[ours ? ours(env, a) : a]) continue;
      hash = (hash ^ (unsigned)a) * 0x100000001b3;
      if (rank-- == 0) played = a;
    }
    assert_true(played >= 0);
    hash = (hash ^ (unsigned)played) * 0x100000001b3;
    const int32_t action = ours ? ours(env, played) : played;
    mover = env->to_play(env, state);
    assert_int_equal(env->step(env, state, 1, &action, NULL, &last), MZ_OK);
    assert_true(last.terminated || last.truncated || last.reward == 0);
  }
  assert_int_equal(moves.count, 0); /* nothing was left to play */
  for (int i = 0; i < 4; i++) assert_int_equal(hash >> 6 * i & 63, check.digits[i]);
  assert_true(last.reward == (float)(mover == 0 ? winner : -winner));
}

/* Plays every game of tests/data/envs/`name`; returns how many there were. */
static inline int recorded_games_replay(const mz_env *env, int (*ours)(const mz_env *env, int theirs), const char *name) {
  char path[1024], line[RECORDED_LINE_MAX];
  int games = 0;
  assert_true(env->state_size <= RECORDED_STATE_MAX && env->spec.actions <= RECORDED_ACTIONS_MAX);
  snprintf(path, sizeof path, TEST_DATA "/envs/%s", name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (line[0] == '#') continue;
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = 0;
    recorded_game_replay(env, ours, line);
    games++;
  }
  assert_int_equal(ferror(file), 0);
  assert_int_equal(fclose(file), 0);
  return games;
}
