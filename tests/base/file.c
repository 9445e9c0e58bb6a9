#include "tests/base/own_folder.h"

static void expect_content(const char *path, const char *content) {
  uint8_t *data = NULL;
  size_t size = 0;
  assert_int_equal(mz_file_read(path, 0, &data, &size), MZ_OK);
  assert_int_equal(size, strlen(content));
  assert_string_equal((char *)data, content);
  free(data);
}

static void test_write_then_read(void **state) {
  (void)state;
  const char *path = in_folder("a");
  assert_int_equal(mz_file_write_atomic(path, "first", 5), MZ_OK);
  expect_content(path, "first");
  assert_int_equal(mz_file_write_atomic(path, "2nd", 3), MZ_OK);
  expect_content(path, "2nd");
  assert_int_equal(mz_file_write_atomic(path, "", 0), MZ_OK);
  expect_content(path, "");
  assert_int_equal(entries(), 1);
}

static void test_reads_without_a_size(void **state) {
  (void)state;
  uint8_t *data = NULL;
  size_t size = 0;
  assert_int_equal(mz_file_read("/proc/self/maps", 0, &data, &size), MZ_OK); /* stat says 0; larger than one page or not */
  assert_int_equal(strlen((char *)data), size);
  assert_true(size > 500);
  free(data);
}

static void test_read_errors_name_path_and_reason(void **state) {
  (void)state;
  uint8_t *data = NULL;
  size_t size = 1;
  assert_int_equal(mz_file_read("/nowhere/x", 0, &data, &size), MZ_E_IO);
  assert_string_equal(mz_message(), "/nowhere/x: cannot open: No such file or directory");
  assert_null(data);
  assert_int_equal(size, 0);
  assert_int_equal(mz_file_read(folder, 0, &data, &size), MZ_E_IO); /* a folder */
  assert_int_equal(mz_file_write_atomic(in_folder("big"), "123456", 6), MZ_OK);
  assert_int_equal(mz_file_read(in_folder("big"), 5, &data, &size), MZ_E_IO);
  assert_int_equal(mz_file_read("/dev/zero", 1000, &data, &size), MZ_E_IO); /* endless, but limited */
  assert_int_equal(mz_file_read(in_folder("big"), 6, &data, &size), MZ_OK);
  free(data);
  mz_alloc_fail_after(1);
  assert_int_equal(mz_file_read(in_folder("big"), 0, &data, &size), MZ_E_MEMORY);
  assert_null(data);
}

static char calls[64]; /* 's': a file is synced, 'f': a folder, 'r': renamed */
static int noted_fsync(int fd) {
  struct stat about;
  assert_int_equal(fstat(fd, &about), 0);
  strcat(calls, S_ISDIR(about.st_mode) ? "f" : "s");
  return fsync(fd);
}
static int noted_rename(const char *from, const char *to) {
  strcat(calls, "r");
  return rename(from, to);
}

/* In another order a crash of the machine could leave the new name with no contents, or neither file. */
static void test_a_write_is_on_the_disk_before_it_has_its_name(void **state) {
  (void)state;
  const mz_file_calls real = mz_file_system;
  calls[0] = '\0';
  mz_file_system.fsync = noted_fsync;
  mz_file_system.rename = noted_rename;
  const mz_status status = mz_file_write_atomic(in_folder("a"), "first", 5);
  mz_file_system = real;
  assert_int_equal(status, MZ_OK);
  assert_string_equal(calls, "srf");
}

/* Under a limit of the size of files write() first falls short and then fails with EFBIG: as on a full disk. */
static void test_failed_write_leaves_the_old_file(void **state) {
  (void)state;
  static char large[100000];
  const char *path = in_folder("kept");
  assert_int_equal(mz_file_write_atomic(path, "old", 3), MZ_OK);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit tight = {.rlim_cur = 5000, .rlim_max = before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const mz_status status = mz_file_write_atomic(path, large, sizeof large);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, MZ_E_IO);
  assert_non_null(strstr(mz_message(), "kept: cannot write: File too large"));
  expect_content(path, "old");
  assert_int_equal(entries(), 1); /* no temporary is left */
}

