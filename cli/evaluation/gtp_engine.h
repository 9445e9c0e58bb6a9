/* Another program that plays, asked through pipes in GTP 2 (Farnebäck 2002). One thread. */
#pragma once
#include "base/status.h"
#include <stdio.h>
#include <sys/types.h>

typedef struct mz_gtp_engine {
  const char *command; /* outlives the engine */
  pid_t pid;           /* leads a group of all that the command starts */
  int life;            /* closed with our end, whatever it is: then they end, too */
  FILE *to, *from;
  char answer[256]; /* to the last question, without its frame */
} mz_gtp_engine;

/* Starts a shell's command. Stop is safe on a zeroed engine and after a failed start. SIGPIPE must be ignored. */
mz_status mz_gtp_engine_start(mz_gtp_engine *engine, const char *command);
/* Ends it and all that it has started: asks it to quit, and uses force where it does not go by itself. */
void mz_gtp_engine_stop(mz_gtp_engine *engine);
/* MZ_E_IO when the program has ended, or says what is not GTP; MZ_E_CONFIG with its words when it refuses. */
mz_status mz_gtp_engine_ask(mz_gtp_engine *engine, const char *format, ...) __attribute__((format(printf, 2, 3)));
