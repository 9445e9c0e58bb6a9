#include "base/file/file.h"
#include "base/file/file_calls.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char folder[64]; /* of this test; emptied by its end */

static const char *in_folder(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/mz_test_file_XXXXXX");
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", folder, folder);
  return system(command);
}

static void expect_content(const char *path, const char *content) {
  uint8_t *data = NULL;
  size_t size = 0;
  assert_int_equal(mz_file_read(path, 0, &data, &size), MZ_OK);
  assert_int_equal(size, strlen(content));
  assert_string_equal((char *)data, content);
  free(data);
}

static int entries(void) {
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  int count = -2; /* . and .. */
  while (readdir(dir) != NULL) count++;
  closedir(dir);
  return count;
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

/* With the size of files limited, write() first falls short and then fails with EFBIG: as on a full disk. */
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

static mz_status count_names(void *context, const char *name) {
  int *count = context;
  *count += name[0] == 'a';
  return strcmp(name, "stop") == 0 ? mz_fail(MZ_E_CONFIG, "no more") : MZ_OK;
}

static void test_list_rename_and_remove(void **state) {
  (void)state;
  static const char *const names[] = {"a.tmp", "ab.tmp", "a.tmp.x", "tmp"};
  int count = 0;
  for (int i = 0; i < 4; i++) assert_int_equal(mz_file_write_atomic(in_folder(names[i]), "", 0), MZ_OK);
  assert_int_equal(mz_file_list(folder, count_names, &count), MZ_OK);
  assert_int_equal(count, 3);
  assert_int_equal(mz_file_remove_ending(folder, ".tmp"), MZ_OK);
  assert_int_equal(entries(), 2);
  assert_int_equal(mz_file_remove_ending(in_folder("none"), ".tmp"), MZ_OK);
  assert_int_equal(mz_file_list(in_folder("none"), count_names, &count), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "none: cannot be read: No such file or directory"));
  char from[256];
  snprintf(from, sizeof from, "%s", in_folder("tmp"));
  assert_int_equal(mz_file_rename(from, in_folder("stop")), MZ_OK);
  assert_int_equal(mz_file_rename(from, in_folder("stop")), MZ_E_IO);
  assert_int_equal(mz_file_list(folder, count_names, &count), MZ_E_CONFIG);
  assert_int_equal(mz_file_remove(in_folder("stop")), MZ_OK);
  assert_int_equal(mz_file_remove(in_folder("stop")), MZ_OK); /* absent: fine */
  assert_int_equal(entries(), 1);
}

static void test_remove_tree_does_not_follow_links(void **state) {
  (void)state;
  char tree[256], link[256];
  snprintf(tree, sizeof tree, "%s", in_folder("tree"));
  snprintf(link, sizeof link, "%s", in_folder("tree/x/link"));
  assert_int_equal(mz_file_mkdirs(in_folder("tree/x/y")), MZ_OK);
  assert_int_equal(mz_file_mkdirs(in_folder("outside")), MZ_OK);
  assert_int_equal(mz_file_write_atomic(in_folder("tree/x/y/file"), "", 0), MZ_OK);
  assert_int_equal(mz_file_write_atomic(in_folder("outside/file"), "", 0), MZ_OK);
  assert_int_equal(symlink(in_folder("outside"), link), 0);
  assert_int_equal(mz_file_remove_tree(tree), MZ_OK);
  assert_false(mz_file_exists(tree));
  assert_true(mz_file_exists(in_folder("outside/file")));
  assert_int_equal(mz_file_remove_tree(tree), MZ_OK);
}

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

static void test_a_folder_is_locked_by_one(void **state) {
  (void)state;
  int first = -1, second = -1;
  assert_int_equal(mz_lock_folder(folder, 0, &first), MZ_OK);
  assert_int_equal(mz_lock_folder(folder, 20, &second), MZ_E_IO);
  assert_int_equal(second, -1);
  assert_int_equal(mz_file_close(&first, folder), MZ_OK);
  assert_int_equal(mz_lock_folder(folder, 0, &second), MZ_OK);
  assert_int_equal(mz_file_close(&second, folder), MZ_OK);
  assert_int_equal(entries(), 0);
}

