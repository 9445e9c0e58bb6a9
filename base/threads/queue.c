#include "base/threads/queue.h"
#include "base/machine/clock.h"
#include "base/threads/sched_point.h"
#include "base/threads/stage.h"
#include "base/threads/thread.h"
#include <pthread.h>

struct mz_queue {
  pthread_mutex_t mutex;
  pthread_cond_t room;  /* producers: an item was released, or the queue closed */
  pthread_cond_t ready; /* the consumer: the next item was published, or the queue closed */
  int capacity;
  bool *published;  /* by slot */
  int64_t taken;    /* items the consumer has had; the next is number `taken` */
  int64_t released; /* items whose slots are free again; at most `taken` */
  int producers_waiting, consumers_waiting;
  bool closed;
};

static _Thread_local uint64_t thread_waited_ns;

uint64_t mz_queue_thread_waited_ns(void) { return thread_waited_ns; }

/* Mutex held. */
static void wait_timed(mz_queue *queue, pthread_cond_t *condition, int *waiting, uint64_t *waited_ns) {
  const uint64_t start = mz_clock_ns();
  ++*waiting;
  pthread_cond_wait(condition, &queue->mutex);
  --*waiting;
  const uint64_t waited = mz_clock_ns() - start;
  thread_waited_ns += waited;
  *waited_ns += waited;
}

mz_status mz_queue_create(mz_queue **out, int capacity) {
  *out = NULL;
  mz_queue *queue = NULL;
  MZ_TRY(mz_alloc(&queue, 1, sizeof *queue));
  pthread_mutex_init(&queue->mutex, NULL);
  pthread_cond_init(&queue->room, NULL);
  pthread_cond_init(&queue->ready, NULL);
  const mz_status status = mz_queue_reset(queue, capacity);
  if (status == MZ_OK)
    *out = queue;
  else
    mz_queue_free(queue);
  return status;
}

void mz_queue_free(mz_queue *queue) {
  if (queue == NULL) return;
  pthread_cond_destroy(&queue->ready);
  pthread_cond_destroy(&queue->room);
  pthread_mutex_destroy(&queue->mutex);
  free(queue->published);
  free(queue);
}

mz_status mz_queue_reset(mz_queue *queue, int capacity) {
  MZ_ASSERT(capacity >= 1);
  bool *published = NULL;
  MZ_TRY(mz_alloc(&published, (size_t)capacity, sizeof *published)); /* on failure the queue is as it was */
  pthread_mutex_lock(&queue->mutex);
  free(queue->published);
  queue->published = published;
  queue->capacity = capacity;
  queue->taken = queue->released = 0;
  queue->closed = false;
  pthread_mutex_unlock(&queue->mutex);
  return MZ_OK;
}

bool mz_queue_reserve(mz_queue *queue, int64_t index, int *slot, uint64_t *waited_ns) {
  mz_sched_point();
  pthread_mutex_lock(&queue->mutex);
  MZ_ASSERT(index >= queue->taken); /* each item is built once */
  while (!queue->closed && index >= queue->released + queue->capacity)
    wait_timed(queue, &queue->room, &queue->producers_waiting, waited_ns);
  const bool open = !queue->closed;
  *slot = (int)(index % queue->capacity);
  pthread_mutex_unlock(&queue->mutex);
  mz_sched_point();
  return open;
}

void mz_queue_publish(mz_queue *queue, int64_t index) {
  mz_sched_point();
  pthread_mutex_lock(&queue->mutex);
  MZ_ASSERT(index >= queue->taken && index < queue->released + queue->capacity); /* reserved before */
  queue->published[index % queue->capacity] = true;
  if (index == queue->taken) pthread_cond_signal(&queue->ready);
  pthread_mutex_unlock(&queue->mutex);
  mz_stage_step();
  mz_sched_point();
}

bool mz_queue_take(mz_queue *queue, int *slot, uint64_t *waited_ns) {
  mz_sched_point();
  pthread_mutex_lock(&queue->mutex);
  int at = (int)(queue->taken % queue->capacity);
  while (!queue->closed && !queue->published[at]) wait_timed(queue, &queue->ready, &queue->consumers_waiting, waited_ns);
  const bool open = !queue->closed;
  if (open) {
    queue->published[at] = false;
    queue->taken++;
  }
  *slot = at;
  pthread_mutex_unlock(&queue->mutex);
  mz_sched_point();
  return open;
}

void mz_queue_release(mz_queue *queue) {
  mz_sched_point();
  pthread_mutex_lock(&queue->mutex);
  MZ_ASSERT(queue->released < queue->taken);
  queue->released++;
  pthread_cond_broadcast(&queue->room); /* several may wait, and only one of them for this slot */
  pthread_mutex_unlock(&queue->mutex);
  mz_sched_point();
}

void mz_queue_close(mz_queue *queue) {
  mz_sched_point();
  pthread_mutex_lock(&queue->mutex);
  queue->closed = true;
  pthread_cond_broadcast(&queue->room);
  pthread_cond_broadcast(&queue->ready);
  pthread_mutex_unlock(&queue->mutex);
  mz_sched_point();
}

bool mz_queue_look(mz_queue *queue, mz_queue_view *out) {
  if (!mz_mutex_try(&queue->mutex)) return false;
  *out = (mz_queue_view){.capacity = queue->capacity,
                         .taken = queue->taken,
                         .producers_waiting = queue->producers_waiting,
                         .consumer_waits = queue->consumers_waiting > 0,
                         .closed = queue->closed};
  for (int i = 0; i < queue->capacity; i++) out->ready += queue->published[i];
  pthread_mutex_unlock(&queue->mutex);
  return true;
}
