/* Shared by `train` and `resume`: their flags, and driving a run phase by phase to its end while showing it. */
#pragma once
#include "cli/command.h"
#include "muzero/trainer.h"
#include "muzero/run_score.h"

typedef struct mz_session_arguments { /* the flags in common; the first member of either command's arguments */
  mz_text_list sets;
  const char *device, *allocate, *history, *watchdog;
  int64_t threads, seed, rounds, env_steps, updates;
  double for_s, until;
  bool json;
} mz_session_arguments;
extern const mz_option mz_session_options[];

/* MZ_E_USAGE for a score that nobody can reach in the environment. */
mz_status mz_session_check_score(const mz_env *env, const mz_session_arguments *arguments);
/* MZ_E_USAGE for a --device (NULL: none was given) beside --machine. */
mz_status mz_session_check_machine(const char *machine, const char *device);
mz_limits mz_session_limits(const mz_session_arguments *arguments);
mz_run_options mz_session_run_options(const mz_session_arguments *arguments);

typedef struct mz_outcome {
  mz_reason reason;
  double score, wall_s; /* score NAN when there was no evaluation */
  uint64_t seed, digest;
  mz_counters counters;
  mz_lost_workers lost;
  char run[512], score_name[MZ_SCORE_NAME_MAX];
  bool is_board;  /* a game that a person can play against the agent */
  double *scores; /* [phases] by phase of this invocation: the last evaluation's score then, NAN before the first */
  int64_t phases;
} mz_outcome;
void mz_outcome_deinit(mz_outcome *outcome);

/* Drives `run` to a limit or a stop, prints a record per phase (JSON lines, the live screen, or plain lines); evaluates
 * nothing more and does not print the end: see below. Plain lines say how far a long phase is. A record that stdout does not take
 * stops and saves the run: MZ_E_IO; a reader who leaves does not. */
mz_status mz_session_drive(mz_run *run, const mz_limits *limits, bool json, mz_outcome *out);

/* Keys of the last line; `event` is "done", or "seed" for one of several. */
cJSON *mz_outcome_to_json(const mz_outcome *outcome, const char *event);
/* The summary for people, with the commands that continue from here. */
void mz_outcome_print(const mz_outcome *outcome);
/* All of it for one run, which is closed: drive, print the end. The command's status. */
mz_status mz_session_finish(mz_run *run, const mz_session_arguments *arguments);
/* Returns the command's status: MZ_INTERRUPTED after a signal. */
mz_status mz_outcome_status(const mz_outcome *outcome);
