/* The CUDA module, opened in all the ways that it cannot be. A process opens it once, so each way has a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/module.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct outcome {
  mz_status status;
  char message[MZ_MESSAGE_MAX];
  int devices;
  char architectures[64];
  mz_module_device last;
  mz_module_versions versions;
  mz_status beyond; /* of a device that is not there */
  char beyond_message[MZ_MESSAGE_MAX];
} outcome;

static void look(outcome *out) {
  const mz_module *module = NULL, *again = NULL;
  out->status = mz_module_open(&module);
  snprintf(out->message, sizeof out->message, "%s", mz_message());
  mz_fail(MZ_E_INTERNAL, "another failure in between");
  if (mz_module_open(&again) != out->status || again != module) abort();
  if (strcmp(mz_message(), out->status == MZ_OK ? "another failure in between" : out->message) != 0) abort();
  if (out->status != MZ_OK) return;
  if (module->count_devices(&out->devices) != MZ_OK) abort();
  snprintf(out->architectures, sizeof out->architectures, "%s", module->architectures);
  if (out->devices > 0 && module->describe(out->devices - 1, &out->last) != MZ_OK) abort();
  if (module->versions(&out->versions) != MZ_OK || strcmp(module->backend->name, "cuda") != 0) abort();
  out->beyond = module->describe(out->devices, &out->last);
  snprintf(out->beyond_message, sizeof out->beyond_message, "%s", mz_message());
  if (out->devices > 0 && module->describe(out->devices - 1, &out->last) != MZ_OK) abort();
}

/* Returns the outcome in a process that has the module's file, and one variable of the stand-in, set so. */
static outcome open_with(const char *file, const char *variable, const char *value) {
  int ends[2], how;
  outcome out = {0};
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    setenv("MUZERO_CUDA_MODULE", file, 1);
    if (variable != NULL) setenv(variable, value, 1);
    look(&out);
    _exit(write(ends[1], &out, sizeof out) == (ssize_t)sizeof out ? 0 : 1);
  }
  assert_int_equal(read(ends[0], &out, sizeof out), sizeof out);
  close(ends[0]), close(ends[1]);
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  return out;
}

static void expect_refusal(const outcome *out, const char *text) {
  assert_int_equal(out->status, MZ_E_DEVICE);
  if (strstr(out->message, text) == NULL) fail_msg("'%s' is not in '%s'", text, out->message);
}

static void a_module_lists_its_devices(void **unused) {
  (void)unused;
  const outcome out = open_with(FAKE_MODULE, "FAKE_GPU_MODELS", "Fake A,Fake B");
  if (out.status != MZ_OK) fail_msg("%s", out.message);
  assert_int_equal(out.devices, 2);
  assert_string_equal(out.last.name, "Fake B");
  assert_true(out.last.usable && out.last.memory_bytes == 8ull << 30);
  assert_string_equal(out.architectures, "none");
  assert_int_equal(out.versions.driver, 13000);
}

static void a_failure_inside_has_its_message_outside(void **unused) {
  (void)unused;
  const outcome out = open_with(FAKE_MODULE, NULL, NULL);
  assert_int_equal(out.beyond, MZ_E_DEVICE);
  assert_string_equal(out.beyond_message, "cuda:2: there is no such device");
}

static void a_module_without_devices_is_open_all_the_same(void **unused) {
  (void)unused;
  const outcome out = open_with(FAKE_MODULE, "FAKE_GPUS", "0");
  assert_int_equal(out.status, MZ_OK);
  assert_int_equal(out.devices, 0);
}

static void what_is_no_module_is_refused(void **unused) {
  (void)unused;
  outcome out = open_with("/nowhere/libmuzero_cuda.so", NULL, NULL);
  expect_refusal(&out, "/nowhere/libmuzero_cuda.so: there is no such file (MUZERO_CUDA_MODULE)");
  out = open_with(TEST_DATA "/signature.txt", NULL, NULL);
  expect_refusal(&out, "cannot be loaded");
  out = open_with(FAKE_NVML, NULL, NULL);
  expect_refusal(&out, "no module of muzero");
}

static void a_module_of_another_version_is_refused(void **unused) {
  (void)unused;
  outcome out = open_with(FAKE_MODULE, "FAKE_VERSION", "0.0.0");
  expect_refusal(&out, "belongs to muzero 0.0.0");
  out = open_with(FAKE_MODULE, "FAKE_INTERFACE", "7");
  expect_refusal(&out, "interface 7, this program has");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_module_lists_its_devices),
      cmocka_unit_test(a_failure_inside_has_its_message_outside),
      cmocka_unit_test(a_module_without_devices_is_open_all_the_same),
      cmocka_unit_test(what_is_no_module_is_refused),
      cmocka_unit_test(a_module_of_another_version_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
