/* A machine that is simulated, as data: what it has, and what makes it slower than its cores alone would be. A text describes one:
 * "sim:cores=64,numa=2,gpus=4", with the keys, units, ranges and defaults of the table in machine_spec.c. Whatever is computed from
 * such a machine is labelled as simulated. */
#pragma once
#include "allocator/pipeline/allocation_settings.h"
#include "allocator/pipeline/devices.h"

/* Every effect is off where its member is 0; a zeroed machine has none. effects.h has the formulas and their sources. */
typedef struct mz_sim_machine {
  double cores, numa, gpus, memory; /* hardware threads; memory nodes; cards; GiB */

  double quota, period;     /* cores that the control group grants, and the milliseconds over which it counts them */
  double neighbour, stream; /* other processes that compute; that stream through memory */
  double neighbour_weight;  /* each one's claim on a core; a thread of usual niceness has 1 */

  double smt;                                          /* cores' worth of work that two hardware threads of one core do */
  double bandwidth, core_bandwidth, streaming, remote; /* GB/s of a node; of a core alone; shares of a stage's time */
  double l2, l2_miss, l3, l3_miss;                     /* KiB a core, MiB a node; shares of an item's time */
  double spread, straggler, jitter;                    /* relative deviations of an item, of a thread's part, of a whole unit */
  double tail, tail_shape;                             /* share of tasks that are hit; Pareto's exponent */
  double wake, placed;                                 /* microseconds; whether threads keep to their cores */

  double gpu_latency, gpu_speed, gpu_full, gpu_share, gpu_link, gpu_bytes;

  double drift; /* growth of self-play's cost over the whole run, as a share */
} mz_sim_machine;

/* What is not named in the text has its default. MZ_E_CONFIG says what is wrong, at which character, and the nearest valid value. */
mz_status mz_sim_machine_parse(mz_sim_machine *out, const char *text);
/* Changes one member by its key, as scenarios do while a run is simulated. MZ_E_CONFIG as above; the machine is then unchanged. */
mz_status mz_sim_machine_set(mz_sim_machine *machine, const char *key, double value);

/* A key of the text. */
typedef struct mz_sim_key {
  const char *name;
  size_t offset; /* of a double in mz_sim_machine */
  bool whole;    /* takes whole numbers only */
  bool off;      /* 0 switches it off, whatever its range */
  double min, max, fallback;
  const char *unit, *help;
} mz_sim_key;
/* Returns NULL past the last one. */
const mz_sim_key *mz_sim_key_at(int index);

/* Cores that the machine grants: its own, cut by the quota to whole ones, at least one. */
int mz_sim_machine_cores(const mz_sim_machine *machine);
/* What a run may use that has `cores` of it and, where that is above 0, a budget of `threads`. */
mz_grants mz_sim_machine_grants(const mz_sim_machine *machine, int cores, int threads);
/* The machine's devices: a set of cores for each node, for as many nodes as there are cores at the most, then the GPUs. */
void mz_sim_machine_devices(const mz_sim_machine *machine, mz_devices *out);
