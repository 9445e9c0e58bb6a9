/* The shared part of MinAtar's games (Young and Tian, arXiv 1903.03176): a grid of 10 × 10 cells with a plane of 0 or 1 for each kind of
 * object, six actions, sticky actions, and options. A game is a table of functions over a state that begins with a head; x counts
 * columns from the left, y rows from the top. The rules are those of the package MinAtar 1.0.15, oddities included; all draws are
 * made as the package makes them, in its order, so that a generator of the same numbers gives the same game.
 *
 * One difference: the package's last action outlives a reset and may be repeated by the first step; here a game begins with none. */
#pragma once
#include "envs/env.h"
#include "envs/variants.h"

enum { MZ_MINATAR_SIDE = 10, MZ_MINATAR_CELLS = 100 };

typedef enum mz_minatar_action {
  MZ_MINATAR_NOOP,
  MZ_MINATAR_LEFT,
  MZ_MINATAR_UP,
  MZ_MINATAR_RIGHT,
  MZ_MINATAR_DOWN,
  MZ_MINATAR_FIRE,
  MZ_MINATAR_ACTIONS
} mz_minatar_action;

typedef enum mz_minatar_action_set { MZ_MINATAR_MINIMAL, MZ_MINATAR_ALL } mz_minatar_action_set;

typedef struct mz_minatar_options {
  double sticky;   /* probability that a step repeats the last action */
  int32_t actions; /* mz_minatar_action_set */
  int64_t limit;   /* moves after which a game is truncated; unused by Freeway, which ends by itself */
  bool ramping;    /* harder with time; unused by Breakout and Freeway */
} mz_minatar_options;

/* Rows for a game's variants: sticky, actions, limit, ramping. Freeway has the first two, Breakout the first three. */
enum { MZ_MINATAR_OPTION_COUNT = 4 };
extern const mz_setting mz_minatar_option_rows[MZ_MINATAR_OPTION_COUNT];
#define MZ_MINATAR_LIMIT 5000
#define MZ_MINATAR_DEFAULTS                                                                                                      \
  &(const mz_minatar_options) { .sticky = 0.1, .actions = MZ_MINATAR_MINIMAL, .limit = MZ_MINATAR_LIMIT, .ramping = true }

typedef struct mz_minatar_head {
  uint32_t moves;      /* since the reset */
  uint8_t last_action; /* mz_minatar_action that the last move carried out; MZ_MINATAR_NOOP before the first */
  uint8_t terminated;  /* the last step ended the game */
  uint8_t zero[2];
} mz_minatar_head;

typedef struct mz_minatar_game {
  int channels;
  uint8_t minimal[MZ_MINATAR_ACTIONS]; /* the minimal set, in ascending order */
  int minimal_count;
  bool limited;       /* the option `limit` holds */
  double return_rate; /* the return is at most limit · return_rate + return_base */
  int return_base;
  const char *picture; /* pairs of a channel's digit and the sign that shows it, from back to front */

  /* Fills what follows the head; the state is zero. */
  void (*start)(void *state, const mz_generator *generator);
  /* One step; sets reward and terminated. moves is that before the step. */
  void (*advance)(void *state, mz_minatar_action action, bool ramping, const mz_generator *generator, mz_step *result);
  /* Sets entries (y · 10 + x) · channels + channel of planes, which are zero, to 1. */
  void (*draw)(const void *state, uint8_t *planes);
} mz_minatar_game;

static inline mz_minatar_action mz_minatar_action_of(const mz_minatar_game *game, const mz_minatar_options *options, int index) {
  return options->actions == MZ_MINATAR_ALL ? (mz_minatar_action)index : (mz_minatar_action)game->minimal[index];
}

/* Bodies of mz_env.reset, step and observe; inlined, with a constant game, they call its functions directly. */
static inline __attribute__((always_inline)) mz_status mz_minatar_reset(const mz_env *env, const mz_minatar_game *game,
                                                                        void *state, const mz_generator *generator) {
  memset(state, 0, env->state_size);
  game->start(state, generator);
  return MZ_OK;
}

static inline __attribute__((always_inline)) mz_status mz_minatar_step(const mz_env *env, const mz_minatar_game *game,
                                                                       void *states, int n, const int32_t *actions,
                                                                       const mz_generator *generators, mz_step *results) {
  const mz_minatar_options *options = env->options;
  for (int i = 0; i < n; i++) {
    mz_minatar_head *head = (mz_minatar_head *)((char *)states + env->state_size * (size_t)i);
    const bool repeats = mz_generator_f64(&generators[i]) < options->sticky; /* drawn first, whatever its probability */
    const mz_minatar_action wish = mz_minatar_action_of(game, options, actions[i]);
    const mz_minatar_action action = repeats ? (mz_minatar_action)head->last_action : wish;
    head->last_action = (uint8_t)action;
    results[i] = (mz_step){0};
    game->advance(head, action, options->ramping, &generators[i], &results[i]);
    head->moves++;
    head->terminated = results[i].terminated;
    results[i].truncated = game->limited && head->moves >= options->limit;
  }
  return MZ_OK;
}

