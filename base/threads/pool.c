#include "base/threads/pool.h"
#include "base/machine/clock.h"
#include "base/threads/core.h"
#include "base/threads/queue.h"
#include "base/threads/sched_point.h"
#include "base/threads/thread.h"
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NO_TASK = -1, NO_CORE = -1 };

/* One thread. Each parks on a condition of its own, so that exactly those are woken that are wanted. */
typedef struct worker {
  pthread_t thread;
  pthread_cond_t wake;
  mz_pool *pool;
  int number;
  bool parked;
  bool gave_way, settled;
  uint32_t placement; /* the pool's that it has taken up */
} worker;

struct mz_pool {
  pthread_mutex_t mutex;  /* guards everything below but `size` for reading */
  pthread_mutex_t growth; /* one resize at a time; taken before `mutex` */
  pthread_cond_t idle;    /* the batch has ended */
  worker *workers[MZ_POOL_MAX];
  int spawned;      /* workers that exist; those from `size` on stay parked */
  _Atomic int size; /* workers wanted */
  bool closing, gives_way;

  cpu_set_t home;             /* where the thread that created the pool may run; empty: unknown */
  cpu_set_t cores;            /* where the workers may: home, or a part of it */
  _Atomic uint32_t placement; /* changes of `cores` so far; 0: never placed, threads are as they were created */

  /* the batch */
  mz_task task;
  void *context;
  int tasks, next; /* next: the first task that has not started */
  int running;
  bool caller_works; /* as worker 0, in place of workers[0] */
  int driver_core;   /* where the thread ran that started the batch; it continues with work of its own */
  uint64_t started_ns;
  int failed_task; /* the lowest that failed, or NO_TASK */
  mz_status failed_status;
  char failed_message[MZ_MESSAGE_MAX];

  mz_stage *stage;
  char name[12];
};

static mz_status run_timed(mz_pool *pool, mz_task task, void *context, int index, int number) {
  mz_stage *stage = pool->stage;
  if (stage == NULL) return task(context, index, number);
  const uint64_t wall = mz_clock_ns(), cpu = mz_clock_thread_ns(), waited = mz_queue_thread_waited_ns();
  mz_stage *const before = mz_stage_enter(stage);
  const mz_status status = task(context, index, number);
  mz_stage_step();
  mz_stage_enter(before);
  mz_stage_add(&stage->busy_ns, mz_clock_ns() - wall - (mz_queue_thread_waited_ns() - waited));
  mz_stage_add(&stage->cpu_ns, mz_clock_thread_ns() - cpu);
  return status;
}

static bool work_left(const mz_pool *pool) { return pool->next < pool->tasks && pool->failed_task == NO_TASK; }

static bool wanted(const mz_pool *pool, int number) { return number < pool->size && !(number == 0 && pool->caller_works); }

/* Runs one task; called and left with the mutex held. */
static void run_next(mz_pool *pool, int number) {
  const int index = pool->next++;
  const mz_task task = pool->task;
  void *context = pool->context;
  pool->running++;
  pthread_mutex_unlock(&pool->mutex);
  mz_sched_point();
  const mz_status status = run_timed(pool, task, context, index, number);
  mz_sched_point();
  pthread_mutex_lock(&pool->mutex);
  pool->running--;
  if (status != MZ_OK && (pool->failed_task == NO_TASK || index < pool->failed_task)) {
    pool->failed_task = index;
    pool->failed_status = status;
    snprintf(pool->failed_message, sizeof pool->failed_message, "%s", mz_message());
  }
  if (pool->running > 0 || work_left(pool)) return;
  if (pool->stage != NULL && !pool->caller_works) mz_stage_add(&pool->stage->elapsed_ns, mz_clock_ns() - pool->started_ns);
  pthread_cond_signal(&pool->idle);
}

/* Where a system refuses, nothing but speed is lost. */
static void give_way(worker *self) {
  enum { NICE = 10 };
  self->gave_way = true;
  if (setpriority(PRIO_PROCESS, (id_t)gettid(), NICE) != 0) return;
  if (self->pool->size > 1) mz_core_settle(self->number);
  self->settled = self->pool->size > 1;
}

/* Goes where the pool was placed last; mutex held. */
static void take_place(worker *self) {
  self->placement = self->pool->placement;
  if (mz_core_confine(&self->pool->cores) && self->settled) mz_core_settle(self->number);
}

