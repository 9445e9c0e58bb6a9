/* One arm with one seed on a simulated machine, in this process and in virtual time: the allocator is real, the windows are as long as
 * the trainer's steering makes them, and the clock is the simulation's (allocator/machine/simulation.h). Nothing is learned: every
 * round is one of full work. The figures are simulated. */
#pragma once
#include "allocator/machine/machine_spec.h"
#include "allocator/pipeline/telemetry.h"
#include "base/json/json.h"
#include "muzero/settings.h"
#include "muzero/trainer.h"
#include "muzero/training/memory.h"

typedef struct mz_simulated_cell mz_simulated_cell;

/* Returns the seconds for which the learner, whose threads wait together, waited for batches. stages: of the trainer's pipeline. */
double mz_simulated_learner_wait_s(const mz_plan *plan, const mz_stage_sample *stages);

typedef struct mz_simulated_cell_options {
  mz_sim_machine machine;
  const mz_pipeline *probed;   /* its stages' probes count; all else follows from settings and machine */
  const mz_settings *settings; /* of the arm: strategy, start plan, what it holds */
  const mz_memory *memory;     /* of a run under them */
  int threads;                 /* budget; 0: the cores that the machine grants */
  uint64_t seed;               /* of what would be learned: arms that learn alike share it, and their digests */
  uint64_t noise_seed;         /* of what varies from arm to arm: how long things take */
  int64_t rounds;              /* limit, ≥ 1 */
} mz_simulated_cell_options;

/* What the options point to may go afterwards. MZ_E_CONFIG: limits that leave no plan, a device that the machine has not, no probes. */
mz_status mz_simulated_cell_open(mz_simulated_cell **out, const mz_simulated_cell_options *options);
void mz_simulated_cell_close(mz_simulated_cell *cell);
/* Advances by `rounds` or to the limit. *block: as a cell replies (cell.h), score null; cJSON_Delete. *ended: the limit is reached. */
mz_status mz_simulated_cell_advance(mz_simulated_cell *cell, int64_t rounds, cJSON **block, bool *ended);
/* The same by parts, for a run that is more than rounds: these add to the block that mz_simulated_cell_end_block ends. */
mz_status mz_simulated_cell_play(mz_simulated_cell *cell, int64_t rounds);
/* Lets seconds pass in which no round is played, one thread is busy, and the plan in force is reserved. */
void mz_simulated_cell_pass(mz_simulated_cell *cell, double seconds);
/* Fills in what was used since the block began, as a run's phase has it: seconds, shares, knobs. */
void mz_simulated_cell_phase(const mz_simulated_cell *cell, mz_phase *out);
/* Begins anew with `start`, as far as ranges and memory allow, in rounds that are others: settings, memory and probes of the options
 * take the place of those that it was opened with; the rest of them does not count. MZ_E_CONFIG: limits that leave no plan. */
mz_status mz_simulated_cell_move(mz_simulated_cell *cell, const mz_simulated_cell_options *options, const mz_knobs *start);
/* score: NAN: null. MZ_E_MEMORY. */
mz_status mz_simulated_cell_end_block(mz_simulated_cell *cell, double score, mz_reason reason, cJSON **block);
/* Since it was opened; price_s: of a second under the plan in force. */
typedef struct mz_simulated_spent {
  int64_t rounds;
  double wall_s, cost, price_s, cores, gpus; /* cores, gpus: that the plan in force reserves */
} mz_simulated_spent;
mz_simulated_spent mz_simulated_cell_spent(const mz_simulated_cell *cell);
/* The machine is another from here on: neighbours, quota and memory at once, and the cores that threads share; the plan follows after the
 * window, as a run's does. */
void mz_simulated_cell_change(mz_simulated_cell *cell, const mz_sim_machine *machine);
/* Bytes that the plan in force may need, and the one that needs least. */
void mz_simulated_cell_bytes(const mz_simulated_cell *cell, double *plan, double *least);
