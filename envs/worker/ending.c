#include "envs/worker/ending.h"
#include "base/log.h"
#include <string.h>

static const double CLOSING_S = 2.5; /* a little more than workers give their environments */
static const double DYING_S = 1;     /* a process's socket closes before it has ended */

enum { TOLD_LINES = 12, JOINED_BYTES = MZ_WORKER_LINE_BYTES / 2 /* of the tail */ };

void mz_worker_end(mz_worker_process *process, mz_worker_answer answer, double timeout_s, mz_worker_ending *out) {
  out->pid = (int)process->pid;
  mz_memory_file_tail(&process->log, out->tail, sizeof out->tail);
  const double patience_s = answer == MZ_WORKER_ANSWERED ? CLOSING_S : answer == MZ_WORKER_DIED ? DYING_S : 0;
  if (answer == MZ_WORKER_ANSWERED) mz_worker_process_leave(process);
  out->cpu_s = mz_worker_process_end(process, patience_s, out->how, sizeof out->how);
  if (answer == MZ_WORKER_SILENT)
    snprintf(out->how, sizeof out->how, "no answer in %g s (timeout=%g; a larger one waits longer)", timeout_s, timeout_s);
  if (answer == MZ_WORKER_ASTRAY) snprintf(out->how, sizeof out->how, "it answered another batch than it was sent");
}

/* Python marks parts of its source lines by lines of these. */
static bool is_mark(const char *line) { return line[strspn(line, "^~ ")] == '\0'; }

void mz_worker_ending_line(const mz_worker_ending *ending, char out[MZ_WORKER_LINE_BYTES]) {
  const size_t length = strlen(ending->tail), kept = length < JOINED_BYTES ? length : JOINED_BYTES - 1;
  char tail[JOINED_BYTES], *state, *line = tail;
  memcpy(tail, ending->tail + length - kept, kept + 1);
  if (kept < length && strchr(tail, '\n')) line = strchr(tail, '\n'); /* from a whole line on */
  size_t used = (size_t)snprintf(out, MZ_WORKER_LINE_BYTES, "%s", ending->how);
  const char *between = ": ";
  for (line = strtok_r(line, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
    line += strspn(line, " ");
    if (is_mark(line) || used >= MZ_WORKER_LINE_BYTES) continue;
    used += (size_t)snprintf(out + used, MZ_WORKER_LINE_BYTES - used, "%s%s", between, line);
    between = " | ";
  }
}

void mz_worker_ending_tell_tail(const mz_worker_ending *ending) {
  char tail[MZ_WORKER_TAIL_BYTES], *state;
  const char *lines[TOLD_LINES];
  int count = 0;
  memcpy(tail, ending->tail, sizeof tail);
  for (char *line = strtok_r(tail, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
    if (!is_mark(line)) lines[count++ % TOLD_LINES] = line;
  for (int i = count > TOLD_LINES ? count - TOLD_LINES : 0; i < count; i++)
    mz_log_write(MZ_LOG_WARNING, "  %s", lines[i % TOLD_LINES]);
}
