/* Reading of committed safetensors fixtures in tests; every failure fails the test. Include after cmocka.h. */
#pragma once
#include "base/file/file.h"
#include "networks/parameters/safetensors.h"
#include <string.h>

typedef struct mz_fixture {
  uint8_t *data;
  mz_safetensors file;
} mz_fixture;

static inline void fixture_open(mz_fixture *fixture, const char *path) {
  size_t size;
  if (mz_file_read(path, 0, &fixture->data, &size) != MZ_OK) fail_msg("%s", mz_message());
  if (mz_safetensors_parse(fixture->data, size, path, MZ_E_IO, &fixture->file) != MZ_OK) fail_msg("%s", mz_message());
}

static inline void fixture_close(mz_fixture *fixture) {
  mz_safetensors_deinit(&fixture->file);
  free(fixture->data);
}

static inline const mz_tensor_view *fixture_tensor(const mz_fixture *fixture, const char *name, const char *dtype, size_t bytes) {
  const mz_tensor_view *tensor = mz_safetensors_find(&fixture->file, name);
  if (!tensor) fail_msg("the fixture has no tensor %s", name);
  assert_string_equal(tensor->dtype, dtype);
  assert_int_equal(tensor->bytes, bytes);
  return tensor;
}

/* Dense elements of a tensor that must have exactly `count`. */
static inline void fixture_f32(const mz_fixture *fixture, const char *name, size_t count, float *out) {
  memcpy(out, fixture_tensor(fixture, name, "F32", count * sizeof *out)->data, count * sizeof *out);
}

static inline void fixture_f64(const mz_fixture *fixture, const char *name, size_t count, double *out) {
  memcpy(out, fixture_tensor(fixture, name, "F64", count * sizeof *out)->data, count * sizeof *out);
}

/* Reads the numbers of a tensor of either width. */
static inline void fixture_numbers(const mz_fixture *fixture, const char *name, size_t count, double *out) {
  const mz_tensor_view *tensor = mz_safetensors_find(&fixture->file, name);
  if (!tensor) fail_msg("the fixture has no tensor %s", name);
  if (strcmp(tensor->dtype, "F64") == 0) {
    fixture_f64(fixture, name, count, out);
    return;
  }
  const float *values = (const float *)(const void *)fixture_tensor(fixture, name, "F32", count * sizeof *values)->data;
  for (size_t i = 0; i < count; i++) out[i] = values[i];
}

static inline double fixture_scalar(const mz_fixture *fixture, const char *name) {
  double value;
  fixture_f64(fixture, name, 1, &value);
  return value;
}
