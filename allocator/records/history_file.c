#include "allocator/records/history_file.h"
#include "allocator/records/history.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  BUSY_MS = 5000,          /* how long others may hold the file */
  CHECKED_BYTES = 8 << 20, /* a file up to this size is checked whole at the start: 40 ms at the most */
  SUFFIX_BYTES = 64,
  SET_ASIDE_MAX = 10000, /* files of one name: the last is written over */
};

/* The result of looking at the file. */
typedef enum finding {
  READY,
  DAMAGED,
  UNUSABLE, /* through no fault of the file */
  REFUSED,  /* `status` is the caller's */
} finding;
typedef struct verdict {
  finding finding;
  mz_status status;
  char why[256]; /* DAMAGED, UNUSABLE */
} verdict;

static verdict fault(finding found, const char *why) {
  verdict out = {.finding = found};
  snprintf(out.why, sizeof out.why, "%.200s", why);
  return out;
}

static verdict refusal(mz_status status) { return (verdict){.finding = REFUSED, .status = status}; }
static verdict ready(void) { return (verdict){.finding = READY}; }

/* ---- one process at a time opens, or sets aside ---- */

/* Without it, a process that sets a file aside could take the new one of another, or leave it the old write-ahead file. The
 * folder itself is locked, so that no lock file lies about. −1: none could be had in time or at all; damage is rare, so is the
 * race: continuing is better than waiting for ever for a process that is stopped. */
static int lock_folder(const char *path) {
  char folder[MZ_HISTORY_PATH_MAX];
  int fd = -1;
  if (mz_path_folder(path, folder, sizeof folder) == MZ_OK) (void)mz_lock_folder(folder, BUSY_MS, &fd);
  return fd;
}

static bool is_the_open_one(const mz_history_file *file) {
  struct stat st;
  return stat(file->path, &st) == 0 && st.st_dev == file->device && st.st_ino == file->inode;
}

static bool move(const char *path, const char *to, const char *suffix) {
  char from[MZ_HISTORY_PATH_MAX + SUFFIX_BYTES], aside[MZ_HISTORY_PATH_MAX + SUFFIX_BYTES];
  if ((size_t)snprintf(from, sizeof from, "%s%s", path, suffix) >= sizeof from) return false;
  if ((size_t)snprintf(aside, sizeof aside, "%s%s", to, suffix) >= sizeof aside) return false;
  return !mz_file_exists(from) || mz_file_rename(from, aside) == MZ_OK;
}

/* Folder locked, database closed. */
static bool set_aside(const mz_history_file *file, const char *why) {
  char aside[MZ_HISTORY_PATH_MAX + SUFFIX_BYTES];
  int number = 1;
  do snprintf(aside, sizeof aside, "%s.damaged-%d", file->path, number++);
  while (mz_file_exists(aside) && number < SET_ASIDE_MAX);
  const bool moved = move(file->path, aside, "-wal") && move(file->path, aside, "-shm") && move(file->path, aside, "");
  if (moved)
    mz_log_write(MZ_LOG_WARNING, "history: %s is damaged (%s); set aside as %s, a new one is begun", file->path, why, aside);
  return moved;
}

/* ---- opening ---- */

/* Whether a result code speaks of the file's contents. Everything that the surroundings can cause is listed; what is left cannot
 * happen to a sound file with our statements. */
static bool is_damage(int rc) {
  switch (rc & 0xff) { /* extended codes refine the lowest byte */
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_AUTH:
    case SQLITE_INTERRUPT:
    case SQLITE_PROTOCOL:
    case SQLITE_NOLFS: return false;
    default: return true;
  }
}

static void close_database(mz_history_file *file) {
  mz_history_schema_finalize(file->statements);
  const int rc = sqlite3_close(file->db);
  MZ_ASSERT(rc == SQLITE_OK); /* BUSY would mean that a statement was left */
  file->db = NULL;
  file->writable = false;
}

/* Leaves the write-ahead file as it is: it belongs to what is set aside. */
static void close_damaged(mz_history_file *file) {
  sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  close_database(file);
}

static int run_sql(mz_history_file *file, const char *sql) { return sqlite3_exec(file->db, sql, NULL, NULL, NULL); }

/* SQLite's own words for the last failure. */
static verdict judge(const mz_history_file *file, int rc) {
  return rc == SQLITE_OK ? ready() : fault(is_damage(rc) ? DAMAGED : UNUSABLE, sqlite3_errmsg(file->db));
}

