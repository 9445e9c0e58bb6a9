/* Names of a run's checkpoints ("round-000000027.mzc", by the rounds played), and the files LATEST and BEST that name one each. A
 * name that comes from a file is taken only in this form, so that it leads to nowhere but the run's own folder. */
#pragma once
#include "base/status.h"
#include <stdint.h>

enum { MZ_CHECKPOINT_NAME_MAX = 40 };

void mz_checkpoint_name(int64_t rounds, char out[MZ_CHECKPOINT_NAME_MAX]);
/* Returns the rounds that a name tells, -1 for what is no checkpoint's name. */
int64_t mz_checkpoint_name_rounds(const char *name);

/* Reads which checkpoint dir/`pointer` ("LATEST", "BEST") names. MZ_E_CHECKPOINT where there is no such file, or it holds anything
 * but a checkpoint's name; whether that checkpoint is there is not looked at. */
mz_status mz_checkpoint_pointer_read(const char *dir, const char *pointer, char name[MZ_CHECKPOINT_NAME_MAX]);
/* Replaces the pointer: atomic and durable. */
mz_status mz_checkpoint_pointer_write(const char *dir, const char *pointer, const char *name);

/* Calls `visit` with the rounds and the path of every checkpoint in dir/checkpoints, in no order; where there is no such folder,
 * with none. Its failure ends the visits and is returned; otherwise as mz_file_list. */
mz_status mz_checkpoint_each(const char *dir, mz_status (*visit)(void *context, int64_t rounds, const char *path), void *context);

/* Returns the path dir/checkpoints/name. */
mz_status mz_checkpoint_path(const char *dir, const char *name, char *out, size_t size);
/* Returns the folder above the one that a checkpoint lies in, by its path alone: DIR/checkpoints/NAME → DIR. */
mz_status mz_checkpoint_run_dir(const char *checkpoint, char *out, size_t size);
/* Returns the folder with the segments of a run's checkpoint: DIR/checkpoints/NAME → DIR/segments. For a file that lies elsewhere
 * the folder need not be there. */
mz_status mz_checkpoint_segments_dir(const char *checkpoint, char *out, size_t size);
