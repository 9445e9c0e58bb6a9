/* Measures the constants that a simulated machine takes over from this one (allocator/machine/machine_spec.h); no plan enters them. */
#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "cli/bench/bench.h"
#include <math.h>

enum { TURNS = 9, WAKES = 101, THREADS_MAX = 1024 };
static const double SLEEP_S = 3e-4;       /* for which the core of a thread that waits sleeps, as it does between batches */
static const double WHOLE_CORES = 1.9;    /* from there on two hardware threads are cores of their own */
static const size_t STREAMED = 256 << 20; /* bytes: more than caches hold */
static const size_t CHUNK = 1 << 20;

/* ---- waking ---- */

typedef struct wake {
  const uint64_t *words; /* what its core's cache may hold */
  uint64_t started_ns;
  double late_us, cold_us; /* until it began; by which its first reading took longer than the second */
} wake;

static double read_us(const wake *w) {
  const uint64_t start = mz_clock_ns();
  uint64_t sum = 0;
  for (size_t i = 0; i < CHUNK / sizeof *w->words; i++) sum += w->words[i];
  volatile uint64_t sink = sum;
  (void)sink;
  return (double)(mz_clock_ns() - start) * 1e-3;
}

static mz_status awake(void *context, int task, int worker) {
  (void)task, (void)worker;
  wake *w = context;
  w->late_us = (double)(mz_clock_ns() - w->started_ns) * 1e-3;
  w->cold_us = read_us(w);
  w->cold_us -= read_us(w);
  return MZ_OK;
}

/* A thread is woken on a core that slept, as between batches, and finds what its caches have lost. */
static mz_status time_wakes(double *out_us) {
  double lost_us[WAKES];
  uint64_t *words = NULL;
  mz_pool *pool = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&words, CHUNK / sizeof *words, sizeof *words));
  for (size_t i = 0; i < CHUNK / sizeof *words; i++) words[i] = i; /* pages of their own */
  MZ_TRY_CLEANUP(mz_pool_create(&pool, "wake", 1, NULL));
  for (int i = 0; i < WAKES; i++) {
    wake w = {.words = words};
    const uint64_t until = mz_clock_ns() + (uint64_t)(SLEEP_S * 1e9);
    while (mz_clock_ns() < until) continue;
    w.started_ns = mz_clock_ns();
    mz_pool_start(pool, awake, &w, 1);
    MZ_TRY_CLEANUP(mz_pool_wait(pool));
    lost_us[i] = w.late_us + fmax(w.cold_us, 0);
  }
  *out_us = mz_median(lost_us, WAKES);
cleanup:
  if (pool) mz_pool_free(pool);
  free(words);
  return status;
}

/* ---- memory ---- */

typedef struct stream {
  const uint64_t *words;
  double time_s;
  int threads;
  double gb_per_s[THREADS_MAX];
} stream;

static mz_status read_stream(void *context, int task, int worker) {
  (void)worker;
  stream *s = context;
  const size_t chunks = STREAMED / CHUNK, words = CHUNK / sizeof *s->words;
  const uint64_t start = mz_clock_ns(), until = start + (uint64_t)(s->time_s * 1e9);
  uint64_t now, sum = 0;
  size_t read = 0;
  do {
    const uint64_t *chunk = s->words + (chunks * (size_t)task / (size_t)s->threads + read) % chunks * words;
    for (size_t i = 0; i < words; i++) sum += chunk[i];
    read++;
    now = mz_clock_ns();
  } while (now < until);
  volatile uint64_t sink = sum;
  (void)sink;
  s->gb_per_s[task] = (double)(read * CHUNK) / (double)(now - start);
  return MZ_OK;
}

static mz_status time_stream(mz_bench *bench, stream *s, int threads, double *gb_per_s) {
  s->threads = threads;
  MZ_TRY(mz_pool_run(bench->pool, read_stream, s, threads));
  *gb_per_s = 0;
  for (int i = 0; i < threads; i++) *gb_per_s += s->gb_per_s[i];
  return MZ_OK;
}

/* ---- alone and together, in turns ---- */

typedef struct turns {
  double alone[TURNS], together[TURNS]; /* multiply-adds; then GB/s */
} turns;

static mz_status time_compute(mz_bench *bench, turns *out) {
  mz_bench one = *bench, all = *bench;
  one.threads = 1;
  one.time_s = all.time_s = bench->time_s / TURNS;
  for (int i = 0; i < TURNS; i++) {
    MZ_TRY(mz_bench_peak(&one, &out->alone[i]));
    MZ_TRY(mz_bench_peak(&all, &out->together[i]));
  }
  return MZ_OK;
}

static mz_status time_memory(mz_bench *bench, turns *out) {
  stream *s;
  uint64_t *words = NULL;
  mz_status status;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  MZ_TRY_CLEANUP(mz_alloc(&words, STREAMED / sizeof *words, sizeof *words));
  for (size_t i = 0; i < STREAMED / sizeof *words; i++) words[i] = i; /* pages of their own */
  s->words = words;
  s->time_s = bench->time_s / TURNS / 2;
  for (int i = 0; i < TURNS; i++) {
    MZ_TRY_CLEANUP(time_stream(bench, s, 1, &out->alone[i]));
    MZ_TRY_CLEANUP(time_stream(bench, s, bench->threads, &out->together[i]));
  }
cleanup:
  free(words);
  free(s);
  return status;
}

static const double WAKE_LEAST = 0.01, WAKE_MOST = 1000; /* that the key takes; a busy machine wakes threads later than that */

mz_status mz_bench_machine(mz_bench *bench, cJSON **out) {
  turns compute, memory;
  double wake_us;
  char spec[160];
  MZ_ASSERT(bench->threads <= THREADS_MAX);
  MZ_TRY(time_wakes(&wake_us));
  MZ_TRY(time_compute(bench, &compute));
  MZ_TRY(time_memory(bench, &memory));
  const double each = mz_median(compute.together, TURNS) / mz_median(compute.alone, TURNS) / bench->threads;
  const double smt = fmin(fmax(2 * each, 1), 2), alone = mz_median(memory.alone, TURNS);
  const double together = fmax(mz_median(memory.together, TURNS), alone);
  snprintf(spec, sizeof spec, "sim:cores=%d,smt=%.2g,wake=%.2g,core_bandwidth=%.3g,bandwidth=%.3g", bench->threads,
           bench->threads > 1 && smt < WHOLE_CORES ? smt : 0, fmin(fmax(wake_us, WAKE_LEAST), WAKE_MOST), alone, together);
  cJSON *row = cJSON_CreateObject();
  cJSON_AddNumberToObject(row, "cores", bench->threads);
  cJSON_AddNumberToObject(row, "wake_us", wake_us);
  cJSON_AddNumberToObject(row, "smt", smt);
  cJSON_AddNumberToObject(row, "core_gb_per_s", alone);
  cJSON_AddNumberToObject(row, "gb_per_s", together);
  cJSON_AddStringToObject(row, "spec", spec);
  *out = row;
  return MZ_OK;
}
