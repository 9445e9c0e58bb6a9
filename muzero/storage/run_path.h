/* The way from what a user calls a run to one of its checkpoints. A run's directory, RUN, stands for its latest checkpoint;
 * RUN@latest, RUN@best and RUN@ROUND choose one; a checkpoint file stands for itself. A path that exists is taken as it is, so that
 * a directory may have an '@' in its name. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_RUN_PATH_MAX = 512 };

typedef enum mz_run_choice { MZ_RUN_LATEST, MZ_RUN_BEST, MZ_RUN_ROUND, MZ_RUN_FILE } mz_run_choice;

typedef struct mz_run_path {
  char path[MZ_RUN_PATH_MAX]; /* the part before '@': a directory, or with MZ_RUN_FILE a checkpoint file */
  mz_run_choice choice;
  int64_t rounds; /* with MZ_RUN_ROUND */
} mz_run_path;

/* Reads what `run` names; no checkpoint is looked for. MZ_E_IO when nothing is there, MZ_E_USAGE for something else after '@'. */
mz_status mz_run_path_read(const char *run, mz_run_path *out);
/* Writes the path of the checkpoint file that it names. MZ_E_CHECKPOINT when LATEST or BEST names no checkpoint that is there, or
 * there is none of that round (the nearest is named). */
mz_status mz_run_path_checkpoint(const mz_run_path *run, char *out, size_t size);
/* Both in one. */
mz_status mz_run_checkpoint_path(const char *given, char *out, size_t size);

/* Returns whether the part before an '@' is there, or all of `run` is. */
bool mz_run_path_exists(const char *run);
bool mz_run_has_checkpoints(const char *dir);
/* Returns whether a directory holds a run: a file LATEST, or, where that was lost, checkpoints and config.json. A run that is made
 * writes these three in the order checkpoint, LATEST, config.json: stopped before LATEST, it is none yet and may be begun again. */
bool mz_run_is_run(const char *dir);
