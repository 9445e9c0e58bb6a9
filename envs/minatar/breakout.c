/* Breakout: bounce the ball at three rows of bricks, which come again when the last is gone. */
#include "envs/bundled.h"
#include "envs/minatar/minatar.h"

enum { CHANNELS = 4, PADDLE = 0, BALL = 1, TRAIL = 2, BRICK = 3 };
enum { WALL_TOP = 1, WALL_ROWS = 3, PADDLE_ROW = MZ_MINATAR_SIDE - 1, START_ROW = 3 };
enum { WALL_BRICKS = WALL_ROWS * MZ_MINATAR_SIDE };
#define WHOLE_WALL ((1u << WALL_BRICKS) - 1)

typedef struct breakout {
  mz_minatar_head head;
  uint32_t bricks;        /* bit (y - WALL_TOP) · 10 + x */
  uint8_t x, y;           /* of the ball */
  uint8_t last_x, last_y; /* where it was before the last step */
  uint8_t right, down;    /* its direction */
  uint8_t paddle;
  uint8_t in_wall; /* the last step met a brick: one that is met now is flown through and stays */
  uint8_t zero[4];
} breakout;
_Static_assert(sizeof(breakout) % 8 == 0, "state_size");

static void start(void *state, const mz_generator *generator) {
  breakout *b = state;
  const bool from_right = mz_generator_below(generator, 2) == 1;
  b->bricks = WHOLE_WALL;
  b->x = b->last_x = from_right ? MZ_MINATAR_SIDE - 1 : 0;
  b->y = b->last_y = START_ROW;
  b->right = !from_right;
  b->down = 1;
  b->paddle = 4;
}

/* The bit of a cell of the wall; 0 elsewhere. */
static uint32_t brick_at(int x, int y) {
  return y >= WALL_TOP && y < WALL_TOP + WALL_ROWS ? 1u << ((y - WALL_TOP) * MZ_MINATAR_SIDE + x) : 0;
}

/* The ball reaches the paddle's row in column x. Returns the row it ends in. */
static int meet_paddle(breakout *b, int x, mz_step *result) {
  if (b->bricks == 0) b->bricks = WHOLE_WALL;
  if (b->last_x == b->paddle) { /* from straight above: it continues sideways as it came */
    b->down = !b->down;
    return b->last_y;
  }
  if (x == b->paddle) { /* from beside: back where it came from */
    b->down = !b->down;
    b->right = !b->right;
    return b->last_y;
  }
  result->terminated = true;
  return PADDLE_ROW;
}

static void advance(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result) {
  (void)ramping, (void)generator;
  breakout *b = state;
  const int side = (action == MZ_MINATAR_RIGHT) - (action == MZ_MINATAR_LEFT);
  b->paddle = (uint8_t)mz_minatar_walk(b->paddle, side, 0, MZ_MINATAR_SIDE - 1);
  b->last_x = b->x;
  b->last_y = b->y;

  int x = mz_minatar_onward(b->x, b->right), y = b->down ? b->y + 1 : b->y - 1;
  if (!mz_minatar_inside(x)) {
    x = b->x;
    b->right = !b->right;
  }
  bool met = false;
  if (y < 0) {
    y = 0;
    b->down = !b->down;
  } else if (b->bricks & brick_at(x, y)) {
    met = true;
    if (!b->in_wall) {
      result->reward = 1;
      b->bricks &= ~brick_at(x, y);
      y = b->last_y;
      b->down = !b->down;
    }
  } else if (y == PADDLE_ROW) {
    y = meet_paddle(b, x, result);
  }
  b->in_wall = met;
  b->x = (uint8_t)x;
  b->y = (uint8_t)y;
}

static void draw(const void *state, uint8_t *planes) {
  const breakout *b = state;
  mz_minatar_set(planes, CHANNELS, BALL, b->x, b->y);
  mz_minatar_set(planes, CHANNELS, PADDLE, b->paddle, PADDLE_ROW);
  mz_minatar_set(planes, CHANNELS, TRAIL, b->last_x, b->last_y);
  for (uint32_t left = b->bricks; left; left &= left - 1) {
    const int brick = __builtin_ctz(left);
    mz_minatar_set(planes, CHANNELS, BRICK, brick % MZ_MINATAR_SIDE, brick / MZ_MINATAR_SIDE + WALL_TOP);
  }
}

enum { RETURN_MAX = MZ_MINATAR_LIMIT / 2 + 1 }; /* at the default limit, as the rate below has it */

static const mz_minatar_game game = {
    .channels = CHANNELS,
    .minimal = {MZ_MINATAR_NOOP, MZ_MINATAR_LEFT, MZ_MINATAR_RIGHT},
    .minimal_count = 3,
    .limited = true,
    .return_rate = 0.5,
    .return_base = 1,
    .picture = "3#2-1o0=",
    .start = start,
    .advance = advance,
    .draw = draw,
};

static bool valid(const mz_env *env, const void *state) {
  const breakout *b = state;
  if (!mz_minatar_head_valid(env, &game, &b->head) || b->bricks > WHOLE_WALL) return false;
  if (!mz_minatar_zero(b->zero, sizeof b->zero)) return false;
  return mz_minatar_inside(b->x) && b->y < PADDLE_ROW && mz_minatar_inside(b->last_x) && b->last_y < PADDLE_ROW &&
         b->right <= 1 && b->down <= 1 && mz_minatar_inside(b->paddle) && b->in_wall <= 1;
}

/* --- the environment --- */

MZ_MINATAR_FUNCTIONS(game)

const mz_env mz_env_breakout = {
    .name = "breakout",
    .title = "MinAtar's Breakout: keep the ball in play and break the wall",
    .rules =
        "MinAtar 1.0.15. The ball moves diagonally by one cell a step and bounces off walls, bricks and the paddle; met "
        "from the side, the paddle sends it back where it came from. Reward 1 for a brick, which goes; in the very next step a "
        "brick is flown through and stays. A new wall comes when no brick is left and the ball is at the bottom. Terminated "
        "when the ball gets past the paddle; truncated after `limit` moves.",
    .observation = "10 x 10 cells, 4 planes of 0 or 1: paddle, ball, trail (where the ball was before), brick",
    MZ_MINATAR_SPEC(CHANNELS, 3, MZ_MINATAR_LIMIT, 1, RETURN_MAX),
    MZ_MINATAR_MEMBERS(breakout, 3),
};
