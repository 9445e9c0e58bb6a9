/* A bounded queue of numbered items that producers fill in any order and one consumer takes in order. Items are slots that
 * the owner allocated: item i lives in slot i mod capacity. A full queue blocks, nothing is ever dropped. A producer reserves
 * *before* it builds, so memory is bounded by the capacity. No deadlock so long as items are begun in order (mz_pool does). */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct mz_queue mz_queue;

mz_status mz_queue_create(mz_queue **out, int capacity);
void mz_queue_free(mz_queue *queue);

/* Between uses (nothing reserved): item numbers start at 0 again and the queue is open; capacity may change. */
mz_status mz_queue_reset(mz_queue *queue, int capacity);

/* Blocks until item `index` may be built; gives its slot. false: the queue was closed. *waited_ns is added to. */
bool mz_queue_reserve(mz_queue *queue, int64_t index, int *slot, uint64_t *waited_ns);
void mz_queue_publish(mz_queue *queue, int64_t index);
/* Blocks until the next item in order is there. false: closed. The slot stays the consumer's until release. */
bool mz_queue_take(mz_queue *queue, int *slot, uint64_t *waited_ns);
void mz_queue_release(mz_queue *queue);
/* Wakes everyone; later reserve and take give false. For errors and the second Ctrl-C. */
void mz_queue_close(mz_queue *queue);

/* Time that the calling thread has spent blocked in queues so far: a pool subtracts it from its workers' busy time. */
uint64_t mz_queue_thread_waited_ns(void);

typedef struct mz_queue_view {
  int capacity, ready; /* ready: items that wait for the consumer */
  int64_t taken;       /* items the consumer has had since the reset */
  int producers_waiting;
  bool consumer_waits, closed;
} mz_queue_view;
/* Shows what a queue is at, to say why nothing moves. From any thread; false: its lock is held all the time. */
bool mz_queue_look(mz_queue *queue, mz_queue_view *out);
