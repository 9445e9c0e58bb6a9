/* Processes that the driver starts and waits for, each in the folder it is given. */
#pragma once
#include <stdbool.h>

enum { LAUNCH_LIMIT_S = 120, LAUNCH_TEXT = 4096 };

typedef struct launch {
  int status;            /* exit status; 128 + signal when one killed it */
  char err[LAUNCH_TEXT]; /* the end of what it said on stderr */
  char out[LAUNCH_TEXT]; /* the beginning of what it said on stdout */
  bool left_processes;   /* processes that it started were still there 10 s after its end; they are killed */
} launch;

/* Runs `program` with the words of `command` in `folder` (no quoting), killed by a signal after LAUNCH_LIMIT_S. `fault`: NULL, or
 * the value of MUZERO_FAULT; what the program reports then lies in FOLDER.report, which is new. */
launch launch_program(const char *program, const char *command, const char *folder, const char *fault);
/* Runs a line of sh; ends the driver where it fails: it is the driver's own work. */
void launch_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