static inline __attribute__((always_inline)) void mz_minatar_observe(const mz_env *env, const mz_minatar_game *game,
                                                                     const void *states, int n, void *observations) {
  const size_t size = (size_t)MZ_MINATAR_CELLS * (size_t)game->channels;
  memset(observations, 0, size * (size_t)n);
  for (int i = 0; i < n; i++)
    game->draw((const char *)states + env->state_size * (size_t)i, (uint8_t *)observations + size * (size_t)i);
}

static inline void mz_minatar_set(uint8_t *planes, int channels, int channel, int x, int y) {
  planes[(y * MZ_MINATAR_SIDE + x) * channels + channel] = 1;
}

/* Whether the padding of a state from outside is what it is in play. */
static inline bool mz_minatar_zero(const uint8_t *padding, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    if (padding[i]) return false;
  }
  return true;
}

static inline bool mz_minatar_inside(int x) { return x >= 0 && x < MZ_MINATAR_SIDE; }
/* One cell to the left or right. */
static inline int mz_minatar_onward(int x, bool right) { return right ? x + 1 : x - 1; }
/* The step of a player along one axis, kept within [low, high]. */
static inline int mz_minatar_walk(int at, int by, int low, int high) {
  const int to = at + by;
  return to < low ? low : to > high ? high : to;
}

/* Bodies of the other functions. Head: whether a head from outside is one of a game in play. Fill: mz_env_variants.fill, which sets
 * actions, limit and ranges of the spec. */
bool mz_minatar_head_valid(const mz_env *env, const mz_minatar_game *game, const mz_minatar_head *head);
int mz_minatar_text(const mz_env *env, const mz_minatar_game *game, const void *state, char *out, size_t size);
int mz_minatar_action_text(const mz_env *env, const mz_minatar_game *game, int action, char *out, size_t size);
mz_status mz_minatar_fill(mz_env *env, const mz_minatar_game *game);

/* The six functions of an mz_env whose bodies are those above, for the constant game of a file. */
#define MZ_MINATAR_FUNCTIONS(game_)                                                                                              \
  static mz_status reset(const mz_env *env, void *state, const mz_generator *generator) {                                        \
    return mz_minatar_reset(env, &(game_), state, generator);                                                                    \
  }                                                                                                                              \
  static mz_status step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,          \
                        mz_step *results) {                                                                                      \
    return mz_minatar_step(env, &(game_), states, n, actions, generators, results);                                              \
  }                                                                                                                              \
  static void observe(const mz_env *env, const void *states, int n, void *observations) {                                        \
    mz_minatar_observe(env, &(game_), states, n, observations);                                                                  \
  }                                                                                                                              \
  static int text(const mz_env *env, const void *state, char *out, size_t size) {                                                \
    return mz_minatar_text(env, &(game_), state, out, size);                                                                     \
  }                                                                                                                              \
  static int action_text(const mz_env *env, int action, char *out, size_t size) {                                                \
    return mz_minatar_action_text(env, &(game_), action, out, size);                                                             \
  }                                                                                                                              \
  static mz_status fill(mz_env *env, const char *where) {                                                                        \
    (void)where;                                                                                                                 \
    return mz_minatar_fill(env, &(game_));                                                                                       \
  }

/* Members of a game's mz_env: its spec, the return's upper bound being that of the default options, and all others but the texts. */
#define MZ_MINATAR_SPEC(channels_, actions_, moves_, reward_max_, return_max_)                                                   \
  .spec = {.obs_kind = MZ_OBS_U8,                                                                                                \
           .obs_shape = {MZ_MINATAR_SIDE, MZ_MINATAR_SIDE, channels_},                                                           \
           .obs_size = MZ_MINATAR_CELLS * (channels_),                                                                           \
           .actions = (actions_),                                                                                                \
           .players = 1,                                                                                                         \
           .max_moves = (moves_),                                                                                                \
           .symmetries = 1,                                                                                                      \
           .one_sided = true,                                                                                                    \
           .reward_min = 0,                                                                                                      \
           .reward_max = (reward_max_),                                                                                          \
           .return_min = 0,                                                                                                      \
           .return_max = (return_max_)}
#define MZ_MINATAR_MEMBERS(state_, option_count)                                                                                 \
  .state_size = sizeof(state_), .copies = true, .options = MZ_MINATAR_DEFAULTS,                                                  \
  .variants =                                                                                                                    \
      &(const mz_env_variants){                                                                                                  \
          .rows = mz_minatar_option_rows, .count = (option_count), .size = sizeof(mz_minatar_options), .fill = fill},            \
  .reset = reset, .step = step, .draws = true, .valid = valid, .observe = observe, .text = text, .action_text = action_text
