/* The arms of a comparison on a simulated machine: what compare.c does with processes on a real one, without any. */
#pragma once
#include "muzero/compare/arm.h"
#include "muzero/compare/party.h"
#include "muzero/compare/scenario.h"
#include "muzero/compare/simulated_cell.h"

typedef struct mz_simulated {
  const char *text; /* as given */
  mz_sim_machine machine;
  mz_pipeline probed;   /* names and probes of the trainer's stages */
  double process_bytes; /* that a process took when they were timed */
  mz_simulated_cell *cells[MZ_ARMS_MAX + 1];
} mz_simulated;

/* Parses the text. MZ_E_CONFIG also for limits that a simulated machine cannot meet: it takes rounds, and nothing else. */
mz_status mz_simulated_parse(mz_simulated *out, const char *text, const mz_limits *limits);
/* MZ_E_CONFIG: an arm changes what is learned, so that its stages cost something else. */
mz_status mz_simulated_check_arms(const mz_simulated *simulated, const mz_arm *arms, int count);
/* Times the stages on this machine, or takes the times from DIR/plan.json (path; NULL: none), where that is there. */
mz_status mz_simulated_probe(mz_simulated *simulated, const mz_run_options *run, const char *path);
/* {"process_bytes": …, "stages": {"actor": [[batch, CPU seconds of an item], …], …}}. */
cJSON *mz_simulated_probes_json(const mz_simulated *simulated);

/* As mz_party_start and mz_party_advance, with one run; `party` holds the blocks and has no process. */
mz_status mz_simulated_start(mz_simulated *simulated, int arm, const mz_run_options *options, int64_t rounds, mz_party *party);
mz_status mz_simulated_advance(mz_simulated *simulated, int arm, int64_t rounds, mz_party *party);
/* Before a block: the machine is as the scenario says, and as the text where it says nothing. memory_bytes: what shares of memory are
 * of. MZ_E_CONFIG: the machine cannot be so. */
mz_status mz_simulated_set(mz_simulated *simulated, const mz_scenario *scenario, int64_t block, double memory_bytes);
void mz_simulated_end(mz_simulated *simulated);

/* Writes into the summary that its figures are simulated: "machine_simulated", and sentences that hold. simulated NULL: the member is
 * null. */
mz_status mz_simulated_label(const mz_simulated *simulated, cJSON *summary);
