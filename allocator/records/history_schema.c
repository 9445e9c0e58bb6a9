#include "allocator/records/history_schema.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A version beyond this is no version but damage. */
enum { VERSION_PLAUSIBLE = 9999 };

#define PIPELINES                                                                                                                \
  "CREATE TABLE pipelines ("                                                                                                     \
  " machine TEXT NOT NULL, env TEXT NOT NULL, network TEXT NOT NULL, work TEXT NOT NULL,"                                        \
  " pipeline TEXT NOT NULL," /* JSON: stages with their probes, queues, devices, knobs */                                        \
  " PRIMARY KEY (machine, env, network, work)) STRICT;"

#define RUNS                                                                                                                     \
  "CREATE TABLE runs ("                                                                                                          \
  " id INTEGER PRIMARY KEY AUTOINCREMENT,"                                                                                       \
  " machine TEXT NOT NULL, env TEXT NOT NULL, network TEXT NOT NULL, learning TEXT NOT NULL, timing TEXT NOT NULL,"              \
  " unix_s REAL, source TEXT NOT NULL, version TEXT NOT NULL, run TEXT NOT NULL, seed TEXT NOT NULL, moves REAL NOT NULL) "      \
  "STRICT;"                                                                                                                      \
  "CREATE TABLE epochs ("                                                                                                        \
  " run INTEGER NOT NULL, number INTEGER NOT NULL, score REAL, wall_s REAL NOT NULL, rounds_s REAL, evaluation_s REAL,"          \
  " closing_s REAL, batch_size REAL NOT NULL, noise_scale REAL,"                                                                 \
  " resources TEXT NOT NULL," /* JSON: {"cores":[amount,use,stall],"gpus":…,"memory_gib":…} */                               \
  " plan TEXT NOT NULL,"      /* JSON: {"cpu_actor":2,…} */                                                                    \
  " PRIMARY KEY (run, number)) STRICT, WITHOUT ROWID;"                                                                           \
  "CREATE INDEX runs_by_key ON runs (env, network);"

