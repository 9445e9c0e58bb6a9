/* One arm with one seed, a whole run played through on a simulated machine: rounds in virtual time by the simulated cell, and after each
 * phase a score, that of the real run which the seed learns as. It ends as a run does (muzero/limits.h): at the score, which counts as
 * confirmed, at a limit of time or money, or with its last round. All arms of a seed learn as one seed did.
 *
 * With allocate.policy an agent plans the run by stages, or accompanies it, as a real one (muzero/steering/staged.h): it is shown use and
 * stall of the simulated machine, and the noise scale that the real run had in these batches at that epoch. Where the batch size changes,
 * the score goes on from where it is, and closes from epoch to epoch the share of the distance to its ceiling that the seed's run in the
 * new batches closed there: what a course takes stages for. */
#pragma once
#include "muzero/compare/simulated_cell.h"
#include "muzero/compare/simulated_runs.h"

typedef struct mz_simulated_whole mz_simulated_whole;

typedef struct mz_simulated_whole_options {
  mz_simulated_runs *runs;
  const mz_run_options
      *run;            /* of the arm, with its settings and seed; with allocate.policy its dir, made here, takes the ledger */
  uint64_t noise_seed; /* of how long things take */
  int64_t rounds;      /* limit; 0: as far as the curve tells */
} mz_simulated_whole_options;

/* *refused: "", or why the arm does not begin, where strategy static finds no plan; *out is then NULL. MZ_E_CONFIG: settings that cannot
 * be, an arm that learns by others than the curves do, an agent that mz_staged_open refuses. */
mz_status mz_simulated_whole_open(mz_simulated_whole **out, const mz_simulated_whole_options *options,
                                  char refused[MZ_MESSAGE_MAX]);
void mz_simulated_whole_close(mz_simulated_whole *whole);
/* The cell that plays its rounds. */
mz_simulated_cell *mz_simulated_whole_cell(mz_simulated_whole *whole);
/* Advances by a phase, or to the run's end. *block: as a cell replies (cell.h); cJSON_Delete. */
mz_status mz_simulated_whole_advance(mz_simulated_whole *whole, cJSON **block, bool *ended);
