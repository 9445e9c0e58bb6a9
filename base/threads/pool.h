/* A pool of threads that runs numbered tasks, and can be resized while it works. Workers own no state: a task gets its
 * index and the worker's number (to find scratch memory), and results go where the index says, so a resize loses nothing
 * and changes nothing. Workers that are not wanted stay parked: a resize is an unpark, microseconds. Workers that wake spread
 * over the cores that are idle (core.h); nobody spins.
 *
 * One thread at a time drives a pool (start, wait); resize may come from any thread at any time. Tasks start in index order. */
#pragma once
#include <sched.h>
#include "base/threads/stage.h"
#include "base/status.h"
#include <stdbool.h>

typedef struct mz_pool mz_pool;
typedef mz_status (*mz_task)(void *context, int task, int worker);

enum { MZ_POOL_MAX = 1024 };

/* `stage` (may be NULL) gets the busy time of tasks, less what they waited in queues (queue.h), their CPU time, and the time in
 * which there was a batch at work; the waits themselves and the items are for the tasks to add. Names the threads `name` for
 * debuggers. */
mz_status mz_pool_create(mz_pool **out, const char *name, int threads, mz_stage *stage);
void mz_pool_free(mz_pool *pool); /* waits for running tasks */

/* Starts tasks 0 … tasks-1 and returns. */
void mz_pool_start(mz_pool *pool, mz_task task, void *context, int tasks);
/* Blocks until all have ended; the status and message of the failed task with the lowest index. After a failure no
 * further task starts. */
mz_status mz_pool_wait(mz_pool *pool);
/* start + wait, with the calling thread working as worker 0 beside threads-1 others: no hand-over cost for short tasks. */
mz_status mz_pool_run(mz_pool *pool, mz_task task, void *context, int tasks);

/* 1 … MZ_POOL_MAX. Growing takes effect at once, shrinking as workers end their present tasks. On failure (no thread could
 * be had) the old size stays. */
mz_status mz_pool_resize(mz_pool *pool, int threads);
int mz_pool_threads(const mz_pool *pool);

/* Its threads give way to the process's other threads from their next tasks on (nice 10): for work that many independent tasks
 * share, beside work that one thread waits for step by step. Speed only. */
void mz_pool_give_way(mz_pool *pool);

/* Its threads, present and future, run on these cores only, from their next tasks on; so does the thread that works as worker 0
 * of mz_pool_run, for as long as the call lasts: afterwards it may run where it could before. Cores where the thread that
 * created the pool may not run are left out; count 0, or none left: anywhere that thread may. Where the system refuses, they go
 * on where they are. From any thread at any time. Speed only. */
void mz_pool_place(mz_pool *pool, const int16_t *cores, int count);
/* The system lets the process run elsewhere than when the pool was created: places are looked for among these cores from now on.
 * mz_pool_place is due afterwards. Not while another thread calls it. */
void mz_pool_grant(mz_pool *pool, const cpu_set_t *home);

typedef struct mz_pool_view {
  int threads;              /* wanted */
  int tasks, left, running; /* tasks of the batch; those not begun; those begun and not ended */
} mz_pool_view;
/* Shows what a pool is at, to say why nothing moves. From any thread; false: its lock is held all the time. */
bool mz_pool_look(mz_pool *pool, mz_pool_view *out);
