/* One arm with one seed: a run in a process of its own, advanced a block of phases at a time, so that arms take turns and one
 * that crashes takes nobody with it. The process ends with its parent. */
#pragma once
#include "muzero/trainer.h"
#include <sys/types.h>

typedef struct mz_cell {
  pid_t pid; /* 0: not running */
  FILE *to, *from;
  bool ended;                /* reached its limit, or crashed */
  bool refused;              /* it did not begin, for no plan keeps its limits */
  char why[300];             /* of a crash; "" otherwise */
  cJSON *blocks;             /* the replies so far */
  double bytes, bytes_least; /* that the plan which it began with may need; that the run needs at least */
} mz_cell;

/* Starts the process and waits until its run is open; a run that cannot be opened: its status and message. The calling process
 * has no threads yet. */
mz_status mz_cell_start(mz_cell *cell, const mz_run_options *options, const mz_limits *limits);
/* Lets it advance by `phases` > 0 or to the limit, needing no more than `memory` bytes (0: than the machine grants). */
void mz_cell_send(mz_cell *cell, int phases, uint64_t memory);
/* Waits, appends the reply to blocks: {"rounds", "wall_s", "cpu_s", "reserved_core_s", "reserved_gpu_s", "gib_s", "cost", "score",
 * "digest", "changes", "reverts", "rss_bytes", "reason", "plan"}. A crash or failure ends the cell and is told in `why`. */
mz_status mz_cell_receive(mz_cell *cell);
/* Its threads sleep, and it shares the machine with nobody, until it is sent on. */
void mz_cell_rest(mz_cell *cell);
/* Ends the process and waits for it. blocks stay until freed by the caller. */
void mz_cell_end(mz_cell *cell);
