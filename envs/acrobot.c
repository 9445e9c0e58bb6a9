/* Acrobot-v1 as Gymnasium has it ("book" dynamics, no torque noise): every operation on doubles in the reference's order, so that
 * only the last bits of sine and cosine can differ. Sutton, NIPS 8 (1996); Sutton & Barto (1998), section 11.3. */
#include "envs/bundled.h"
#include "envs/move_limit.h"
#include "base/maths/maths_inline.h"
#include <string.h>

#define PI 3.141592653589793
#define TIME_STEP 0.2
#define LENGTH 1.0  /* of a link */
#define MASS 1.0    /* of a link */
#define CENTRE 0.5  /* of a link's mass, from its joint */
#define INERTIA 1.0 /* of a link */
#define GRAVITY 9.8
#define SPEED1_LIMIT (4 * PI)
#define SPEED2_LIMIT (9 * PI)
#define RESET_LIMIT 0.1

enum { ACTIONS = 3, LIMIT = 500, LANES = 8 };

typedef struct links {
  double angle1, angle2; /* of the first link, 0 hanging down; of the second relative to the first; within ±π */
  double speed1, speed2;
  uint64_t moves;
} links;

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  links *l = state;
  double *const drawn[] = {&l->angle1, &l->angle2, &l->speed1, &l->speed2};
  for (int i = 0; i < 4; i++) /* the reference keeps its first state in single precision */
    *drawn[i] = (double)(float)(-RESET_LIMIT + (RESET_LIMIT - -RESET_LIMIT) * mz_generator_f64(generator));
  l->moves = 0;
  return MZ_OK;
}

/* Arrays of lanes: every loop over them is vector code, and no operation crosses lanes, so a state's bits do not depend on its
 * neighbours. */
typedef struct lanes {
  double angle1[LANES], angle2[LANES], speed1[LANES], speed2[LANES];
} lanes;

/* The derivatives of all four at `s`. */
static inline __attribute__((always_inline)) lanes derive(const lanes *s, const double *torque) {
  lanes out;
  for (int i = 0; i < LANES; i++) {
    double sin2, cos2, cos_first, cos_sum, unused;
    mz_sincos_inline(s->angle2[i], &sin2, &cos2);
    mz_sincos_inline(s->angle1[i] + s->angle2[i] - PI / 2, &unused, &cos_sum);
    mz_sincos_inline(s->angle1[i] - PI / 2, &unused, &cos_first);
    const double v1 = s->speed1[i], v2 = s->speed2[i];
    const double d1 =
        MASS * (CENTRE * CENTRE) + MASS * (LENGTH * LENGTH + CENTRE * CENTRE + 2 * LENGTH * CENTRE * cos2) + INERTIA + INERTIA;
    const double d2 = MASS * (CENTRE * CENTRE + LENGTH * CENTRE * cos2) + INERTIA;
    const double phi2 = MASS * CENTRE * GRAVITY * cos_sum;
    const double phi1 = -MASS * LENGTH * CENTRE * (v2 * v2) * sin2 - 2 * MASS * LENGTH * CENTRE * v2 * v1 * sin2 +
                        (MASS * CENTRE + MASS * LENGTH) * GRAVITY * cos_first + phi2;
    const double push2 = (torque[i] + d2 / d1 * phi1 - MASS * LENGTH * CENTRE * (v1 * v1) * sin2 - phi2) /
                         (MASS * (CENTRE * CENTRE) + INERTIA - d2 * d2 / d1);
    out.angle1[i] = v1;
    out.angle2[i] = v2;
    out.speed1[i] = -(d2 * push2 + phi1) / d1;
    out.speed2[i] = push2;
  }
  return out;
}

/* s + h k */
static inline __attribute__((always_inline)) lanes moved(const lanes *s, double h, const lanes *k) {
  lanes out;
  for (int i = 0; i < LANES; i++) {
    out.angle1[i] = s->angle1[i] + h * k->angle1[i];
    out.angle2[i] = s->angle2[i] + h * k->angle2[i];
    out.speed1[i] = s->speed1[i] + h * k->speed1[i];
    out.speed2[i] = s->speed2[i] + h * k->speed2[i];
  }
  return out;
}

