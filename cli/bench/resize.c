#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "cli/bench/bench.h"
#include <stdatomic.h>
#include <time.h>

enum { RESIZES = 200, GROWN = 8, TASKS = 1 << 17, SETTLE_NS = 200000 };

/* About 10 µs, until told to end. */
static mz_status work(void *context, int task, int worker) {
  (void)task, (void)worker;
  const atomic_bool *stop = context;
  const uint64_t until = mz_clock_ns() + 10000;
  while (!atomic_load(stop) && mz_clock_ns() < until) continue;
  return MZ_OK;
}

static mz_status resize_timed(mz_pool *pool, int threads, double *out_us) {
  const uint64_t start = mz_clock_ns();
  MZ_TRY(mz_pool_resize(pool, threads));
  *out_us = (double)(mz_clock_ns() - start) * 1e-3;
  nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL); /* the workers wake, or park */
  return MZ_OK;
}

mz_status mz_bench_resize(mz_bench *bench, cJSON **out) {
  (void)bench;
  static double up_us[RESIZES], down_us[RESIZES];
  atomic_bool stop = false;
  mz_pool *pool;
  double ignored;
  MZ_TRY(mz_pool_create(&pool, "resize", 1, NULL));
  mz_pool_start(pool, work, &stop, TASKS);
  mz_status status = resize_timed(pool, GROWN, &ignored); /* the first growth makes the threads */
  if (status == MZ_OK) status = resize_timed(pool, 1, &ignored);
  for (int i = 0; i < RESIZES && status == MZ_OK; i++) {
    status = resize_timed(pool, GROWN, &up_us[i]);
    if (status == MZ_OK) status = resize_timed(pool, 1, &down_us[i]);
  }
  atomic_store(&stop, true);
  const mz_status ended = mz_pool_wait(pool);
  mz_pool_free(pool);
  MZ_TRY(status);
  MZ_TRY(ended);
  mz_sort(up_us, RESIZES);
  mz_sort(down_us, RESIZES);
  cJSON *row = cJSON_CreateObject();
  cJSON_AddNumberToObject(row, "from", 1);
  cJSON_AddNumberToObject(row, "to", GROWN);
  cJSON_AddNumberToObject(row, "up_us", up_us[RESIZES / 2]);
  cJSON_AddNumberToObject(row, "down_us", down_us[RESIZES / 2]);
  cJSON_AddNumberToObject(row, "up_us_p99", up_us[RESIZES * 99 / 100]);
  cJSON_AddNumberToObject(row, "down_us_p99", down_us[RESIZES * 99 / 100]);
  *out = row;
  return MZ_OK;
}
