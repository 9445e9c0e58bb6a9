/* Weights are written and read back; other weights are refused, and nothing is changed then. */
#include "tests/networks/safetensors_bytes.h"

static void a_written_file_is_read_back(void **state) {
  (void)state;
  const double values[] = {1.5, -2.0, 1e300};
  const uint8_t flags[] = {1, 0, 1};
  const mz_tensor_view tensors[] = {
      {.name = "flags", .dtype = "BOOL", .dims = 1, .shape = {3}, .data = flags, .bytes = 3},
      {.name = "quoted \"name\"",
       .dtype = "F64",
       .dims = 3,
       .shape = {1, 3, 1},
       .data = (const uint8_t *)values,
       .bytes = sizeof values},
      {.name = "scalar", .dtype = "F64", .dims = 0, .data = (const uint8_t *)values, .bytes = 8},
      {.name = "empty", .dtype = "F32", .dims = 2, .shape = {0, 7}, .data = NULL, .bytes = 0},
      {.name = "Scalar", .dtype = "U8", .dims = 0, .data = flags, .bytes = 1},
  };
  cJSON *metadata = cJSON_CreateObject();
  cJSON_AddStringToObject(metadata, "env", "tictactoe");
  uint8_t *data;
  size_t size;
  assert_int_equal(mz_safetensors_write(tensors, 5, metadata, &data, &size), MZ_OK);
  uint64_t header_size;
  memcpy(&header_size, data, 8);
  assert_int_equal(header_size % 8, 0);

  mz_safetensors parsed;
  if (mz_safetensors_parse(data, size, "f", MZ_E_IO, &parsed) != MZ_OK) fail_msg("%s", mz_message());
  assert_int_equal(parsed.count, 5);
  for (int i = 0; i < 5; i++) {
    const mz_tensor_view *tensor = &parsed.tensors[i];
    assert_string_equal(tensor->name, tensors[i].name);
    assert_string_equal(tensor->dtype, tensors[i].dtype);
    assert_int_equal(tensor->dims, tensors[i].dims);
    assert_memory_equal(tensor->shape, tensors[i].shape, sizeof tensor->shape);
    assert_int_equal(tensor->bytes, tensors[i].bytes);
    if (tensor->bytes > 0) assert_memory_equal(tensor->data, tensors[i].data, tensor->bytes);
  }
  assert_true(cJSON_Compare(cJSON_GetObjectItemCaseSensitive(parsed.header, "__metadata__"), metadata, true));
  mz_safetensors_deinit(&parsed);
  cJSON_Delete(metadata);
  free(data);
}

static mz_params example(void) {
  mz_params params = {0};
  mz_params_add(&params, "in.weight", 3, 20, true, MZ_INIT_HE, 3);
  mz_params_add(&params, "in.bias", 1, 20, false, MZ_INIT_GLOROT, 3);
  mz_params_add(&params, "out.weight", 20, 2, true, MZ_INIT_SMALL, 20);
  return params;
}

static float *allocate(const mz_params *params) {
  float *values;
  assert_int_equal(mz_alloc(&values, (size_t)params->size, sizeof *values), MZ_OK);
  return values;
}

static void weights_are_read_back_with_zero_padding(void **state) {
  (void)state;
  const mz_params params = example();
  float *values = allocate(&params), *again = allocate(&params);
  mz_params_init(&params, 5, values);
  uint8_t *data;
  size_t size;
  assert_int_equal(mz_weights_write(&params, values, NULL, &data, &size), MZ_OK);
  mz_safetensors file;
  assert_int_equal(mz_safetensors_parse(data, size, "f", MZ_E_IO, &file), MZ_OK);
  assert_int_equal(file.tensors[0].bytes, 3 * 20 * 4); /* dense */
  assert_null(cJSON_GetObjectItemCaseSensitive(file.header, "__metadata__"));
  memset(again, 0xff, (size_t)params.size * sizeof *again);
  if (mz_weights_read(&params, &file, "", "f", MZ_E_IO, again) != MZ_OK) fail_msg("%s", mz_message());
  assert_memory_equal(again, values, (size_t)params.size * sizeof *again);
  mz_safetensors_deinit(&file);
  free(data);
  free(values);
  free(again);
}

