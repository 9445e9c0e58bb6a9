/* How a worker ended: what a message or a warning says of it. */
#pragma once
#include "envs/worker/process.h"

enum {
  MZ_WORKER_TAIL_BYTES = 2048, /* of a log, in warnings */
  MZ_WORKER_LINE_BYTES = 1024
};

typedef struct mz_worker_ending {
  int pid;
  double cpu_s;                    /* that it used */
  char how[96];                    /* "exit status 1" */
  char tail[MZ_WORKER_TAIL_BYTES]; /* the last that it wrote */
} mz_worker_ending;

/* Ends a process by the answer that it gave last; one that answered may close its environments before. */
void mz_worker_end(mz_worker_process *process, mz_worker_answer answer, double timeout_s, mz_worker_ending *out);
/* Says in one line how it ended, with the last lines that it wrote: "exit status 1: … | ValueError: no door". */
void mz_worker_ending_line(const mz_worker_ending *ending, char out[MZ_WORKER_LINE_BYTES]);
/* Writes its last lines as warnings. */
void mz_worker_ending_tell_tail(const mz_worker_ending *ending);