static void test_write_into_a_missing_or_closed_folder(void **state) {
  (void)state;
  assert_int_equal(mz_file_write_atomic(in_folder("no/such"), "x", 1), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "no/such: cannot write: No such file or directory"));
  if (geteuid() == 0) {
    print_message("skipped: root may write into every folder\n");
    return;
  }
  assert_int_equal(chmod(folder, 0500), 0);
  assert_int_equal(mz_file_write_atomic(in_folder("x"), "x", 1), MZ_E_IO);
}

/* Paths that a user names may be links and pipes. */
static void test_outputs_keep_links_and_pipes(void **state) {
  (void)state;
  char link[256], pipe[256], got[8] = "";
  snprintf(link, sizeof link, "%s", in_folder("link"));
  snprintf(pipe, sizeof pipe, "%s", in_folder("pipe"));
  assert_int_equal(mz_file_write_output(in_folder("target"), "old", 3), MZ_OK);
  assert_int_equal(symlink("target", link), 0);
  assert_int_equal(mz_file_check_output(link), MZ_OK);
  assert_int_equal(mz_file_write_output(link, "new", 3), MZ_OK);
  expect_content(in_folder("target"), "new");
  struct stat there;
  assert_true(lstat(link, &there) == 0 && S_ISLNK(there.st_mode));
  assert_int_equal(mkfifo(pipe, 0600), 0);
  const int reader = open(pipe, O_RDONLY | O_NONBLOCK);
  assert_int_equal(mz_file_check_output(pipe), MZ_OK);
  assert_int_equal(mz_file_write_output(pipe, "text", 4), MZ_OK);
  assert_int_equal(read(reader, got, sizeof got), 4);
  assert_string_equal(got, "text");
  assert_true(lstat(pipe, &there) == 0 && S_ISFIFO(there.st_mode));
  close(reader);
  assert_int_equal(mz_file_write_output(folder, "x", 1), MZ_E_IO);
  assert_int_equal(mz_file_check_output(folder), MZ_E_IO);
  assert_int_equal(mz_file_check_output(in_folder("no/such")), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "no/such: no file can be made there"));
  assert_int_equal(entries(), 3); /* looking leaves nothing */
}

static void test_append_is_all_or_nothing(void **state) {
  (void)state;
  const char *path = in_folder("log");
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  assert_true(fd >= 0);
  assert_int_equal(mz_file_append(fd, path, "one\n", 4), MZ_OK);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit tight = {.rlim_cur = 6, .rlim_max = before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const mz_status status = mz_file_append(fd, path, "two\n", 4); /* two bytes fit */
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_DFL);
  assert_int_equal(status, MZ_E_IO);
  expect_content(path, "one\n");
  assert_int_equal(mz_file_append(fd, path, "two\n", 4), MZ_OK);
  expect_content(path, "one\ntwo\n");
  close(fd);

  const int full = open("/dev/full", O_WRONLY);
  assert_true(full >= 0);
  assert_int_equal(mz_file_append(full, "/dev/full", "x", 1), MZ_E_IO);
  assert_string_equal(mz_message(), "/dev/full: cannot write: No space left on device");
  close(full);
}

static void test_truncate_cuts_but_never_extends(void **state) {
  (void)state;
  const char *path = in_folder("t");
  uint64_t missing = 9;
  int fd;
  assert_int_equal(mz_file_write_atomic(path, "123456", 6), MZ_OK);
  assert_int_equal(mz_file_open(path, MZ_FILE_APPEND, &fd), MZ_OK);
  assert_int_equal(mz_file_truncate(fd, path, 4, &missing), MZ_OK);
  assert_int_equal(missing, 0);
  expect_content(path, "1234");
  assert_int_equal(mz_file_truncate(fd, path, 7, &missing), MZ_OK);
  assert_int_equal(missing, 3);
  expect_content(path, "1234");
  assert_int_equal(mz_file_close(&fd, path), MZ_OK);
  assert_int_equal(fd, -1);
  assert_int_equal(mz_file_close(&fd, path), MZ_OK); /* closed already: fine */
}

