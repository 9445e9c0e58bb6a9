/* MountainCar-v0 as Gymnasium has it: every operation on doubles in the reference's order, so that only the last bits of the
 * cosine can differ. Moore, Efficient Memory-based Learning for Robot Control (1990); Sutton & Barto (2018), example 10.1. */
#include "envs/bundled.h"
#include "envs/move_limit.h"
#include "base/maths/maths_inline.h"
#include <string.h>

#define FORCE 0.001
#define GRAVITY 0.0025
#define LEFT -1.2
#define RIGHT 0.6
#define GOAL 0.5
#define SPEED_LIMIT 0.07
#define START_LEFT -0.6
#define START_RIGHT -0.4

enum { ACTIONS = 3, LIMIT = 200, LANES = 8 };

typedef struct car {
  double position, velocity;
  uint64_t moves;
} car;

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  *(car *)state = (car){.position = START_LEFT + (START_RIGHT - START_LEFT) * mz_generator_f64(generator)};
  return MZ_OK;
}

static double clip(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

static bool at_goal(const car *c) { return c->position >= GOAL && c->velocity >= 0; }

/* Steps n ≤ LANES cars: the cosines of all lanes together, as vector code. No operation crosses lanes, so a car's bits do not
 * depend on its neighbours. */
static inline __attribute__((always_inline)) void step_lanes(car *cars, int n, const int32_t *actions, uint64_t limit,
                                                             mz_step *results) {
  double slope[LANES] = {0};
  for (int i = 0; i < n; i++) slope[i] = 3 * cars[i].position;
  for (int i = 0; i < LANES; i++) {
    double sine;
    mz_sincos_inline(slope[i], &sine, &slope[i]);
  }
  for (int i = 0; i < n; i++) {
    car *c = &cars[i];
    c->velocity = clip(c->velocity + ((actions[i] - 1) * FORCE + slope[i] * -GRAVITY), -SPEED_LIMIT, SPEED_LIMIT);
    c->position = clip(c->position + c->velocity, LEFT, RIGHT);
    if (c->position <= LEFT && c->velocity < 0) c->velocity = 0; /* the wall stops it */
    c->moves++;
    results[i] = (mz_step){.reward = -1, .terminated = at_goal(c), .truncated = c->moves >= limit};
  }
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)generators;
  car *cars = states;
  const uint64_t limit = (uint64_t)env->spec.max_moves;
  int i = 0;
  for (; i + LANES <= n; i += LANES) step_lanes(cars + i, LANES, actions + i, limit, results + i);
  if (i < n) step_lanes(cars + i, n - i, actions + i, limit, results + i);
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  const car *c = state;
  return c->position >= LEFT && c->position <= RIGHT && fabs(c->velocity) <= SPEED_LIMIT && !at_goal(c) &&
         c->moves < (uint64_t)env->spec.max_moves; /* false for what is no number */
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const car *c = states;
  float *out = observations;
  for (int i = 0; i < n; i++) {
    *out++ = (float)c[i].position;
    *out++ = (float)(c[i].velocity / SPEED_LIMIT);
  }
}

/* The valley from the side, forty columns for the whole track: height is sin 3x. */
static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  enum { COLUMNS = 46, ROWS = 7 };
  const car *c = state;
  char picture[ROWS][COLUMNS + 2];
  for (int row = 0; row < ROWS; row++) {
    memset(picture[row], ' ', COLUMNS);
    picture[row][COLUMNS] = '\n';
    picture[row][COLUMNS + 1] = '\0';
  }
  const int at = (int)((c->position - LEFT) / (RIGHT - LEFT) * (COLUMNS - 1));
  for (int column = 0; column < COLUMNS; column++) {
    double sine, cosine;
    mz_sincos_inline(3 * (LEFT + (RIGHT - LEFT) * column / (COLUMNS - 1)), &sine, &cosine);
    const int row = 1 + (int)((1 - sine) / 2 * (ROWS - 2) + 0.5);
    picture[row][column] = '.';
    if (column == at) picture[row - 1][column] = 'o';
    if (column == (int)((GOAL - LEFT) / (RIGHT - LEFT) * (COLUMNS - 1)) && column != at) picture[row - 1][column] = 'P';
  }
  return snprintf(out, size, "%s%s%s%s%s%s%smove %d   position %+.4f   velocity %+.4f\n", picture[0], picture[1], picture[2],
                  picture[3], picture[4], picture[5], picture[6], (int)c->moves, c->position, c->velocity);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  static const char *const names[ACTIONS] = {"left", "coast", "right"};
  return snprintf(out, size, "%s", names[action]);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  memcpy(out, state, 2 * sizeof *out);
  return 2;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  *(car *)state = (car){from[0], from[1], (uint64_t)moves};
}

static const mz_setting rows[] = {
    MZ_SETTING(mz_move_limit, limit, "limit", MZ_INT, MZ_ALGORITHMIC, 1, MZ_MOVE_LIMIT_MAX, "200", "",
               "moves after which a game is truncated; longer ones let random play reach the goal"),
};

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(mz_move_limit), .fill = mz_move_limit_fill};

const mz_env mz_env_mountain_car = {
    .name = "mountaincar",
    .title = "MountainCar-v0: gather speed to drive a weak car out of a valley",
    .rules =
        "Gymnasium's MountainCar-v0. Action 0 pushes left, 1 coasts, 2 pushes right; the valley's slope is stronger than the "
        "car. Reward -1 for every move. Terminated at the flag (position >= 0.5); truncated after 200 moves, or `limit`. "
        "Starts at rest, uniformly between -0.6 and -0.4.",
    .observation = "position (-1.2 … 0.6), velocity as part of its limit, 0.07",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, 2},
             .obs_size = 2,
             .actions = ACTIONS,
             .players = 1,
             .max_moves = LIMIT,
             .symmetries = 1,
             .reward_min = -1,
             .reward_max = 0,
             .return_min = -LIMIT,
             .return_max = 0,
             .one_sided = true},
    .state_size = sizeof(car),
    .copies = true,
    .options = &(const mz_move_limit){.limit = LIMIT},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .text = text,
    .action_text = action_text,
    .numbers = numbers,
    .load = load,
};
