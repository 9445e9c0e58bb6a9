/* The gradient noise scale 𝓑 (McCandlish et al. 2018, An Empirical Model of Large-Batch Training, appendix A.1): the batch size, in
 * rows, at which the noise of a batch's gradient is as large as the gradient. Two batch sizes give it: for a batch of B rows and its
 * shards of b rows, |G|² = (B|g_B|² − b|g_b|²) / (B − b), S = (|g_b|² − |g_B|²) / (1/b − 1/B), 𝓑 = S / |G|². */
#pragma once
#include <stdint.h>

typedef struct mz_gradient_noise { /* sums over the updates that were measured */
  int64_t updates;
  double shard_square; /* |g_b|², mean over an update's shards */
  double batch_square; /* |g_B|² */
} mz_gradient_noise;

/* Returns 𝓑 of the means over the updates, for shards of `shard_rows` of `batch_rows` rows; the two estimates above are unbiased, their
 * ratio is not. NAN: no update was measured, there is one shard, or the gradient is lost in the noise (|G|² ≤ 0). */
double mz_noise_scale(const mz_gradient_noise *noise, int64_t shard_rows, int64_t batch_rows);
