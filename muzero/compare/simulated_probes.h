/* Seconds of the trainer's stages alone, timed on this machine or read again: a simulated machine takes them for true. */
#pragma once
#include "allocator/machine/machine_spec.h"
#include "base/json/json.h"
#include "muzero/settings.h"
#include "muzero/training/memory.h"

typedef struct mz_simulated_probes {
  mz_pipeline stages;   /* their names and probes; all else follows from settings and machine */
  double process_bytes; /* that the process took when they were timed */
  double env_bytes;     /* likewise, each of the processes that play the environment; 0: there are none */
} mz_simulated_probes;

/* Times the stages of runs by these settings on this machine: a second or so. MZ_E_CONFIG: nothing is ever learned. */
mz_status mz_simulated_probes_time(mz_simulated_probes *out, const mz_env *env, const mz_settings *settings,
                                   const mz_sim_machine *machine, uint64_t seed);
/* Sets in an account what was measured then: a comparison that is resumed has the same. */
void mz_simulated_probes_settle(const mz_simulated_probes *probes, mz_memory *memory);
/* {"process_bytes": …, "env_bytes": … (where there are any), "stages": {"actor": [[batch, CPU seconds of an item], …], …}}. */
cJSON *mz_simulated_probes_json(const mz_simulated_probes *probes);
/* Reads that again; NULL: *out has no stages. path: of the file, for messages. MZ_E_CHECKPOINT. */
mz_status mz_simulated_probes_read(mz_simulated_probes *out, const cJSON *json, const char *path);
