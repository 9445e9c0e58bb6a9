/* libmuzero: train MuZero agents on bundled environments and your own, resume runs exactly, and ask trained agents for moves.
 * docs/library.md shows how to install the library, with an example.
 *
 * Errors. A function that can fail returns a muzero_status and gives its results through out-pointers, which it writes only on
 * MUZERO_OK. muzero_message() then says in words what went wrong.
 *
 * Handles. muzero_run, muzero_agent and muzero_game are handles: never dereferenced, made by a function with `out`, ended by the
 * matching close. NULL, a closed handle or one of another type is MUZERO_E_USAGE. A program may have 4096 handles at a time.
 *
 * Threads. Any thread may use any handle. A call on a handle while another thread's call on it is not over, or from within a
 * callback of it, is MUZERO_E_BUSY and changes nothing; muzero_run_request is the exception. Different handles are independent of
 * each other. The library is not to be used in a child process that was forked while a handle was open.
 *
 * Process. The library prints nothing to stdout, ends no process, installs no signal handlers, and leaves the calling thread's
 * OpenMP settings, locale and floating-point environment as they were; its results do not depend on these. The threads it starts
 * block signals. Its log goes to stderr, warnings and errors only, or to a callback.
 *
 * Structs with a member `size`: the caller sets it to sizeof of the struct (the ..._INIT macros do). Later versions of the library
 * append members; a program that was compiled before works as it did. */
#ifndef MUZERO_H
#define MUZERO_H

#include <stddef.h>
#include <stdint.h>

#define MUZERO_VERSION_MAJOR 0
#define MUZERO_VERSION_MINOR 1
#define MUZERO_VERSION_PATCH 0

#if defined(__GNUC__)
#define MUZERO_API __attribute__((visibility("default")))
#else
#define MUZERO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions, errors, log ---- */

/* Returns the version of the library that is loaded: "MAJOR.MINOR.PATCH". */
MUZERO_API const char *muzero_version(void);

typedef enum muzero_status {
  MUZERO_OK = 0,
  MUZERO_E_INTERNAL = 1,   /* a defect of the library, or a thread that could not be started */
  MUZERO_E_USAGE = 2,      /* a wrong argument, a NULL or closed handle, or a call out of order */
  MUZERO_E_CONFIG = 3,     /* a setting, an environment or a preset that is unknown or out of range; a run where there is one */
  MUZERO_E_CHECKPOINT = 4, /* a checkpoint that is missing, damaged or of a newer version */
  MUZERO_E_IO = 5,         /* a file or folder could not be read or written; another process has the run */
  MUZERO_E_DEVICE = 6,     /* the device cannot be had */
  MUZERO_E_MEMORY = 7,     /* an allocation failed */
  MUZERO_E_DIVERGED = 8,   /* training or a search came to numbers that are not finite */
  MUZERO_E_BUSY = 9        /* another call on the handle is not over */
} muzero_status;

/* Returns the message of this thread's last failure, "" before the first. Valid until the next call of a muzero_ function on this
 * thread. */
MUZERO_API const char *muzero_message(void);

typedef enum muzero_log_level { MUZERO_LOG_ERROR, MUZERO_LOG_WARNING, MUZERO_LOG_INFO, MUZERO_LOG_DEBUG } muzero_log_level;
/* Called with one line without its end, from any thread, by one thread at a time. `line` is valid during the call. The callback
 * must not call the library: its functions answer MUZERO_E_USAGE there. The thread's locale is "C" then. */
typedef void (*muzero_log_callback)(void *context, muzero_log_level level, const char *line);
/* Sends lines up to `most_verbose` to `callback` from now on; NULL: to stderr. Before the first call it is stderr and
 * MUZERO_LOG_WARNING. The log belongs to the process, not to a handle. */
MUZERO_API muzero_status muzero_log_set(muzero_log_callback callback, void *context, muzero_log_level most_verbose);

/* ---- environments ---- */

/* Returns the name of the index-th bundled environment, NULL past the last. The text is valid as long as the process. */
MUZERO_API const char *muzero_env_name(size_t index);

typedef struct muzero_env_info {
  size_t size;
  const char *name;             /* as the library spells it: "gomoku:size=9" */
  const char *title, *rules;    /* one line; a few sentences */
  const char *observation;      /* what the entries of an observation mean */
  int32_t observation_shape[3]; /* height, width, channels; a vector is {1, 1, n} */
  int32_t observation_size;     /* entries: the product */
  int32_t actions;              /* actions are 0 … actions − 1 */
  int32_t players;              /* 1 or 2 */
  int32_t moves_max;            /* moves after which a game is truncated; 0: no limit */
} muzero_env_info;
#define MUZERO_ENV_INFO_INIT                                                                                                     \
  { sizeof(muzero_env_info), 0, 0, 0, 0, {0, 0, 0}, 0, 0, 0, 0 }
