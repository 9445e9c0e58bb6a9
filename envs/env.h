/* An environment: one const struct of functions over flat states, each of which is given the environment. Where it `copies`, a
 * state is `state_size` bytes without pointers, so cloning is memcpy and saving is fwrite, and two states of one history are equal
 * byte for byte (padding is zeroed); nothing here then allocates or keeps memory between calls (constant tables, solved once,
 * apart). Elsewhere a state names an instance that lives outside (envs/worker/): memcpy moves it, and from then on only the newest
 * copy is stepped, reset or released; functions that only look (observe, legal, to_play, text) go by the bytes of any copy. Memory
 * for states is zeroed before its first reset. Everything is thread safe on distinct states.
 *
 * Players are numbered 0 and 1. A reward belongs to the player who moved (or to the single player). */
#pragma once
#include "base/maths/rng.h"
#include "base/spec.h"
#include "base/status.h"
#include <string.h>

typedef struct mz_step {
  float reward;    /* of the mover */
  bool terminated; /* the game's own end: nothing follows */
  bool truncated;  /* the time limit; set beside terminated when both fall on one move, and terminated then decides */
  int32_t outcome; /* what chance drew in this step, 0 … spec.outcomes − 1; 0 where outcomes have no numbers */
} mz_step;

enum { MZ_ENV_NUMBERS_MAX = 1024 };

typedef struct mz_env mz_env;

/* Perfect play by search, which unlike mz_env.expert may take its time and needs memory, which one thread at a time uses. */
typedef struct mz_env_solver {
  int quick_after; /* moves from the start after which a position takes less than a tenth of a second on the average, soon far less */
  size_t bytes;                       /* that create takes */
  mz_status (*create)(void **solver); /* MZ_E_MEMORY */
  void (*free)(void *solver);         /* NULL is fine */
  /* Marks the legal moves that keep the best outcome, however long the game, of a state of a game in play. */
  mz_status (*solve)(const mz_env *env, void *solver, const void *state, uint8_t *optimal);
} mz_env_solver;

/* A decision maker to compare with, by name. */
typedef struct mz_env_baseline {
  const char *name;         /* "greedy" */
  const mz_env_solver *how; /* solve marks the moves that it makes, instead of the best ones */
} mz_env_baseline;

typedef struct mz_env_variants mz_env_variants; /* variants.h */
struct mz_env {
  const char *name;        /* "tictactoe" */
  const char *title;       /* one line for `envs` */
  const char *rules;       /* a few sentences: dynamics, reward, end, source */
  const char *observation; /* what the entries mean */
  mz_spec spec;
  size_t state_size;               /* multiple of 8 */
  bool copies;                     /* memcpy clones a state */
  const void *options;             /* board size, komi …, as the game itself reads them; states carry what step needs of them.
                                      An environment from a file keeps its own data here (own/boundary.h) */
  const mz_env_variants *variants; /* what can be set; NULL: nothing */

  /* A first state. `generator` may be NULL where a game always starts alike. Fails only where the environment is not our own. */
  mz_status (*reset)(const mz_env *env, void *state, const mz_generator *generator) __attribute__((warn_unused_result));
  /* Steps n states lying one behind the other; actions are legal. generators: one per state, or NULL where the dynamics
   * draw nothing (`draws` false). A state that has ended is not stepped again before a reset. Fails as reset does; the states are
   * then only good for a reset. */
  mz_status (*step)(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                    mz_step *results) __attribute__((warn_unused_result));
  bool draws;
  /* Lets go of what a state names outside; the state is then as zeroed memory. NULL: states name nothing. */
  void (*release)(const mz_env *env, void *state);
  /* Bytes of a state that files hold, and what finds the others from them: it returns whether the first saved_size bytes are a state
   * as `valid` says. saved_size 0, complete NULL: files hold all of a state. */
  size_t saved_size;
  bool (*complete)(const mz_env *env, void *state);
  /* Returns whether `state`, state_size bytes that come from outside, is one that a game in play can have: of this environment's
   * sizes and rules, so that every function can be given it and it can be stepped. The state of a finished game is not. Every
   * state that play reaches before the end is valid; some that play never reaches may be valid too. */
  bool (*valid)(const mz_env *env, const void *state);
  /* n × mz_spec_obs_bytes(spec), from the view of the player to move. */
  void (*observe)(const mz_env *env, const void *states, int n, void *observations);
  /* mask[a] = 1 where legal; returns how many. Of a finished game: 0. NULL: everything is always legal. */
  int (*legal)(const mz_env *env, const void *state, uint8_t *mask);
  int (*to_play)(const mz_env *env, const void *state); /* NULL: always player 0 */
  /* Several lines for people; the length as snprintf. */
  int (*text)(const mz_env *env, const void *state, char *out, size_t size);
  int (*action_text)(const mz_env *env, int action, char *out, size_t size);