static void test_mkdirs_and_tests_of_existence(void **state) {
  (void)state;
  assert_int_equal(mz_file_mkdirs(in_folder("x/y//z/")), MZ_OK);
  assert_true(mz_file_is_dir(in_folder("x/y/z")));
  assert_int_equal(mz_file_mkdirs(in_folder("x/y")), MZ_OK); /* is there: fine */
  assert_int_equal(mz_file_write_atomic(in_folder("file"), "", 0), MZ_OK);
  assert_true(mz_file_exists(in_folder("file")));
  assert_false(mz_file_is_dir(in_folder("file")));
  assert_false(mz_file_exists(in_folder("none")));
  assert_int_equal(mz_file_mkdirs(in_folder("file/sub")), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "/file: cannot make the folder: File exists"));
}

static void test_path_join(void **state) {
  (void)state;
  char out[8];
  assert_int_equal(mz_path_join(out, sizeof out, "ab", "cd"), MZ_OK);
  assert_string_equal(out, "ab/cd");
  assert_int_equal(mz_path_join(out, sizeof out, "/", "cd"), MZ_OK);
  assert_string_equal(out, "/cd");
  assert_int_equal(mz_path_join(out, sizeof out, "", "cd"), MZ_OK);
  assert_string_equal(out, "cd");
  assert_int_equal(mz_path_join(out, sizeof out, "abc", "efg"), MZ_OK); /* 7 and the NUL */
  assert_int_equal(mz_path_join(out, sizeof out, "abcd", "efg"), MZ_E_CONFIG);
}

static void test_lock_names_its_owner(void **state) {
  (void)state;
  const char *path = in_folder("lock");
  int fd = -1, second = 0;
  assert_int_equal(mz_lock_acquire(path, &fd), MZ_OK);
  char expected[400];
  snprintf(expected, sizeof expected, "%s: in use by process %d; wait for it to end, or stop it", path, (int)getpid());
  assert_int_equal(mz_lock_acquire(path, &second), MZ_E_IO);
  assert_string_equal(mz_message(), expected);
  assert_int_equal(second, -1);
  assert_true(mz_lock_is_held(path));
  mz_lock_release(fd);
  assert_false(mz_lock_is_held(path));
  assert_false(mz_lock_is_held(in_folder("no lock")));
  assert_false(mz_file_exists(in_folder("no lock")));
  assert_int_equal(mz_lock_acquire(path, &fd), MZ_OK);
  mz_lock_release(fd);
}

/* A killed owner's lock is free, whatever its file says. */
static void test_lock_dies_with_its_owner(void **state) {
  (void)state;
  const char *path = in_folder("lock");
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    int fd;
    const char byte = mz_lock_acquire(path, &fd) == MZ_OK ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char byte = 0;
  int fd = -1, status = 0;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(byte, 'y');
  assert_int_equal(mz_lock_acquire(path, &fd), MZ_E_IO);
  char pid[32];
  snprintf(pid, sizeof pid, "process %d;", (int)child);
  assert_non_null(strstr(mz_message(), pid));
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_false(mz_lock_is_held(path));
  assert_int_equal(mz_lock_acquire(path, &fd), MZ_OK);
  mz_lock_release(fd);
  close(ready[0]);
  close(ready[1]);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(test_write_then_read),
      cmocka_unit_test(test_reads_without_a_size),
      WITH_FOLDER(test_read_errors_name_path_and_reason),
      WITH_FOLDER(test_failed_write_leaves_the_old_file),
      WITH_FOLDER(test_write_into_a_missing_or_closed_folder),
      WITH_FOLDER(test_append_is_all_or_nothing),
      WITH_FOLDER(test_truncate_cuts_but_never_extends),
      WITH_FOLDER(test_read_at_an_offset),
      WITH_FOLDER(test_lines_that_are_missing_are_a_warning),
      WITH_FOLDER(test_list_rename_and_remove),
      WITH_FOLDER(test_remove_tree_does_not_follow_links),
      WITH_FOLDER(test_a_file_without_a_name),
      WITH_FOLDER(test_interrupted_and_short_calls_are_retried),
      WITH_FOLDER(test_a_folder_is_locked_by_one),
      WITH_FOLDER(test_mkdirs_and_tests_of_existence),
      cmocka_unit_test(test_path_join),
      WITH_FOLDER(test_lock_names_its_owner),
      WITH_FOLDER(test_lock_dies_with_its_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
