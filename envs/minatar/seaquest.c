/* Seaquest: shoot fish and submarines, fetch divers, and bring them up before the oxygen is gone.
 *
 * Lists are kept as the package keeps them: things in the order in which they came, walked from the last to the first, and a thing
 * that goes is the first that equals it. Capacities: at most one enemy appears in a step, and each is gone after ten moves of at
 * most MOVE_SPEED + 1 steps; an enemy's shot is gone after ten steps, and each submarine fires once in eleven; a diver appears
 * every 30 steps, a shot of ours every 5. A thing that finds its list full does not appear; no game gets there. */
#include "envs/bundled.h"
#include "envs/minatar/minatar.h"

enum { CHANNELS = 10, SIDE = MZ_MINATAR_SIDE };
enum { FRONT, BACK, SHOT, TRAIL, ENEMY_SHOT, FISH, SUBMARINE, OXYGEN, DIVERS_ABOARD, DIVER };
enum { OXYGEN_MAX = 200, ABOARD_MAX = 6, BOTTOM = 8, GAUGE_ROW = 9, SPAWN_SPEED = 20, DIVER_INTERVAL = 30 };
enum { MOVE_SPEED = 5, MOVE_SPEED_MIN = 2, SHOT_INTERVAL = 5, ENEMY_SHOT_INTERVAL = 10, RAMPS_MAX = SPAWN_SPEED - 1 };
enum { SHOTS_MAX = 2, ENEMIES_MAX = 72, ENEMY_SHOTS_MAX = 80, DIVERS_MAX = 8 };

typedef struct thing { /* whatever moves sideways */
  uint8_t x, y;
  uint8_t right;
  uint8_t move_timer; /* steps until it moves; a shot moves always and has 0 */
  uint8_t shot_timer; /* steps until a submarine shoots; 0 for all others */
} thing;

typedef struct seaquest {
  mz_minatar_head head;
  int32_t divers_aboard; /* below 0 by what follows a full load: see surface */
  int16_t oxygen;        /* -1 after the game's end, whose picture shows as much as 0 */
  uint8_t x, y, right;   /* of our submarine, and the way it looks */
  uint8_t spawn_timer, diver_timer, shot_timer;
  uint8_t ramps;     /* so far; they set both speeds */
  uint8_t surfaced;  /* it has stayed up since the start or the last surfacing */
  uint8_t counts[5]; /* of the lists, in their order */
  uint8_t zero[5];
  thing shots[SHOTS_MAX], enemy_shots[ENEMY_SHOTS_MAX], fish[ENEMIES_MAX], submarines[ENEMIES_MAX], divers[DIVERS_MAX];
  uint8_t more_zero[6];
} seaquest;
_Static_assert(sizeof(seaquest) % 8 == 0, "state_size");

/* --- lists --- */

typedef struct list {
  thing *things;
  uint8_t *count;
  int capacity;
} list;

static list shots_of(seaquest *s) { return (list){s->shots, &s->counts[0], SHOTS_MAX}; }
static list enemy_shots_of(seaquest *s) { return (list){s->enemy_shots, &s->counts[1], ENEMY_SHOTS_MAX}; }
static list fish_of(seaquest *s) { return (list){s->fish, &s->counts[2], ENEMIES_MAX}; }
static list submarines_of(seaquest *s) { return (list){s->submarines, &s->counts[3], ENEMIES_MAX}; }
static list divers_of(seaquest *s) { return (list){s->divers, &s->counts[4], DIVERS_MAX}; }

static void add(list l, thing t) {
  if (*l.count < l.capacity) l.things[(*l.count)++] = t;
}

/* Takes out the first thing that equals the one at `index`. Those behind it move up, and unused places are zero. */
static void take_out(list l, int index) {
  int first = 0;
  while (memcmp(&l.things[first], &l.things[index], sizeof(thing)) != 0) first++;
  const int last = --*l.count;
  memmove(&l.things[first], &l.things[first + 1], (size_t)(last - first) * sizeof(thing));
  l.things[last] = (thing){0};
}

/* Moves a thing by one cell. Returns false where it left the grid and was taken out. */
static bool move(list l, int index) {
  thing *t = &l.things[index];
  const int x = mz_minatar_onward(t->x, t->right);
  if (mz_minatar_inside(x)) {
    t->x = (uint8_t)x;
    return true;
  }
  take_out(l, index);
  return false;
}

/* --- the game --- */

