/* The workers of an environment: one or more processes with equal games at hand, which answer batches of rows.
 *
 * Any thread may run a batch at any time; batches that need the same worker follow one another.
 *
 * A worker is lost when it dies, stays silent for timeout_s, or answers another batch than it was sent. A warning says so, with the
 * last lines that it wrote; the rows of its batch are lost, and the next batch that needs it starts another in its place. One rule
 * ends that: a worker that was lost MZ_WORKERS_LOST_MAX times in a row, starts and resets included, without answering a row other
 * than a reset in between, is not started again. A caller that asks for a lost row again gives up after as many times. Only the very
 * first start is not repeated: what ends it is a mistake in the name or on the machine. */
#pragma once
#include "base/status.h"
#include <sched.h>
#include "envs/worker/mailbox.h"
#include "envs/worker/process.h"
#include <stdbool.h>
#include <stddef.h>

enum { MZ_WORKERS_MAX = 64, MZ_WORKERS_ROWS_MAX = 256, MZ_WORKERS_LOST_MAX = 8 };

typedef struct mz_env_workers mz_env_workers;

typedef struct mz_env_workers_setup {
  const char *name;                 /* of the environment, for messages; lives as long as the workers */
  const mz_worker_program *program; /* lives as long */
  const char *kind;                 /* "gym", "spiel" or "own" */
  const char *id;                   /* "CartPole-v1" */
  const char *const *options;
  int option_count;
  int limit;        /* moves; 0: the environment's own */
  bool keeps_games; /* a worker keeps games that no other one has */
  int count;        /* of workers, 1 … MZ_WORKERS_MAX; 0: as many as there are cores, until mz_env_workers_set_count */
  double timeout_s; /* that an answer may take */
} mz_env_workers_setup;

/* A row's parts and their places. A part without bytes is not there. */
typedef struct mz_mailbox_layout {
  size_t obs_bytes;
  size_t mask_at;             /* one byte an action */
  size_t history_at, history; /* entries of 16 bits */
  size_t text_at, text_bytes;
  size_t row_bytes; /* a multiple of 64 */
} mz_mailbox_layout;

/* Starts the first worker and takes what it says of the environment, a JSON object that lives as long as the workers. MZ_E_CONFIG: no
 * Python, no package, an environment that cannot be made, a script of another version; with the worker's own words. MZ_E_MEMORY. */
mz_status mz_env_workers_create(mz_env_workers **out, const mz_env_workers_setup *setup, const char **description);
/* Sends a request to the first worker and takes its answer, before mz_env_workers_share. `out`: MZ_WORKER_MESSAGE_MAX bytes. */
mz_status mz_env_workers_ask(mz_env_workers *workers, const char *request, char *out);
/* Shares memory for rows of this layout with the first worker; the others start when they are needed. */
mz_status mz_env_workers_share(mz_env_workers *workers, const mz_mailbox_layout *layout);
void mz_env_workers_free(mz_env_workers *workers); /* NULL is fine */
/* Returns a worker for one of `rows` rows that any worker can answer: those of a batch go to them in turn, single ones by thread, so that
 * a thread finds at hand what it asked for last. Any thread may ask. */
int32_t mz_env_workers_any(const mz_env_workers *workers, int row, int rows);
/* Returns how many there are on so many cores where the user names no number. */
int mz_env_workers_default_count(int cores);

int mz_env_workers_count(const mz_env_workers *workers); /* that are asked */
int mz_env_workers_given(const mz_env_workers *workers); /* setup.count */
bool mz_env_workers_keep_games(const mz_env_workers *workers);
/* From now on rows that any worker can answer, and games that begin, go to so many workers. Those beyond stay, and wait: plans on trial
 * take turns, and a start of Python takes up to seconds. Any thread may call. */
void mz_env_workers_set_count(mz_env_workers *workers, int count);
/* Lets all processes run on these cores only, those that start later, too. Any thread may call. */
void mz_env_workers_place(mz_env_workers *workers, const cpu_set_t *cores);

/* Sums over all workers, those that ended included, since they were made; they never fall. */
typedef struct mz_env_workers_use {
  double rows;         /* that were answered */
  double busy_s;       /* from when a worker was sent a batch until it had answered */
  double cpu_s;        /* CPU time of the processes */
  double waited_for_s; /* wall time that threads spent on asking and waiting for answers */
} mz_env_workers_use;
/* Any thread may ask; it waits for no answer. */
mz_env_workers_use mz_env_workers_used(mz_env_workers *workers);

typedef struct mz_env_workers_memory {
  double bytes, largest; /* of all processes that run now, and of the largest one; without what several share */
} mz_env_workers_memory;
/* Any thread may ask; zeros where there is no telling. */
mz_env_workers_memory mz_env_workers_memory_now(mz_env_workers *workers);

/* Returns the rows that a batch may have. */
int mz_env_workers_rows(const mz_env_workers *workers);

typedef struct mz_env_workers_batch {
  void *context;
  /* Writes the question of row i. `life` counts the starts of its worker, from 1: who remembers an instance of an earlier life has
   * lost it. false: nothing is asked, and the row is lost. */
  bool (*ask)(void *context, int i, mz_mailbox_row *row, uint32_t life);
  /* Takes the answer of row i; row NULL: lost. */
  void (*take)(void *context, int i, const mz_mailbox_row *row, uint32_t life);
} mz_env_workers_batch;

/* Plays a batch of n rows (at most mz_env_workers_rows), row i by worker worker_of[i]: each worker is woken once. MZ_E_CONFIG where a
 * worker is not started again (see above) or describes another environment now; every row was then given to `take` as lost, or was
 * answered. */
mz_status mz_env_workers_run(mz_env_workers *workers, int n, const int32_t *worker_of, const mz_env_workers_batch *batch);

/* Runs the batch again until `take` has set answered[i] of all n rows. Fails as mz_env_workers_run does, and MZ_E_CONFIG: `what` ("a
 * reset") lost its worker MZ_WORKERS_LOST_MAX times, and how the last time. */
mz_status mz_env_workers_run_all(mz_env_workers *workers, int n, const int32_t *index, const bool *answered,
                                 const mz_env_workers_batch *batch, const char *what);

typedef struct mz_lost_workers {
  int64_t workers, games; /* workers that were lost; games that were truncated by that */
} mz_lost_workers;
/* Counts games that were truncated because their worker was lost. */
void mz_env_workers_count_lost(mz_env_workers *workers, int games);
/* Returns what was lost since the workers were made. Any thread may ask. */
mz_lost_workers mz_env_workers_lost(const mz_env_workers *workers);
