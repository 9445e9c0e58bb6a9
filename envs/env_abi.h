/* An environment of your own as a shared object: what `muzero train ./mine.so` asks of the file. Valid C99 and C++.
 *
 * The file exports one function, muzero_env(), which returns a filled-in muzero_env_abi. `muzero envs --new NAME` writes a small game
 * to begin with, `muzero envs ./mine.so --check` looks for mistakes, and docs/environments.md, "An environment of your own", walks
 * through all of it.
 *
 * States. The state of a game is state_size bytes of your own layout, at an address that is a multiple of 8. The program copies
 * states with memcpy, writes them to disk and reads them back in another process: a state holds no pointers, and everything that the
 * game remembers is in it. States that lie one behind another begin state_size bytes apart.
 *
 * Threads. Functions are called from several threads at a time, on distinct states. They keep nothing between calls: no static
 * variables that change, no allocations that outlive the call. Constant tables are fine.
 *
 * Random numbers come from the muzero_env_random that is handed in and from nowhere else. Equal numbers and actions give equal
 * games, which is what makes a run repeatable and resumable.
 *
 * Failures. A function that returns `const char *` returns NULL, or says what went wrong in a text that stays readable (a literal);
 * the program then stops with your text and the name of the file. */
#ifndef MUZERO_ENV_ABI_H
#define MUZERO_ENV_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The version of this interface. A program takes files of its own version and of earlier ones, whose muzero_env_abi ends earlier:
 * 1 ends with `valid`, 2 with `frames`. */
#define MUZERO_ENV_ABI_VERSION 2u

#if defined(__GNUC__)
#define MUZERO_ENV_EXPORT __attribute__((visibility("default")))
#else
#define MUZERO_ENV_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* observation_kind */
enum {
  MUZERO_ENV_U8 = 0, /* one byte an entry: planes of 0 and 1, other small numbers, or brightness (observation_scale) */
  MUZERO_ENV_F32 = 1 /* one float an entry; values around −1 … 1 are learned best */
};

/* action_kind: where an action is on a board of height × width. Networks of convolutions and symmetries use it. */
enum {
  MUZERO_ENV_PLAIN = 0,      /* nowhere in particular */
  MUZERO_ENV_CELLS = 1,      /* action = row · width + column */
  MUZERO_ENV_CELLS_PASS = 2, /* the same, and one more, the last: a pass */
  MUZERO_ENV_COLUMNS = 3,    /* action = column */
  MUZERO_ENV_DIRECTIONS = 4  /* four actions: up, right, down, left; symmetries turn them */
};

/* Random numbers. Each function is given `context`, and every call gives another number. */
typedef struct muzero_env_random {
  void *context;
  uint64_t (*next64)(void *context);            /* 64 random bits */
  double (*f64)(void *context);                 /* uniform in [0, 1) */
  uint32_t (*below)(void *context, uint32_t n); /* uniform in 0 … n − 1; n >= 1 */
} muzero_env_random;

/* The result of one step. All zeros before the call. */
typedef struct muzero_env_step {
  float reward;       /* of the player who moved, within reward_min … reward_max */
  int32_t terminated; /* 1: the game has come to its own end */
  int32_t truncated;  /* 1: the limit of moves (max_moves) ended it */
} muzero_env_step;

typedef struct muzero_env_abi {
  uint32_t version; /* MUZERO_ENV_ABI_VERSION */
  uint32_t size;    /* sizeof(muzero_env_abi) */

  /* ---- texts ---- */

  const char *title;       /* one line */
  const char *rules;       /* a few sentences: moves, rewards, end */
  const char *observation; /* meaning of an observation's entries */

  /* ---- numbers ---- */

  size_t state_size;            /* bytes; a multiple of 8, at most 1 MiB */
  int32_t observation_kind;     /* MUZERO_ENV_U8 or MUZERO_ENV_F32 */
  int32_t observation_shape[3]; /* height, width, channels, in this order in memory; a vector is {1, 1, n} */
  int32_t actions;              /* actions are 0 … actions − 1; at most 65536 */
  int32_t action_kind;          /* MUZERO_ENV_PLAIN … */
  int32_t players;              /* 1 or 2 */
  int32_t alternating;          /* 1: two players move strictly in turn (a pass is an action). 0: one player, or two of whom
                                 * to_play says after each step who is next. One of two wins what the other loses */
  int32_t max_moves;            /* moves after which step sets `truncated`; 0: the game always comes to its own end */
  int32_t symmetries;           /* 1: none. 2: the game mirrored left to right is the same game. 8: turned, too (square boards) */
  int32_t draws;                /* 1: step draws random numbers */
  int32_t one_sided;            /* 1: rewards and returns never change their sign */
  float reward_min, reward_max; /* of one step */
  float return_min, return_max; /* of the rewards of one player over a game, less the opponent's */

  /* ---- functions; those marked "may be NULL" are optional ---- */

  /* Makes a first state. The state's bytes are zero before the call. */
  const char *(*reset)(void *state, const muzero_env_random *random);
  /* Advances n states by one move each: states and results lie one behind another, actions[i] is legal in state i, and random[i] is
   * that state's source of numbers (where `draws` is 0, drawing is an error). A state that has ended is not stepped again. */
  const char *(*step)(void *states, size_t n, const int32_t *actions, const muzero_env_random *random, muzero_env_step *results);
  /* Writes n observations, one behind another, from the view of the player to move. Called for ended states, too. */
  const char *(*observe)(const void *states, size_t n, void *observations);
  /* Writes mask[a] = 1 for each legal action and 0 for the others. A game that goes on has a legal action, one that has ended none.
   * May be NULL: every action is always legal. */
  const char *(*legal)(const void *state, uint8_t *mask);
  /* Returns the player to move, 0 or 1; anything where the game has ended. May be NULL: always 0. */
  int32_t (*to_play)(const void *state);
  /* Writes the state for people, several lines, as snprintf does: at most `size` bytes with the NUL, and returns the length that the
   * whole has. May be NULL. */
  int (*text)(const void *state, char *out, size_t size);
  /* The same for an action: "b2". No two actions have one name. May be NULL: the action's number. */
  int (*action_text)(int32_t action, char *out, size_t size);
  /* Returns 1 where the bytes, read from a file, are a state of a game that goes on, 0 where not. May be NULL: all bytes are taken for
   * one, which is safe as long as files come from this program. */
  int (*valid)(const void *state);

  /* ---- since version 2; all zeros is fine ---- */

  /* For bytes: what networks multiply them by, as 1/255 for brightness; 0: 1. Floats are taken as they are, and it is 0. */
  float observation_scale;
  /* Frames that an observation's channels are made of, equal parts, the oldest first. Every move drops the oldest and adds the newest,
   * so that packed replay (replay.raw_bytes) keeps one a move; those before the first are the game's choice. 0 or 1: observations are
   * not stacked. */
  int32_t frames;
} muzero_env_abi;

/* The one function that the file exports. The result is valid as long as the process. */
MUZERO_ENV_EXPORT const muzero_env_abi *muzero_env(void);

#ifdef __cplusplus
}
#endif
#endif