/* Steps between two events: one falls with every ramp, the other with every second. */
static int spawn_speed(const seaquest *s) { return SPAWN_SPEED - s->ramps; }
static uint8_t move_speed(const seaquest *s) {
  const int speed = MOVE_SPEED - s->ramps / 2;
  return (uint8_t)(speed < MOVE_SPEED_MIN ? MOVE_SPEED_MIN : speed);
}

static void start(void *state, const mz_generator *generator) {
  (void)generator;
  seaquest *s = state;
  s->oxygen = OXYGEN_MAX;
  s->x = 5;
  s->spawn_timer = SPAWN_SPEED;
  s->diver_timer = DIVER_INTERVAL;
  s->surfaced = 1;
}

static bool has_opposed(list l, int row, bool right) {
  for (int i = 0; i < *l.count; i++) {
    if (l.things[i].y == row && l.things[i].right != right) return true;
  }
  return false;
}

/* A fish or a submarine, unless one comes from the other side in its row. */
static void spawn_enemy(seaquest *s, const mz_generator *generator) {
  const bool right = mz_generator_f64(generator) < 0.5;
  const bool is_submarine = mz_generator_f64(generator) < 1.0 / 3.0;
  const int row = 1 + (int)mz_generator_below(generator, BOTTOM);
  if (has_opposed(submarines_of(s), row, right) || has_opposed(fish_of(s), row, right)) return;
  const thing t = {.x = right ? 0 : SIDE - 1,
                   .y = (uint8_t)row,
                   .right = right,
                   .move_timer = move_speed(s),
                   .shot_timer = is_submarine ? ENEMY_SHOT_INTERVAL : 0};
  add(is_submarine ? submarines_of(s) : fish_of(s), t);
}

static void spawn_diver(seaquest *s, const mz_generator *generator) {
  const bool right = mz_generator_f64(generator) < 0.5;
  const int row = 1 + (int)mz_generator_below(generator, BOTTOM);
  add(divers_of(s), (thing){.x = right ? 0 : SIDE - 1, .y = (uint8_t)row, .right = right, .move_timer = MOVE_SPEED});
}

static void act(seaquest *s, mz_minatar_action action) {
  if (action == MZ_MINATAR_FIRE && s->shot_timer == 0) {
    add(shots_of(s), (thing){.x = s->x, .y = s->y, .right = s->right});
    s->shot_timer = SHOT_INTERVAL;
  }
  const int side = (action == MZ_MINATAR_RIGHT) - (action == MZ_MINATAR_LEFT);
  if (side != 0) s->right = side > 0;
  s->x = (uint8_t)mz_minatar_walk(s->x, side, 0, SIDE - 1);
  s->y = (uint8_t)mz_minatar_walk(s->y, (action == MZ_MINATAR_DOWN) - (action == MZ_MINATAR_UP), 0, BOTTOM);
}

static bool is_at_us(const seaquest *s, const thing *t) { return t->x == s->x && t->y == s->y; }

/* Whether a shot hits one of these, which both are then gone. */
static bool hit(list shots, int shot, list targets, mz_step *result) {
  for (int i = 0; i < *targets.count; i++) {
    if (targets.things[i].x != shots.things[shot].x || targets.things[i].y != shots.things[shot].y) continue;
    take_out(targets, i);
    take_out(shots, shot);
    result->reward += 1;
    return true;
  }
  return false;
}

static void move_shots(seaquest *s, mz_step *result) {
  const list shots = shots_of(s);
  for (int i = *shots.count - 1; i >= 0; i--) {
    if (move(shots, i) && !hit(shots, i, fish_of(s), result)) (void)hit(shots, i, submarines_of(s), result);
  }
}

/* Whether an enemy that has moved meets a shot of ours, which both are then gone. */
static bool is_shot(seaquest *s, list enemies, int index, mz_step *result) {
  const list shots = shots_of(s);
  for (int i = 0; i < *shots.count; i++) {
    if (shots.things[i].x != enemies.things[index].x || shots.things[i].y != enemies.things[index].y) continue;
    take_out(enemies, index);
    take_out(shots, i);
    result->reward += 1;
    return true;
  }
  return false;
}

static bool board(seaquest *s, list divers, int index) {
  if (!is_at_us(s, &divers.things[index]) || s->divers_aboard >= ABOARD_MAX) return false;
  take_out(divers, index);
  s->divers_aboard++;
  return true;
}

