/* Runs in the formats of earlier programs (tests/data/formats, made by make.sh there) are read, and continue as they did then; what
 * a newer program wrote is told apart from damage, and left alone. */
#include "muzero/storage/checkpoint.h"
#include "muzero/trainer.h"
#include "allocator/records/ledger.h"
#include "base/maths/digest.h"
#include "testing.h"

static void copy_run(const char *format, const char *folder) {
  char command[1200];
  snprintf(command, sizeof command, "cp -r '%s/formats/%s/run' '%s/run'", TEST_DATA, format, folder);
  assert_int_equal(system(command), 0);
}

static void play_on(const char *run, int64_t rounds) {
  mz_run *resumed;
  const mz_run_options options = {.threads = 1};
  expect_ok(mz_run_resume(&resumed, run, &options, 0));
  play_to(resumed, rounds);
  mz_run_close(resumed);
}

static void check_format(const char *format, unsigned version) {
  char folder[64], path[512], run[128];
  uint8_t *text;
  size_t size;
  make_folder(folder);
  copy_run(format, folder);
  snprintf(run, sizeof run, "%s/run", folder);
  snprintf(path, sizeof path, "%s/formats/%s/digest", TEST_DATA, format);
  expect_ok(mz_file_read(path, 100, &text, &size));
  char *end;
  const uint64_t digest_12 = strtoull((const char *)text, &end, 16), digest_20 = strtoull(end, NULL, 16);
  free(text);

  mz_checkpoint checkpoint;
  expect_ok(mz_run_checkpoint_path(run, path, sizeof path));
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  assert_int_equal(checkpoint.version, version);
  mz_checkpoint_close(&checkpoint);
  assert_true(digest_of_run(run) == digest_12);
  play_on(run, 20);
  assert_true(digest_of_run(run) == digest_20);
  drop_folder(folder);
}

static void earlier_formats_are_read(void **state) {
  (void)state;
  check_format("1", 1);
  check_format("2", 2);
}

/* They hold settings that are no longer the allocator's: devices.selfplay and the like; and decisions by rules of their time. */
static void earlier_ledgers_are_followed(void **state) {
  (void)state;
  static const char *const formats[] = {"1", "2"};
  for (int i = 0; i < 2; i++) {
    char path[512];
    mz_replayed replayed;
    snprintf(path, sizeof path, "%s/formats/%s/run/ledger.jsonl", TEST_DATA, formats[i]);
    expect_ok(mz_ledger_replay(path, INT64_MAX, &replayed));
    assert_int_equal(replayed.followed, 4);
    assert_int_equal(replayed.decisions, 0);
    assert_true(mz_allocator_model(replayed.allocator)->plan_count > 0);
    mz_replayed_free(&replayed);
  }
}

static void copy_weights(const char *run, float *out, size_t *count) {
  mz_loaded *loaded;
  expect_ok(mz_loaded_open(&loaded, run));
  const mz_agent agent = mz_loaded_agent(loaded);
  *count = (size_t)agent.model->params.size;
  assert_true(*count <= 4096);
  memcpy(out, mz_prepared_values(agent.weights), *count * sizeof *out);
  mz_loaded_close(loaded);
}

static void open_latest(mz_checkpoint *checkpoint, const char *run) {
  char path[512];
  expect_ok(mz_run_checkpoint_path(run, path, sizeof path));
  expect_ok(mz_checkpoint_open(checkpoint, path));
}

/* The average of the weights, which an agent plays with, is a section of its own; earlier it ended section 'optimizer'. */
static void the_average_is_found_where_each_version_has_it(void **state) {
  (void)state;
  char folder[64], run[128];
  make_folder(folder);
  copy_run("2", folder);
  snprintf(run, sizeof run, "%s/run", folder);
  static float before[4096], after[4096];
  size_t count, same;
  copy_weights(run, before, &count);
  const uint64_t digest = digest_of_run(run);
  mz_checkpoint checkpoint;
  open_latest(&checkpoint, run);
  assert_null(mz_checkpoint_find(&checkpoint, "average"));
  const uint64_t with_average = mz_checkpoint_find(&checkpoint, "optimizer")->bytes;
  mz_checkpoint_close(&checkpoint);

  play_on(run, 12); /* no more rounds than there are: the state is saved as it was */
  open_latest(&checkpoint, run);
  const mz_section *average = mz_checkpoint_find(&checkpoint, "average");
  assert_non_null(average);
  assert_int_equal(mz_checkpoint_find(&checkpoint, "optimizer")->bytes + average->bytes, with_average);
  assert_int_equal(mz_checkpoint_find(&checkpoint, "optimizer")->version, 2);
  mz_checkpoint_close(&checkpoint);
  assert_true(digest_of_run(run) == digest);
  copy_weights(run, after, &same);
  assert_int_equal(count, same);
  assert_memory_equal(before, after, count * sizeof *after);
  drop_folder(folder);
}

/* A copy of the latest checkpoint without one of its sections, or with that cut short. */
static void rewrite_without(const char *run, const char *name, size_t kept) {
  mz_checkpoint checkpoint;
  char path[512];
  open_latest(&checkpoint, run);
  snprintf(path, sizeof path, "%s", checkpoint.path);
  mz_part parts[MZ_SECTIONS_MAX];
  int count = 0;
  for (int i = 0; i < checkpoint.count; i++) {
    const mz_section *s = &checkpoint.sections[i];
    const bool named = strcmp(s->name, name) == 0;
    if (named && kept == 0) continue;
    uint8_t *data;
    size_t size;
    expect_ok(mz_checkpoint_section(&checkpoint, s->name, 1 << 20, &data, &size));
    parts[count++] = (mz_part){s->name, data, named ? kept : size};
  }
  expect_ok(mz_checkpoint_write(path, parts, count));
  for (int i = 0; i < count; i++) free((void *)(uintptr_t)parts[i].data);
  mz_checkpoint_close(&checkpoint);
}

