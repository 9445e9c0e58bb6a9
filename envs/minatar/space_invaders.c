/* Space Invaders: shoot the aliens before they come down; they shoot back. The next wave follows the last alien at once. */
#include "envs/bundled.h"
#include "envs/minatar/minatar.h"

enum { CHANNELS = 6, CANNON = 0, ALIEN = 1, ALIEN_LEFT = 2, ALIEN_RIGHT = 3, FRIENDLY_BULLET = 4, ENEMY_BULLET = 5 };
enum { SIDE = MZ_MINATAR_SIDE, CANNON_ROW = SIDE - 1, WAVE_ROWS = 4, SHOT_INTERVAL = 5, ENEMY_SHOT_INTERVAL = 10 };
enum { MOVE_INTERVAL = 12, MOVE_INTERVAL_MIN = 6 };
enum { FULL_ROW = (1 << SIDE) - 1, WAVE_ROW = 0xfc, LEFT_EDGE = 1, RIGHT_EDGE = 1 << (SIDE - 1) };

typedef struct invaders {
  mz_minatar_head head;
  uint16_t aliens[SIDE], shots[SIDE], enemy_shots[SIDE]; /* rows; bit x: column x */
  uint8_t x;                                             /* of the cannon */
  uint8_t right;                                         /* the aliens move to the right */
  uint8_t interval;                                      /* steps between two moves of theirs, or as many as they are */
  uint8_t move_timer, shot_timer, enemy_shot_timer;
  uint8_t zero[6];
} invaders;
_Static_assert(sizeof(invaders) % 8 == 0, "state_size");

static void send_wave(invaders *s) {
  for (int row = 0; row < WAVE_ROWS; row++) s->aliens[row] = WAVE_ROW;
}

static void start(void *state, const mz_generator *generator) {
  (void)generator;
  invaders *s = state;
  s->x = 5;
  s->interval = s->move_timer = MOVE_INTERVAL;
  s->enemy_shot_timer = ENEMY_SHOT_INTERVAL;
  send_wave(s);
}

static int count_aliens(const invaders *s) {
  int count = 0;
  for (int row = 0; row < SIDE; row++) count += __builtin_popcount(s->aliens[row]);
  return count;
}

/* Columns that hold an alien. */
static uint32_t columns_of_aliens(const invaders *s) {
  uint32_t columns = 0;
  for (int row = 0; row < SIDE; row++) columns |= s->aliens[row];
  return columns;
}

/* Moves rows down by one; what leaves the bottom is at the top again. */
static void roll_down(uint16_t rows[SIDE]) {
  const uint16_t bottom = rows[SIDE - 1];
  memmove(rows + 1, rows, (SIDE - 1) * sizeof *rows);
  rows[0] = bottom;
}

static bool reach_cannon(const invaders *s) { return s->aliens[CANNON_ROW] >> s->x & 1; }

/* Sideways, or down where the edge is reached. */
static void move_aliens(invaders *s, mz_step *result) {
  const int count = count_aliens(s);
  s->move_timer = (uint8_t)(count < s->interval ? count : s->interval);
  if (columns_of_aliens(s) & (s->right ? RIGHT_EDGE : LEFT_EDGE)) {
    s->right = !s->right;
    if (s->aliens[SIDE - 1]) result->terminated = true;
    roll_down(s->aliens);
  } else {
    for (int row = 0; row < SIDE; row++) s->aliens[row] = (uint16_t)(s->right ? s->aliens[row] << 1 : s->aliens[row] >> 1);
  }
  if (reach_cannon(s)) result->terminated = true;
}

/* The lowest alien of the column nearest to the cannon shoots, of two as near the left one. */
static void shoot_back(invaders *s) {
  const uint32_t columns = columns_of_aliens(s);
  int column = -1;
  for (int distance = 0; distance < SIDE && column < 0; distance++) {
    const int left = s->x - distance, right = s->x + distance;
    if (left >= 0 && columns >> left & 1)
      column = left;
    else if (right < SIDE && columns >> right & 1)
      column = right;
  }
  for (int row = SIDE - 1; row >= 0 && column >= 0; row--) {
    if (!(s->aliens[row] >> column & 1)) continue;
    s->enemy_shots[row] |= (uint16_t)(1 << column);
    return;
  }
}

