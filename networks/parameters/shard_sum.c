#include "networks/parameters/shard_sum.h"
#include "base/arena.h"
#include <stdatomic.h>

mz_status mz_shard_sum_init(mz_shard_sum *sum, int shards, int64_t size) {
  *sum = (mz_shard_sum){.shards = shards, .size = size};
  float *storage;
  mz_carver carver = {0};
  mz_carve(&carver, &storage, (size_t)shards * (size_t)size,
           sizeof *storage); /* size is a multiple of MZ_LANES: each begins a line */
  mz_carve(&carver, &sum->gradients, (size_t)shards, sizeof *sum->gradients);
  mz_carve(&carver, &sum->arrived, (size_t)shards, sizeof *sum->arrived);
  MZ_TRY(mz_carve_commit(&carver, &sum->block));
  for (int s = 0; s < shards; s++) sum->gradients[s] = storage + (int64_t)s * size;
  return MZ_OK;
}

void mz_shard_sum_deinit(mz_shard_sum *sum) {
  free(sum->block);
  *sum = (mz_shard_sum){0};
}

static void add(float *restrict left, const float *restrict right, int64_t size) {
  for (int64_t i = 0; i < size; i++) left[i] += right[i];
}

void mz_shard_sum_arrive(mz_shard_sum *sum, int shard) {
  for (int half = 1; half < sum->shards; half *= 2) {
    const int left = shard / (2 * half) * (2 * half), right = left + half;
    if (right >= sum->shards) continue; /* there is no right half: the left one is the node */
    if (atomic_fetch_add_explicit(&sum->arrived[right], 1, memory_order_acq_rel) == 0) return;
    atomic_store_explicit(&sum->arrived[right], 0, memory_order_relaxed);
    add(sum->gradients[left], sum->gradients[right], sum->size);
  }
}
