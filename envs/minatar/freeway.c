/* Freeway: cross eight lanes of cars, again and again, within a time that is the same for every game. */
#include "envs/bundled.h"
#include "envs/minatar/minatar.h"
#include <stdlib.h>

enum {
  LANES = 8,
  SPEED_MAX = 5,
  MOVE_SPEED = 3,
  TIME_LIMIT = 2500,
  COLUMN = 4,
  CROSSINGS_MAX = TIME_LIMIT / MOVE_SPEED / 9,
  BOTTOM = MZ_MINATAR_SIDE - 1
};
enum { CHANNELS = 7, CHICKEN = 0, CAR = 1, SPEED_ONE = 2 };

typedef struct car {
  uint8_t x;
  uint8_t timer; /* steps until it moves */
  int8_t speed;  /* steps between moves; to the right where positive */
} car;

typedef struct freeway {
  mz_minatar_head head;
  uint8_t y; /* of the chicken */
  uint8_t move_timer;
  uint8_t zero[6];
  car cars[LANES]; /* of row 1, 2, … */
} freeway;
_Static_assert(sizeof(freeway) % 8 == 0, "state_size");

/* New speeds for all; cars stay where they are. */
static void draw_speeds(freeway *f, const mz_generator *generator) {
  for (int lane = 0; lane < LANES; lane++) {
    const int speed = 1 + (int)mz_generator_below(generator, SPEED_MAX);
    f->cars[lane].speed = (int8_t)speed;
    f->cars[lane].timer = (uint8_t)speed;
  }
  for (int lane = 0; lane < LANES; lane++) {
    if (mz_generator_f64(generator) < 0.5) f->cars[lane].speed = (int8_t)-f->cars[lane].speed;
  }
}

static void start(void *state, const mz_generator *generator) {
  freeway *f = state;
  f->y = BOTTOM;
  f->move_timer = MOVE_SPEED;
  draw_speeds(f, generator);
}

static bool is_hit(const freeway *f, int lane) { return f->cars[lane].x == COLUMN && f->y == lane + 1; }

static void move_car(car *c) {
  if (c->timer > 0) {
    c->timer--;
    return;
  }
  c->timer = (uint8_t)abs(c->speed);
  const int x = mz_minatar_onward(c->x, c->speed > 0);
  c->x = (uint8_t)(x < 0 ? MZ_MINATAR_SIDE - 1 : x % MZ_MINATAR_SIDE);
}

static void advance(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result) {
  (void)ramping;
  freeway *f = state;
  const int side = (action == MZ_MINATAR_DOWN) - (action == MZ_MINATAR_UP);
  if (side != 0 && f->move_timer == 0) {
    f->move_timer = MOVE_SPEED;
    f->y = (uint8_t)mz_minatar_walk(f->y, side, 0, BOTTOM);
  }
  if (f->y == 0) {
    result->reward = 1;
    f->y = BOTTOM;
    draw_speeds(f, generator);
  }
  for (int lane = 0; lane < LANES; lane++) {
    if (is_hit(f, lane)) f->y = BOTTOM;
    move_car(&f->cars[lane]);
    if (is_hit(f, lane)) f->y = BOTTOM;
  }
  if (f->move_timer > 0) f->move_timer--;
  result->terminated = f->head.moves >= TIME_LIMIT;
}

static void draw(const void *state, uint8_t *planes) {
  const freeway *f = state;
  mz_minatar_set(planes, CHANNELS, CHICKEN, COLUMN, f->y);
  for (int lane = 0; lane < LANES; lane++) {
    const car *c = &f->cars[lane];
    mz_minatar_set(planes, CHANNELS, CAR, c->x, lane + 1);
    const int behind = (mz_minatar_onward(c->x, c->speed < 0) + MZ_MINATAR_SIDE) % MZ_MINATAR_SIDE;
    mz_minatar_set(planes, CHANNELS, SPEED_ONE + abs(c->speed) - 1, behind, lane + 1);
  }
}

static const mz_minatar_game game = {
    .channels = CHANNELS,
    .minimal = {MZ_MINATAR_NOOP, MZ_MINATAR_UP, MZ_MINATAR_DOWN},
    .minimal_count = 3,
    .limited = false,
    .picture = "21324354651#0@",
    .start = start,
    .advance = advance,
    .draw = draw,
};

static bool valid(const mz_env *env, const void *state) {
  const freeway *f = state;
  if (!mz_minatar_head_valid(env, &game, &f->head) || f->head.moves > TIME_LIMIT) return false;
  if (!mz_minatar_zero(f->zero, sizeof f->zero)) return false;
  if (f->y < 1 || f->y > BOTTOM || f->move_timer > MOVE_SPEED) return false;
  for (int lane = 0; lane < LANES; lane++) {
    const car *c = &f->cars[lane];
    const int speed = abs(c->speed);
    if (!mz_minatar_inside(c->x) || speed < 1 || speed > SPEED_MAX || c->timer > speed) return false;
  }
  return true;
}

/* --- the environment --- */

MZ_MINATAR_FUNCTIONS(game)

const mz_env mz_env_freeway = {
    .name = "freeway",
    .title = "MinAtar's Freeway: lead a chicken across eight lanes of cars",
    .rules =
        "MinAtar 1.0.15. The chicken moves up or down every third step at most; each car moves every 2 to 6 steps, left or "
        "right, and comes in again at the other side. A car that is met takes the chicken back to the bottom. Reward 1 at the "
        "top, from where it starts again while all cars draw new speeds. Terminated after 2,501 moves, the game's own time.",
    .observation =
        "10 x 10 cells, 7 planes of 0 or 1: chicken, car, and for each speed (1 is fastest) the cell behind a car that has it",
    MZ_MINATAR_SPEC(CHANNELS, 3, 0, 1, CROSSINGS_MAX),
    .spec.longest = TIME_LIMIT + 1,
    MZ_MINATAR_MEMBERS(freeway, 2),
};
