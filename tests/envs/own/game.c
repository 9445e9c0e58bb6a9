/* A game for two as a shared object, and what is wrong with it when it is compiled with -DBREAK=n: each of the numbers breaks one
 * requirement of env_abi.h. 0 breaks none. 42 breaks none and draws numbers; 43 is 42 whose steps of the numbers 5, 40 and 41 crash, 45 one
 * whose step 5 has no end (the file that OWN_GAME_COUNTER names counts steps, over all processes); 44 crashes in every game's third step,
 * 49 likewise, and leaves a process; 46 before it describes itself; 47 ends the process in the observation of a game's third state, 48
 * crashes where threads share it. Players take the cells of a row in turn; who takes the last one gets 1. -DVERSION_1: by the header of
 * version 1. */
#ifdef VERSION_1
#include "tests/envs/own/env_abi_1.h"
#else
#include "envs/env_abi.h"
#endif
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 5 };

typedef struct {
  int32_t cells[CELLS]; /* 0: empty; 1 + player */
  int32_t player, taken, ended;
#if BREAK == 15
  void *self;
#endif
} state;

static int calls;       /* 14 */
static void *home;      /* 16 */
static pthread_t first; /* 24 */
static int has_first;

static const char *reset(void *data, const muzero_env_random *random) {
  state *s = data;
  s->player = (int32_t)random->below(random->context, 2);
#if BREAK == 15
  s->self = s;
#endif
  if (BREAK == 16) home = s;
  if (BREAK == 26) s[1].taken = 1;
  if (BREAK == 27) return "the dice are gone";
  if ((BREAK == 24 || BREAK == 48) && !has_first) first = pthread_self();
  if (BREAK == 24 || BREAK == 48) has_first = 1;
  return NULL;
}

#if BREAK == 43 || BREAK == 45
/* Counts a step and returns its number, from 0. */
static long count_step(void) {
  const char *path = getenv("OWN_GAME_COUNTER");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return -1;
  fputc('.', file);
  fflush(file);
  const long count = ftell(file) - 1; /* behind its own byte: two processes never get the same number */
  fclose(file);
  return count;
}
#endif

static void go_wrong(const state *s) {
#if BREAK == 43
  const long count = count_step();
  if (count == 5 || count == 40 || count == 41) raise(SIGSEGV);
#elif BREAK == 45
  volatile int endless = count_step() == 5;
  while (endless) continue;
#endif
  if (BREAK == 49 && s->taken == 2 && fork() == 0) {
    sleep(30);
    _exit(0);
  }
  if ((BREAK == 44 || BREAK == 49) && s->taken == 2) abort();
  if (BREAK == 48 && has_first && !pthread_equal(first, pthread_self())) raise(SIGSEGV);
}

static void step_one(state *s, int32_t action, const muzero_env_random *random, muzero_env_step *result) {
  go_wrong(s);
  s->cells[action] = 1 + s->player;
  s->taken++;
  if (BREAK != 13) s->player = 1 - s->player;
  s->ended = s->taken == CELLS;
  if (BREAK == 17 && s->ended) {
    memset(s->cells, 0, sizeof s->cells);
    s->taken = s->ended = 0;
  }
  result->terminated = s->ended;
  result->reward = s->ended ? 1.0f : 0.0f;
  if (BREAK == 1 && s->taken == 3) result->reward = NAN;
  if (BREAK == 2 && s->taken == 3) result->reward = 2;
  if (BREAK == 3) result->reward = (float)(s->taken % 2);
  if (BREAK == 14 && s->ended) result->reward = ++calls % 3 == 0;
  if (BREAK == 16 && (void *)s != home && s->taken == 3) result->reward = 1;
  if (BREAK == 19 && action == 0 && s->ended) result->reward = 0.5f;
  if (BREAK >= 42) result->reward *= (float)(1 + random->below(random->context, 3)) / 3;
  if (BREAK == 20 || BREAK == 18 || BREAK >= 42) result->reward *= (float)random->f64(random->context);
  if (BREAK == 24 && !pthread_equal(first, pthread_self())) result->reward *= 0.5f;
  if (BREAK == 25) result->truncated = s->taken == 2;
}

