/* The processes of an environment from inside: workers.c starts and ends them, workers_batch.c runs batches,
 * workers_use.c has their cores, clocks and memory. */
#pragma once
#include "envs/worker/ending.h"
#include "envs/worker/workers.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

typedef struct mz_env_worker {
  pthread_mutex_t lock;
  mz_worker_process process;
  uint32_t life, serial; /* starts; batches of this life */
  bool plays;            /* its batch has a row that is no reset */
  int lost_in_a_row;     /* since it answered such a row */
  uint64_t asked_ns;     /* when its batch was sent */
  char last_end[MZ_WORKER_LINE_BYTES];
  /* Guarded by mz_env_workers.clocks. */
  bool is_clocked; /* there is a process, of which `clock` is the CPU time */
  clockid_t clock;
  double cpu_s; /* of that process, as it was read last */
} mz_env_worker;

struct mz_env_workers {
  mz_env_workers_setup setup;
  _Atomic int count; /* that are asked */
  char *description; /* what the first one answered */
  char *share;       /* the message that goes with a mailbox; NULL until there is a layout */
  size_t mailbox_bytes, row_bytes;
  int rows;
  _Atomic int64_t lost_workers, lost_games;
  _Atomic uint64_t busy_ns, waited_for_ns, answered;
  pthread_mutex_t clocks; /* guards what follows, and no longer than a process takes to end */
  double ended_cpu_s;     /* of processes that are gone */
  cpu_set_t cores;        /* where processes run; empty: wherever the system lets them */
  mz_env_worker items[MZ_WORKERS_MAX];
};

void mz_env_worker_lock(pthread_mutex_t *lock);
void mz_env_worker_unlock(pthread_mutex_t *lock);
/* Begins the clock of a process that has just started. */
void mz_env_worker_begin_clock(mz_env_workers *w, mz_env_worker *one);
/* Confines a worker again once it has begun: it was told of its cores before, and they may have changed since. */
void mz_env_worker_confine(mz_env_workers *w, const mz_env_worker *one);
/* Starts a worker; its lock is held, and there is none. *answer other than MZ_WORKER_ANSWERED: it is to be ended, and *when says at
 * which point. */
mz_status mz_env_worker_start(mz_env_workers *w, mz_env_worker *one, mz_worker_answer *answer, const char **when);
/* Ends a worker that gave no answer; the next batch starts another in its place. */
void mz_env_worker_lose(mz_env_workers *w, mz_env_worker *one, mz_worker_answer answer, const char *when);
