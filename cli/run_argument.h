/* RUN as the user gives it: a directory, RUN@best, RUN@ROUND, a checkpoint file (muzero/storage/run_path.h), or a folder of runs,
 * which stands for the newest of them. */
#pragma once
#include "muzero/trainer.h"

enum { MZ_RUN_ARGUMENT_SIZE = 640 };
#define MZ_RUN_ARGUMENT_HELP                                                                                                     \
  "a run's directory (its latest checkpoint), RUN@best, RUN@ROUND, a checkpoint file, or a folder of runs (its newest)"
#define MZ_WHOLE_RUN_HELP "a run's directory, or a folder of runs (its newest)"

/* Writes `given`, in which a folder of runs is replaced by its newest run; stderr then says which. What is no such folder is
 * copied. */
mz_status mz_run_argument(const char *given, char out[MZ_RUN_ARGUMENT_SIZE]);
/* The same for a command that takes a run and not one of its checkpoints: MZ_E_USAGE for RUN@best and RUN@ROUND. A checkpoint file
 * passes. `what` names what is of the whole run ("a report"). */
mz_status mz_run_argument_whole(const char *given, const char *what, char out[MZ_RUN_ARGUMENT_SIZE]);

/* Loads the agent of `given`. Where a run's latest checkpoint is damaged, the message names those that are whole, and the `command`
 * ("eval") that takes the newest of them; NULL where `given` is no command's RUN. */
mz_status mz_run_argument_load(mz_loaded **out, const char *given, const char *command);
