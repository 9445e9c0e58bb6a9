/* The file behind the history: opened and checked, set aside where it is damaged, followed where another process has done so.
 * Used by the history only. */
#pragma once
#include "allocator/records/history_schema.h"
#include "base/status.h"
#include <stdbool.h>
#include <sys/stat.h>

enum { MZ_HISTORY_PATH_MAX = 4096 };

typedef struct mz_history_file {
  char path[MZ_HISTORY_PATH_MAX];
  sqlite3 *db; /* NULL: gone on without */
  sqlite3_stmt *statements[MZ_HISTORY_STATEMENTS];
  bool writable; /* there is a database, and it takes rows */
  bool renewed;  /* damage was met after opening: it is not done twice */
  dev_t device;  /* of the file that is open: its path may come to name another */
  ino_t inode;
  int generation; /* how often another file took its place: row numbers of one mean nothing in the next */
} mz_history_file;

struct mz_history {
  mz_history_file file;
  struct mz_begun_curve *curve; /* the last one that was begun (curve_history.c); NULL: none; free() */
};

/* Errors as mz_history_open. MZ_OK with db NULL: a warning was given. After a failure there is nothing to close. */
mz_status mz_history_file_open(mz_history_file *file, const char *path);
/* Writes back what is in the write-ahead file. */
void mz_history_file_close(mz_history_file *file);
/* Before a row is written: where the path names another file by now, or none, that is opened. */
void mz_history_file_follow(mz_history_file *file);
/* After `rc` of one of the statements, which was reset. true: it was damage, a new file was begun, and the statement is worth
 * repeating. false: a warning was given and db is NULL. */
bool mz_history_file_recover(mz_history_file *file, int rc);
