/* Files of fitted courses: what is written is read back, by whoever reads courses, too; damaged ones are refused. */
#include "course_world.h"
#include <unistd.h>

static char path[] = "/tmp/muzero-course-fit-XXXXXX";

static void a_file_gives_back_what_was_fitted(void **unused) {
  (void)unused;
  static mz_fitted_course again;
  static mz_course plain;
  const mz_course_fit_options options = asked();
  run_grid(0.1, 0.5);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(mz_course_file_write(path, &fitted, &p.pipeline), MZ_OK);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_OK);
  assert_memory_equal(&again.course, &fitted.course, sizeof again.course);
  assert_memory_equal(again.plans, fitted.plans, sizeof again.plans);
  assert_memory_equal(again.composed, fitted.composed, sizeof again.composed);
  assert_memory_equal(&again.error, &fitted.error, sizeof again.error);
  assert_string_equal(again.env, "world");
  assert_string_equal(again.learning, "0123");
  assert_int_equal(again.epochs, EPOCHS);

  /* Whoever reads courses reads it, too, and it is the same course. */
  char *text = calloc(1, 1 << 20);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  const size_t size = fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  assert_int_equal(mz_course_read(&plain, text, size, path), MZ_OK);
  assert_int_equal(plain.digest, fitted.course.digest);
  free(text);
}

/* Writes the file with one stretch replaced, and reads it. */
static void damaged(const char *from, const char *to, const char *says) {
  static mz_fitted_course again;
  assert_int_equal(mz_course_file_write(path, &fitted, &p.pipeline), MZ_OK);
  char *text = calloc(1, 1 << 20);
  FILE *file = fopen(path, "r");
  fread(text, 1, (1 << 20) - 1, file);
  fclose(file);
  char *at = strstr(text, from);
  assert_non_null(at);
  file = fopen(path, "w");
  fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fclose(file);
  free(text);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
}

static void damaged_files_are_refused(void **unused) {
  (void)unused;
  damaged("\"fitted\"", "\"fited\"", "unknown key 'fited'");
  damaged("\"version\": 1,\n    \"env\"", "\"version\": 9,\n    \"env\"", "fitted: version 9: this program reads version 1");
  damaged("\"epochs\": 40", "\"epochs\": 4", "'epochs'");
  damaged("\"epochs\": 40", "\"simulated\": 4,\n    \"epochs\": 40", "'simulated'");
  damaged("\"makers\"", "\"bakers\"", "bakers");
  damaged("\"composed\": [", "\"composed\": [1, ", "'composed' has");
  damaged("\"seconds_noise\"", "\"seconds_noises\"", "'seconds_noise' is missing");
  static mz_fitted_course again;
  cJSON *json = mz_course_to_json(&fitted.course);
  char *text = mz_json_page(json);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
  free(text);
  cJSON_Delete(json);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "was not fitted to runs"));
  unlink(path);
  assert_int_equal(mz_course_file_read(&again, path, &p.pipeline), MZ_E_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_gives_back_what_was_fitted),
      cmocka_unit_test(damaged_files_are_refused),
  };
  const int failed = cmocka_run_group_tests(tests, setup, NULL);
  forget_runs();
  return failed;
}
