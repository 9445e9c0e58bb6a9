/* The arms of a comparison on a simulated machine: what compare.c does with processes on a real one, without any. */
#pragma once
#include "muzero/compare/arm.h"
#include "muzero/compare/party.h"
#include "muzero/compare/scenario.h"
#include "muzero/compare/simulated_probes.h"
#include "muzero/compare/simulated_whole.h"

typedef struct mz_simulated {
  const char *text; /* as given */
  mz_sim_machine machine;
  double target;              /* of whole runs; NAN: rounds alone are played */
  mz_simulated_probes probes; /* of rounds alone */
  mz_simulated_runs *runs;    /* of whole runs; NULL otherwise */
  mz_simulated_cell *cells[MZ_ARMS_MAX + 1];
  mz_simulated_whole *wholes[MZ_ARMS_MAX + 1];
} mz_simulated;

/* Parses the text. Whole runs are played where the limits have a score. MZ_E_CONFIG also for limits that a simulated machine cannot meet:
 * it takes rounds, or a score. */
mz_status mz_simulated_parse(mz_simulated *out, const char *text, const mz_limits *limits);
bool mz_simulated_is_whole(const mz_simulated *simulated);
/* MZ_E_CONFIG: an arm changes what is learned, so that its stages cost something else; of whole runs each is asked when it is opened. */
mz_status mz_simulated_check_arms(const mz_simulated *simulated, const mz_arm *arms, int count);
/* Times the stages on this machine, or takes the times from DIR/plan.json (path), where that is there; for whole runs reads the learning
 * curves, too, and those by which scores grow (curves; NULL: the same). */
mz_status mz_simulated_prepare(mz_simulated *simulated, const mz_run_options *run, const char *curves, const char *path);
/* Frees what preparing took. */
void mz_simulated_deinit(mz_simulated *simulated);
/* Adds to a comparison's plan what it rests on: "machine_simulated", "probes", and "curves" of whole runs. */
void mz_simulated_json(const mz_simulated *simulated, cJSON *plan);

/* As mz_party_start and mz_party_advance, with one run; `party` holds the blocks and has no process. An arm that finds no plan of a whole
 * run is refused: party->refused, with the reason in party->why. */
mz_status mz_simulated_start(mz_simulated *simulated, int arm, const mz_run_options *options, int64_t rounds, mz_party *party);
mz_status mz_simulated_advance(mz_simulated *simulated, int arm, int64_t rounds, mz_party *party);
/* Before a block: the machine is as the scenario says, and as the text where it says nothing. memory_bytes: what shares of memory are
 * of. MZ_E_CONFIG: the machine cannot be so. */
mz_status mz_simulated_set(mz_simulated *simulated, const mz_scenario *scenario, int64_t block, double memory_bytes);
void mz_simulated_end(mz_simulated *simulated);

/* Writes into the summary that its figures are simulated: "machine_simulated", and sentences that hold. simulated NULL: the member is
 * null. */
mz_status mz_simulated_label(const mz_simulated *simulated, cJSON *summary);