static void move_divers(seaquest *s) {
  const list divers = divers_of(s);
  for (int i = *divers.count - 1; i >= 0; i--) {
    if (board(s, divers, i)) continue;
    if (divers.things[i].move_timer > 0) {
      divers.things[i].move_timer--;
      continue;
    }
    divers.things[i].move_timer = MOVE_SPEED;
    if (move(divers, i)) (void)board(s, divers, i);
  }
}

/* Enemies touch us before or after their move. A submarine shoots from where it is then. */
static void move_enemies(seaquest *s, list enemies, bool shoot, mz_step *result) {
  for (int i = *enemies.count - 1; i >= 0; i--) {
    thing *t = &enemies.things[i];
    if (is_at_us(s, t)) result->terminated = true;
    if (t->move_timer > 0) {
      t->move_timer--;
    } else {
      t->move_timer = move_speed(s);
      if (!move(enemies, i)) continue;
      if (is_at_us(s, t))
        result->terminated = true;
      else if (is_shot(s, enemies, i, result))
        continue;
    }
    if (!shoot) continue;
    if (t->shot_timer > 0) {
      t->shot_timer--;
    } else {
      t->shot_timer = ENEMY_SHOT_INTERVAL;
      add(enemy_shots_of(s), (thing){.x = t->x, .y = t->y, .right = t->right});
    }
  }
}

static void move_enemy_shots(seaquest *s, mz_step *result) {
  const list shots = enemy_shots_of(s);
  for (int i = *shots.count - 1; i >= 0; i--) {
    if (is_at_us(s, &shots.things[i])) result->terminated = true;
    if (move(shots, i) && is_at_us(s, &shots.things[i])) result->terminated = true;
  }
}

/* Six divers bring a reward for the oxygen that is left, and all leave; one more leaves at every surfacing. After a full load there
 * are -1, therefore, and only a number of exactly 0 makes surfacing fatal. */
static void surface(seaquest *s, bool ramping, mz_step *result) {
  s->surfaced = 1;
  if (s->divers_aboard == ABOARD_MAX) {
    s->divers_aboard = 0;
    const int tenths = s->oxygen * 10 / OXYGEN_MAX;
    result->reward += (float)tenths;
  }
  s->oxygen = OXYGEN_MAX;
  s->divers_aboard--;
  if (ramping && s->ramps < RAMPS_MAX) s->ramps++;
}

static void breathe(seaquest *s, bool ramping, mz_step *result) {
  if (s->oxygen == 0) result->terminated = true; /* even where this step comes up */
  if (s->y > 0) {
    s->oxygen--;
    s->surfaced = 0;
  } else if (!s->surfaced) {
    if (s->divers_aboard == 0)
      result->terminated = true;
    else
      surface(s, ramping, result);
  }
}

static void advance(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result) {
  seaquest *s = state;
  if (s->spawn_timer == 0) {
    spawn_enemy(s, generator);
    s->spawn_timer = (uint8_t)spawn_speed(s);
  }
  if (s->diver_timer == 0) {
    spawn_diver(s, generator);
    s->diver_timer = DIVER_INTERVAL;
  }
  act(s, action);
  move_shots(s, result);
  move_divers(s);
  move_enemies(s, submarines_of(s), true, result);
  move_enemy_shots(s, result);
  move_enemies(s, fish_of(s), false, result);
  s->spawn_timer--;
  s->diver_timer--;
  if (s->shot_timer > 0) s->shot_timer--;
  breathe(s, ramping, result);
}

/* --- the picture --- */

static void draw_list(list l, int channel, bool trailed, uint8_t *planes) {
  for (int i = 0; i < *l.count; i++) {
    const thing *t = &l.things[i];
    mz_minatar_set(planes, CHANNELS, channel, t->x, t->y);
    const int behind = mz_minatar_onward(t->x, !t->right);
    if (trailed && mz_minatar_inside(behind)) mz_minatar_set(planes, CHANNELS, TRAIL, behind, t->y);
  }
}

static void draw(const void *state, uint8_t *planes) {
  seaquest *s = (seaquest *)state; /* lists point into it; nothing is written */
  mz_minatar_set(planes, CHANNELS, FRONT, s->x, s->y);
  const int back = mz_minatar_onward(s->x, !s->right);
  if (mz_minatar_inside(back)) mz_minatar_set(planes, CHANNELS, BACK, back, s->y);
  const int oxygen = s->oxygen < 0 ? 0 : s->oxygen * 10 / OXYGEN_MAX;
  for (int x = 0; x < oxygen; x++) mz_minatar_set(planes, CHANNELS, OXYGEN, x, GAUGE_ROW);
  for (int x = SIDE - 1 - s->divers_aboard; x < SIDE - 1; x++) mz_minatar_set(planes, CHANNELS, DIVERS_ABOARD, x, GAUGE_ROW);
  draw_list(shots_of(s), SHOT, false, planes);
  draw_list(enemy_shots_of(s), ENEMY_SHOT, false, planes);
  draw_list(fish_of(s), FISH, true, planes);
  draw_list(submarines_of(s), SUBMARINE, true, planes);
  draw_list(divers_of(s), DIVER, true, planes);
}

