/* Recorded games played again: as they were, with the state moved at every step, several in one call, and in several threads. What
 * differs is a finding. */
#pragma once
#include "envs/own/findings.h"
#include "envs/own/recorded_game.h"

typedef struct mz_repeats {
  const muzero_env_abi *abi;
  const mz_spec *spec;
  mz_findings *findings;
  const mz_recorded_game *games;
  int count;
} mz_repeats;

/* Each returns MZ_E_MEMORY, or MZ_E_INTERNAL where a thread cannot be started. */
mz_status mz_repeats_alone(const mz_repeats *repeats);
mz_status mz_repeats_moved(const mz_repeats *repeats);
mz_status mz_repeats_together(const mz_repeats *repeats);
mz_status mz_repeats_in_threads(const mz_repeats *repeats);
