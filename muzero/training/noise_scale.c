#include "muzero/training/noise_scale.h"
#include <math.h>

double mz_noise_scale(const mz_gradient_noise *noise, int64_t shard_rows, int64_t batch_rows) {
  if (noise->updates == 0 || shard_rows >= batch_rows) return NAN;
  const double b = (double)shard_rows, B = (double)batch_rows, updates = (double)noise->updates;
  const double small = noise->shard_square / updates, large = noise->batch_square / updates;
  const double signal = (B * large - b * small) / (B - b), variance = (small - large) / (1 / b - 1 / B);
  return signal > 0 ? variance / signal : NAN;
}
