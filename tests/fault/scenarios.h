/* What is done while a call fails, from which state, and how it is taken up again. */
#pragma once
#include <stdbool.h>

typedef struct scenario {
  const char *name;
  const char *prepare;   /* command lines, one a line, run before in an empty folder */
  const char *command;   /* the one in which a call fails */
  const char *resume;    /* takes it up again where `run` has a checkpoint; NULL: `command` itself */
  const char *run;       /* the run that it makes or changes, in the folder */
  const char *unchanged; /* a folder that must stay as it is, byte for byte, but for its lock; or NULL */
  bool logs;             /* `run` has metrics.jsonl and ledger.jsonl to be compared with those of the calm one */
} scenario;
extern const scenario scenarios[];
extern const int scenario_count;