static void test_read_at_an_offset(void **state) {
  (void)state;
  const char *path = in_folder("r");
  char out[8] = "";
  size_t got = 9;
  uint64_t size = 0;
  int fd;
  assert_int_equal(mz_file_open(path, MZ_FILE_READ, &fd), MZ_E_IO);
  assert_int_equal(fd, -1);
  assert_int_equal(mz_file_write_atomic(path, "0123456789", 10), MZ_OK);
  assert_int_equal(mz_file_open(path, MZ_FILE_READ, &fd), MZ_OK);
  assert_int_equal(mz_file_size(fd, path, &size), MZ_OK);
  assert_int_equal(size, 10);
  assert_int_equal(mz_file_read_at(fd, path, 3, out, 4, NULL), MZ_OK);
  assert_memory_equal(out, "3456", 4);
  assert_int_equal(mz_file_read_at(fd, path, 8, out, 4, &got), MZ_OK);
  assert_int_equal(got, 2);
  assert_int_equal(mz_file_read_at(fd, path, 8, out, 4, NULL), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "/r: cut off at byte 10"));
  assert_int_equal(mz_file_close(&fd, path), MZ_OK);
  assert_int_equal(mz_file_open(folder, MZ_FILE_READ, &fd), MZ_OK);
  assert_int_equal(mz_file_size(fd, folder, &size), MZ_E_IO); /* a folder */
  assert_int_equal(mz_file_close(&fd, folder), MZ_OK);
}

/* ---- files of lines ---- */

static int warnings;
static char warning[512];

static void keep_warning(void *context, mz_log_level level, const char *line) {
  (void)context;
  warnings += level == MZ_LOG_WARNING;
  snprintf(warning, sizeof warning, "%s", line);
}

static void expect_lines(const char *content, uint64_t offset, const char *left, int warned) {
  const char *path = in_folder("lines");
  uint64_t size = offset;
  int fd;
  assert_int_equal(mz_file_write_atomic(path, content, strlen(content)), MZ_OK);
  warnings = 0;
  mz_log_set_sink(keep_warning, NULL);
  assert_int_equal(mz_file_open_lines(path, &size, &fd), MZ_OK);
  mz_log_set_sink(NULL, NULL);
  assert_int_equal(warnings, warned);
  assert_int_equal(size, strlen(left));
  expect_content(path, left);
  assert_int_equal(mz_file_append(fd, path, "new\n", 4), MZ_OK);
  assert_int_equal(mz_file_sync(fd, path), MZ_OK);
  assert_int_equal(mz_file_close(&fd, path), MZ_OK);
}

static void test_lines_that_are_missing_are_a_warning(void **state) {
  (void)state;
  expect_lines("one\ntwo\nthree\n", 8, "one\ntwo\n", 0);
  expect_lines("one\ntwo\n", 8, "one\ntwo\n", 0);
  expect_lines("one\ntwo\n", 0, "", 0);
  expect_lines("one\ntwo\nth", 14, "one\ntwo\n", 1);
  assert_non_null(strstr(warning, "lines: 4 of 14 bytes are missing"));
  assert_non_null(strstr(warning, "at byte 8"));
  expect_lines("one\ntwo\n", 14, "one\ntwo\n", 1);
  expect_lines("on", 14, "", 1);
  expect_lines("", 14, "", 1);
  static char large[10001]; /* the last whole line ends before the last block that is searched */
  memset(large, 'x', sizeof large - 1);
  memcpy(large, "one\n", 4);
  expect_lines(large, 20000, "one\n", 1);
}

/* ---- names and folders ---- */

static void test_a_file_without_a_name(void **state) {
  (void)state;
  char path[256], out[4];
  int fd;
  uint64_t size = 0;
  snprintf(path, sizeof path, "%s", in_folder("x-XXXXXX.spill"));
  assert_int_equal(mz_file_open_unlinked(path, ".spill", &fd), MZ_OK);
  assert_int_equal(entries(), 0);
  assert_int_equal(mz_file_append(fd, path, "abcd", 4), MZ_OK);
  (void)mz_file_punch(fd, path, 0, 2); /* not every file system can */
  assert_int_equal(mz_file_size(fd, path, &size), MZ_OK);
  assert_int_equal(size, 4);
  assert_int_equal(mz_file_read_at(fd, path, 2, out, 2, NULL), MZ_OK);
  assert_memory_equal(out, "cd", 2);
  assert_int_equal(mz_file_close(&fd, path), MZ_OK);
  assert_true(mz_file_can_write(folder));
  assert_false(mz_file_can_write("/nowhere"));
  snprintf(path, sizeof path, "%s", in_folder("no/x-XXXXXX.spill"));
  assert_int_equal(mz_file_open_unlinked(path, ".spill", &fd), MZ_E_IO);
  assert_int_equal(fd, -1);
}

