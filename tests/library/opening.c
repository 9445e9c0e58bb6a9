/* Opening and closing runs, as it should be and when something comes between. */
#include "own_run.h"
#include "base/file/file_calls.h"

static const char *in_dir(const char *name) {
  static char path[160];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static void read_text(const char *path, char *out, size_t room) {
  uint8_t *text;
  size_t size;
  expect_ok(mz_file_read(path, room - 1, &text, &size));
  memcpy(out, text, size + 1);
  free(text);
}

static void test_open_creates_then_resumes(void **state) {
  (void)state;
  const muzero_run_options options = tiny_options();
  muzero_run *run;
  expect_fine(muzero_run_open(&run, dir, &options));
  assert_int_equal(progress_of(run).rounds, 0);
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_run_open(&run, dir, &options));
  assert_int_equal(progress_of(run).rounds, 4);
  expect_fine(muzero_run_close(run));
}

static void test_a_run_of_another_environment_stays_as_it_is(void **state) {
  (void)state;
  static const char *const settings[] = {"checkpoint.keep=7"};
  char before[16384], after[16384];
  muzero_run_options options = tiny_options();
  muzero_run *run;
  tiny_trained(dir);
  read_text(in_dir("config.json"), before, sizeof before);
  options.settings = settings;
  options.settings_count = 1;
  options.env = "cartpole";
  expect_status(MUZERO_E_CONFIG, muzero_run_open(&run, dir, &options));
  expect_message("the run here is of tictactoe, not of cartpole");
  options.env = "cartpol";
  expect_status(MUZERO_E_CONFIG, muzero_run_open(&run, dir, &options));
  expect_message("did you mean cartpole?");
  read_text(in_dir("config.json"), after, sizeof after);
  assert_string_equal(after, before);
  options.env = "tictactoe";
  expect_fine(muzero_run_open(&run, dir, &options));
  expect_fine(muzero_run_close(run));
  read_text(in_dir("config.json"), after, sizeof after);
  assert_string_not_equal(after, before); /* the setting may change */
}

/* A kill may leave the first checkpoint without LATEST, which is no run yet. If config.json tells that there was one, nothing of it may be
 * written over. */
static void test_stopped_while_it_was_made(void **state) {
  (void)state;
  muzero_run_options options = tiny_options();
  muzero_run *run = tiny_run(dir);
  expect_fine(muzero_run_close(run));
  expect_ok(mz_file_remove(in_dir("LATEST")));
  expect_status(MUZERO_E_CONFIG, muzero_run_create(&run, dir, &options));
  expect_status(MUZERO_E_CHECKPOINT, muzero_run_open(&run, dir, &options));
  options.allow_fallback = 1;
  expect_fine(muzero_run_open(&run, dir, &options));
  expect_fine(muzero_run_close(run));

  expect_ok(mz_file_remove(in_dir("LATEST")));
  expect_ok(mz_file_remove(in_dir("config.json")));
  options.allow_fallback = 0;
  expect_fine(muzero_run_open(&run, dir, &options));
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_run_resume(&run, dir, NULL));
  assert_int_equal(progress_of(run).rounds, 4);
  expect_fine(muzero_run_close(run));
}

static void test_a_run_has_one_handle(void **state) {
  (void)state;
  muzero_run *run = tiny_run(dir), *second;
  expect_status(MUZERO_E_IO, muzero_run_resume(&second, dir, NULL));
  expect_fine(muzero_run_close(run));
}

/* Whichever allocation fails, opening says so and leaves no run behind that is open. */
static void test_opening_without_memory(void **state) {
  (void)state;
  const muzero_run_options options = tiny_options();
  bool failed = true;
  for (long n = 1; failed; n += 1 + n / 32) {
    muzero_run *run = NULL;
    mz_alloc_fail_after(n);
    const muzero_status status = muzero_run_open(&run, dir, &options);
    failed = mz_alloc_fail_after(0) == 0;
    assert_true((status == MUZERO_OK) == (run != NULL));
    if (run) expect_fine(muzero_run_close(run));
    expect_ok(mz_file_remove_tree(dir));
  }
}

/* ---- closing ---- */

static atomic_bool disk_is_full;
static int rename_unless_full(const char *from, const char *to) {
  if (!disk_is_full) return rename(from, to);
  errno = ENOSPC;
  return -1;
}

static int ask_for_checkpoint(void *context, const muzero_progress *progress) {
  (void)progress;
  disk_is_full = true;
  expect_fine(muzero_run_request(*(muzero_run **)context, MUZERO_REQUEST_CHECKPOINT));
  return 0;
}

/* The checkpoint of a request is written in the background; whether it could be, nobody asks but who closes. */
static void test_closing_tells_of_a_checkpoint_that_was_not_written(void **state) {
  (void)state;
  const mz_file_calls real = mz_file_system;
  muzero_run_options options = tiny_options();
  muzero_run *run;
  options.on_round = ask_for_checkpoint;
  options.context = &run;
  mz_file_system.rename = rename_unless_full;
  expect_fine(muzero_run_create(&run, dir, &options));
  expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
  expect_status(MUZERO_E_IO, muzero_run_close(run));
  expect_message("No space left on device");
  expect_status(MUZERO_E_USAGE, muzero_run_close(run));
  expect_message("is closed");
  disk_is_full = false;
  expect_fine(muzero_run_resume(&run, dir, NULL));
  assert_int_equal(progress_of(run).rounds, 0);
  expect_fine(muzero_run_close(run));
  mz_file_system = real;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_open_creates_then_resumes, make, drop),
      cmocka_unit_test_setup_teardown(test_a_run_of_another_environment_stays_as_it_is, make, drop),
      cmocka_unit_test_setup_teardown(test_stopped_while_it_was_made, make, drop),
      cmocka_unit_test_setup_teardown(test_a_run_has_one_handle, make, drop),
      cmocka_unit_test_setup_teardown(test_opening_without_memory, make, drop),
      cmocka_unit_test_setup_teardown(test_closing_tells_of_a_checkpoint_that_was_not_written, make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
