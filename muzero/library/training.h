/* A run in the library: the trainer's run, what its handle was opened with, and the record of its last phase. */
#pragma once
#include "muzero/library/call.h"
#include "muzero/run.h"

typedef struct mz_training {
  mz_run *run;
  const void *handle;
  muzero_run_callback on_round, on_phase;
  void *context;
  mz_call *call;    /* the call that trains; NULL: none does */
  int64_t pause_at; /* rounds after which the call ends; 0: none */
  cJSON *record;    /* of the last phase that ended; NULL: none has */
  bool failed;      /* the state is not to be trained or saved any more */
} mz_training;

/* Frees it and closes its run. */
void mz_training_free(mz_training *training);
/* Counters and times as the library shows them. */
muzero_progress mz_training_progress(const mz_training *training);