/* Describes an environment: "connect4", a variant such as "gomoku:size=9,k=5", or the path of a shared object of your own that ends
 * in .so (muzero/env_abi.h). Texts are valid as long as the process. MUZERO_E_CONFIG: there is none of this name, and the message
 * names the nearest; or something is wrong with the file. */
MUZERO_API muzero_status muzero_env_describe(const char *name, muzero_env_info *out);

/* ---- games: states of an environment ---- */

typedef struct muzero_game muzero_game;

/* Begins a game. Everything random in it follows from `seed`: equal seeds and actions give equal games. Errors as
 * muzero_env_describe. */
MUZERO_API muzero_status muzero_game_create(muzero_game **out, const char *env, uint64_t seed);
/* Makes a second game in the same state, with the same chance ahead of it. */
MUZERO_API muzero_status muzero_game_copy(muzero_game **out, muzero_game *game);
MUZERO_API muzero_status muzero_game_close(muzero_game *game);

typedef struct muzero_game_state {
  size_t size;
  const char *env;    /* the environment's name; valid as long as the process */
  int32_t to_play;    /* 0 or 1; a game for one, or one that is over: 0 */
  int32_t legal;      /* number of legal actions; 0: the game is over */
  int32_t moves;      /* played so far */
  int32_t terminated; /* 1: the game has come to its own end */
  int32_t truncated;  /* 1: the limit of moves ended it */
  float reward;       /* of the last move, for who made it; 0 before the first */
} muzero_game_state;
#define MUZERO_GAME_STATE_INIT                                                                                                   \
  { sizeof(muzero_game_state), 0, 0, 0, 0, 0, 0, 0 }
MUZERO_API muzero_status muzero_game_state_get(muzero_game *game, muzero_game_state *out);
/* Writes for each action whether it is legal, 1 or 0. `count`: the entries of `mask`, which must be the environment's number of
 * actions. A game that is over has none. */
MUZERO_API muzero_status muzero_game_legal(muzero_game *game, uint8_t *mask, size_t count);
/* Plays a legal action. MUZERO_E_USAGE: it is none, or the game is over; the game stays as it was. After any other failure, the
 * environment's, the game is over: truncated, without the move. */
MUZERO_API muzero_status muzero_game_step(muzero_game *game, int32_t action);
/* Writes what the player to move observes: observation_size numbers, [height][width][channels]. `count`: the entries of
 * `observation`, which must be observation_size. */
MUZERO_API muzero_status muzero_game_observe(muzero_game *game, float *observation, size_t count);
/* Writes the state for people, in several lines, NUL-terminated. MUZERO_E_USAGE: `size` bytes do not hold it; 8192 always do. */
MUZERO_API muzero_status muzero_game_text(muzero_game *game, char *text, size_t size);
/* Writes the name of an action, such as "d4", NUL-terminated. MUZERO_E_USAGE: no such action, or `size` bytes do not hold it; 32
 * always do. */
MUZERO_API muzero_status muzero_game_action_text(muzero_game *game, int32_t action, char *text, size_t size);

/* ---- runs: training ---- */

typedef struct muzero_run muzero_run;

typedef enum muzero_reason {                       /* why a step returned */
                             MUZERO_CONTINUES = 0, /* its rounds or its phase are over; no limit is reached */
                             MUZERO_REACHED_ROUNDS = 1,
                             MUZERO_REACHED_ENV_STEPS = 2,
                             MUZERO_REACHED_UPDATES = 3,
                             MUZERO_REACHED_TIME = 4,
                             MUZERO_REACHED_SCORE = 5,
                             MUZERO_REACHED_BUDGET = 6,
                             MUZERO_STOPPED = 7 /* a stop was requested */
} muzero_reason;

typedef struct muzero_progress { /* totals since the run began, over all processes */
  size_t size;
  int64_t rounds, env_steps, updates, episodes, simulations;
  double wall_s; /* time spent in the functions that train */
  double score;  /* of the last evaluation; NaN before the first */
} muzero_progress;
#define MUZERO_PROGRESS_INIT                                                                                                     \
  { sizeof(muzero_progress), 0, 0, 0, 0, 0, 0, 0 }
