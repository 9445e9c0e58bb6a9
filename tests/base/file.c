#include "muzero/base/file.h"
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
  assert_int_equal(mz_file_write_atomic(path, "123456", 6), MZ_OK);
  assert_int_equal(mz_file_truncate(path, 4), MZ_OK);
  expect_content(path, "1234");
  assert_int_equal(mz_file_truncate(path, 4), MZ_OK);
  assert_int_equal(mz_file_truncate(path, 5), MZ_E_IO);
  expect_content(path, "1234");
  assert_int_equal(mz_file_truncate(in_folder("none"), 0), MZ_E_IO);
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
  mz_lock_release(fd);
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
      WITH_FOLDER(test_mkdirs_and_tests_of_existence),
      cmocka_unit_test(test_path_join),
      WITH_FOLDER(test_lock_names_its_owner),
      WITH_FOLDER(test_lock_dies_with_its_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