static const char *step(void *data, size_t n, const int32_t *actions, const muzero_env_random *random, muzero_env_step *results) {
  state *s = data;
  for (size_t i = 0; i < n; i++) step_one(&s[i], actions[i], &random[BREAK == 18 ? 0 : i], &results[i]);
  if (BREAK == 9) s[n].player = 0;
  return NULL;
}

static const char *observe(const void *data, size_t n, void *observations) {
  const state *s = data;
  float *out = observations;
  for (size_t i = 0; i < n; i++)
    for (int cell = 0; cell < CELLS; cell++) {
      *out++ = s[i].cells[cell] == 1 + s[i].player;
      *out++ = s[i].cells[cell] == 2 - s[i].player;
    }
  if (BREAK == 47 && s->taken == 2) _exit(5);
  if (BREAK == 7 && s->taken == 2) out[-1] = NAN;
  if (BREAK == 8) *out = 1;
  if (BREAK == 21) ((state *)data)->taken += s->taken == 1;
  return NULL;
}

static const char *legal(const void *data, uint8_t *mask) {
  const state *s = data;
  for (int cell = 0; cell < CELLS; cell++) mask[cell] = s->cells[cell] == 0;
  if (BREAK == 4 && s->taken == 3) memset(mask, 0, CELLS);
  if (BREAK == 5 && s->taken == 3) mask[0] = 3;
  if (BREAK == 6 && s->ended) mask[0] = 1;
  if (BREAK == 10) mask[CELLS] = 0;
  return NULL;
}

static int32_t to_play(const void *data) {
  const state *s = data;
  if (s->ended) return -1; /* nobody: whom it names then is the game's own affair */
  return BREAK == 12 && s->taken == 2 ? 2 : s->player;
}

static int text(const void *data, char *out, size_t size) {
  const state *s = data;
  if (BREAK == 11) return sprintf(out, "%d taken, %d to play\n", (int)s->taken, (int)s->player);
  return snprintf(out, size, "%d taken, %d to play\n", (int)s->taken, (int)s->player);
}

static int action_text(int32_t action, char *out, size_t size) {
  return snprintf(out, size, "%c", 'a' + (int)action / (BREAK == 23 ? 2 : 1));
}

static int valid(const void *data) {
  const state *s = data;
  return !s->ended && !(BREAK == 22 && s->taken == 2);
}

#if BREAK == 33
MUZERO_ENV_EXPORT int muzero_environment(void) { return home != NULL; }
const muzero_env_abi *hidden(void);
const muzero_env_abi *hidden(void) {
#else
MUZERO_ENV_EXPORT const muzero_env_abi *muzero_env(void) {
#endif
  static const muzero_env_abi abi = {
      .version = MUZERO_ENV_ABI_VERSION + (BREAK == 31),
      .size = sizeof(muzero_env_abi) + (BREAK == 32 ? 8 : 0),
      .title = "row: who takes the last cell wins",
      .rules = "Players take the cells of a row in turn. Who takes the last one gets 1.",
      .observation = "own cells, the other's cells",
      .state_size = sizeof(state) + (BREAK == 35 ? 4 : 0),
      .observation_kind = MUZERO_ENV_F32,
      .observation_shape = {1, CELLS, 2},
      .actions = CELLS + (BREAK == 36),
      .action_kind = MUZERO_ENV_COLUMNS,
      .players = BREAK == 38 ? 3 : 2,
      .alternating = BREAK == 41 ? 2 : 1,
      .draws = BREAK == 18 || BREAK >= 42,
      .symmetries = BREAK == 39 ? 8 : 2,
      .max_moves = BREAK == 28 ? 3 : 0,
      .reward_min = 0,
      .reward_max = BREAK == 40 ? NAN : 1,
      .return_min = -1,
      .return_max = 1,
      .reset = reset,
      .step = BREAK == 37 ? NULL : step,
      .observe = observe,
      .legal = legal,
      .to_play = to_play,
      .text = text,
      .action_text = action_text,
      .valid = valid,
  };
  if (BREAK == 46) abort();
  return BREAK == 34 ? NULL : &abi;
}
