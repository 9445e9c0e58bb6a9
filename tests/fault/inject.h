/* Makes the n-th call of a kind fail in `muzero-faulty`, the program with these files linked in.
 *
 * MUZERO_FAULT=KIND:N        N counts over the process and those that it forks, from 1
 *   enospc, eio              the N-th call that may fail so does, once
 *   full                     from the N-th call on, all that need room on the disk fail with ENOSPC
 *   eintr, short             the N-th call that may be interrupted is; the N-th read or write does half of it
 *   stop, half               the process ends as if killed: before the N-th call that changes the disk; after half of the N-th write
 *   memory                   the N-th allocation of the program's own, of cJSON or of zstd fails (not in sanitized builds)
 * MUZERO_FAULT_REPORT=PATH   is appended to: "fault: WHAT" when the fault happens, "calls: N" and "open: PATH" for every file that
 *                            is still open, when the process returns from main. */
#pragma once
#include <stdbool.h>

typedef enum fault_kind {
  FAULT_NONE,
  FAULT_ENOSPC,
  FAULT_EIO,
  FAULT_FULL,
  FAULT_EINTR,
  FAULT_SHORT,
  FAULT_STOP,
  FAULT_HALF,
  FAULT_MEMORY,
} fault_kind;
enum { FAULT_STOP_STATUS = 99 }; /* exit status of a process that `stop` or `half` ended */

/* Counts a call that `kind` may hit; true: this is the one. `format` says which call it is. */
bool fault_hits(fault_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
