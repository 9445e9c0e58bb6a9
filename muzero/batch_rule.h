/* The same training with batches of another size. A round trains as many rows as before, in fewer or more updates, and what is counted
 * in updates spans as many rows as before: target_interval, warmup_updates, train.horizon, train.updates, and the decays per update
 * weight_average and network.bn_momentum. With k = new size / old size, learning_rate is multiplied by √k, as suits Adam (Malladi et
 * al. 2022), and weight_decay as well, so that a row decays weights as much as before. adam.beta1 and adam.beta2 stay. */
#pragma once
#include "muzero/settings.h"

/* Changes *settings, which are resolved, to `batch` rows an update; nothing where they have that. MZ_E_CONFIG, beginning with `where`,
 * where shards, or groups of batch norm in a shard, do not divide the batch, or the round's rows are no whole number of batches: says the
 * nearest size that may be. *settings is then unchanged. */
mz_status mz_batch_rule_apply(mz_settings *settings, int64_t batch, const char *where);
