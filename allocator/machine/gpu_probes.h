/* Probes of a simulated machine's GPUs: what timing the stages on one would show. The figures are simulated. */
#pragma once
#include "allocator/machine/machine_spec.h"
#include "allocator/machine/truth.h"

/* Fills in the probes on a GPU of every stage that has some on a CPU: calls of one thread, alone on a quiet machine, at up to four batch
 * sizes where the batch is a knob. They come of the simulation itself, so that latency, copies and what stays on the cores are in them.
 * A machine without a GPU leaves the pipeline as it is. truths: of its stages. MZ_E_MEMORY. */
mz_status mz_sim_probe_gpus(mz_pipeline *pipeline, const mz_sim_machine *machine, const mz_sim_truth truths[MZ_STAGES_MAX]);