/* Returns: a shot every 5 steps, a full load every 180 with a reward of at most 10, and one of each to begin with. */
enum { RETURN_MAX = MZ_MINATAR_LIMIT / 100 * 26 + 11 };

static const mz_minatar_game game = {
    .channels = CHANNELS,
    .minimal = {MZ_MINATAR_NOOP, MZ_MINATAR_LEFT, MZ_MINATAR_UP, MZ_MINATAR_RIGHT, MZ_MINATAR_DOWN, MZ_MINATAR_FIRE},
    .minimal_count = 6,
    .limited = true,
    .return_rate = 0.26,
    .return_base = 11,
    .picture = "3-7o8d9d5f6s2*4*1<0@",
    .start = start,
    .advance = advance,
    .draw = draw,
};

/* Whether a list has `count` things of rows `top` to 8 with timers up to these, and zeros behind them. */
static bool is_list(list l, int top, int move_timer, int shot_timer) {
  static const thing nothing;
  if (*l.count > l.capacity) return false;
  for (int i = 0; i < l.capacity; i++) {
    const thing *t = &l.things[i];
    if (i >= *l.count) {
      if (memcmp(t, &nothing, sizeof nothing) != 0) return false;
    } else if (!mz_minatar_inside(t->x) || t->y < top || t->y > BOTTOM || t->right > 1 || t->move_timer > move_timer ||
               t->shot_timer > shot_timer) {
      return false;
    }
  }
  return true;
}

static bool valid(const mz_env *env, const void *state) {
  seaquest *s = (seaquest *)state; /* lists point into it; nothing is written */
  if (!mz_minatar_head_valid(env, &game, &s->head)) return false;
  if (!mz_minatar_zero(s->zero, sizeof s->zero)) return false;
  if (!mz_minatar_zero(s->more_zero, sizeof s->more_zero)) return false;
  if (s->divers_aboard > ABOARD_MAX || s->divers_aboard < -(int64_t)s->head.moves) return false;
  if (s->oxygen < 0 || s->oxygen > OXYGEN_MAX || !mz_minatar_inside(s->x) || s->y > BOTTOM || s->right > 1) return false;
  if (s->spawn_timer > SPAWN_SPEED || s->diver_timer > DIVER_INTERVAL || s->shot_timer > SHOT_INTERVAL) return false;
  if (s->ramps > RAMPS_MAX || s->surfaced > 1) return false;
  return is_list(shots_of(s), 0, 0, 0) && is_list(enemy_shots_of(s), 1, 0, 0) && is_list(fish_of(s), 1, MOVE_SPEED, 0) &&
         is_list(submarines_of(s), 1, MOVE_SPEED, ENEMY_SHOT_INTERVAL) && is_list(divers_of(s), 1, MOVE_SPEED, 0);
}

/* --- the environment --- */

MZ_MINATAR_FUNCTIONS(game)

const mz_env mz_env_seaquest = {
    .name = "seaquest",
    .title = "MinAtar's Seaquest: shoot fish and submarines, rescue divers, come up for air",
    .rules = "MinAtar 1.0.15. Fish and submarines cross rows 1 to 8, submarines shoot; divers are taken aboard by meeting them, "
             "up to six. Reward 1 for a fish or submarine that is shot; surfacing with six divers brings a tenth of the oxygen's "
             "percentage and takes all away, any other surfacing takes one. Terminated by an enemy or a shot that is met, "
             "without oxygen, or by surfacing with exactly no diver. After each surfacing the enemies become more and faster "
             "(ramping). Truncated after `limit` moves.",
    .observation = "10 x 10 cells, 10 planes of 0 or 1: front and back of the own submarine, own shot, trail (the cell behind a "
                   "fish, submarine or diver), enemy's shot, fish, enemy submarine, oxygen gauge, gauge of divers aboard, diver",
    MZ_MINATAR_SPEC(CHANNELS, 6, MZ_MINATAR_LIMIT, 12, RETURN_MAX),
    MZ_MINATAR_MEMBERS(seaquest, 4),
};
