/* The history of measurements. A first byte of 'r': a row's columns, one a line, as some other process may have written them; 'e': those
 * of an epoch of a learning curve; anything else: the database file itself. Files lie in memory (/dev/shm), since SQLite opens them by
 * its own calls. */
#include "allocator/records/curve_history.h"
#include "base/file/file.h"
#include "allocator/records/history_file.h"
#include "tests/fuzz/fuzz.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16 };

static char folder[64], rows_path[96], file_path[96];
static mz_pipeline pipeline;
static mz_history *history; /* of the rows */
static sqlite3_stmt *update, *update_epoch;
static const mz_curve_key curve_key = {.machine = "m", .env = "e", .network = "n", .learning = "l", .timing = "t"};
static const mz_history_key key = {.machine = "m", .env = "e", .network = "n", .work = "w"};

static void remove_folder(void) { (void)mz_file_remove_tree(folder); }

/* The pipeline of the ledger among the seeds. */
static void read_pipeline(void) {
  uint8_t *text;
  size_t size;
  cJSON *json;
  fuzz_seed_read("ledger/run.jsonl", &text, &size);
  fuzz_must(mz_json_parse((const char *)text, strcspn((const char *)text, "\n"), "ledger", false, MZ_E_CONFIG, &json));
  fuzz_must(mz_pipeline_from_json(&pipeline, cJSON_GetObjectItemCaseSensitive(json, "pipeline"), "ledger", MZ_E_CONFIG));
  cJSON_Delete(json);
  free(text);
}

/* One row, which inputs write over. */
static void open_rows(void) {
  mz_history_row row = {.key = key, .unix_s = 1, .source = "run", .version = "1", .units = 1, .utilisation = 1};
  for (int i = 0; i < pipeline.knob_count; i++) row.observation.plan.values[i] = pipeline.knobs[i].min;
  row.observation.unit_s = row.observation.round_s = 1;
  fuzz_must(mz_history_open(&history, rows_path));
  fuzz_must(mz_history_add(history, &pipeline, &row));
  sqlite3 *db = ((mz_history_file *)history)->db; /* its first member */
  MZ_ASSERT(row.id == 1 && db != NULL);
  MZ_ASSERT(sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 100", NULL, NULL, NULL) == SQLITE_OK);
  MZ_ASSERT(sqlite3_prepare_v2(db,
                               "UPDATE measurements SET plan = ?, stages = ?, source = ?, version = ?, unix_s = ?, units = ?, "
                               "unit_s = ?, round_s = ?, noise = ?, rounds = ?, cpu_s = ?, rss_bytes = ?, utilisation = ?",
                               -1, &update, NULL) == SQLITE_OK);
  MZ_ASSERT(sqlite3_prepare_v2(db,
                               "UPDATE epochs SET resources = ?, plan = ?, number = ?, score = ?, wall_s = ?, rounds_s = ?, "
                               "evaluation_s = ?, closing_s = ?, batch_size = ?, noise_scale = ?",
                               -1, &update_epoch, NULL) == SQLITE_OK);
}

/* One epoch, likewise. */
static void add_epoch(mz_history *to) {
  const mz_curve run = {.seed = 1, .moves = 1};
  mz_epoch epoch = {.number = 1, .score = 1, .wall_s = 1, .batch_size = 1, .amounts = {1}};
  int64_t id;
  fuzz_must(mz_history_begin_curve(to, &curve_key, &run, false, &id));
  fuzz_must(mz_history_add_epoch(to, &pipeline, id, &epoch));
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  snprintf(folder, sizeof folder, "/dev/shm/muzero-fuzz-%d", (int)getpid());
  snprintf(rows_path, sizeof rows_path, "%s/rows.db", folder);
  snprintf(file_path, sizeof file_path, "%s/file.db", folder);
  fuzz_must(mz_file_mkdirs(folder));
  atexit(remove_folder);
  read_pipeline();
  open_rows();
  add_epoch(history);
  return 0;
}

static void read_back(mz_history *from) {
  mz_history_row *rows;
  int count;
  fuzz_must(mz_history_read(from, &key, &pipeline, 8, &rows, &count));
  free(rows);
  mz_curve *curves;
  fuzz_must(mz_history_curves(from, &curve_key, &pipeline, 8, &curves, &count));
  mz_curves_free(curves, count);
}

static void read_columns(sqlite3_stmt *into, int columns, const uint8_t *data, size_t size) {
  static char text[TEXT_MAX];
  if (size >= sizeof text) return;
  memcpy(text, data, size);
  text[size] = '\0';
  char *line = text;
  for (int column = 1; column <= columns; column++) {
    char *end = line ? strchr(line, '\n') : NULL;
    if (end) *end = '\0';
    sqlite3_bind_text(into, column, line ? line : "", -1, SQLITE_STATIC);
    line = end ? end + 1 : NULL;
  }
  (void)sqlite3_step(into); /* a column of another type is refused */
  sqlite3_reset(into);
  read_back(history);
}

static void remove_files(void) {
  static const char *const suffixes[] = {"", "-wal", "-shm", ".damaged-1", ".damaged-1-wal", ".damaged-1-shm"};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s%s", file_path, suffixes[i]);
    fuzz_must(mz_file_remove(path));
  }
}

static void open_file(const uint8_t *data, size_t size) {
  mz_history *opened;
  mz_history_row row = {.key = key, .source = "run", .observation.unit_s = 1};
  const int fd = open(file_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  MZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
  if (mz_history_open(&opened, file_path) == MZ_OK) {
    (void)mz_history_count(opened);
    read_back(opened);
    (void)mz_history_add(opened, &pipeline, &row);
    add_epoch(opened);
    read_back(opened);
    mz_history_close(opened);
  }
  remove_files();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0 && data[0] == 'r')
    read_columns(update, 13, data + 1, size - 1);
  else if (size > 0 && data[0] == 'e')
    read_columns(update_epoch, 10, data + 1, size - 1);
  else
    open_file(data, size);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  if (size > 1 && (data[0] == 'r' || data[0] == 'e')) return 1 + fuzz_mutate_text(data + 1, size - 1, max_size - 1, &random);
  return fuzz_mutate_bytes(data, size, max_size, &random);
}
