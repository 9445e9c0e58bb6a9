/* Signals of a run: the first SIGINT or SIGTERM asks it to stop at the round's end, the second ends the process at once with
 * MZ_INTERRUPTED; SIGUSR1 asks for a checkpoint. SIGPIPE is ignored while a run is attached, so that a reader of our output
 * who leaves cannot cost the run its state (the failed write is reported instead). */
#pragma once
#include "muzero/muzero.h"

/* One run at a time; NULL: none, but stops are counted. Until the first attach signals act as they did. */
void mz_signals_attach(mz_run *run);
void mz_signals_detach(void);
/* A stop was asked for, of this run or an earlier one. */
bool mz_signals_stopping(void);
