/* Measurements of all runs of a user on this machine: SQLite in write-ahead mode, one row per measured window, in columns
 * that people can read (`sqlite3 history.db 'select * from measurements'`). Shared by processes; a row is written in well under a
 * millisecond and may be lost by a power failure, never damaged. One thread uses a handle; a child process opens its own.
 *
 * A run never fails because of its history. A damaged file, found at the start or later, is set aside (FILE.damaged-N, with -wal and
 * -shm) with a warning and a new one begun; one of an earlier version is brought to the present one. Where that does not help, and where
 * the file cannot be used (may not be written, disk full, locked by others for 5 s), one warning says why and the run continues without
 * it: add and read then do nothing and return MZ_OK. A file that may be read but not written is read. One that is removed or set aside by
 * another process is begun anew at the next row. */
#pragma once
#include "allocator/pipeline/telemetry.h"

typedef struct mz_history mz_history;

/* $XDG_DATA_HOME/muzero/history.db, or ~/.local/share/muzero/history.db; false: neither is known (or the path is too long). */
bool mz_history_default_path(char *out, size_t size);
/* "none": *out is NULL, and the functions below do nothing with it. Folders are made; of more than MZ_HISTORY_ROWS_MAX rows the
 * oldest are removed. MZ_E_IO: there is no file and none can be made, or it is no file, or cannot be opened. MZ_E_CONFIG: the
 * file was written by a newer version (both are named), or is another program's database. *out is NULL after a failure. */
mz_status mz_history_open(mz_history **out, const char *path);
/* For who only reads: where there is no file, none is made, and *out is NULL, too. */
mz_status mz_history_open_existing(mz_history **out, const char *path);
/* Moves the write-ahead file's content into the file itself: a copy of it is then whole. NULL is fine. */
void mz_history_close(mz_history *history);

enum { MZ_HISTORY_ROWS_MAX = 200000, MZ_HISTORY_RUNS_MAX = 10000 };

/* Rows describe the same thing when they agree in all of these. */
typedef struct mz_history_key {
  char machine[560]; /* fingerprint: processor model, cores granted, instruction set, devices where there are several */
  char env[128];
  char network[128]; /* shape: kind, layers, parameters */
  char work[17];     /* hash of the algorithmic settings that a unit's cost depends on */
} mz_history_key;

typedef struct mz_history_row {
  mz_history_key key;
  int64_t id; /* given by add; 0: was not kept */
  double unix_s;
  char source[16];           /* "run", "profile", "compare" */
  char version[16];          /* of the program */
  char run[128];             /* its directory; "": not known */
  int64_t window;            /* its number in the run; 0: not known */
  double units, utilisation; /* units of work behind it; cores in use / granted */
  mz_observation observation;
} mz_history_row;

/* The clock may go backwards: order is by id. NAN is kept as NULL, but a row without a positive unit_s says nothing and is
 * not kept. MZ_E_MEMORY. */
mz_status mz_history_add(mz_history *history, const mz_pipeline *pipeline, mz_history_row *row);
/* Newest `max` rows with this key, oldest first; free(*rows). Rows of them whose knobs or stages are not the pipeline's are left
 * out. Their observations' runs are numbered from 1 on. MZ_E_MEMORY. */
mz_status mz_history_read(mz_history *history, const mz_history_key *key, const mz_pipeline *pipeline, int max,
                          mz_history_row **rows, int *count);
int64_t mz_history_count(mz_history *history);

/* Keeps the pipeline that the key's rows are of, with its probes, once for a key: rows of other keys tell something only beside what
 * they are rows of. MZ_E_MEMORY. */
mz_status mz_history_keep_pipeline(mz_history *history, const mz_history_key *key, const mz_pipeline *pipeline);
/* *found: whether one was kept that can be read. MZ_E_MEMORY. */
mz_status mz_history_pipeline(mz_history *history, const mz_history_key *key, mz_pipeline *out, bool *found);
/* All pipelines that are kept and can be read; free(*pipelines). MZ_E_MEMORY. */
mz_status mz_history_pipelines(mz_history *history, mz_pipeline **pipelines, int *count);
/* The keys that have a pipeline, by env and network; free(*keys). MZ_E_MEMORY. */
mz_status mz_history_keys(mz_history *history, mz_history_key **keys, int *count);
