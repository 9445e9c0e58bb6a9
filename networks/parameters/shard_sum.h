/* The gradient of a batch from those of its shards, summed over the fixed binary tree of shard indices: neighbours first, then
 * neighbours of the sums. There is no pass of its own: whoever completes a node's second half adds the two while they are in a
 * cache, and continues upwards. Which threads do it, and when, changes no bit. */
#pragma once
#include "base/status.h"
#include <stdint.h>

typedef struct mz_shard_sum {
  int shards;
  int64_t size;         /* elements of a gradient */
  float **gradients;    /* [shards][size]; after the last arrival gradients[0] holds the sum, the others partial ones */
  _Atomic int *arrived; /* [shards] halves summed at the node whose right half begins with this shard; 0 between updates */
  void *block;
} mz_shard_sum;

mz_status mz_shard_sum_init(mz_shard_sum *sum, int shards, int64_t size);
void mz_shard_sum_deinit(mz_shard_sum *sum);
/* gradients[shard] is complete and the caller done with it. Once per shard and update, from any thread; wait-free. */
void mz_shard_sum_arrive(mz_shard_sum *sum, int shard);
