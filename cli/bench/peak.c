#include "base/machine/clock.h"
#include "cli/bench/bench.h"
#include "networks/isa.h"

/* Enough chains to hide the latency of two multiply-add units (4 cycles × 2), few enough to stay in registers. */
enum { CHAINS = 12, ROUNDS = 20000, THREADS_MAX = 1024 };

#define SPIN(vector, lanes, fma, set, sum)                                                                                       \
  do {                                                                                                                           \
    vector x[CHAINS];                                                                                                            \
    const vector scale = set(0.999f), shift = set(0.001f);                                                                       \
    for (int i = 0; i < CHAINS; i++) x[i] = set((float)i);                                                                       \
    for (int r = 0; r < ROUNDS; r++)                                                                                             \
      for (int i = 0; i < CHAINS; i++) x[i] = fma(x[i], scale, shift);                                                           \
    for (int i = 1; i < CHAINS; i++) x[0] = sum(x[0], x[i]);                                                                     \
    result = x[0][0];                                                                                                            \
    flops = 2.0 * lanes * CHAINS * ROUNDS;                                                                                       \
  } while (0)

#if defined(__x86_64__)
#include <immintrin.h>

static __attribute__((target("avx512f"))) double spin_avx512(volatile float *sink) {
  float result;
  double flops;
  SPIN(__m512, 16, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_add_ps);
  *sink = result;
  return flops;
}

static __attribute__((target("avx2,fma"))) double spin_avx2(volatile float *sink) {
  float result;
  double flops;
  SPIN(__m256, 8, _mm256_fmadd_ps, _mm256_set1_ps, _mm256_add_ps);
  *sink = result;
  return flops;
}
#elif defined(__aarch64__)
#include <arm_neon.h>

static inline float32x4_t neon_multiply_add(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }

static double spin_neon(volatile float *sink) {
  float result;
  double flops;
  SPIN(float32x4_t, 4, neon_multiply_add, vdupq_n_f32, vaddq_f32);
  *sink = result;
  return flops;
}
#endif

typedef float four __attribute__((vector_size(16)));
static inline four four_set(float x) { return (four){x, x, x, x}; }
static inline four four_add(four a, four b) { return a + b; }
static inline four four_multiply_add(four a, four b, four c) { return a * b + c; }

static double spin_plain(volatile float *sink) {
  float result;
  double flops;
  SPIN(four, 4, four_multiply_add, four_set, four_add);
  *sink = result;
  return flops;
}

typedef struct meter {
  double time_s;
  double gflops[THREADS_MAX];
} meter;

static mz_status spin_timed(void *context, int task, int worker) {
  (void)worker;
  meter *m = context;
  volatile float sink = 0;
  double flops = 0;
  const uint64_t start = mz_clock_ns(), until = start + (uint64_t)(m->time_s * 1e9);
  uint64_t now;
  do {
    switch (mz_isa_level()) {
#if defined(__x86_64__)
      case MZ_ISA_LEVEL_AVX512: flops += spin_avx512(&sink); break;
      case MZ_ISA_LEVEL_AVX2: flops += spin_avx2(&sink); break;
#elif defined(__aarch64__)
      case MZ_ISA_LEVEL_NEON: flops += spin_neon(&sink); break;
#endif
      default: flops += spin_plain(&sink);
    }
    now = mz_clock_ns();
  } while (now < until);
  m->gflops[task] = flops / (double)(now - start);
  return MZ_OK;
}

mz_status mz_bench_peak(mz_bench *bench, double *gflops) {
  MZ_ASSERT(bench->threads <= THREADS_MAX);
  meter *m;
  MZ_TRY(mz_alloc(&m, 1, sizeof *m));
  m->time_s = bench->time_s / 2;
  const mz_status status = mz_pool_run(bench->pool, spin_timed, m, bench->threads);
  *gflops = 0;
  for (int i = 0; i < bench->threads; i++) *gflops += m->gflops[i];
  free(m);
  return status;
}

void mz_bench_add_gflops(cJSON *row, double gflops, double peak) {
  cJSON_AddNumberToObject(row, "gflops", gflops);
  if (peak == 0) return;
  cJSON_AddNumberToObject(row, "peak_gflops", peak);
  cJSON_AddNumberToObject(row, "share_of_peak", gflops / peak);
}

void mz_bench_add_cost(cJSON *row, double operations, double bytes, int nodes) {
  cJSON_AddNumberToObject(row, "mflop_each", operations * 1e-6);
  cJSON_AddNumberToObject(row, "kb_each", bytes * 1e-3);
  cJSON_AddNumberToObject(row, "nodes", nodes);
}