/* Every page, and the index against the table: damage to the index alone would hide rows without an error. In a large file
 * damage shows, or does not, when it is met. */
static verdict check_contents(const mz_history_file *file) {
  struct stat st;
  if (stat(file->path, &st) != 0 || st.st_size > CHECKED_BYTES) return ready();
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2(file->db, "PRAGMA integrity_check(1)", -1, &statement, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(statement);
  const char *result = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
  verdict out;
  if (result == NULL)
    out = judge(file, rc == SQLITE_ROW ? SQLITE_NOMEM : rc);
  else
    out = strcmp(result, "ok") == 0 ? ready() : fault(DAMAGED, result);
  sqlite3_finalize(statement);
  return out;
}

/* Before anything is written to it. */
static verdict check_kind(const mz_history_file *file, mz_history_kind kind, int version) {
  switch (kind) {
    case MZ_HISTORY_NEWER:
      return refusal(mz_fail(MZ_E_CONFIG,
                             "history: %s: has version %d; this program (%s) knows versions up to %d; use a newer program, or "
                             "--history with another file or 'none'",
                             file->path, version, MUZERO_VERSION, MZ_HISTORY_VERSION));
    case MZ_HISTORY_FOREIGN:
      return refusal(mz_fail(MZ_E_CONFIG, "history: %s: is another program's database; use --history with another file or 'none'",
                             file->path));
    case MZ_HISTORY_DAMAGED: return fault(DAMAGED, "its parts contradict one another");
    case MZ_HISTORY_OURS:
    case MZ_HISTORY_OLDER:
    case MZ_HISTORY_EMPTY: break;
  }
  /* the header has a mark that forbids writing, which the program never sets */
  if (!file->writable && eaccess(file->path, W_OK) == 0) return fault(DAMAGED, "it is marked as not to be written");
  if (!file->writable && kind == MZ_HISTORY_OLDER)
    return refusal(mz_fail(MZ_E_IO, "history: %s: has version %d, and may not be written to bring it to version %d", file->path,
                           version, MZ_HISTORY_VERSION));
  return kind == MZ_HISTORY_EMPTY ? ready() : check_contents(file);
}

static int begin(mz_history_file *file) {
  const int rc = run_sql(file, "PRAGMA journal_mode = WAL");
  return rc != SQLITE_OK ? rc : mz_history_schema_create(file->db);
}

/* Another process may have done it since the version was read. */
static int migrate(mz_history_file *file, int version) {
  mz_history_kind kind;
  const int rc = mz_history_schema_migrate(file->db, version);
  if (rc == SQLITE_OK || mz_history_schema_inspect(file->db, &kind, &version) != SQLITE_OK) return rc;
  return kind == MZ_HISTORY_OURS ? SQLITE_OK : rc;
}

/* A database that is open, to one whose statements can be used. */
static verdict make_ready(mz_history_file *file) {
  mz_history_kind kind = MZ_HISTORY_EMPTY;
  int version = 0;
  sqlite3_extended_result_codes(file->db, 1);
  sqlite3_busy_timeout(file->db, BUSY_MS);
  /* what a strange schema could call is not trusted; broken cells are seen when they are read */
  int rc = run_sql(file, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA synchronous = NORMAL");
  if (rc == SQLITE_OK) rc = mz_history_schema_inspect(file->db, &kind, &version);
  if (rc != SQLITE_OK) return judge(file, rc);
  file->writable = sqlite3_db_readonly(file->db, "main") == 0;
  const verdict checked = check_kind(file, kind, version);
  if (checked.finding != READY) return checked;
  if (kind == MZ_HISTORY_EMPTY) rc = begin(file);
  if (kind == MZ_HISTORY_OLDER) rc = migrate(file, version);
  if (rc == SQLITE_OK) rc = mz_history_schema_prepare(file->db, file->statements);
  if (rc == SQLITE_OK && file->writable) {
    int trimmed = mz_history_schema_trim(file->db, MZ_HISTORY_ROWS_MAX);
    if (trimmed == SQLITE_OK) trimmed = mz_history_schema_trim_runs(file->db, MZ_HISTORY_RUNS_MAX);
    if (is_damage(trimmed)) rc = trimmed; /* any other failure: the next run will do it */
  }
  return judge(file, rc);
}

/* Folder locked. READY: everything is open; otherwise nothing is. */
static verdict look(mz_history_file *file) {
  const int rc = sqlite3_open_v2(file->path, &file->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  struct stat st;
  verdict out;
  if (rc != SQLITE_OK || stat(file->path, &st) != 0) {
    out = refusal(mz_fail(MZ_E_IO, "history: %s: cannot be opened: %s; use --history with another file or 'none'", file->path,
                          file->db == NULL ? "no memory" : sqlite3_errmsg(file->db)));
  } else {
    file->device = st.st_dev;
    file->inode = st.st_ino;
    out = make_ready(file);
  }
  if (out.finding == DAMAGED && eaccess(file->path, W_OK) != 0) out.finding = UNUSABLE; /* not ours to move */
  if (out.finding == DAMAGED)
    close_damaged(file);
  else if (out.finding != READY)
    close_database(file);
  return out;
}

static void go_on_without(mz_history_file *file, const char *why) {
  if (file->db != NULL) close_database(file);
  mz_log_write(MZ_LOG_WARNING, "history: %s: %s; the run continues without it", file->path, why);
}

/* Opens what the path names. `damage` (or NULL): what is wrong with the file that was open, if the path still names that. */
static mz_status open_path(mz_history_file *file, const char *damage) {
  int folder = lock_folder(file->path);
  verdict v = damage != NULL && is_the_open_one(file) ? fault(DAMAGED, damage) : look(file);
  if (v.finding == DAMAGED && set_aside(file, v.why)) v = look(file);
  (void)mz_file_close(&folder, file->path);
  if (v.finding == REFUSED) return v.status;
  if (v.finding != READY)
    go_on_without(file, v.why);
  else if (!file->writable)
    mz_log_write(MZ_LOG_WARNING, "history: %s: may not be written; what this run measures is not kept", file->path);
  return MZ_OK;
}

/* Whether it may be a history that is damaged, to be set aside: by its name, or as a database begins. Any other file is somebody's. */
static mz_status check_name_or_header(const char *path) {
  static const char database[] = "SQLite format 3";
  char header[sizeof database] = "";
  size_t got = 0;
  int fd;
  if (mz_text_ends_in(path, ".db")) return MZ_OK;
  MZ_TRY(mz_file_open(path, MZ_FILE_READ, &fd));
  const mz_status status = mz_file_read_at(fd, path, 0, header, sizeof header, &got);
  (void)mz_file_close(&fd, path);
  if (status != MZ_OK || got == 0 || memcmp(header, database, sizeof database) == 0) return status;
  return mz_fail(MZ_E_IO, "history: %s: is no history, nor any database; use --history with another file or 'none'", path);
}

mz_status mz_history_file_open(mz_history_file *file, const char *path) {
  *file = (mz_history_file){0};
  if ((size_t)snprintf(file->path, sizeof file->path, "%s", path) >= sizeof file->path) {
    return mz_fail(MZ_E_IO, "history: %s: path too long; at most %zu bytes", path, sizeof file->path - 1);
  }
  char folder[MZ_HISTORY_PATH_MAX];
  MZ_TRY(mz_path_folder(path, folder, sizeof folder));
  MZ_TRY(mz_file_mkdirs(folder));
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
    return mz_fail(MZ_E_IO, "history: %s: is no file; use --history with a file, or 'none'", path);
  }
  if (mz_file_exists(path)) MZ_TRY(check_name_or_header(path));
  return open_path(file, NULL);
}

void mz_history_file_close(mz_history_file *file) {
  if (file->db == NULL) return;
  /* Closing does this too, but only for the last process that has the file open. Best effort: nothing is lost without it. */
  if (file->writable) sqlite3_wal_checkpoint_v2(file->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
  close_database(file);
}

/* Under way a file that is refused is no error either. */
static void reopen(mz_history_file *file, const char *damage) {
  file->generation++;
  if (open_path(file, damage) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s; the run continues without it", mz_message());
}

void mz_history_file_follow(mz_history_file *file) {
  if (file->db == NULL || is_the_open_one(file)) return;
  close_database(file);
  reopen(file, NULL);
}

bool mz_history_file_recover(mz_history_file *file, int rc) {
  const verdict v = judge(file, rc);
  MZ_ASSERT((rc & 0xff) != SQLITE_MISUSE);
  if (v.finding != DAMAGED || !file->writable || file->renewed) {
    go_on_without(file, v.why);
    return false;
  }
  file->renewed = true;
  close_damaged(file);
  /* other failures may mean that a newer program has changed the table by now: that is seen by looking, not moved away */
  const bool certain = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
  reopen(file, certain ? v.why : NULL);
  return file->db != NULL && file->writable;
}
