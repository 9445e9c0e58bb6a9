/* Names, folders, trees and locks. */
#include "tests/base/own_folder.h"

/* ---- names and folders ---- */

static mz_status count_names(void *context, const char *name) {
  int *count = context;
  *count += name[0] == 'a';
  return strcmp(name, "stop") == 0 ? mz_fail(MZ_E_CONFIG, "no more") : MZ_OK;
}

/* Killed writers leave such files; one whose name is only a little like theirs is somebody's. */
static void test_what_was_left_goes(void **state) {
  (void)state;
  static const char *const left[] = {"config.json.4999999.4.tmp", "x.4999999.0.tmp", "replay-aB3dE6.spill"}; /* no process is */
  static const char *const others[] = {"thesis.tmp", "a.1.tmp",       "b.1.2.tmp.bak", ".1.2.tmp",
                                       "data.spill", "a-bcdef.spill", "c.x1.2.tmp",    "at_work.1.0.tmp"};
  enum { OTHERS = sizeof others / sizeof *others };
  for (int i = 0; i < 3; i++) assert_int_equal(mz_file_write_atomic(in_folder(left[i]), "", 0), MZ_OK);
  for (int i = 0; i < OTHERS; i++) assert_int_equal(mz_file_write_atomic(in_folder(others[i]), "", 0), MZ_OK);
  assert_int_equal(mz_file_remove_left(folder), MZ_OK);
  for (int i = 0; i < OTHERS; i++) assert_true(mz_file_exists(in_folder(others[i])));
  assert_int_equal(entries(), OTHERS);
  assert_int_equal(mz_file_remove_left(in_folder("none")), MZ_OK);
}

static void test_list_rename_and_remove(void **state) {
  (void)state;
  static const char *const names[] = {"a.tmp", "ab.tmp", "a.tmp.x", "tmp"};
  int count = 0;
  for (int i = 0; i < 4; i++) assert_int_equal(mz_file_write_atomic(in_folder(names[i]), "", 0), MZ_OK);
  assert_int_equal(mz_file_list(folder, count_names, &count), MZ_OK);
  assert_int_equal(count, 3);
  for (int i = 0; i < 2; i++) assert_int_equal(mz_file_remove(in_folder(names[i])), MZ_OK);
  assert_int_equal(entries(), 2);
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

/* ---- interrupted and short calls ---- */

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

static int locks_refused; /* so many tries to come are refused, as while somebody looks */
static int (*real_flock)(int fd, int operation);
static int refuse_some(int fd, int operation) {
  if (locks_refused == 0) return real_flock(fd, operation);
  locks_refused--;
  errno = EWOULDBLOCK;
  return -1;
}

/* Who looks whether a lock is held holds it for a moment. */
static void test_a_look_keeps_nobody_from_the_lock(void **state) {
  (void)state;
  const char *path = in_folder("lock");
  int fd = -1;
  real_flock = mz_file_system.flock;
  mz_file_system.flock = refuse_some;
  locks_refused = 2;
  const mz_status taken = mz_lock_acquire(path, &fd);
  mz_lock_release(fd);
  locks_refused = 1000;
  const mz_status kept = mz_lock_acquire(path, &fd);
  mz_file_system.flock = real_flock;
  assert_int_equal(taken, MZ_OK);
  assert_int_equal(kept, MZ_E_IO);
  assert_in_range(locks_refused, 1, 998); /* it tried again, and gave up */
  assert_non_null(strstr(mz_message(), "in use by another process"));
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

int main(void) {
  const struct CMUnitTest tests[] = {WITH_FOLDER(test_what_was_left_goes),
                                     WITH_FOLDER(test_list_rename_and_remove),
                                     WITH_FOLDER(test_remove_tree_does_not_follow_links),
                                     WITH_FOLDER(test_a_folder_is_locked_by_one),
                                     WITH_FOLDER(test_mkdirs_and_tests_of_existence),
                                     cmocka_unit_test(test_path_join),
                                     WITH_FOLDER(test_lock_names_its_owner),
                                     WITH_FOLDER(test_a_look_keeps_nobody_from_the_lock),
                                     WITH_FOLDER(test_lock_dies_with_its_owner)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