static void advance(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result) {
  (void)generator;
  invaders *s = state;
  if (action == MZ_MINATAR_FIRE && s->shot_timer == 0) {
    s->shots[CANNON_ROW] |= (uint16_t)(1 << s->x);
    s->shot_timer = SHOT_INTERVAL;
  }
  s->x = (uint8_t)mz_minatar_walk(s->x, (action == MZ_MINATAR_RIGHT) - (action == MZ_MINATAR_LEFT), 0, SIDE - 1);

  memmove(s->shots, s->shots + 1, (SIDE - 1) * sizeof s->shots[0]);
  s->shots[SIDE - 1] = 0;
  s->enemy_shots[SIDE - 1] = 0;
  roll_down(s->enemy_shots);
  if (s->enemy_shots[CANNON_ROW] >> s->x & 1) result->terminated = true;

  if (reach_cannon(s)) result->terminated = true;
  if (s->move_timer == 0) move_aliens(s, result);
  if (s->enemy_shot_timer == 0) {
    s->enemy_shot_timer = ENEMY_SHOT_INTERVAL;
    shoot_back(s);
  }
  for (int row = 0; row < SIDE; row++) {
    const uint16_t killed = s->aliens[row] & s->shots[row];
    result->reward += (float)__builtin_popcount(killed);
    s->aliens[row] ^= killed;
    s->shots[row] ^= killed;
  }
  if (s->shot_timer > 0) s->shot_timer--;
  s->move_timer--;
  s->enemy_shot_timer--;
  if (columns_of_aliens(s) == 0) {
    if (ramping && s->interval > MOVE_INTERVAL_MIN) s->interval--;
    send_wave(s);
  }
}

static void draw_rows(const uint16_t rows[SIDE], int channel, uint8_t *planes) {
  for (int row = 0; row < SIDE; row++) {
    for (uint32_t left = rows[row]; left; left &= left - 1) mz_minatar_set(planes, CHANNELS, channel, __builtin_ctz(left), row);
  }
}

static void draw(const void *state, uint8_t *planes) {
  const invaders *s = state;
  mz_minatar_set(planes, CHANNELS, CANNON, s->x, CANNON_ROW);
  draw_rows(s->aliens, ALIEN, planes);
  draw_rows(s->aliens, s->right ? ALIEN_RIGHT : ALIEN_LEFT, planes);
  draw_rows(s->shots, FRIENDLY_BULLET, planes);
  draw_rows(s->enemy_shots, ENEMY_BULLET, planes);
}

enum { RETURN_MAX = MZ_MINATAR_LIMIT / 5 + 1 }; /* at the default limit, as the rate below has it */

static const mz_minatar_game game = {
    .channels = CHANNELS,
    .minimal = {MZ_MINATAR_NOOP, MZ_MINATAR_LEFT, MZ_MINATAR_RIGHT, MZ_MINATAR_FIRE},
    .minimal_count = 4,
    .limited = true,
    .return_rate = 0.2,
    .return_base = 1,
    .picture = "1x5!4|0^",
    .start = start,
    .advance = advance,
    .draw = draw,
};

/* A shot is in row 8 after the step that fired it, and the next follows five steps later at the earliest. So the last one that was
 * fired is where shot_timer says, unless it has hit, and an older one at least five rows above. */
static bool are_shots(const invaders *s) {
  enum { LAST = CANNON_ROW - SHOT_INTERVAL }; /* its row when the timer has run out; in the steps that follow it is above */
  const int timer = s->shot_timer, older = timer > 0 ? timer : LAST;
  int before = SIDE + SHOT_INTERVAL;
  for (int row = SIDE - 1; row >= 0; row--) {
    const int here = __builtin_popcount(s->shots[row]);
    if (here == 0) continue;
    if (here > 1 || (row != LAST + timer && row >= older) || row > before - SHOT_INTERVAL) return false;
    before = row;
  }
  return true;
}

static bool valid(const mz_env *env, const void *state) {
  const invaders *s = state;
  if (!mz_minatar_head_valid(env, &game, &s->head) || !mz_minatar_inside(s->x) || s->right > 1) return false;
  if (!mz_minatar_zero(s->zero, sizeof s->zero)) return false;
  for (int row = 0; row < SIDE; row++) {
    if ((s->aliens[row] | s->shots[row] | s->enemy_shots[row]) > FULL_ROW) return false;
  }
  if (columns_of_aliens(s) == 0 || s->interval < MOVE_INTERVAL_MIN || s->interval > MOVE_INTERVAL) return false;
  return s->move_timer <= MOVE_INTERVAL && s->shot_timer < SHOT_INTERVAL && s->enemy_shot_timer <= ENEMY_SHOT_INTERVAL &&
         are_shots(s);
}

/* --- the environment --- */

MZ_MINATAR_FUNCTIONS(game)

const mz_env mz_env_space_invaders = {
    .name = "space_invaders",
    .title = "MinAtar's Space Invaders: shoot waves of aliens, which shoot back",
    .rules = "MinAtar 1.0.15. Aliens move sideways, and down where they reach an edge; the fewer they are, the faster. The alien "
             "nearest to the cannon's column shoots every tenth step, the cannon every fifth at most. Reward 1 for an alien. A "
             "new wave follows the last alien at once, faster than the one before (ramping). Terminated by a shot or an alien "
             "that reaches the cannon, or by aliens that go below the last row; truncated after `limit` moves.",
    .observation =
        "10 x 10 cells, 6 planes of 0 or 1: cannon, alien, alien that moves left, alien that moves right, own shot, alien's shot",
    MZ_MINATAR_SPEC(CHANNELS, 4, MZ_MINATAR_LIMIT, 2, RETURN_MAX),
    MZ_MINATAR_MEMBERS(invaders, 4),
};
