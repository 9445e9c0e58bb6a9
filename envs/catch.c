/* Catch, as OpenSpiel has it: a ball falls straight down, and a paddle on the bottom row is to be under it. Mnih et al., Recurrent
 * Models of Visual Attention (2014), section 4.2, made it small. */
#include "envs/bundled.h"
#include "envs/variants.h"
#include <string.h>

enum { ROWS = 10, COLUMNS = 5, SIDE_MIN = 2, SIDE_MAX = 64, ACTIONS = 3 };

typedef struct options {
  int64_t rows, columns;
} options;

typedef struct position {
  uint8_t row, ball, paddle; /* the ball's row; columns */
  uint8_t rows, columns;
  uint8_t padding[3];
} position;

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  const options *o = env->options;
  *(position *)state = (position){.ball = (uint8_t)mz_generator_below(generator, (uint32_t)o->columns),
                                  .paddle = (uint8_t)(o->columns / 2),
                                  .rows = (uint8_t)o->rows,
                                  .columns = (uint8_t)o->columns};
  return MZ_OK;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  position *p = states;
  for (int i = 0; i < n; i++, p++) {
    const int to = p->paddle + actions[i] - 1;
    p->paddle = (uint8_t)(to < 0 ? 0 : to >= p->columns ? p->columns - 1 : to);
    p->row++;
    const bool ended = p->row == p->rows - 1;
    results[i] = (mz_step){.reward = !ended ? 0 : p->ball == p->paddle ? 1 : -1, .terminated = ended};
  }
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  const options *o = env->options;
  const position *p = state;
  return p->rows == o->rows && p->columns == o->columns && p->row < p->rows - 1 && p->ball < p->columns &&
         p->paddle < p->columns && !p->padding[0] && !p->padding[1] && !p->padding[2];
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  const position *p = states;
  uint8_t *out = observations;
  memset(out, 0, (size_t)n * (size_t)env->spec.obs_size);
  for (int i = 0; i < n; i++, p++, out += env->spec.obs_size) {
    out[p->row * p->columns + p->ball] = 1;
    out[(p->rows - 1) * p->columns + p->paddle] = 1;
  }
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  char picture[SIDE_MAX * (SIDE_MAX + 1) + 1], *at = picture;
  for (int row = 0; row < p->rows; row++) {
    for (int column = 0; column < p->columns; column++)
      *at++ = row == p->row && column == p->ball ? 'o' : row == p->rows - 1 && column == p->paddle ? 'x' : '.';
    *at++ = '\n';
  }
  *at = '\0';
  return snprintf(out, size, "%s", picture);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  static const char *const names[ACTIONS] = {"left", "stay", "right"};
  return snprintf(out, size, "%s", names[action]);
}

/* Every move that leaves the paddle near enough catches the ball. */
static void expert(const mz_env *env, const void *state, uint8_t *optimal_mask, float *value) {
  (void)env;
  const position *p = state;
  const int left = p->rows - 2 - p->row; /* moves after this one */
  bool reached = false;
  for (int a = 0; a < ACTIONS; a++) {
    const int to = p->paddle + a - 1, paddle = to < 0 ? 0 : to >= p->columns ? p->columns - 1 : to;
    optimal_mask[a] = abs(paddle - p->ball) <= left;
    reached |= optimal_mask[a];
  }
  if (!reached) memset(optimal_mask, 1, ACTIONS);
  *value = reached ? 1 : -1;
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  out[0] = p->row, out[1] = p->ball, out[2] = p->paddle;
  return 3;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)moves;
  const options *o = env->options;
  *(position *)state = (position){.row = (uint8_t)from[0],
                                  .ball = (uint8_t)from[1],
                                  .paddle = (uint8_t)from[2],
                                  .rows = (uint8_t)o->rows,
                                  .columns = (uint8_t)o->columns};
}

static const mz_setting rows[] = {
    MZ_SETTING(options, rows, "rows", MZ_INT, MZ_ALGORITHMIC, SIDE_MIN, SIDE_MAX, "10", "", "rows of the board"),
    MZ_SETTING(options, columns, "columns", MZ_INT, MZ_ALGORITHMIC, SIDE_MIN, SIDE_MAX, "5", "", "columns of the board"),
};

static mz_status fill(mz_env *env, const char *where) {
  (void)where;
  const options *o = env->options;
  env->spec.obs_shape[0] = (int)o->rows, env->spec.obs_shape[1] = (int)o->columns;
  env->spec.obs_size = (int)(o->rows * o->columns);
  env->spec.longest = (int)o->rows - 1;
  return MZ_OK;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_catch = {
    .name = "catch",
    .title = "Catch: move a paddle under a falling ball",
    .rules = "A ball starts in a random column of the top row and falls one row a move; actions 0, 1, 2 move the paddle on the "
             "bottom row left, not at all, right. When the ball arrives: reward 1 on the paddle, -1 beside it. As OpenSpiel's "
             "catch.",
    .observation = "rows × columns of 0 and 1: the ball, and on the bottom row the paddle",
    .spec = {.obs_kind = MZ_OBS_U8,
             .obs_shape = {ROWS, COLUMNS, 1},
             .obs_size = ROWS * COLUMNS,
             .actions = ACTIONS,
             .players = 1,
             .longest = ROWS - 1,
             .symmetries = 1,
             .reward_min = -1,
             .reward_max = 1,
             .return_min = -1,
             .return_max = 1},
    .state_size = sizeof(position),
    .copies = true,
    .options = &(const options){.rows = ROWS, .columns = COLUMNS},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .text = text,
    .action_text = action_text,
    .expert = expert,
    .numbers = numbers,
    .load = load,
};
