/* A game for two as a shared object whose next player is told, with pictures of bytes, and what is wrong with it when it is compiled
 * with -DBREAK=n; 0: nothing. A token goes over the cells of a row. Action 0 moves it one cell and passes the turn, action 1 two cells
 * and keeps it, action 2 throws a die of one to three cells and passes the turn on 1. Who leaves the row gets 1. */
#include "envs/env_abi.h"

enum { CELLS = 12, FRAMES = 3, LIGHT = 200, ACTIONS = 3 };

typedef struct {
  int32_t token[FRAMES]; /* the newest last; CELLS or more: off the row */
  int32_t player, ended;
  int32_t unused;
} state;

static const char *reset(void *data, const muzero_env_random *random) {
  state *s = data;
  s->token[FRAMES - 1] = (int32_t)random->below(random->context, 2);
  for (int frame = 0; frame < FRAMES - 1; frame++) s->token[frame] = s->token[FRAMES - 1];
  return NULL;
}

static void step_one(state *s, int32_t action, const muzero_env_random *random, muzero_env_step *result) {
  const int32_t cells = action == 2 ? 1 + (int32_t)random->below(random->context, 3) : 1 + action;
  for (int frame = 0; frame < FRAMES - 1; frame++) s->token[frame] = s->token[frame + 1];
  s->token[FRAMES - 1] += cells;
  s->ended = s->token[FRAMES - 1] >= CELLS;
  result->terminated = s->ended;
  result->reward = s->ended ? 1.0f : 0.0f;
  if (action == 0 || (action == 2 && cells == 1) || BREAK == 3) s->player = 1 - s->player;
  if (BREAK == 2 && action == 1) s->player = 2;
}

static const char *step(void *data, size_t n, const int32_t *actions, const muzero_env_random *random, muzero_env_step *results) {
  state *s = data;
  for (size_t i = 0; i < n; i++) step_one(&s[i], actions[i], &random[i], &results[i]);
  return NULL;
}

static const char *observe(const void *data, size_t n, void *observations) {
  const state *s = data;
  uint8_t *out = observations;
  for (size_t i = 0; i < n; i++)
    for (int cell = 0; cell < CELLS; cell++)
      for (int frame = 0; frame < FRAMES; frame++)
        *out++ = cell == s[i].token[BREAK == 1 ? FRAMES - 1 - frame : frame] ? LIGHT : 0;
  return NULL;
}

static const char *legal(const void *data, uint8_t *mask) {
  const state *s = data;
  for (int action = 0; action < ACTIONS; action++) mask[action] = !s->ended;
  return NULL;
}

static int32_t to_play(const void *data) {
  const state *s = data;
  return s->player;
}

MUZERO_ENV_EXPORT const muzero_env_abi *muzero_env(void) {
  static const muzero_env_abi abi = {
      .version = MUZERO_ENV_ABI_VERSION,
      .size = sizeof(muzero_env_abi),
      .title = "over the edge: who leaves the row wins",
      .rules = "A token goes over a row. Action 1 keeps the turn, a thrown 1 passes it.",
      .observation = "the token on the row, in the last three positions",
      .state_size = sizeof(state),
      .observation_kind = BREAK == 6 ? MUZERO_ENV_F32 : MUZERO_ENV_U8,
      .observation_shape = {1, CELLS, FRAMES},
      .observation_scale = BREAK == 7 ? -1.0f : 1.0f / LIGHT,
      .frames = BREAK == 4   ? 2
                : BREAK == 5 ? 4
                             : FRAMES,
      .actions = ACTIONS,
      .action_kind = MUZERO_ENV_PLAIN,
      .players = BREAK == 9 ? 1 : 2,
      .alternating = BREAK == 9 || BREAK == 10,
      .draws = 1,
      .symmetries = 1,
      .one_sided = BREAK == 8,
      .reward_min = 0,
      .reward_max = 1,
      .return_min = BREAK == 8 ? 0 : -1,
      .return_max = 1,
      .reset = reset,
      .step = step,
      .observe = observe,
      .legal = legal,
      .to_play = to_play,
  };
  return &abi;
}
