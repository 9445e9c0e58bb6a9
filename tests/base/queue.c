#include "base/threads/queue.h"
#include "base/threads/pool.h"
#include "base/maths/rng.h"
#include <pthread.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ITEMS = 3000, SLOTS_MAX = 8 };

typedef struct traffic {
  mz_queue *queue;
  int64_t slots[SLOTS_MAX]; /* plain memory: the queue alone must order the accesses */
  atomic_int most_in_flight, in_flight;
} traffic;

static void nap(uint64_t item) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, item);
  const uint32_t ns = mz_rng_below(&rng, 50000);
  if (ns < 2000) nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static mz_status produce(void *context, int item, int worker) {
  (void)worker;
  traffic *t = context;
  int slot;
  uint64_t waited = 0;
  if (!mz_queue_reserve(t->queue, item, &slot, &waited)) return mz_fail(MZ_INTERRUPTED, "closed");
  const int now = atomic_fetch_add(&t->in_flight, 1) + 1;
  int most = atomic_load(&t->most_in_flight);
  while (now > most && !atomic_compare_exchange_weak(&t->most_in_flight, &most, now)) continue;
  nap((uint64_t)item);
  t->slots[slot] = (int64_t)item * 7;
  mz_queue_publish(t->queue, item);
  return MZ_OK;
}

static void test_items_arrive_in_order_from_several_producers(void **state) {
  (void)state;
  for (int capacity = 1; capacity <= SLOTS_MAX; capacity *= 2) {
    traffic t = {0};
    mz_pool *pool = NULL;
    uint64_t waited = 0;
    assert_int_equal(mz_queue_create(&t.queue, capacity), MZ_OK);
    assert_int_equal(mz_pool_create(&pool, "produce", 4, NULL), MZ_OK);
    mz_pool_start(pool, produce, &t, ITEMS);
    for (int64_t item = 0; item < ITEMS; item++) {
      int slot = -1;
      assert_true(mz_queue_take(t.queue, &slot, &waited));
      assert_int_equal(slot, item % capacity);
      assert_int_equal(t.slots[slot], item * 7);
      t.slots[slot] = -1; /* still the consumer's */
      atomic_fetch_sub(&t.in_flight, 1);
      mz_queue_release(t.queue);
    }
    assert_int_equal(mz_pool_wait(pool), MZ_OK);
    assert_true(t.most_in_flight <= capacity);
    mz_pool_free(pool);
    mz_queue_free(t.queue);
  }
}

static void test_published_out_of_order_taken_in_order(void **state) {
  (void)state;
  mz_queue *queue = NULL;
  uint64_t waited = 0;
  int slot = -1;
  assert_int_equal(mz_queue_create(&queue, 3), MZ_OK);
  for (int64_t item = 0; item < 3; item++) assert_true(mz_queue_reserve(queue, item, &slot, &waited));
  mz_queue_publish(queue, 2);
  mz_queue_publish(queue, 0);
  mz_queue_publish(queue, 1);
  for (int item = 0; item < 3; item++) {
    assert_true(mz_queue_take(queue, &slot, &waited)); /* all three at once: release may come later */
    assert_int_equal(slot, item);
  }
  for (int item = 0; item < 3; item++) mz_queue_release(queue);
  assert_true(mz_queue_reserve(queue, 3, &slot, &waited));
  assert_int_equal(slot, 0);
  assert_int_equal(waited, 0); /* nothing blocked, nothing counted */
  mz_queue_free(queue);
}

typedef struct blocked {
  mz_queue *queue;
  int64_t item; /* -1: the consumer */
  bool result;
  uint64_t waited, thread_waited;
} blocked;

static void *block(void *argument) {
  blocked *b = argument;
  int slot;
  b->result = b->item < 0 ? mz_queue_take(b->queue, &slot, &b->waited) : mz_queue_reserve(b->queue, b->item, &slot, &b->waited);
  b->thread_waited = mz_queue_thread_waited_ns();
  return NULL;
}

static void test_close_wakes_both_sides(void **state) {
  (void)state;
  mz_queue *queue = NULL;
  uint64_t waited = 0;
  int slot = -1;
  assert_int_equal(mz_queue_create(&queue, 1), MZ_OK);
  assert_true(mz_queue_reserve(queue, 0, &slot, &waited));
  blocked sides[] = {{.queue = queue, .item = 1, .result = true}, {.queue = queue, .item = -1, .result = true}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, block, &sides[i]), 0);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  mz_queue_close(queue);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(sides[i].result);
    assert_true(sides[i].waited == sides[i].thread_waited); /* both accounts of the wait agree */
  }
  mz_queue_publish(queue, 0);
  assert_false(mz_queue_take(queue, &slot, &waited)); /* closed is closed, also for what is there */
  assert_false(mz_queue_reserve(queue, 0, &slot, &waited));
  mz_queue_free(queue);
}

static void test_reset_starts_over_with_another_capacity(void **state) {
  (void)state;
  mz_queue *queue = NULL;
  uint64_t waited = 0;
  int slot = -1;
  assert_int_equal(mz_queue_create(&queue, 2), MZ_OK);
  for (int64_t item = 0; item < 2; item++) {
    assert_true(mz_queue_reserve(queue, item, &slot, &waited));
    mz_queue_publish(queue, item);
  }
  mz_queue_close(queue);
  mz_alloc_fail_after(1);
  assert_int_equal(mz_queue_reset(queue, 4), MZ_E_MEMORY);
  assert_int_equal(mz_queue_reset(queue, 4), MZ_OK);
  for (int64_t item = 0; item < 4; item++) {
    assert_true(mz_queue_reserve(queue, item, &slot, &waited));
    assert_int_equal(slot, item);
  }
  mz_queue_publish(queue, 0); /* what was published before the reset is forgotten */
  assert_true(mz_queue_take(queue, &slot, &waited));
  assert_int_equal(slot, 0);
  mz_queue_free(queue);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_items_arrive_in_order_from_several_producers),
      cmocka_unit_test(test_published_out_of_order_taken_in_order),
      cmocka_unit_test(test_close_wakes_both_sides),
      cmocka_unit_test(test_reset_starts_over_with_another_capacity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
