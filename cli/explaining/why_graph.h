/* The picture that `why --graph` writes: a run's pipeline under the plan in force after a decision, as the graph that predictors read. It
 * is made from the ledger alone. */
#pragma once
#include "allocator/records/ledger.h"

enum { MZ_NEWEST_PHASE = -1 };
const char *mz_why_graph_layout(int index); /* values of --layout; NULL past the last one */

typedef struct mz_why_graph_options {
  const char *run, *ledger; /* as the user names it; its ledger's path */
  int64_t phase;            /* the decision after it; MZ_NEWEST_PHASE: the last one */
  const char *out;          /* NAME.svg or NAME.dot, which is replaced */
  const char *layout;       /* NULL: Graphviz's where it is on PATH, else our own */
} mz_why_graph_options;

/* Writes the file and says on stderr what was drawn and by whom. MZ_E_USAGE: another name or layout; MZ_E_CONFIG: there is no such
 * decision; MZ_E_CHECKPOINT: a damaged ledger; MZ_E_IO: the file cannot be written, and nothing of it is left. */
mz_status mz_why_graph_write(const mz_why_graph_options *options);