/* Called during training, in the thread that trains, after each round, or after each phase and what a limit or a stop leaves of
 * one. Returning anything but 0 requests a stop. `progress` is valid during the call. The callback may use other handles, and
 * muzero_run_request on this one. */
typedef int (*muzero_run_callback)(void *context, const muzero_progress *progress);

typedef struct muzero_run_options {
  size_t size;
  const char *env;             /* create: the environment; may be NULL where `from` is given */
  const char *preset;          /* create: a preset's name or file; NULL: the environment's */
  const char *from;            /* create: a run or checkpoint whose state the new run starts with; NULL: a fresh start */
  const char *const *settings; /* "key=value", as --set of the program takes them; `muzero train --help` lists the keys */
  size_t settings_count;
  const uint64_t *seed;   /* everything random follows from it; NULL: 1, or on resume the run's */
  const char *device;     /* "auto", "cpu", "cuda" or "cuda:N"; NULL: "auto" */
  const char *history;    /* file of measured phases that the allocator learns from; NULL: none */
  int32_t threads;        /* budget of worker threads; 0: as many as there are cores for the process */
  int32_t allow_numeric;  /* resume: 1: rounding may differ from the run's (another kind of processor or device) */
  int32_t allow_fallback; /* resume: 1: where the latest checkpoint is damaged, go back to the newest sound one */
  muzero_run_callback on_round, on_phase; /* NULL: none */
  void *context;                          /* for both */
} muzero_run_options;
#define MUZERO_RUN_OPTIONS_INIT                                                                                                  \
  { sizeof(muzero_run_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Creates the folder `dir` with a new run in it; NULL: a new folder in runs/. The library copies what the options point to.
 * MUZERO_E_CONFIG: a setting is wrong, or there is a run already; MUZERO_E_IO: the folder cannot be written. The setting
 * watchdog.action=abort is taken as warn. */
MUZERO_API muzero_status muzero_run_create(muzero_run **out, const char *dir, const muzero_run_options *options);
/* Continues a run from its latest checkpoint, exactly as if it had never stopped; but games of environments whose states cannot be
 * copied ("gym:…") begin anew. Only settings that cannot change its course may differ: MUZERO_E_CONFIG names the key. env, preset
 * and from must be NULL. options NULL: all as it was. MUZERO_E_CHECKPOINT: the folder holds no run, or a damaged one; MUZERO_E_IO:
 * there is no such folder, or another process or handle has it. */
MUZERO_API muzero_status muzero_run_resume(muzero_run **out, const char *dir, const muzero_run_options *options);
/* Resumes where `dir` holds a run, and creates one where it does not. A resumed run must be of options->env
 * (MUZERO_E_CONFIG; nothing has changed in it); preset and from apply to a new run only. */
MUZERO_API muzero_status muzero_run_open(muzero_run **out, const char *dir, const muzero_run_options *options);
/* Waits for a checkpoint that is being written and releases the run. Saves nothing: what was trained since the last checkpoint is
 * lost (the functions that train save whenever they report a limit or a stop). MUZERO_E_IO and others: that checkpoint could not be
 * written, so that more is lost; the run is released all the same. */
MUZERO_API muzero_status muzero_run_close(muzero_run *run);

/* Totals since the run began, with those of the run that it goes on from, but for `seconds`. 0: no such limit; all 0: the preset's
 * hold. */
typedef struct muzero_limits {
  size_t size;
  int64_t rounds, env_steps, updates;
  double seconds; /* of training with this handle */
  double score;   /* reached in an evaluation and confirmed on 100 games; counts where has_score is 1 */
  int32_t has_score;
} muzero_limits;
#define MUZERO_LIMITS_INIT                                                                                                       \
  { sizeof(muzero_limits), 0, 0, 0, 0, 0, 0 }

/* Trains until a limit is reached or a stop is requested, and saves. limits NULL: the preset's. `reason` (may be NULL) says which.
 * Limits are tested at the ends of rounds. At a limit, but not at a stop, the run is evaluated on 100 games first.
 * MUZERO_E_DIVERGED, MUZERO_E_IO (disk full) and others: the run can no longer be trained or saved with this handle; its last
 * checkpoint is good: close and resume. */
MUZERO_API muzero_status muzero_run_train(muzero_run *run, const muzero_limits *limits, muzero_reason *reason);
/* Trains to the end of the phase, where evaluations and checkpoints are made when due, or as muzero_run_train to a limit. */
MUZERO_API muzero_status muzero_run_phase(muzero_run *run, const muzero_limits *limits, muzero_reason *reason);
/* Trains for `rounds` rounds (at least 1), over as many phases as these touch; otherwise as muzero_run_train. It neither evaluates
 * nor saves at the end of its rounds, only where a phase or a limit does. */
MUZERO_API muzero_status muzero_run_rounds(muzero_run *run, int64_t rounds, const muzero_limits *limits, muzero_reason *reason);

typedef enum muzero_request { MUZERO_REQUEST_STOP = 1, MUZERO_REQUEST_CHECKPOINT = 2 } muzero_request;
/* Asks for a stop, or for a checkpoint in the background, at the end of the round; requests may be joined with |. Without a call
 * that trains under way, the next one honours it. A stop is used up by the call it ends. May be called from any thread, a callback
 * (one of the log as well), or a signal handler: async-signal-safe, and sets no message. MUZERO_E_USAGE: no such request, or no run
 * that is open. */
MUZERO_API muzero_status muzero_run_request(muzero_run *run, int requests);
/* Writes a checkpoint and waits until it is on the disk. */
MUZERO_API muzero_status muzero_run_save(muzero_run *run);
/* Plays `games` evaluation games with the current network and gives their score; training continues unaffected. */
MUZERO_API muzero_status muzero_run_evaluate(muzero_run *run, int32_t games, double *score);

MUZERO_API muzero_status muzero_run_progress(muzero_run *run, muzero_progress *out);
/* Gives a number of the last phase by its name in metrics.jsonl: "loss", "score", "updates_per_s", "plan.cpu_actor"; NaN where it
 * was not measured. MUZERO_E_USAGE: there is no such number, with the nearest name; no phase has ended with this handle yet. */
MUZERO_API muzero_status muzero_run_metric(muzero_run *run, const char *name, double *out);
/* Writes the record of the last phase as metrics.jsonl has it, one JSON object, NUL-terminated. MUZERO_E_USAGE: `size` bytes do
 * not hold it; 16384 always do; no phase has ended with this handle yet. */
MUZERO_API muzero_status muzero_run_metrics_json(muzero_run *run, char *text, size_t size);
/* Writes the run's folder, NUL-terminated. MUZERO_E_USAGE: `size` bytes do not hold it; 400 always do. */
MUZERO_API muzero_status muzero_run_dir(muzero_run *run, char *dir, size_t size);

/* ---- agents: moves from a trained network ---- */

typedef struct muzero_agent muzero_agent;

/* Loads the agent of a run's folder (its latest checkpoint; "FOLDER@best": its best) or of a checkpoint file. The files
 * are not needed afterwards. MUZERO_E_CHECKPOINT, MUZERO_E_IO: they cannot be read. */
MUZERO_API muzero_status muzero_agent_load(muzero_agent **out, const char *path);
MUZERO_API muzero_status muzero_agent_close(muzero_agent *agent);

typedef struct muzero_agent_info {
  size_t size;
  const char *env; /* the environment's name; valid as long as the process */
  int32_t actions;
  int32_t simulations;                /* a move, unless others are asked for */
  int64_t rounds, updates, env_steps; /* that it was trained for */
  uint64_t seed;                      /* of its run */
} muzero_agent_info;
#define MUZERO_AGENT_INFO_INIT                                                                                                   \
  { sizeof(muzero_agent_info), 0, 0, 0, 0, 0, 0, 0 }
MUZERO_API muzero_status muzero_agent_describe(muzero_agent *agent, muzero_agent_info *out);

/* Chooses a move in each of `count` games (one is the quick case, more are searched together), without noise: the same position
 * always gets the same answer, whatever stands beside it. simulations 0: as described. Any of the results may be NULL:
 *   actions   [count]           the move that the search selects
 *   values    [count]           expected return for the player to move, by the search
 *   policies  [count][actions]  probabilities that the search would teach the network; illegal moves have 0
 *   visits    [count][actions]  simulations that went through each action
 * MUZERO_E_USAGE: a game is over or of another environment; `count` 0; simulations negative or above 1,000,000. MUZERO_E_BUSY:
 * another thread uses one of the games. MUZERO_E_DIVERGED: the network's values are not finite. After a failure the arrays' content
 * is not defined. */
MUZERO_API muzero_status muzero_agent_move(muzero_agent *agent, muzero_game *const *games, size_t count, int32_t simulations,
                                           int32_t *actions, float *values, float *policies, int32_t *visits);

#ifdef __cplusplus
}
#endif
#endif