static inline double mean_of(double k1, double k2, double k3, double k4) { return k1 + 2 * k2 + 2 * k3 + k4; }

/* One step of the classical Runge-Kutta method. */
static inline __attribute__((always_inline)) void integrate(lanes *s, const double *torque) {
  const double h = TIME_STEP, half = TIME_STEP / 2;
  const lanes k1 = derive(s, torque);
  const lanes at2 = moved(s, half, &k1), k2 = derive(&at2, torque);
  const lanes at3 = moved(s, half, &k2), k3 = derive(&at3, torque);
  const lanes at4 = moved(s, h, &k3), k4 = derive(&at4, torque);
  for (int i = 0; i < LANES; i++) {
    s->angle1[i] += h / 6.0 * mean_of(k1.angle1[i], k2.angle1[i], k3.angle1[i], k4.angle1[i]);
    s->angle2[i] += h / 6.0 * mean_of(k1.angle2[i], k2.angle2[i], k3.angle2[i], k4.angle2[i]);
    s->speed1[i] += h / 6.0 * mean_of(k1.speed1[i], k2.speed1[i], k3.speed1[i], k4.speed1[i]);
    s->speed2[i] += h / 6.0 * mean_of(k1.speed2[i], k2.speed2[i], k3.speed2[i], k4.speed2[i]);
  }
}

static double wrap(double angle) {
  while (angle > PI) angle -= 2 * PI;
  while (angle < -PI) angle += 2 * PI;
  return angle;
}

static double clip(double x, double limit) { return x < -limit ? -limit : x > limit ? limit : x; }

/* Whether the tip is a link's length above the first joint. */
static bool is_high(double angle1, double angle2) {
  double unused, cos_first, cos_sum;
  mz_sincos_inline(angle1, &unused, &cos_first);
  mz_sincos_inline(angle2 + angle1, &unused, &cos_sum);
  return -cos_first - cos_sum > 1.0;
}

static inline __attribute__((always_inline)) void step_lanes(links *all, int n, const int32_t *actions, uint64_t limit,
                                                             mz_step *results) {
  lanes s = {0};
  double torque[LANES] = {0}, high[LANES];
  for (int i = 0; i < n; i++) {
    s.angle1[i] = all[i].angle1, s.angle2[i] = all[i].angle2;
    s.speed1[i] = all[i].speed1, s.speed2[i] = all[i].speed2;
    torque[i] = actions[i] - 1;
  }
  integrate(&s, torque);
  for (int i = 0; i < LANES; i++) {
    s.angle1[i] = wrap(s.angle1[i]), s.angle2[i] = wrap(s.angle2[i]);
    s.speed1[i] = clip(s.speed1[i], SPEED1_LIMIT), s.speed2[i] = clip(s.speed2[i], SPEED2_LIMIT);
  }
  for (int i = 0; i < LANES; i++) high[i] = is_high(s.angle1[i], s.angle2[i]) ? 1.0 : 0.0;
  for (int i = 0; i < n; i++) {
    all[i] = (links){s.angle1[i], s.angle2[i], s.speed1[i], s.speed2[i], all[i].moves + 1};
    const bool ended = high[i] != 0;
    results[i] = (mz_step){.reward = ended ? 0 : -1, .terminated = ended, .truncated = all[i].moves >= limit};
  }
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  (void)generators;
  links *all = states;
  const uint64_t limit = (uint64_t)env->spec.max_moves;
  int i = 0;
  for (; i + LANES <= n; i += LANES) step_lanes(all + i, LANES, actions + i, limit, results + i);
  if (i < n) step_lanes(all + i, n - i, actions + i, limit, results + i);
  return MZ_OK;
}

