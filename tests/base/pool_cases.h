/* Tasks for pools. */
#pragma once
#include "base/threads/pool.h"
#include "base/machine/clock.h"
#include "base/threads/queue.h"
#include "base/maths/rng.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { TASKS = 500 };

/* Counts of a batch: how often each task ran, and who was at work at once. */
typedef struct batch {
  atomic_int ran[TASKS];
  atomic_int order; /* tasks started so far */
  atomic_bool in_use[MZ_POOL_MAX];
  atomic_int clashes; /* two tasks with one worker number at a time */
  atomic_int highest_worker;
  int spin; /* work per task */
} batch;

static inline mz_status count_task(void *context, int task, int worker) {
  batch *b = context;
  if (atomic_exchange(&b->in_use[worker], true)) atomic_fetch_add(&b->clashes, 1);
  int highest = atomic_load(&b->highest_worker);
  while (worker > highest && !atomic_compare_exchange_weak(&b->highest_worker, &highest, worker)) continue;
  volatile unsigned work = 0;
  for (int i = 0; i < b->spin; i++) work = work + (unsigned)i;
  atomic_fetch_add(&b->ran[task], 1);
  atomic_store(&b->in_use[worker], false);
  return MZ_OK;
}

static inline void expect_each_once(const batch *b, int tasks) {
  for (int i = 0; i < TASKS; i++) assert_int_equal(b->ran[i], i < tasks ? 1 : 0);
  assert_int_equal(b->clashes, 0);
}