  /* Perfect play, where it is known: mask of the actions that keep the best value, and that value for the player to move. */
  void (*expert)(const mz_env *env, const void *state, uint8_t *optimal_mask, float *value);
  const mz_env_solver *solver;      /* the same by search; NULL: none */
  const mz_env_baseline *baselines; /* the last has no name; NULL: none */
  /* Plays on at random, uniformly over legal moves (Go: but those that fill an eye of one's own), to the game's end: its return for
   * the player to move now. `random`: the state of a fast generator (fast_random.h, never 0), which moves on. NULL: callers step
   * the game themselves. */
  float (*rollout)(const mz_env *env, const void *state, uint64_t *random);
  /* The state as the reference implementation holds it (CartPole: x, ẋ, θ, θ̇), without the number of moves; returns the
   * count (≤ MZ_ENV_NUMBERS_MAX). */
  int (*numbers)(const mz_env *env, const void *state, double *out);
  /* The state after `moves` moves that has these numbers: the inverse of numbers, for tests that follow a reference. What numbers
   * do not tell of the past (Go: earlier positions) is empty. */
  void (*load)(const mz_env *env, void *state, const double *numbers, int moves);
  /* Returns the first failure of a function that has no status: MZ_E_CONFIG. NULL: they cannot fail. */
  mz_status (*failure)(const mz_env *env);
  struct mz_env_workers *workers; /* processes that play it (worker/workers.h); NULL: none does */
};

/* The bundled environments, in the order of `muzero envs`. */
int mz_env_count(void);
const mz_env *mz_env_at(int index);
/* "gomoku", or a variant of it: "gomoku:size=9,k=5"; or the path of a shared object that ends in .so: "./mine.so" (env_abi.h); or
 * what workers play: "gym:CartPole-v1", "spiel:breakthrough" (worker/options.h).
 * MZ_E_CONFIG naming the nearest environment or option, or what is wrong with the file. The result lives as long as the process. */
mz_status mz_env_find(const char *name, const mz_env **out);

/* MZ_E_CONFIG where memcpy does not clone a state: "WHAT: not for NAME, whose states cannot be copied; nearest valid value: NEAREST". */
mz_status mz_env_check_copies(const mz_env *env, const char *what, const char *nearest);

static inline int mz_env_legal(const mz_env *env, const void *state, uint8_t *mask) {
  if (env->legal) return env->legal(env, state, mask);
  for (int a = 0; a < env->spec.actions; a++) mask[a] = 1;
  return env->spec.actions;
}
static inline size_t mz_env_saved_size(const mz_env *env) { return env->saved_size ? env->saved_size : env->state_size; }
/* Lets go of n states lying one behind the other, before their memory is freed; zeroed ones, too. */
static inline void mz_env_release(const mz_env *env, void *states, int n) {
  for (int i = 0; env->release && i < n; i++) env->release(env, (uint8_t *)states + (size_t)i * env->state_size);
}
static inline int mz_env_to_play(const mz_env *env, const void *state) { return env->to_play ? env->to_play(env, state) : 0; }
/* The nth (from 0) of the actions whose mask byte is 1; there are more than nth. */
static inline int mz_env_nth_legal(const uint8_t *mask, int actions, uint32_t nth) {
  int action = 0;
  for (; action + 8 <= actions; action += 8) { /* eight bytes at once: the product's top byte is their sum */
    uint64_t bytes;
    memcpy(&bytes, mask + action, sizeof bytes);
    const uint32_t count = (uint32_t)(bytes * 0x0101010101010101ull >> 56);
    if (count > nth) break;
    nth -= count;
  }
  while (!mask[action] || nth-- > 0) action++;
  return action;
}
