/* Measures a phase: the numbers of its record that follow from clocks, counters and sums over its rounds. */
#pragma once
#include "muzero/steering/stage_clock.h"
#include "muzero/training/round.h"

/* Readings at the phase's start. */
typedef struct mz_phase_meter {
  uint64_t start_ns, process_ns; /* wall; CPU time of the process */
  mz_stage_sample stages[MZ_CLOCKED_STAGES];
  mz_counters counters;
} mz_phase_meter;
mz_phase_meter mz_phase_meter_start(const mz_state *state, const mz_workers *workers);
/* Fills what follows from sums: losses, rates, shares, diagnosis, memory. */
void mz_phase_measure(mz_phase *phase, const mz_state *state, const mz_workers *workers, const mz_phase_meter *since,
                      const mz_round_stats *stats);
