/* The threads of this process as the kernel sees them, for who has to find out why it is stuck. */
#pragma once
#include "base/log.h"
/* Writes a line for each thread: its name, its state, the CPU time it has had, and where in the kernel it sleeps. */
void mz_threads_log(mz_log_level level);
