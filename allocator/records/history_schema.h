/* The tables of an SQLite database, measurements and the pipelines that they are of, runs and their epochs: what makes a database ours,
 * its columns, its statements. Functions return SQLite's result codes. Used by the history only. */
#pragma once
#include <sqlite3.h>

enum {
  MZ_HISTORY_APPLICATION = 0x4d755a68, /* "MuZh"; file(1) shows it */
  /* Of the tables. 1: seconds per unit had their part of the evaluations. 2: no pipelines, nothing of run, window and what else
   * happened. 3: nothing of the stage of training. 4: no runs and epochs. */
  MZ_HISTORY_VERSION = 5,
};

typedef enum mz_history_kind {
  MZ_HISTORY_EMPTY,   /* nothing in it yet */
  MZ_HISTORY_OURS,    /* of our version */
  MZ_HISTORY_OLDER,   /* ours, of an earlier version */
  MZ_HISTORY_NEWER,   /* ours, of a later version */
  MZ_HISTORY_FOREIGN, /* another program's */
  MZ_HISTORY_DAMAGED, /* ours, but its parts contradict one another */
} mz_history_kind;

/* *version: as recorded. The database is only read. */
int mz_history_schema_inspect(sqlite3 *db, mz_history_kind *kind, int *version);
/* Makes the tables in an empty database. */
int mz_history_schema_create(sqlite3 *db);
/* Brings tables of an earlier version to ours, wholly or not at all. */
int mz_history_schema_migrate(sqlite3 *db, int version);
/* Removes all but the newest `keep` rows (by id), and pipelines without rows; takes no lock when there are no more. */
int mz_history_schema_trim(sqlite3 *db, int keep);

/* Likewise all but the newest `keep` runs, and their epochs. */
int mz_history_schema_trim_runs(sqlite3 *db, int keep);

/* Columns of measurements that are written, in the order of INSERT's parameters (counted from 1) and of SELECT's results (from 0, behind
 * id). */
typedef enum mz_history_column {
  MZ_COLUMN_MACHINE = 1,
  MZ_COLUMN_ENV,
  MZ_COLUMN_NETWORK,
  MZ_COLUMN_WORK,
  MZ_COLUMN_UNIX_S,
  MZ_COLUMN_SOURCE,
  MZ_COLUMN_VERSION,
  MZ_COLUMN_PLAN,
  MZ_COLUMN_UNITS,
  MZ_COLUMN_UNIT_S,
  MZ_COLUMN_ROUND_S,
  MZ_COLUMN_NOISE,
  MZ_COLUMN_ROUNDS,
  MZ_COLUMN_STAGES,
  MZ_COLUMN_CPU_S,
  MZ_COLUMN_RSS_BYTES,
  MZ_COLUMN_UTILISATION,
  MZ_COLUMN_RUN,
  MZ_COLUMN_WINDOW,
  MZ_COLUMN_OTHERS,
  MZ_COLUMN_WAITING,
  MZ_COLUMN_THROTTLED,
  MZ_COLUMN_TRAINING,
} mz_history_column;

/* Columns of epochs, in the order of ADD_EPOCH's parameters (counted from 1). */
typedef enum mz_history_epoch_column {
  MZ_EPOCH_RUN = 1,
  MZ_EPOCH_NUMBER,
  MZ_EPOCH_SCORE,
  MZ_EPOCH_WALL_S,
  MZ_EPOCH_ROUNDS_S,
  MZ_EPOCH_EVALUATION_S,
  MZ_EPOCH_CLOSING_S,
  MZ_EPOCH_BATCH_SIZE,
  MZ_EPOCH_NOISE_SCALE,
  MZ_EPOCH_RESOURCES,
  MZ_EPOCH_PLAN,
} mz_history_epoch_column;

typedef enum mz_history_statement {
  MZ_HISTORY_INSERT, /* parameters: mz_history_column */
  MZ_HISTORY_SELECT, /* parameters: the four columns of the key, then how many rows; newest first */
  MZ_HISTORY_COUNT,
  MZ_HISTORY_PIPELINE,      /* parameters: the four columns of the key; gives its pipeline as text */
  MZ_HISTORY_KEEP_PIPELINE, /* parameters: the four columns of the key, the text */
  MZ_HISTORY_BEGIN_RUN,     /* parameters: the five columns of a curve's key, unix_s, source, version, run, seed, moves */
  MZ_HISTORY_FIND_RUN,      /* parameters: the five columns, run, seed; gives the newest id or NULL */
  MZ_HISTORY_ADD_EPOCH,     /* parameters: mz_history_epoch_column */
  MZ_HISTORY_END_CURVE,     /* parameters: a run's id, the number of its last epoch: those behind it go */
  MZ_HISTORY_RUNS,          /* parameters: the five columns, how many; gives id, timed, learned, run, source, seed, moves */
  MZ_HISTORY_EPOCHS,        /* parameter: a run's id; gives the columns behind MZ_EPOCH_RUN */
  MZ_HISTORY_KEYS,          /* gives the four columns of every key that has a pipeline */
  MZ_HISTORY_STATEMENTS
} mz_history_statement;
/* All of them, or none (an error). */
int mz_history_schema_prepare(sqlite3 *db, sqlite3_stmt *statements[MZ_HISTORY_STATEMENTS]);
void mz_history_schema_finalize(sqlite3_stmt *statements[MZ_HISTORY_STATEMENTS]);
