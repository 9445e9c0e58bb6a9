/* Asterix: fetch the gold and keep out of the enemies' way. Both cross the rows 1 to 8, one thing a row. */
#include "envs/bundled.h"
#include "envs/minatar/minatar.h"

enum { ROWS = 8, SPAWN_SPEED = 10, MOVE_SPEED = 5, RAMP_INTERVAL = 100, RAMPS_MAX = 9 };
enum { CHANNELS = 4, PLAYER = 0, ENEMY = 1, TRAIL = 2, GOLD = 3 };

typedef enum kind { NOTHING, AN_ENEMY, SOME_GOLD } kind;

typedef struct thing {
  uint8_t kind;
  uint8_t x;
  uint8_t right; /* it moves to the right */
} thing;

typedef struct asterix {
  mz_minatar_head head;
  uint8_t x, y; /* of the player */
  uint8_t spawn_timer, move_timer;
  int8_t ramp_timer; /* -1: the next step ramps */
  uint8_t ramps;     /* so far; they set both speeds */
  uint8_t zero[2];
  thing things[ROWS]; /* of row 1, 2, … */
} asterix;
_Static_assert(sizeof(asterix) % 8 == 0, "state_size");

/* Both speeds are steps between two events: one falls with every ramp, the other with every second. */
static int spawn_speed(const asterix *a) { return a->ramps >= SPAWN_SPEED ? 1 : SPAWN_SPEED - a->ramps; }
static int move_speed(const asterix *a) { return a->ramps / 2 >= MOVE_SPEED ? 1 : MOVE_SPEED - a->ramps / 2; }

static void start(void *state, const mz_generator *generator) {
  (void)generator;
  asterix *a = state;
  a->x = a->y = 5;
  a->spawn_timer = SPAWN_SPEED;
  a->move_timer = MOVE_SPEED;
  a->ramp_timer = RAMP_INTERVAL;
}

/* Three draws whether or not there is room: side, kind, and then which of the free rows. */
static void spawn(asterix *a, const mz_generator *generator) {
  const bool right = mz_generator_f64(generator) < 0.5;
  const bool is_gold = mz_generator_f64(generator) < 1.0 / 3.0;
  int rows[ROWS], count = 0;
  for (int row = 0; row < ROWS; row++) {
    if (a->things[row].kind == NOTHING) rows[count++] = row;
  }
  if (count == 0) return;
  a->things[rows[mz_generator_below(generator, (uint32_t)count)]] =
      (thing){.kind = is_gold ? SOME_GOLD : AN_ENEMY, .x = right ? 0 : MZ_MINATAR_SIDE - 1, .right = right};
}

/* Gold where the player is goes, an enemy there ends the game. */
static void meet(asterix *a, int row, mz_step *result) {
  thing *t = &a->things[row];
  if (t->kind == NOTHING || t->x != a->x || row + 1 != a->y) return;
  if (t->kind == AN_ENEMY) {
    result->terminated = true;
    return;
  }
  *t = (thing){0};
  result->reward += 1;
}

static void move_things(asterix *a, mz_step *result) {
  for (int row = 0; row < ROWS; row++) {
    thing *t = &a->things[row];
    if (t->kind == NOTHING) continue;
    const int x = mz_minatar_onward(t->x, t->right);
    if (mz_minatar_inside(x)) {
      t->x = (uint8_t)x;
      meet(a, row, result);
    } else {
      *t = (thing){0};
    }
  }
}

static void ramp(asterix *a) {
  if (a->ramps == RAMPS_MAX) return;
  if (a->ramp_timer >= 0) {
    a->ramp_timer--;
  } else {
    a->ramps++;
    a->ramp_timer = RAMP_INTERVAL;
  }
}

static void advance(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result) {
  asterix *a = state;
  if (a->spawn_timer == 0) {
    spawn(a, generator);
    a->spawn_timer = (uint8_t)spawn_speed(a);
  }
  a->x = (uint8_t)mz_minatar_walk(a->x, (action == MZ_MINATAR_RIGHT) - (action == MZ_MINATAR_LEFT), 0, MZ_MINATAR_SIDE - 1);
  a->y = (uint8_t)mz_minatar_walk(a->y, (action == MZ_MINATAR_DOWN) - (action == MZ_MINATAR_UP), 1, ROWS);
  for (int row = 0; row < ROWS; row++) meet(a, row, result);
  if (a->move_timer == 0) {
    a->move_timer = (uint8_t)move_speed(a);
    move_things(a, result);
  }
  a->spawn_timer--;
  a->move_timer--;
  if (ramping) ramp(a);
}

static void draw(const void *state, uint8_t *planes) {
  const asterix *a = state;
  mz_minatar_set(planes, CHANNELS, PLAYER, a->x, a->y);
  for (int row = 0; row < ROWS; row++) {
    const thing *t = &a->things[row];
    if (t->kind == NOTHING) continue;
    mz_minatar_set(planes, CHANNELS, t->kind == SOME_GOLD ? GOLD : ENEMY, t->x, row + 1);
    const int behind = mz_minatar_onward(t->x, !t->right);
    if (mz_minatar_inside(behind)) mz_minatar_set(planes, CHANNELS, TRAIL, behind, row + 1);
  }
}

static const mz_minatar_game game = {
    .channels = CHANNELS,
    .minimal = {MZ_MINATAR_NOOP, MZ_MINATAR_LEFT, MZ_MINATAR_UP, MZ_MINATAR_RIGHT, MZ_MINATAR_DOWN},
    .minimal_count = 5,
    .limited = true,
    .return_rate = 1,
    .return_base = 0,
    .picture = "2-3$1x0@",
    .start = start,
    .advance = advance,
    .draw = draw,
};

static bool is_thing(const thing *t) {
  if (t->kind == NOTHING) return t->x == 0 && t->right == 0;
  return t->kind <= SOME_GOLD && mz_minatar_inside(t->x) && t->right <= 1;
}

static bool valid(const mz_env *env, const void *state) {
  const asterix *a = state;
  if (!mz_minatar_head_valid(env, &game, &a->head) || !mz_minatar_zero(a->zero, sizeof a->zero)) return false;
  if (!mz_minatar_inside(a->x) || a->y < 1 || a->y > ROWS) return false;
  if (a->spawn_timer > SPAWN_SPEED || a->move_timer > MOVE_SPEED) return false;
  if (a->ramp_timer < -1 || a->ramp_timer > RAMP_INTERVAL || a->ramps > RAMPS_MAX) return false;
  for (int row = 0; row < ROWS; row++) {
    if (!is_thing(&a->things[row])) return false;
  }
  return true;
}

/* --- the environment --- */

MZ_MINATAR_FUNCTIONS(game)

const mz_env mz_env_asterix = {
    .name = "asterix",
    .title = "MinAtar's Asterix: fetch gold and avoid enemies, which cross the grid ever faster",
    .rules = "MinAtar 1.0.15. Gold and enemies cross rows 1 to 8 from either side, at most one a row; every third is gold on the "
             "average. Reward 1 for gold that is met; terminated by an enemy that is met. Every 10 steps something appears and "
             "every 5 everything moves; after each 100 steps both become faster (ramping). Truncated after `limit` moves.",
    .observation = "10 x 10 cells, 4 planes of 0 or 1: player, enemy, trail (the cell that an enemy or gold came from), gold",
    MZ_MINATAR_SPEC(CHANNELS, 5, MZ_MINATAR_LIMIT, 1, MZ_MINATAR_LIMIT),
    MZ_MINATAR_MEMBERS(asterix, 4),
};