static void *work(void *argument) {
  worker *self = argument;
  mz_pool *pool = self->pool;
  bool entered = false; /* this spell of work has a core */
  int core = NO_CORE;
  pthread_mutex_lock(&pool->mutex);
  while (!pool->closing) {
    const bool has_work = work_left(pool) && wanted(pool, self->number);
    if (has_work && self->placement != pool->placement) {
      if (entered) mz_core_leave(core);
      entered = false;
      take_place(self);
    }
    if (has_work && pool->gives_way && !self->gave_way) give_way(self);
    if (has_work && entered) {
      run_next(pool, self->number);
    } else if (has_work) {
      const int avoid = pool->driver_core;
      pthread_mutex_unlock(&pool->mutex);
      core = mz_core_enter(avoid);
      entered = true;
      mz_sched_point();
      pthread_mutex_lock(&pool->mutex); /* and look again: others may have taken the work */
    } else {
      if (entered) mz_core_leave(core);
      entered = false;
      self->parked = true;
      pthread_cond_wait(&self->wake, &pool->mutex);
      self->parked = false;
    }
  }
  if (entered) mz_core_leave(core);
  pthread_mutex_unlock(&pool->mutex);
  return NULL;
}

/* Wakes at most `count` parked workers that are wanted; mutex held. Whoever was woken no longer counts as parked, so nobody is
 * woken twice. */
static void wake_workers(mz_pool *pool, int count) {
  for (int i = 0; i < pool->spawned && count > 0; i++) {
    worker *w = pool->workers[i];
    if (!w->parked || !wanted(pool, i)) continue;
    w->parked = false;
    pthread_cond_signal(&w->wake);
    count--;
  }
}

/* ---- threads ---- */

static mz_status spawn(mz_pool *pool) {
  worker *w = NULL;
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  w->pool = pool;
  w->number = pool->spawned;
  pthread_cond_init(&w->wake, NULL);
  char name[16];
  snprintf(name, sizeof name, "%s-%hu", pool->name, (unsigned short)w->number);
  const int rc = mz_thread_start(&w->thread, name, work, w);
  if (rc != 0) {
    pthread_cond_destroy(&w->wake);
    free(w);
    return mz_fail(MZ_E_INTERNAL, "threads: no more than %d for %s: %s", pool->spawned, pool->name, strerror(rc));
  }
  pthread_mutex_lock(&pool->mutex);
  pool->workers[pool->spawned++] = w;
  pthread_mutex_unlock(&pool->mutex);
  return MZ_OK;
}

mz_status mz_pool_resize(mz_pool *pool, int threads) {
  if (threads < 1 || threads > MZ_POOL_MAX) {
    return mz_fail(MZ_E_CONFIG, "threads: %d for %s is out of range; takes 1 … %d", threads, pool->name, MZ_POOL_MAX);
  }
  mz_status status = MZ_OK;
  pthread_mutex_lock(&pool->growth);
  while (pool->spawned < threads && status == MZ_OK) status = spawn(pool);
  if (status == MZ_OK) {
    mz_sched_point();
    pthread_mutex_lock(&pool->mutex);
    pool->size = threads;
    if (work_left(pool)) wake_workers(pool, pool->tasks - pool->next);
    pthread_mutex_unlock(&pool->mutex);
    mz_sched_point();
  }
  pthread_mutex_unlock(&pool->growth);
  return status;
}

void mz_pool_give_way(mz_pool *pool) {
  pthread_mutex_lock(&pool->mutex);
  pool->gives_way = true;
  pthread_mutex_unlock(&pool->mutex);
}

static cpu_set_t usable_part(const cpu_set_t *home, const int16_t *cores, int count) {
  cpu_set_t part;
  CPU_ZERO(&part);
  for (int i = 0; i < count; i++) {
    if (cores[i] >= 0 && cores[i] < CPU_SETSIZE && CPU_ISSET(cores[i], home)) CPU_SET(cores[i], &part);
  }
  return CPU_COUNT(&part) > 0 ? part : *home;
}

void mz_pool_place(mz_pool *pool, const int16_t *cores, int count) {
  const cpu_set_t part = usable_part(&pool->home, cores, count);
  pthread_mutex_lock(&pool->mutex);
  if (!CPU_EQUAL(&part, &pool->cores)) {
    pool->cores = part;
    pool->placement++;
  }
  pthread_mutex_unlock(&pool->mutex);
}

void mz_pool_grant(mz_pool *pool, const cpu_set_t *home) { pool->home = *home; }

int mz_pool_threads(const mz_pool *pool) { return pool->size; }

bool mz_pool_look(mz_pool *pool, mz_pool_view *out) {
  if (!mz_mutex_try(&pool->mutex)) return false;
  const bool left = work_left(pool);
  *out = (mz_pool_view){
      .threads = pool->size, .tasks = pool->tasks, .left = left ? pool->tasks - pool->next : 0, .running = pool->running};
  pthread_mutex_unlock(&pool->mutex);
  return true;
}

