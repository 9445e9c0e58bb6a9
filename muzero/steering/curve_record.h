/* A run's part in the learning curves of the history (allocator/records/curve_history.h): an epoch after each whole phase. */
#pragma once
#include "allocator/records/curve_history.h"
#include "muzero/trainer.h"

/* Fills *key for a run by `settings`, as its config has them, whose measurements have the key `measured`. The machine is named with all its
 * cores: how many of them a run holds is what its curve tells. */
void mz_curve_key_of(mz_curve_key *key, const mz_history_key *measured, const mz_settings *settings);
/* Fresh moves of an epoch. */
double mz_epoch_moves(const mz_settings *settings);
/* Makes the epoch of a whole phase, but for the amounts of cores and GPUs. closing_s: of the evaluation that ended the run, 0: none. */
void mz_epoch_of_phase(mz_epoch *out, const mz_phase *phase, double closing_s);
