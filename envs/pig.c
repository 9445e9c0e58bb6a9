/* Pig (Neller & Presser, Optimal Play of the Dice Game Pig, The UMAP Journal 25(1), 2004), as OpenSpiel has it: whose turn it is depends
 * on the dice. */
#include "envs/bundled.h"
#include "envs/memoryless.h"
#include "envs/variants.h"
#include <pthread.h>
#include <string.h>

enum {
  TARGET = 100,
  SIDES = 6,
  HORIZON = 1000,
  PERFECT_HORIZON_MIN = 200,
  TARGET_MAX = 10000,
  SIDES_MAX = 100,
  HORIZON_MAX = 1000000
};
enum { ROLL, STOP, ACTIONS };
enum { NUMBERS = 4 };

typedef struct options {
  int64_t target, sides, horizon;
} options;

typedef struct position {
  int32_t scores[2], total; /* total: of the turn, not yet scored */
  uint32_t moves;
  uint8_t mover, padding[7];
} position;

static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env, (void)generator;
  memset(state, 0, sizeof(position));
  return MZ_OK;
}

static bool reaches(const options *o, const position *p) { return p->scores[p->mover] + p->total >= o->target; }

static void pass(position *p) {
  p->total = 0;
  p->mover ^= 1;
}

/* The die is not thrown for a roll that is the last move there may be. */
static mz_step move(const options *o, position *p, int32_t action, const mz_generator *generator) {
  mz_step result = {0};
  result.truncated = ++p->moves >= o->horizon;
  if (action == STOP) {
    p->scores[p->mover] += p->total;
    result.terminated = p->scores[p->mover] >= o->target;
    result.reward = result.terminated;
    pass(p);
  } else if (!result.truncated) {
    result.outcome = 1 + (int32_t)mz_generator_below(generator, (uint32_t)o->sides);
    p->total += result.outcome;
    if (result.outcome == 1) pass(p);
  }
  return result;
}

static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                      mz_step *results) {
  position *p = states;
  for (int i = 0; i < n; i++) results[i] = move(env->options, &p[i], actions[i], &generators[i]);
  return MZ_OK;
}

/* Rolls are at least 2, and none is thrown once the target is reached. */
static bool valid(const mz_env *env, const void *state) {
  const options *o = env->options;
  const position *p = state;
  for (size_t i = 0; i < sizeof p->padding; i++)
    if (p->padding[i]) return false;
  for (int i = 0; i < 2; i++)
    if (p->scores[i] < 0 || p->scores[i] >= o->target) return false;
  if (p->mover > 1 || p->moves >= o->horizon || p->total < 0 || p->total == 1) return false;
  return p->scores[p->mover] + (int64_t)p->total < o->target + o->sides;
}

static void observe(const mz_env *env, const void *states, int n, void *observations) {
  const float target = (float)((const options *)env->options)->target;
  const position *p = states;
  float *out = observations;
  for (int i = 0; i < n; i++, p++, out += NUMBERS) {
    const int32_t own = p->scores[p->mover & 1], other = p->scores[~p->mover & 1];
    out[0] = (float)own / target;
    out[1] = (float)other / target;
    out[2] = (float)p->total / target;
    out[3] = (float)(own + p->total) / target;
  }
}

static int legal(const mz_env *env, const void *state, uint8_t *mask) {
  const options *o = env->options;
  const position *p = state;
  const bool over = p->scores[0] >= o->target || p->scores[1] >= o->target || p->moves >= o->horizon;
  mask[ROLL] = !over && !reaches(o, p);
  mask[STOP] = !over;
  return mask[ROLL] + mask[STOP];
}

static int to_play(const mz_env *env, const void *state) {
  (void)env;
  return ((const position *)state)->mover;
}

static int text(const mz_env *env, const void *state, char *out, size_t size) {
  (void)env;
  const position *p = state;
  return snprintf(out, size, "scores %d and %d\nplayer %d has %d this turn\nmove %u\n", p->scores[0], p->scores[1], p->mover,
                  p->total, (unsigned)p->moves);
}

static int action_text(const mz_env *env, int action, char *out, size_t size) {
  (void)env;
  static const char *const names[ACTIONS] = {[ROLL] = "roll", [STOP] = "stop"};
  return snprintf(out, size, "%s", names[action]);
}

static int numbers(const mz_env *env, const void *state, double *out) {
  (void)env;
  const position *p = state;
  out[0] = p->scores[0], out[1] = p->scores[1], out[2] = p->total, out[3] = p->mover;
  return NUMBERS;
}

static void load(const mz_env *env, void *state, const double *from, int moves) {
  (void)env;
  *(position *)state = (position){.scores = {(int32_t)from[0], (int32_t)from[1]},
                                  .total = (int32_t)from[2],
                                  .mover = (uint8_t)from[3],
                                  .moves = (uint32_t)moves};
}

/* ---- perfect play ---- */

/* How likely the mover wins, by own score, the other's and the turn's total; the horizon is left out. */
static float wins[TARGET][TARGET][TARGET];
static pthread_once_t solved = PTHREAD_ONCE_INIT;

static double win_at(int own, int other, int total) { return own + total >= TARGET ? 1 : (double)wins[own][other][total]; }