mz_status mz_pool_create(mz_pool **out, const char *name, int threads, mz_stage *stage) {
  *out = NULL;
  mz_pool *pool = NULL;
  MZ_TRY(mz_alloc(&pool, 1, sizeof *pool));
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_mutex_init(&pool->growth, NULL);
  pthread_cond_init(&pool->idle, NULL);
  pool->failed_task = NO_TASK;
  pool->stage = stage;
  if (!mz_core_allowed(&pool->home)) CPU_ZERO(&pool->home); /* and it can never be placed */
  pool->cores = pool->home;
  snprintf(pool->name, sizeof pool->name, "%s", name);
  const mz_status status = mz_pool_resize(pool, threads);
  if (status == MZ_OK)
    *out = pool;
  else
    mz_pool_free(pool);
  return status;
}

void mz_pool_free(mz_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->mutex);
  while (pool->running > 0 || (work_left(pool) && !pool->caller_works)) pthread_cond_wait(&pool->idle, &pool->mutex);
  pool->closing = true;
  for (int i = 0; i < pool->spawned; i++) pthread_cond_signal(&pool->workers[i]->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->spawned; i++) {
    pthread_join(pool->workers[i]->thread, NULL);
    pthread_cond_destroy(&pool->workers[i]->wake);
    free(pool->workers[i]);
  }
  pthread_cond_destroy(&pool->idle);
  pthread_mutex_destroy(&pool->growth);
  pthread_mutex_destroy(&pool->mutex);
  free(pool);
}

/* ---- batches ---- */

/* Mutex held. */
static void publish(mz_pool *pool, mz_task task, void *context, int first, int tasks, bool caller_works) {
  MZ_ASSERT(pool->running == 0 && !work_left(pool)); /* one batch at a time */
  pool->task = task;
  pool->context = context;
  pool->next = first;
  pool->tasks = tasks;
  pool->caller_works = caller_works;
  pool->driver_core = mz_core_current();
  pool->started_ns = pool->stage != NULL && !caller_works ? mz_clock_ns() : 0;
  pool->failed_task = NO_TASK;
  wake_workers(pool, tasks - first - (caller_works ? 1 : 0));
}

/* Mutex held. */
static mz_status finish(mz_pool *pool) {
  while (pool->running > 0 || work_left(pool)) pthread_cond_wait(&pool->idle, &pool->mutex);
  pool->next = pool->tasks;
  pool->caller_works = false;
  return pool->failed_task == NO_TASK ? MZ_OK : mz_fail(pool->failed_status, "%s", pool->failed_message);
}

void mz_pool_start(mz_pool *pool, mz_task task, void *context, int tasks) {
  pthread_mutex_lock(&pool->mutex);
  publish(pool, task, context, 0, tasks, false);
  pthread_mutex_unlock(&pool->mutex);
  mz_sched_point();
}

mz_status mz_pool_wait(mz_pool *pool) {
  mz_sched_point();
  pthread_mutex_lock(&pool->mutex);
  const mz_status status = finish(pool);
  pthread_mutex_unlock(&pool->mutex);
  mz_sched_point();
  return status;
}

static mz_status run_with_caller(mz_pool *pool, mz_task task, void *context, int tasks) {
  int first = 0;
  while (first < tasks && (pool->size == 1 || first + 1 == tasks)) { /* nobody, or nothing, to share with */
    MZ_TRY(run_timed(pool, task, context, first++, 0));
  }
  if (first >= tasks) return MZ_OK;

  pthread_mutex_lock(&pool->mutex);
  publish(pool, task, context, first, tasks, true);
  while (work_left(pool)) run_next(pool, 0);
  const mz_status status = finish(pool);
  pthread_mutex_unlock(&pool->mutex);
  mz_sched_point();
  return status;
}

/* The calling thread's mask cut to the pool's cores, and then given back. Masks that say the same are left alone. */
static mz_status run_in_place(mz_pool *pool, mz_task task, void *context, int tasks) {
  cpu_set_t before, inside;
  pthread_mutex_lock(&pool->mutex);
  inside = pool->cores;
  pthread_mutex_unlock(&pool->mutex);
  bool moved = mz_core_allowed(&before);
  if (moved) CPU_AND(&inside, &inside, &before);
  moved = moved && CPU_COUNT(&inside) > 0 && !CPU_EQUAL(&inside, &before) && sched_setaffinity(0, sizeof inside, &inside) == 0;
  const mz_status status = run_with_caller(pool, task, context, tasks);
  if (moved) sched_setaffinity(0, sizeof before, &before); /* refused: it stays on the pool's cores, slower at worst */
  return status;
}

mz_status mz_pool_run(mz_pool *pool, mz_task task, void *context, int tasks) {
  const uint64_t start = pool->stage != NULL ? mz_clock_ns() : 0;
  const bool placed = pool->placement > 0;
  const mz_status status = placed ? run_in_place(pool, task, context, tasks) : run_with_caller(pool, task, context, tasks);
  if (pool->stage != NULL) mz_stage_add(&pool->stage->elapsed_ns, mz_clock_ns() - start);
  return status;
}
