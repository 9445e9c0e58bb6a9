/* The origin of a checkpoint, read before any state is built from it: settings, environment, seed, counters. */
#pragma once
#include "envs/env.h"
#include "base/config/config.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/trainer.h"

/* Defaults first, so that a checkpoint made before a setting existed gets that setting's default. The settings are checked together
 * as those of a new run are. MZ_E_CHECKPOINT or, for an environment or a key that this build does not know, MZ_E_CONFIG. */
mz_status mz_config_stored(const mz_checkpoint *checkpoint, mz_config *config, const mz_env **env);
mz_status mz_counters_stored(const mz_checkpoint *checkpoint, uint64_t *seed, mz_counters *counters);
/* Section 'batch_size' of a run that moved it: rows of a batch, then rows of all updates so far. rows 0: the run never moved it. */
typedef struct mz_batch_size {
  int64_t rows, trained_rows;
} mz_batch_size;
enum { MZ_BATCH_SIZE_BYTES = 2 * 8 };
mz_status mz_batch_size_stored(const mz_checkpoint *checkpoint, mz_batch_size *out);
/* The most that anything is counted to in a checkpoint: times the rows of the largest batch it fits 64 bits. */
#define MZ_COUNT_MAX ((int64_t)1 << 46)
/* `what` names the count in the error, MZ_E_CHECKPOINT. */
mz_status mz_count_read(const char *section, const char *what, mz_reader *reader, int64_t *out);
/* Section 'counters': the seed, then six counters, which this reads. */
enum { MZ_COUNTERS_BYTES = 7 * 8 };
mz_status mz_counters_read(mz_counters *counters, mz_reader *reader);
/* Reads what was lost with workers from section 'session', or from a session that is being restored; zeros where it does not say. */
mz_lost_workers mz_lost_from_json(const cJSON *session);
/* Checks that a section of weights claims room for as many values as the parameters have, and that weights can have been packed
 * into so few bytes, before memory is had for them. */
mz_status mz_weights_claimed(const mz_checkpoint *checkpoint, const char *section, const mz_params *params);
/* A section of weights ('weights', 'target') into values of params->size. */
mz_status mz_weights_stored(const mz_checkpoint *checkpoint, const char *section, const mz_params *params, float *values);