/* ---- interrupted and short calls ---- */

static int interrupted; /* every other call fails with EINTR */
static int interrupt(void) {
  interrupted++;
  errno = EINTR;
  return interrupted % 2;
}

static mz_file_calls real;
static int open_interrupted(const char *path, int flags, mode_t mode) { return interrupt() ? -1 : real.open(path, flags, mode); }
static ssize_t read_one(int fd, void *out, size_t size) { return interrupt() ? -1 : real.read(fd, out, size > 0); }

static ssize_t pread_one(int fd, void *out, size_t size, off_t at) {
  return interrupt() ? -1 : real.pread(fd, out, size > 0, at);
}

static ssize_t write_one(int fd, const void *data, size_t size) { return interrupt() ? -1 : real.write(fd, data, size > 0); }
static int fsync_interrupted(int fd) { return interrupt() ? -1 : real.fsync(fd); }
static int ftruncate_interrupted(int fd, off_t size) { return interrupt() ? -1 : real.ftruncate(fd, size); }
static int flock_interrupted(int fd, int operation) { return interrupt() ? -1 : real.flock(fd, operation); }

static void test_interrupted_and_short_calls_are_retried(void **state) {
  (void)state;
  const char *path = in_folder("x");
  uint64_t size = 7, missing;
  char out[4];
  int fd = -1, lock = -1;
  real = mz_file_system;
  mz_file_system.open = open_interrupted;
  mz_file_system.read = read_one;
  mz_file_system.pread = pread_one;
  mz_file_system.write = write_one;
  mz_file_system.fsync = fsync_interrupted;
  mz_file_system.ftruncate = ftruncate_interrupted;
  mz_file_system.flock = flock_interrupted;
  interrupted = 0;
  assert_int_equal(mz_file_write_atomic(path, "one\ntwo", 7), MZ_OK);
  assert_int_equal(mz_file_open_lines(path, &size, &fd), MZ_OK);
  assert_int_equal(mz_file_append(fd, path, "\nthree\n", 7), MZ_OK);
  assert_int_equal(mz_file_read_at(fd, path, 4, out, 4, NULL), MZ_OK);
  assert_int_equal(mz_file_truncate(fd, path, 8, &missing), MZ_OK);
  assert_int_equal(mz_file_sync(fd, path), MZ_OK);
  expect_content(path, "one\ntwo\n");
  assert_int_equal(mz_file_close(&fd, path), MZ_OK);
  assert_int_equal(mz_lock_acquire(in_folder("lock"), &lock), MZ_OK);
  mz_lock_release(lock);
  mz_file_system = real;
  assert_memory_equal(out, "two\n", 4);
  assert_true(interrupted > 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {WITH_FOLDER(test_write_then_read),
                                     WITH_FOLDER(test_a_write_is_on_the_disk_before_it_has_its_name),
                                     cmocka_unit_test(test_reads_without_a_size),
                                     WITH_FOLDER(test_read_errors_name_path_and_reason),
                                     WITH_FOLDER(test_failed_write_leaves_the_old_file),
                                     WITH_FOLDER(test_write_into_a_missing_or_closed_folder),
                                     WITH_FOLDER(test_outputs_keep_links_and_pipes),
                                     WITH_FOLDER(test_append_is_all_or_nothing),
                                     WITH_FOLDER(test_truncate_cuts_but_never_extends),
                                     WITH_FOLDER(test_read_at_an_offset),
                                     WITH_FOLDER(test_lines_that_are_missing_are_a_warning),
                                     WITH_FOLDER(test_a_file_without_a_name),
                                     WITH_FOLDER(test_interrupted_and_short_calls_are_retried)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
