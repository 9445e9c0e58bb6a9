/* Runs in the formats of earlier programs (tests/data/formats, made by make.sh there) are read, and continue as they did then; what
 * a newer program wrote is told apart from damage, and left alone. */
#include "muzero/storage/checkpoint.h"
#include "muzero/muzero.h"
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
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = rounds};
  while (reason == MZ_GOES_ON) {
    mz_phase phase;
    expect_ok(mz_run_phase(resumed, &limits, NULL, NULL, &phase, &reason));
  }
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
  snprintf(command, sizeof command, "cd %s && ls checkpoints/round-000000001.mzc segments/0123456789abcdef.pack >/dev/null", run);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(earlier_formats_are_read), cmocka_unit_test(newer_files_are_named_and_left),
                                     cmocka_unit_test(a_section_of_a_newer_version_is_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
