/* Signals of the commands that drive runs. Handlers only remember; who drives a run passes on what they remember, between rounds.
 * The first SIGINT or SIGTERM asks for a stop at the round's end, the second ends the process at once with MZ_INTERRUPTED. SIGHUP
 * asks for a stop, too, however often it comes (a closing terminal and its shell both send it), unless it was ignored when the
 * program began, as under nohup. SIGUSR1 asks for a checkpoint. SIGPIPE is ignored, so that a reader of our output who leaves
 * cannot cost the run its state: the failed write is reported instead. */
#pragma once
#include "muzero/trainer.h"

/* Makes a write beyond the limit of a file's size an error (EFBIG) of that write instead of the end of the process. First thing in
 * every command. */
void mz_signals_init(void);
/* Handles what is described above, from now to the end of the process. First thing in a command that drives runs, so that a signal
 * that arrives while a run is being opened is not lost. */
void mz_signals_handle(void);

/* Passes on to the run what was asked for since the last call. */
void mz_signals_pass_on(mz_run *run);
/* Returns whether a stop was asked for. */
bool mz_signals_stopping(void);
/* Returns whether SIGHUP was among what asked for it: output may have no reader any more. */
bool mz_signals_hung_up(void);
