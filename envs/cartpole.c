/* CartPole-v1 as Gymnasium has it: every operation on doubles in the reference's order, so that only the last bits of sine and
 * cosine can differ. Equations: Barto, Sutton & Anderson (1983), friction left out; Florian (2005). */
#include "envs/bundled.h"
#include "base/maths/maths_inline.h"
#include <string.h>

#define GRAVITY 9.8
#define POLE_MASS 0.1
#define TOTAL_MASS (POLE_MASS + 1.0)
#define POLE_HALF_LENGTH 0.5
#define POLE_MASS_LENGTH (POLE_MASS * POLE_HALF_LENGTH)
#define FORCE 10.0
#define TIME_STEP 0.02
#define X_LIMIT 2.4
#define THETA_LIMIT (12 * 2 * 3.141592653589793 / 360) /* 12° */
#define RESET_LIMIT 0.05
/* No cart in play is faster: one step crosses its range at 2 · limit / TIME_STEP (240, 21), and a push adds less than 1 to that. */
#define X_DOT_LIMIT 250.0
#define THETA_DOT_LIMIT 25.0

enum { MOVES_MAX = 500, LANES = 8 };

typedef struct cart {
  double x, x_dot, theta, theta_dot;
  uint64_t moves;
} cart;

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  cart *c = state;
  double *const drawn[] = {&c->x, &c->x_dot, &c->theta, &c->theta_dot};
  for (int i = 0; i < 4; i++) *drawn[i] = -RESET_LIMIT + (RESET_LIMIT - -RESET_LIMIT) * mz_generator_f64(generator);
  c->moves = 0;
  return MZ_OK;
}

/* Steps n ≤ LANES carts. The middle loop always runs over all lanes of local arrays: the compiler makes it vector code, and
 * since no operation crosses lanes a cart's bits do not depend on its neighbours or on n. */
static inline __attribute__((always_inline)) void step_lanes(cart *carts, int n, const int32_t *actions, mz_step *results) {
  double x[LANES] = {0}, x_dot[LANES] = {0}, theta[LANES] = {0}, theta_dot[LANES] = {0}, force[LANES] = {0};
  double terminated[LANES]; /* 1 or 0: a width that the vectors have */
  for (int i = 0; i < n; i++) {
    x[i] = carts[i].x;
    x_dot[i] = carts[i].x_dot;
    theta[i] = carts[i].theta;
    theta_dot[i] = carts[i].theta_dot;
    force[i] = actions[i] ? FORCE : -FORCE;
  }
  for (int i = 0; i < LANES; i++) {
    double sine, cosine;
    mz_sincos_inline(theta[i], &sine, &cosine);
    const double push = (force[i] + POLE_MASS_LENGTH * (theta_dot[i] * theta_dot[i]) * sine) / TOTAL_MASS;
    const double theta_acceleration =
        (GRAVITY * sine - cosine * push) / (POLE_HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * (cosine * cosine) / TOTAL_MASS));
    const double x_acceleration = push - POLE_MASS_LENGTH * theta_acceleration * cosine / TOTAL_MASS;
    /* explicit Euler: positions move with the old velocities */
    x[i] = x[i] + TIME_STEP * x_dot[i];
    x_dot[i] = x_dot[i] + TIME_STEP * x_acceleration;
    theta[i] = theta[i] + TIME_STEP * theta_dot[i];
    theta_dot[i] = theta_dot[i] + TIME_STEP * theta_acceleration;
    terminated[i] = ((fabs(x[i]) > X_LIMIT) | (fabs(theta[i]) > THETA_LIMIT)) ? 1.0 : 0.0;
  }
  for (int i = 0; i < n; i++) {
    const uint64_t moves = carts[i].moves + 1;
    carts[i] = (cart){x[i], x_dot[i], theta[i], theta_dot[i], moves};
    results[i] = (mz_step){.reward = 1.0f, .terminated = terminated[i] != 0, .truncated = moves >= MOVES_MAX};
  }
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)env, (void)generators;
  cart *carts = states;
  int i = 0;
  for (; i + LANES <= n; i += LANES) step_lanes(carts + i, LANES, actions + i, results + i);
  if (i < n) step_lanes(carts + i, n - i, actions + i, results + i);
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  (void)env;
  const cart *c = state;
  return fabs(c->x) <= X_LIMIT && fabs(c->theta) <= THETA_LIMIT && fabs(c->x_dot) <= X_DOT_LIMIT &&
         fabs(c->theta_dot) <= THETA_DOT_LIMIT && c->moves < MOVES_MAX; /* false for what is no number */
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const cart *c = states;
  float *out = observations;
  for (int i = 0; i < n; i++) {
    out[4 * i + 0] = (float)c[i].x;
    out[4 * i + 1] = (float)c[i].x_dot;
    out[4 * i + 2] = (float)c[i].theta;
    out[4 * i + 3] = (float)c[i].theta_dot;
  }
}

/* The track seen from the side, ten columns a metre; the pole's lean is not to scale. */
static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  enum { HALF = 24, WIDTH = 2 * HALF + 1, POLE_ROWS = 4, ROWS = POLE_ROWS + 1, LINE = WIDTH + 1 };
  const cart *c = state;
  char picture[ROWS * LINE + 1];
  memset(picture, ' ', sizeof picture);
  memset(picture + POLE_ROWS * LINE, '_', WIDTH);
  for (int row = 0; row < ROWS; row++) picture[row * LINE + WIDTH] = '\n';
  picture[ROWS * LINE] = '\0';

  for (int height = 0; height <= POLE_ROWS; height++) {
    const double column = HALF + 10 * c->x + 4 * c->theta * height;
    if (column < 0 || column >= WIDTH) continue;
    const char pole = c->theta < -0.02 ? '\\' : c->theta > 0.02 ? '/' : '|';
    picture[(POLE_ROWS - height) * LINE + (int)column] = height == 0 ? '#' : pole;
  }
  return snprintf(out, size, "%smove %d   x %+.3f   x_dot %+.3f   theta %+.4f   theta_dot %+.3f\n", picture, (int)c->moves, c->x,
                  c->x_dot, c->theta, c->theta_dot);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  return snprintf(out, size, "%s", action ? "right" : "left");
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  memcpy(out, state, 4 * sizeof *out);
  return 4;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  *(cart *)state = (cart){from[0], from[1], from[2], from[3], (uint64_t)moves};
}

const mz_env mz_env_cartpole = {
    .name = "cartpole",
    .title = "CartPole-v1: balance a pole on a cart that is pushed left or right",
    .rules = "Gymnasium's CartPole-v1. Action 0 pushes the cart left with 10 N, 1 right; a step is 0.02 s of explicit Euler. "
             "Reward 1 for every step, the last included. Terminated when |x| > 2.4 or |theta| > 12 degrees; truncated after 500 "
             "moves, where both flags are set if the pole falls on that very move. Starts uniformly within 0.05 in all four "
             "numbers.",
    .observation = "cart position (m), cart velocity (m/s), pole angle (rad, 0 upright), pole angular velocity (rad/s)",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, 4},
             .obs_size = 4,
             .actions = 2,
             .players = 1,
             .max_moves = MOVES_MAX,
             .symmetries = 1,
             .reward_min = 0,
             .reward_max = 1,
             .return_min = 0,
             .return_max = MOVES_MAX},
    .state_size = sizeof(cart),
    .copies = true,
    .reset = reset,
    .step = step,
    .valid = valid,
    .observe = observe,
    .text = text,
    .action_text = action_text,
    .numbers = numbers,
    .load = load,
};
