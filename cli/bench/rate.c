#include "base/machine/clock.h"
#include "cli/bench/bench.h"

bool mz_bench_given(mz_bench *bench, const char *key) {
  const mz_config config = mz_settings_config(&bench->settings, NULL);
  const int index = mz_config_find(&config, key);
  MZ_ASSERT(index >= 0);
  return bench->given[index] != 0;
}

mz_status mz_bench_rate(double time_s, mz_status (*task)(void *context), void *context, double *per_s) {
  MZ_TRY(task(context));
  const uint64_t start = mz_clock_ns();
  double elapsed_s = 0;
  int64_t runs = 0;
  for (int64_t burst = 1; elapsed_s < time_s; burst = burst < 64 && elapsed_s < time_s / 16 ? burst * 2 : burst) {
    for (int64_t i = 0; i < burst; i++) MZ_TRY(task(context));
    runs += burst;
    elapsed_s = (double)(mz_clock_ns() - start) * 1e-9;
  }
  *per_s = (double)runs / elapsed_s;
  return MZ_OK;
}