/* Writes parameters as `written`, reads them as example() does under `prefix`. */
static mz_status read_as_example(const mz_params *written, const char *prefix, float *values) {
  float *source = allocate(written);
  mz_params_init(written, 5, source);
  uint8_t *data;
  size_t size;
  assert_int_equal(mz_weights_write(written, source, NULL, &data, &size), MZ_OK);
  mz_safetensors file;
  assert_int_equal(mz_safetensors_parse(data, size, "f", MZ_E_IO, &file), MZ_OK);
  const mz_params params = example();
  const mz_status status = mz_weights_read(&params, &file, prefix, "weights.file", MZ_E_CHECKPOINT, values);
  mz_safetensors_deinit(&file);
  free(data);
  free(source);
  return status;
}

static void other_weights_are_refused_and_nothing_is_changed(void **state) {
  (void)state;
  const mz_params params = example();
  float *values = allocate(&params);
  values[0] = 7.0f;

  mz_params written = example();
  strcpy(written.items[2].name, "out.w");
  assert_int_equal(read_as_example(&written, "", values), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), "weights.file: tensor \"out.weight\" is missing: the model has F32 [20, 2]");

  written = (mz_params){0};
  mz_params_add(&written, "in.weight", 3, 20, true, MZ_INIT_HE, 3);
  mz_params_add(&written, "in.bias", 1, 20, false, MZ_INIT_ZERO, 3);
  mz_params_add(&written, "out.weight", 2, 20, true, MZ_INIT_HE, 2);
  assert_int_equal(read_as_example(&written, "", values), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), "weights.file: tensor \"out.weight\": is F32 [2, 20], the model has F32 [20, 2]");

  written = example();
  assert_int_equal(read_as_example(&written, "target.", values), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "\"target.in.weight\" is missing"));
  assert_true(values[0] == 7.0f);

  for (int i = 0; i < written.count; i++) {
    char name[64];
    snprintf(name, sizeof name, "target.%.50s", params.items[i].name);
    strcpy(written.items[i].name, name);
  }
  assert_int_equal(read_as_example(&written, "target.", values), MZ_OK);
  assert_true(values[0] != 7.0f);
  free(values);
}

static void another_dtype_is_refused(void **state) {
  (void)state;
  mz_params params = {0};
  mz_params_add(&params, "a", 1, 2, true, MZ_INIT_HE, 1);
  float *values = allocate(&params);
  static const struct {
    const char *header, *found;
  } files[] = {
      {"{'a':{'dtype':'I32','shape':[1,2],'data_offsets':[0,8]}}", "is I32 [1, 2], the model has F32 [1, 2]"},
      {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", "is F32 [2], the model has F32 [1, 2]"},
  };
  for (int i = 0; i < 2; i++) {
    const bytes file = file_of(files[i].header, 8);
    mz_safetensors parsed;
    assert_int_equal(mz_safetensors_parse(file.data, file.size, "f", MZ_E_IO, &parsed), MZ_OK);
    assert_int_equal(mz_weights_read(&params, &parsed, "", "f", MZ_E_IO, values), MZ_E_IO);
    if (!strstr(mz_message(), files[i].found)) fail_msg("%s", mz_message());
    mz_safetensors_deinit(&parsed);
    free(file.data);
  }
  free(values);
}

/* Whichever allocation fails, it is reported as such and nothing leaks. */
static void failed_allocations_are_survived(void **state) {
  (void)state;
  const mz_params params = example();
  float *values = allocate(&params);
  for (long n = 1;; n++) {
    uint8_t *data = NULL;
    size_t size;
    mz_safetensors file = {0};
    mz_alloc_fail_after(n);
    mz_status status = mz_weights_write(&params, values, NULL, &data, &size);
    if (status == MZ_OK) status = mz_safetensors_parse(data, size, "f", MZ_E_IO, &file);
    mz_alloc_fail_after(0);
    mz_safetensors_deinit(&file);
    free(data);
    if (status == MZ_OK) {
      assert_true(n > 4);
      break;
    }
    assert_int_equal(status, MZ_E_MEMORY);
  }
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_written_file_is_read_back), cmocka_unit_test(weights_are_read_back_with_zero_padding),
      cmocka_unit_test(other_weights_are_refused_and_nothing_is_changed), cmocka_unit_test(another_dtype_is_refused),
      cmocka_unit_test(failed_allocations_are_survived)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
