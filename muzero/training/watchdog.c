#include "muzero/training/watchdog.h"
#include "base/log.h"
#include "base/text.h"
#include "base/threads/thread.h"
#include "muzero/training/threads.h"
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { NS_PER_S = 1000000000, SHORTEST_NS = 1000000 };

struct mz_watchdog {
  const mz_workers *workers;
  double look_s; /* time between two looks */
  bool aborts;

  uint64_t seen;                /* steps at the last look */
  int64_t silent, next_warning; /* looks without progress; at how many it speaks next */

  bool threaded;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards closing */
  pthread_cond_t wake;
  bool closing;
};

/* ---- what is seen ---- */

static uint64_t steps_of(const mz_stage *stage) { return atomic_load_explicit(&stage->steps, memory_order_relaxed); }

/* Only grows, and does so wherever anything moves. */
static uint64_t steps_so_far(const mz_workers *w) {
  return steps_of(&w->actor_stage) + steps_of(&w->batch_stage) + steps_of(&w->state->learner_stage) +
         atomic_load_explicit(&w->activity.steps, memory_order_relaxed);
}

/* ---- what is said ---- */

typedef struct text {
  char *at;
  size_t left;
} text;

__attribute__((format(printf, 2, 3))) static void say(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf(t->at, t->left, format, args);
  va_end(args);
  const size_t used = length < 0 ? 0 : (size_t)length < t->left ? (size_t)length : t->left - 1;
  t->at += used;
  t->left -= used;
}

static void say_doing(text *t, mz_doing doing, long long round) {
  static const char *const words[] = {
      [MZ_DOING_NOTHING] = "nothing",
      [MZ_DOING_UPDATES] = "learning",
      [MZ_DOING_WAIT_BATCHES] = "waiting for the last batches' tasks to end",
      [MZ_DOING_WAIT_SELFPLAY] = "waiting for self-play",
      [MZ_DOING_FOLD] = "folding the round into the state",
      [MZ_DOING_EVALUATION] = "evaluation",
      [MZ_DOING_DECISION] = "deciding on the plan",
      [MZ_DOING_RECORD] = "writing the phase's record",
      [MZ_DOING_SAVE] = "checking and copying the state for a checkpoint",
  };
  if (doing == MZ_DOING_WAIT_CHECKPOINT)
    say(t, "waiting for checkpoint round-%09lld.mzc to be written; the disk does not answer, or slowly", round);
  else
    say(t, "round %lld, %s", round, words[doing]);
}

static void say_pool(text *t, const char *name, mz_pool *pool) {
  mz_pool_view view;
  say(t, "; %s: ", name);
  if (!mz_pool_look(pool, &view))
    say(t, "its lock is held and not given back");
  else if (view.left == 0 && view.running == 0)
    say(t, "idle");
  else
    say(t, "%d of %d tasks not begun, %d at work, %d thread%s", view.left, view.tasks, view.running, view.threads,
        mz_plural(view.threads));
}

static void say_queue(text *t, mz_queue *queue) {
  mz_queue_view view;
  say(t, "; queue of batches: ");
  if (!mz_queue_look(queue, &view)) {
    say(t, "its lock is held and not given back");
    return;
  }
  say(t, "capacity %d, %d ready, %lld taken", view.capacity, view.ready, (long long)view.taken);
  if (view.producers_waiting > 0)
    say(t, ", %d task%s for room", view.producers_waiting, view.producers_waiting == 1 ? " waits" : "s wait");
  if (view.consumer_waits) say(t, ", the learner waits for a batch");
  if (view.closed) say(t, ", closed");
}

static void describe(const mz_watchdog *w, mz_doing doing, char *out, size_t size) {
  const mz_workers *workers = w->workers;
  text t = {out, size};
  say(&t, "no progress for %.4g s: ", (double)w->silent * w->look_s);
  say_doing(&t, doing, (long long)atomic_load_explicit(&workers->activity.round, memory_order_relaxed));
  say_queue(&t, workers->queue);
  say_pool(&t, "self-play and evaluation", workers->actor_pool);
  say_pool(&t, "batches", workers->batch_pool);
  say_pool(&t, "learner", workers->state->learner_pool);
}