/* STRICT: a column holds its type or the write fails. The index ends in the row's id, so newest first needs no sorting. */
static const char create[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE measurements ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " machine TEXT NOT NULL, env TEXT NOT NULL, network TEXT NOT NULL, work TEXT NOT NULL,"
    " unix_s REAL, source TEXT NOT NULL, version TEXT NOT NULL,"
    " plan TEXT NOT NULL," /* JSON: {"cpu_actor":2,…} */
    " units REAL, unit_s REAL NOT NULL, round_s REAL, noise REAL, rounds INTEGER NOT NULL,"
    " stages TEXT NOT NULL," /* JSON, per unit: {"actor":[items,busy_s,cpu_s,wait_in_s,wait_out_s,elapsed_s],…} */
    " cpu_s REAL, rss_bytes REAL, utilisation REAL,"
    " run TEXT NOT NULL DEFAULT '', window INTEGER NOT NULL DEFAULT 0,"
    " others REAL, waiting REAL, throttled REAL,"
    " training TEXT) STRICT;" /* JSON: {"replay_fill":0.5,…} */
    PIPELINES RUNS "CREATE INDEX measurements_by_key ON measurements (machine, env, network, work);"
    "PRAGMA application_id = %d;"
    "PRAGMA user_version = %d;"
    "COMMIT";

/* From version 1: the evaluation's elapsed time leaves the unit. A row whose clocks contradict one another stays as it is. */
static const char from_1[] =
    "UPDATE measurements SET unit_s = unit_s - json_extract(stages, '$.evaluate[5]') WHERE CASE"
    " WHEN json_valid(stages) THEN coalesce(json_extract(stages, '$.evaluate[5]') < unit_s, 0) ELSE 0 END;";
static const char from_2[] = "ALTER TABLE measurements ADD COLUMN run TEXT NOT NULL DEFAULT '';"
                             "ALTER TABLE measurements ADD COLUMN window INTEGER NOT NULL DEFAULT 0;"
                             "ALTER TABLE measurements ADD COLUMN others REAL;"
                             "ALTER TABLE measurements ADD COLUMN waiting REAL;"
                             "ALTER TABLE measurements ADD COLUMN throttled REAL;" PIPELINES;
static const char from_3[] = "ALTER TABLE measurements ADD COLUMN training TEXT;";
static const char from_4[] = RUNS;

#define COLUMNS                                                                                                                  \
  "machine, env, network, work, unix_s, source, version, plan, units, unit_s, round_s, noise, rounds, stages, cpu_s, "           \
  "rss_bytes, utilisation, run, window, others, waiting, throttled, training"
#define KEY "machine = ? AND env = ? AND network = ? AND work = ?"
static const char *const texts[MZ_HISTORY_STATEMENTS] = {
    [MZ_HISTORY_INSERT] = "INSERT INTO measurements (" COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [MZ_HISTORY_SELECT] = "SELECT id, " COLUMNS " FROM measurements WHERE " KEY " ORDER BY id DESC LIMIT ?",
    [MZ_HISTORY_COUNT] = "SELECT count(*) FROM measurements",
    [MZ_HISTORY_PIPELINE] = ("SELECT pipeline FROM pipelines WHERE " KEY),
    [MZ_HISTORY_KEEP_PIPELINE] = "INSERT OR REPLACE INTO pipelines (machine, env, network, work, pipeline) VALUES (?,?,?,?,?)",
    [MZ_HISTORY_BEGIN_RUN] =
        "INSERT INTO runs (machine, env, network, learning, timing, unix_s, source, version, run, seed, moves) "
        "VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [MZ_HISTORY_FIND_RUN] =
        "SELECT max(id) FROM runs WHERE machine = ? AND env = ? AND network = ? AND learning = ? AND timing = ? "
        "AND run = ? AND seed = ?",
    [MZ_HISTORY_ADD_EPOCH] = "INSERT OR REPLACE INTO epochs (run, number, score, wall_s, rounds_s, evaluation_s, closing_s, "
                             "batch_size, noise_scale, resources, plan) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    [MZ_HISTORY_END_CURVE] = "DELETE FROM epochs WHERE run = ? AND number > ?",
    /* whether a row is timed, and whether it is learned, for the key */
    [MZ_HISTORY_RUNS] =
        "SELECT * FROM (SELECT id, machine = ?1 AND timing = ?5 AS timed, learning = ?4 AS learned, run, source, seed, "
        "moves FROM runs WHERE env = ?2 AND network = ?3) WHERE timed OR learned ORDER BY id DESC LIMIT ?6",
    [MZ_HISTORY_EPOCHS] =
        "SELECT number, score, wall_s, rounds_s, evaluation_s, closing_s, batch_size, noise_scale, resources, plan "
        "FROM epochs WHERE run = ? ORDER BY number",
    [MZ_HISTORY_KEYS] = "SELECT machine, env, network, work FROM pipelines ORDER BY env, network, machine, work",
};

/* The whole number that a statement gives; 0 when it gives none. */
static int ask(sqlite3 *db, const char *sql, int64_t *out) {
  sqlite3_stmt *statement = NULL;
  *out = 0;
  int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(statement);
  if (rc == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int mz_history_schema_inspect(sqlite3 *db, mz_history_kind *kind, int *version) {
  int64_t application = 0, recorded = 0, parts = 0, own = 0, pipelines = 0, runs = 0;
  int rc = ask(db, "SELECT count(*) FROM sqlite_schema", &parts);
  if (rc == SQLITE_OK) {
    rc = ask(db, "SELECT count(*) FROM sqlite_schema WHERE name IN ('measurements', 'measurements_by_key')", &own);
  }
  if (rc == SQLITE_OK) rc = ask(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'pipelines'", &pipelines);
  if (rc == SQLITE_OK) rc = ask(db, "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs', 'epochs', 'runs_by_key')", &runs);
  if (rc == SQLITE_OK) rc = ask(db, "PRAGMA application_id", &application);
  if (rc == SQLITE_OK) rc = ask(db, "PRAGMA user_version", &recorded);
  if (rc != SQLITE_OK) return rc;
  *version = (int)recorded;
  const bool marked = application == MZ_HISTORY_APPLICATION,
             whole = own == 2 && (recorded >= 3) == (pipelines == 1) && (recorded >= 5) == (runs == 3);
  if (marked && recorded > MZ_HISTORY_VERSION && recorded <= VERSION_PLAUSIBLE)
    *kind = MZ_HISTORY_NEWER;
  else if (marked && whole && recorded == MZ_HISTORY_VERSION)
    *kind = MZ_HISTORY_OURS;
  else if (marked && whole && recorded >= 1 && recorded < MZ_HISTORY_VERSION)
    *kind = MZ_HISTORY_OLDER;
  else if (marked || whole)
    *kind = MZ_HISTORY_DAMAGED;
  else
    *kind = parts == 0 && application == 0 && recorded == 0 ? MZ_HISTORY_EMPTY : MZ_HISTORY_FOREIGN;
  return SQLITE_OK;
}

static int run_transaction(sqlite3 *db, const char *sql) {
  const int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
  if (rc != SQLITE_OK && !sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* the first error counts */
  return rc;
}

int mz_history_schema_create(sqlite3 *db) {
  char sql[sizeof create + 32];
  snprintf(sql, sizeof sql, create, MZ_HISTORY_APPLICATION, MZ_HISTORY_VERSION);
  return run_transaction(db, sql);
}

int mz_history_schema_migrate(sqlite3 *db, int version) {
  char sql[sizeof from_1 + sizeof from_2 + sizeof from_3 + sizeof from_4 + 64];
  snprintf(sql, sizeof sql, "BEGIN IMMEDIATE;%s%s%s%sPRAGMA user_version = %d;COMMIT", version < 2 ? from_1 : "",
           version < 3 ? from_2 : "", version < 4 ? from_3 : "", from_4, MZ_HISTORY_VERSION);
  return run_transaction(db, sql);
}

/* *last: the newest row to go where more than `keep` ids are in use; 0: none has to. */
static int last_to_go(sqlite3 *db, const char *table, int keep, int64_t *last) {
  int64_t oldest = 0, newest = 0;
  char sql[64];
  *last = 0;
  snprintf(sql, sizeof sql, "SELECT min(id) FROM %s", table);
  int rc = ask(db, sql, &oldest);
  snprintf(sql, sizeof sql, "SELECT max(id) FROM %s", table);
  if (rc == SQLITE_OK) rc = ask(db, sql, &newest);
  if (rc == SQLITE_OK && newest - oldest >= keep) *last = newest - keep;
  return rc;
}

int mz_history_schema_trim(sqlite3 *db, int keep) {
  int64_t last;
  int rc = last_to_go(db, "measurements", keep, &last);
  if (rc != SQLITE_OK || last == 0) return rc;
  sqlite3_stmt *statement = NULL;
  rc = sqlite3_prepare_v2(db, "DELETE FROM measurements WHERE id <= ?", -1, &statement, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(statement, 1, last);
  if (rc == SQLITE_OK) rc = sqlite3_step(statement);
  sqlite3_finalize(statement);
  if (rc != SQLITE_DONE) return rc;
  return sqlite3_exec(
      db,
      "DELETE FROM pipelines WHERE NOT EXISTS (SELECT 1 FROM measurements AS m WHERE m.machine = pipelines.machine"
      " AND m.env = pipelines.env AND m.network = pipelines.network AND m.work = pipelines.work)",
      NULL, NULL, NULL);
}

int mz_history_schema_trim_runs(sqlite3 *db, int keep) {
  int64_t last;
  char sql[200];
  const int rc = last_to_go(db, "runs", keep, &last);
  if (rc != SQLITE_OK || last == 0) return rc;
  snprintf(sql, sizeof sql, "BEGIN IMMEDIATE; DELETE FROM epochs WHERE run <= %lld; DELETE FROM runs WHERE id <= %lld; COMMIT",
           (long long)last, (long long)last);
  return run_transaction(db, sql);
}

int mz_history_schema_prepare(sqlite3 *db, sqlite3_stmt *statements[MZ_HISTORY_STATEMENTS]) {
  for (int i = 0; i < MZ_HISTORY_STATEMENTS; i++) {
    const int rc = sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL);
    if (rc == SQLITE_OK) continue;
    mz_history_schema_finalize(statements);
    return rc;
  }
  return SQLITE_OK;
}

void mz_history_schema_finalize(sqlite3_stmt *statements[MZ_HISTORY_STATEMENTS]) {
  for (int i = 0; i < MZ_HISTORY_STATEMENTS; i++) {
    sqlite3_finalize(statements[i]); /* repeats the error of its last step, which was dealt with */
    statements[i] = NULL;
  }
}