static void expect_refused(const char *run, const char *says) {
  mz_loaded *loaded;
  mz_run *resumed;
  assert_int_equal(mz_loaded_open(&loaded, run), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), says));
  assert_int_equal(mz_run_resume(&resumed, run, &(mz_run_options){.threads = 1}, 0), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), says));
}

static void an_average_that_is_missing_or_short_is_named(void **state) {
  (void)state;
  char folder[64], run[128];
  make_folder(folder);
  copy_run("2", folder);
  snprintf(run, sizeof run, "%s/run", folder);
  play_on(run, 12);
  rewrite_without(run, "average", 8);
  expect_refused(run, "section 'average'");
  rewrite_without(run, "average", 0);
  expect_refused(run, "section 'average' is missing");
  drop_folder(folder);
}

/* A file of the present format with another number in its header. */
static void write_newer(const char *path, const char *number, size_t at) {
  uint8_t *data;
  size_t size;
  expect_ok(mz_file_read(path, 0, &data, &size));
  memcpy(data + at, number, strlen(number));
  expect_ok(mz_file_write_atomic(path, data, size));
  free(data);
}

static void newer_files_are_named_and_left(void **state) {
  (void)state;
  char folder[64], run[128], newer[256], pack[256], command[1200];
  make_folder(folder);
  copy_run("2", folder);
  snprintf(run, sizeof run, "%s/run", folder);
  snprintf(newer, sizeof newer, "%s/checkpoints/round-000000001.mzc", run);
  snprintf(pack, sizeof pack, "%s/segments/0123456789abcdef.pack", run);
  snprintf(command, sizeof command,
           "cd %s && cp checkpoints/round-000000012.mzc %s && cp $(ls segments/*.pack | head -n 1) %s && "
           "cp $(ls segments/*.pack | head -n 1) segments/00000000000000ff.pack",
           run, newer, pack);
  assert_int_equal(system(command), 0);
  write_newer(newer, "\x63", 8);
  write_newer(pack, "99", 6);

  mz_checkpoint checkpoint;
  assert_int_equal(mz_checkpoint_open(&checkpoint, newer), MZ_E_CHECKPOINT);
  assert_int_equal(checkpoint.version, 0x63);
  assert_non_null(strstr(mz_message(), "newer"));

  play_on(run, 30); /* keeps one checkpoint, and saves more than once */
  snprintf(command, sizeof command,
           "cd %s && ls checkpoints/round-000000001.mzc segments/0123456789abcdef.pack "
           "segments/00000000000000ff.pack >/dev/null",
           run);
  assert_int_equal(system(command), 0);
  /* What the newer checkpoint needs is not known: no pack that was there is removed while it stays. */
  snprintf(command, sizeof command,
           "cd %s && for p in '%s'/formats/2/run/segments/*; do [ -e segments/${p##*/} ] || exit 1; done", run, TEST_DATA);
  assert_int_equal(system(command), 0);
  drop_folder(folder);
}

static void a_section_of_a_newer_version_is_named(void **state) {
  (void)state;
  char folder[64], path[128];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/one.mzc", folder);
  const mz_part parts[] = {{"config", "{}", 2}, {"games", "abc", 3}};
  expect_ok(mz_checkpoint_write(path, parts, 2));
  uint8_t *data;
  size_t size;
  expect_ok(mz_file_read(path, 0, &data, &size));
  enum { TABLE = 16, ENTRY = 64, NAME = 16 };
  assert_int_equal(data[TABLE + ENTRY + NAME], 1);
  data[TABLE + ENTRY + NAME] = 7;
  const uint64_t sum = mz_hash(data, TABLE + 2 * ENTRY, 0);
  memcpy(data + TABLE + 2 * ENTRY, &sum, sizeof sum);
  expect_ok(mz_file_write_atomic(path, data, size));
  free(data);

  mz_checkpoint checkpoint;
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  assert_int_equal(mz_checkpoint_section(&checkpoint, "games", 100, &data, &size), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "section 'games': written in version 7 by a newer muzero"));
  expect_ok(mz_checkpoint_section(&checkpoint, "config", 100, &data, &size));
  free(data);
  assert_int_equal(mz_checkpoint_section(&checkpoint, "config", 1, &data, &size), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "at most 1 can be needed"));
  mz_checkpoint_close(&checkpoint);
  drop_folder(folder);
}

int main(void) {
  setenv("MUZERO_ISA", "plain", 1); /* the level that the digests were made at; read when kernels are first chosen */
  const struct CMUnitTest tests[] = {cmocka_unit_test(earlier_formats_are_read),
                                     cmocka_unit_test(earlier_ledgers_are_followed),
                                     cmocka_unit_test(the_average_is_found_where_each_version_has_it),
                                     cmocka_unit_test(an_average_that_is_missing_or_short_is_named),
                                     cmocka_unit_test(newer_files_are_named_and_left),
                                     cmocka_unit_test(a_section_of_a_newer_version_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