static double win_by_rolling(int own, int other, int total) {
  double sum = 1 - win_at(other, own, 0);
  for (int shown = 2; shown <= SIDES; shown++) sum += win_at(own, other, total + shown);
  return sum / SIDES;
}

static double win_by_stopping(int own, int other, int total) {
  return own + total >= TARGET ? 1 : 1 - win_at(other, own + total, 0);
}

/* One sweep over the totals of a pair of scores; returns how far the first entry moved. */
static double sweep(int own, int other) {
  double change = 0;
  for (int total = TARGET - own - 1; total >= 0; total--) {
    const double roll = win_by_rolling(own, other, total), stop = win_by_stopping(own, other, total);
    const double win = roll > stop ? roll : stop;
    change = win - (double)wins[own][other][total];
    wins[own][other][total] = (float)win;
  }
  return change < 0 ? -change : change;
}

/* Value iteration: only a pair of scores and its mirror image hang together, larger ones are known before. */
static void solve_all(void) {
  for (int sum = 2 * (TARGET - 1); sum >= 0; sum--) {
    for (int own = sum < TARGET ? 0 : sum - TARGET + 1; own <= sum - own; own++) {
      double change = 1;
      for (int round = 0; round < 1000 && change > 0; round++) {
        change = sweep(own, sum - own);
        const double mirrored = sweep(sum - own, own);
        change = mirrored > change ? mirrored : change;
      }
    }
  }
}

static void expert(const mz_env *env, const void *state, uint8_t *optimal_mask, float *value) {
  const position *p = state;
  const int own = p->scores[p->mover], other = p->scores[1 - p->mover];
  const int failed = pthread_once(&solved, solve_all);
  MZ_ASSERT(!failed);
  if (reaches(env->options, p)) {
    optimal_mask[ROLL] = 0, optimal_mask[STOP] = 1, *value = 1;
    return;
  }
  const double roll = win_by_rolling(own, other, p->total), stop = win_by_stopping(own, other, p->total);
  optimal_mask[ROLL] = roll >= stop;
  optimal_mask[STOP] = stop >= roll;
  *value = (float)(2 * (roll > stop ? roll : stop) - 1);
}

/* ---- a rule of thumb ---- */

enum { HOLD = 20 };

static mz_status hold(const mz_env *env, void *solver, const void *state, uint8_t *chosen) {
  (void)solver;
  const position *p = state;
  chosen[STOP] = p->total >= HOLD || reaches(env->options, p);
  chosen[ROLL] = !chosen[STOP];
  return MZ_OK;
}

static const mz_env_solver holding = {.create = mz_create_nothing, .free = mz_free_nothing, .solve = hold};
static const mz_env_baseline baselines[] = {{"hold20", &holding}, {NULL, NULL}};

/* ---- variants ---- */

static const mz_setting rows[] = {
    MZ_SETTING(options, target, "target", MZ_INT, MZ_ALGORITHMIC, 2, TARGET_MAX, "100", "", "score that wins"),
    MZ_SETTING(options, sides, "sides", MZ_INT, MZ_ALGORITHMIC, 2, SIDES_MAX, "6", "", "sides of the die"),
    MZ_SETTING(options, horizon, "horizon", MZ_INT, MZ_ALGORITHMIC, 1, HORIZON_MAX, "1000", "moves",
               "moves of both after which the game is truncated"),
};

/* Perfect play is known for the game as it is bundled, and where hardly any game of good players is cut short. */
static mz_status fill(mz_env *env, const char *where) {
  (void)where;
  const options *o = env->options;
  env->spec.max_moves = (int)o->horizon;
  env->spec.outcomes = (int)o->sides + 1;
  if (o->target != TARGET || o->sides != SIDES || o->horizon < PERFECT_HORIZON_MIN) env->expert = NULL;
  return MZ_OK;
}

static const mz_env_variants variants = {
    .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(options), .fill = fill};

const mz_env mz_env_pig = {
    .name = "pig",
    .title = "Pig: roll the die again, or stop and keep what the turn has brought",
    .rules =
        "Action 0 rolls a die: 1 ends the turn and its total is lost, anything else is added to it. Action 1 stops: the total is "
        "scored, and the other player's turn begins. Who has 100 wins (reward 1); once the total reaches it only stop is legal. "
        "After 1000 moves the game is truncated. Chance: 0 nothing was thrown, else what the die shows. As OpenSpiel's pig.",
    .observation = "own score, the other's, the turn's total, own score and total together, all as shares of the target",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, NUMBERS},
             .obs_size = NUMBERS,
             .actions = ACTIONS,
             .players = 2,
             .turns = MZ_TURNS_TOLD,
             .max_moves = HORIZON,
             .outcomes = SIDES + 1,
             .symmetries = 1,
             .reward_min = 0,
             .reward_max = 1,
             .return_min = -1,
             .return_max = 1},
    .state_size = sizeof(position),
    .copies = true,
    .options = &(const options){.target = TARGET, .sides = SIDES, .horizon = HORIZON},
    .variants = &variants,
    .reset = reset,
    .step = step,
    .draws = true,
    .valid = valid,
    .observe = observe,
    .legal = legal,
    .to_play = to_play,
    .text = text,
    .action_text = action_text,
    .expert = expert,
    .baselines = baselines,
    .numbers = numbers,
    .load = load,
};