static bool valid(const mz_env *env, const void *state) {
  const links *l = state;
  return fabs(l->angle1) <= PI && fabs(l->angle2) <= PI && fabs(l->speed1) <= SPEED1_LIMIT && fabs(l->speed2) <= SPEED2_LIMIT &&
         !is_high(l->angle1, l->angle2) && l->moves < (uint64_t)env->spec.max_moves; /* false for what is no number */
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const links *l = states;
  float *out = observations;
  for (int i = 0; i < n; i++) {
    double sin1, cos1, sin2, cos2;
    mz_sincos_inline(l[i].angle1, &sin1, &cos1);
    mz_sincos_inline(l[i].angle2, &sin2, &cos2);
    *out++ = (float)cos1, *out++ = (float)sin1;
    *out++ = (float)cos2, *out++ = (float)sin2;
    *out++ = (float)(l[i].speed1 / SPEED1_LIMIT), *out++ = (float)(l[i].speed2 / SPEED2_LIMIT);
  }
}

/* Both links from the front, eight columns and four rows a link; the dashes are the height to be reached. */
static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  enum { ROWS = 17, MIDDLE_ROW = 8, COLUMNS = 33, MIDDLE_COLUMN = 16, PARTS = 8 };
  const links *l = state;
  char picture[ROWS * (COLUMNS + 1) + 1];
  memset(picture, ' ', sizeof picture);
  for (int row = 0; row < ROWS; row++) picture[row * (COLUMNS + 1) + COLUMNS] = '\n';
  picture[ROWS * (COLUMNS + 1)] = '\0';
  for (int column = 0; column < COLUMNS; column += 2) picture[ROWS / 4 * (COLUMNS + 1) + column] = '-';
  double x = 0, y = 0, angle = 0; /* y: downwards */
  const double turns[2] = {l->angle1, l->angle2};
  for (int link = 0; link < 2; link++) {
    double sine, cosine;
    angle += turns[link];
    mz_sincos_inline(angle, &sine, &cosine);
    for (int part = link; part <= PARTS; part++) {
      const int column = (int)((x + sine * part / PARTS) * 8 + MIDDLE_COLUMN + 0.5);
      const int row = (int)((y + cosine * part / PARTS) * 4 + MIDDLE_ROW + 0.5);
      picture[row * (COLUMNS + 1) + column] = part == 0 ? '+' : part == PARTS ? 'o' : link == 0 ? '#' : '*';
    }
    x += sine, y += cosine;
  }
  return snprintf(out, size, "%smove %d   angles %+.3f %+.3f   speeds %+.3f %+.3f\n", picture, (int)l->moves, l->angle1,
                  l->angle2, l->speed1, l->speed2);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  static const char *const names[ACTIONS] = {"-1", "0", "+1"};
  return snprintf(out, size, "%s", names[action]);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  memcpy(out, state, 4 * sizeof *out);
  return 4;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  *(links *)state = (links){from[0], from[1], from[2], from[3], (uint64_t)moves};
}

static const mz_setting rows[] = {
    MZ_SETTING(mz_move_limit, limit, "limit", MZ_INT, MZ_ALGORITHMIC, 1, MZ_MOVE_LIMIT_MAX, "500", "",
               "moves after which a game is truncated"),
};

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(mz_move_limit), .fill = mz_move_limit_fill};

const mz_env mz_env_acrobot = {
    .name = "acrobot",
    .title = "Acrobot-v1: swing two links up by the joint between them",
    .rules = "Gymnasium's Acrobot-v1. Two links hang from a fixed joint; actions 0, 1, 2 put a torque of -1, 0, +1 on the joint "
             "between them, for 0.2 s (Runge-Kutta). Reward -1 for every move but the last, which brings 0. Terminated when the "
             "tip is a link's length above the fixed joint; truncated after 500 moves, or `limit`. Starts uniformly within 0.1 "
             "in angles and speeds.",
    .observation = "cosine and sine of the first link's angle (0 hanging down), of the second's relative to the first; both "
                   "angular speeds as parts of their limits, 4π and 9π rad/s",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, 6},
             .obs_size = 6,
             .actions = ACTIONS,
             .players = 1,
             .max_moves = LIMIT,
             .symmetries = 1,
             .reward_min = -1,
             .reward_max = 0,
             .return_min = -LIMIT,
             .return_max = 0,
             .one_sided = true},
    .state_size = sizeof(links),
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
