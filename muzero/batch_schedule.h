/* Batch sizes by phase, from setting batch_schedule: "10:256,40:512" gives batches 256 rows from the end of phase 10 on, and 512 from the
 * end of phase 40 on. Before the first entry they have batch_size rows; phase 0 is the run's start. Each size changes settings as
 * muzero/batch_rule.h says. */
#pragma once
#include "muzero/settings.h"

/* Checks the schedule of resolved settings: phases that rise, sizes that mz_batch_rule_apply takes, no objective that moves
 * loop_count. MZ_E_CONFIG naming the entry and the nearest valid value. */
mz_status mz_batch_schedule_check(const mz_settings *settings);
/* Returns the rows of a batch after so many phases. The schedule was checked. */
int64_t mz_batch_schedule_at(const mz_settings *settings, int64_t phases);
/* Returns the rows of the largest batch that there will be. */
int64_t mz_batch_schedule_largest(const mz_settings *settings);
