/* One record per phase in DIR/metrics.jsonl, cut back to the checkpoint's offset on resume. */
#pragma once
#include "muzero/trainer.h"
#include "muzero/training/round.h"

typedef struct mz_metrics {
  char path[640];
  int fd;
  uint64_t offset; /* bytes of the records that stay */
  uint64_t end;    /* bytes of all; beyond the offset lies a record that the next one replaces */
} mz_metrics;

/* Cuts the file to `offset` (0: a new file) and appends from there; from its last whole line, with a warning, where it is shorter. */
mz_status mz_metrics_open(mz_metrics *metrics, const char *dir, uint64_t offset);
/* Returns when all records are on the disk: before a checkpoint says how many there are. */
mz_status mz_metrics_sync(const mz_metrics *metrics);
void mz_metrics_close(mz_metrics *metrics);
/* kept false: the record stands behind the offset, and the next one, or a resumed run, replaces it (a phase that was cut short). */
mz_status mz_metrics_append(mz_metrics *metrics, const cJSON *record, bool kept);

/* Where busy time and rates of a phase are counted from. */
typedef struct mz_meter {
  uint64_t start_ns, process_ns, cpu_ns[3], busy_ns[3]; /* CPU time of the process; of actor, batch, learner */
  int64_t env_steps, simulations, updates;
} mz_meter;
mz_meter mz_meter_start(const mz_state *state, const mz_workers *workers);
/* Fills everything of the record that follows from sums: losses, rates, shares, diagnosis, memory. */
void mz_phase_measure(mz_phase *phase, const mz_state *state, const mz_workers *workers, const mz_meter *since,
                      const mz_round_stats *stats);