static void speak(const mz_watchdog *w, mz_doing doing) {
  char line[1024];
  describe(w, doing, line, sizeof line);
  if (w->aborts && doing != MZ_DOING_WAIT_CHECKPOINT) { /* a disk may come back, and what it holds is worth the waiting */
    mz_log_write(MZ_LOG_ERROR, "watchdog: %s", line);
    mz_threads_log(MZ_LOG_ERROR);
    abort();
  }
  mz_log_write(MZ_LOG_WARNING, "watchdog: %s", line);
}

/* ---- looking ---- */

void mz_watchdog_look(mz_watchdog *w) {
  const mz_doing doing = (mz_doing)atomic_load_explicit(&w->workers->activity.doing, memory_order_relaxed);
  const uint64_t steps = steps_so_far(w->workers);
  if (steps == w->seen && doing != MZ_DOING_NOTHING) {
    if (++w->silent < w->next_warning) return;
    speak(w, doing);
    w->next_warning = 2 * w->silent;
    return;
  }
  if (w->next_warning > MZ_WATCHDOG_LOOKS)
    mz_log_write(MZ_LOG_WARNING, "watchdog: the run moves again, after %.4g s without progress", (double)w->silent * w->look_s);
  w->seen = steps;
  w->silent = 0;
  w->next_warning = MZ_WATCHDOG_LOOKS;
}

/* Sleeps for one look; true when it is to end. Mutex held. */
static bool sleep_once(mz_watchdog *w) {
  struct timespec until;
  const uint64_t ns = (uint64_t)(w->look_s * NS_PER_S);
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)((ns + (uint64_t)until.tv_nsec) / NS_PER_S);
  until.tv_nsec = (long)((ns + (uint64_t)until.tv_nsec) % NS_PER_S);
  int rc = 0;
  while (!w->closing && rc == 0) rc = pthread_cond_timedwait(&w->wake, &w->mutex, &until);
  return w->closing;
}

static void *watch(void *argument) {
  mz_watchdog *w = argument;
  pthread_mutex_lock(&w->mutex);
  while (!sleep_once(w)) {
    pthread_mutex_unlock(&w->mutex); /* the log may block */
    mz_watchdog_look(w);
    pthread_mutex_lock(&w->mutex);
  }
  pthread_mutex_unlock(&w->mutex);
  return NULL;
}

/* ---- beginning and end ---- */

mz_status mz_watchdog_create(mz_watchdog **out, const mz_watchdog_settings *settings, const mz_workers *workers) {
  *out = NULL;
  mz_watchdog *w;
  if (!(settings->time > 0)) return MZ_OK;
  MZ_TRY(mz_alloc(&w, 1, sizeof *w));
  mz_lock_init(&w->mutex, &w->wake);
  w->workers = workers;
  w->look_s = settings->time / MZ_WATCHDOG_LOOKS;
  if (w->look_s < (double)SHORTEST_NS / NS_PER_S) w->look_s = (double)SHORTEST_NS / NS_PER_S;
  w->aborts = settings->action == MZ_WATCHDOG_ABORT;
  w->seen = steps_so_far(workers);
  w->next_warning = MZ_WATCHDOG_LOOKS;
  *out = w;
  return MZ_OK;
}

mz_status mz_watchdog_start(mz_watchdog **out, const mz_watchdog_settings *settings, const mz_workers *workers) {
  mz_watchdog *w;
  MZ_TRY(mz_watchdog_create(&w, settings, workers));
  *out = w;
  if (w == NULL) return MZ_OK;
  const int rc = mz_thread_start(&w->thread, "watchdog", watch, w);
  w->threaded = rc == 0;
  if (rc == 0) return MZ_OK;
  mz_watchdog_stop(w);
  *out = NULL;
  return mz_fail(MZ_E_INTERNAL, "watchdog: no thread: %s", strerror(rc));
}

void mz_watchdog_stop(mz_watchdog *w) {
  if (w == NULL) return;
  if (w->threaded) {
    pthread_mutex_lock(&w->mutex);
    w->closing = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
  }
  pthread_cond_destroy(&w->wake);
  pthread_mutex_destroy(&w->mutex);
  free(w);
}
