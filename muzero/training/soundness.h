/* Whether a state is one to continue from: training can come to numbers that are finite in every weight and yet give no finite
 * value or loss. Asked before a checkpoint is written, so that LATEST names none that cannot be played or resumed. */
#pragma once
#include "muzero/training/workers.h"

/* Checks that weights, their average, target weights and moments are finite. MZ_E_DIVERGED naming which are not. */
mz_status mz_state_check_finite(const mz_state *state);
/* Checks that, and that a search of first positions with the published weights, and the loss of the next update's first shard, give
 * finite numbers. Changes nothing; between rounds. MZ_E_DIVERGED saying what does not. */
mz_status mz_state_check_sound(const mz_state *state, mz_workers *workers);
