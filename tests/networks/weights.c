/* The safetensors reader against files that break one rule each, and parameters written and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/parameters/weights.h"
#include <string.h>

/* A file as bytes of exactly its size, so that the address sanitizer sees every read past the end. */
typedef struct bytes {
  uint8_t *data;
  size_t size;
} bytes;

static bytes bytes_of(uint64_t header_size, const char *header, size_t header_bytes, size_t buffer_size) {
  bytes file = {.size = 8 + header_bytes + buffer_size};
  file.data = malloc(file.size);
  assert_non_null(file.data);
  memcpy(file.data, &header_size, 8);
  memcpy(file.data + 8, header, header_bytes);
  for (size_t i = 0; i < buffer_size; i++) file.data[8 + header_bytes + i] = (uint8_t)(i + 1);
  return file;
}

/* Headers are written here with ' for ". */
static bytes file_of(const char *header, size_t buffer_size) {
  const bytes file = bytes_of(strlen(header), header, strlen(header), buffer_size);
  for (size_t i = 0; header[i]; i++)
    if (header[i] == '\'') file.data[8 + i] = '"';
  return file;
}

/* The file is refused with the caller's status, and the message names the file and the rule. */
static void refused(bytes file, const char *rule) {
  static const mz_status codes[] = {MZ_E_CHECKPOINT, MZ_E_IO};
  for (int i = 0; i < 2; i++) {
    mz_safetensors parsed;
    assert_int_equal(mz_safetensors_parse(file.data, file.size, "weights.file", codes[i], &parsed), codes[i]);
    if (!strstr(mz_message(), rule)) fail_msg("wanted \"%s\" in: %s", rule, mz_message());
    assert_ptr_equal(strstr(mz_message(), "weights.file"), mz_message());
    assert_null(parsed.header);
    assert_null(parsed.tensors);
  }
  free(file.data);
}

static const char small[] = "{'__metadata__':{'made':'here'},"
                            "'a':{'dtype':'F32','shape':[2,1],'data_offsets':[0,8]},"
                            "'b':{'dtype':'I64','shape':[],'data_offsets':[8,16]},"
                            "'c':{'dtype':'U8','shape':[0,3],'data_offsets':[16,16]},"
                            "'d':{'dtype':'BF16','shape':[3],'data_offsets':[16,22]}}   ";

static void a_small_file_is_read(void **state) {
  (void)state;
  const bytes file = file_of(small, 22);
  mz_safetensors parsed;
  if (mz_safetensors_parse(file.data, file.size, "f", MZ_E_IO, &parsed) != MZ_OK) fail_msg("%s", mz_message());
  assert_int_equal(parsed.count, 4);
  const uint8_t *buffer = file.data + 8 + strlen(small);
  const mz_tensor_view *a = mz_safetensors_find(&parsed, "a");
  assert_string_equal(a->dtype, "F32");
  assert_int_equal(a->dims, 2);
  assert_int_equal(a->shape[0], 2);
  assert_int_equal(a->shape[1], 1);
  assert_ptr_equal(a->data, buffer);
  assert_int_equal(a->bytes, 8);
  assert_int_equal(parsed.tensors[1].dims, 0);
  assert_int_equal(parsed.tensors[1].bytes, 8);
  assert_int_equal(parsed.tensors[2].bytes, 0);
  assert_ptr_equal(parsed.tensors[3].data, buffer + 16);
  assert_null(mz_safetensors_find(&parsed, "A"));
  assert_null(mz_safetensors_find(&parsed, "__metadata__"));
  mz_safetensors_deinit(&parsed);
  free(file.data);
}

static void header_length_is_bounded(void **state) {
  (void)state;
  refused(bytes_of(100000001, "{}", 2, 0), "header length 100000001: at most 100000000");
  refused(bytes_of(UINT64_MAX, "{}", 2, 0), "header length 18446744073709551615: at most 100000000");
  refused(bytes_of(3, "{}", 2, 0), "header length 3: longer than the file");
  refused(bytes_of(100000000, "{}", 2, 0), "header length 100000000: longer than the file");
  refused(bytes_of(0, "", 0, 0), "must begin with {");
}

typedef struct broken {
  const char *header;
  size_t buffer_size;
  const char *rule;
} broken;

static void every_rule_of_the_header_is_kept(void **state) {
  (void)state;
  static const broken files[] = {
      {"{'a':", 0, "header:1:6: the text ends too early"},
      {"{'a' 1}", 0, "header:1:6: not valid JSON"},
      {"{} x", 0, "header:1:4: not valid JSON"},
      {" {}", 0, "not JSON: must begin with {"},
      {"[1]", 0, "not JSON: must begin with {"},

      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},'a':{'dtype':'U8','shape':[1],'data_offsets':[1,2]}}", 2,
       "key 'a' is there twice"},
      {"{'a':{'dtype':'U8','dtype':'I8','shape':[1],'data_offsets':[0,1]}}", 1, "key 'dtype' is there twice"},
      {"{'__metadata__':{},'__metadata__':{}}", 0, "key '__metadata__' is there twice"},

      {"{'a':{'dtype':'F31','shape':[1],'data_offsets':[0,4]}}", 4, "unknown dtype F31"},
      {"{'a':{'dtype':'f32','shape':[1],'data_offsets':[0,4]}}", 4, "unknown dtype f32"},
      {"{'a':{'dtype':'F32_OR_SOMETHING_LONG','shape':[1],'data_offsets':[0,4]}}", 4, "unknown dtype F32_OR"},
      {"{'a':{'dtype':4,'shape':[1],'data_offsets':[0,4]}}", 4, "unknown dtype (not a string)"},

      {"{'a':{'dtype':'F32','shape':[1]}}", 0, "must have dtype, shape and data_offsets"},
      {"{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4],'x':1}}", 4, "must have dtype, shape and data_offsets"},
      {"{'a':[0,4]}", 4, "must have dtype, shape and data_offsets"},

      {"{'a':{'dtype':'F32','shape':1,'data_offsets':[0,4]}}", 4, "shape must be an array"},
      {"{'a':{'dtype':'F32','shape':{'x':1},'data_offsets':[0,4]}}", 4, "shape must be an array"},
      {"{'a':{'dtype':'F32','shape':[-1],'data_offsets':[0,4]}}", 4, "shape must hold whole numbers"},
      {"{'a':{'dtype':'F32','shape':[1.5],'data_offsets':[0,4]}}", 4, "shape must hold whole numbers"},
      {"{'a':{'dtype':'F32','shape':['1'],'data_offsets':[0,4]}}", 4, "shape must hold whole numbers"},
      {"{'a':{'dtype':'F32','shape':[1e30],'data_offsets':[0,4]}}", 4, "shape must hold whole numbers"},
      {"{'a':{'dtype':'U8','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,1]}}", 1, "more than 8 dimensions"},
      {"{'a':{'dtype':'U8','shape':[0,0,0,0,0,0,0,0,0,0],'data_offsets':[0,0]}}", 0, "more than 8 dimensions"},

      {"{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,4]}}", 4, "shape and dtype need 8 bytes, data_offsets hold 4"},
      {"{'a':{'dtype':'F32','shape':[],'data_offsets':[0,8]}}", 8, "shape and dtype need 4 bytes, data_offsets hold 8"},
      {"{'a':{'dtype':'U8','shape':[0],'data_offsets':[0,1]}}", 1, "shape and dtype need 0 bytes, data_offsets hold 1"},
      /* 2^32 · 2^32 elements: 0 bytes in 64 bits */
      {"{'a':{'dtype':'F32','shape':[4294967296,4294967296],'data_offsets':[0,0]}}", 0, "shape overflows"},
      {"{'a':{'dtype':'F64','shape':[4503599627370496,4503599627370496,0],'data_offsets':[0,0]}}", 0, "shape overflows"},

      {"{'a':{'dtype':'U8','shape':[4],'data_offsets':4}}", 4, "data_offsets must be two whole numbers"},
      {"{'a':{'dtype':'U8','shape':[4],'data_offsets':[4]}}", 4, "data_offsets must be two whole numbers"},
      {"{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4,4]}}", 4, "data_offsets must be two whole numbers"},
      {"{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,-4]}}", 4, "data_offsets must be two whole numbers"},
      {"{'a':{'dtype':'U8','shape':[4],'data_offsets':[4,0]}}", 4, "data_offsets end before they begin"},
      {"{'a':{'dtype':'U8','shape':[0],'data_offsets':[1,0]}}", 1, "data_offsets end before they begin"},
      {"{'a':{'dtype':'U8','shape':[5],'data_offsets':[0,5]}}", 4, "data_offsets reach beyond the file"},
      {"{'a':{'dtype':'U8','shape':[0],'data_offsets':[9007199254740992,9007199254740992]}}", 4,
       "data_offsets reach beyond the file"},

      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[1,2]}}", 2, "data_offsets leave a hole: begins at 1"},
      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},'b':{'dtype':'U8','shape':[1],'data_offsets':[2,3]}}", 3,
       "data_offsets leave a hole: begins at 2, the previous tensor ended at 1"},
      {"{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},'b':{'dtype':'U8','shape':[2],'data_offsets':[1,3]}}", 3,
       "data_offsets overlap: begins at 1, the previous tensor ended at 2"},
      {"{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},'b':{'dtype':'U8','shape':[2],'data_offsets':[0,2]}}", 2,
       "data_offsets overlap: begins at 0, the previous tensor ended at 2"},
      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[1,2]},'b':{'dtype':'U8','shape':[1],'data_offsets':[0,1]}}", 2,
       "data_offsets are out of order: begins at 1"},
      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},"
       "'b':{'dtype':'U8','shape':[1],'data_offsets':[2,3]},"
       "'c':{'dtype':'U8','shape':[1],'data_offsets':[1,2]}}",
       3, "data_offsets are out of order: begins at 2"},
      {"{'a':{'dtype':'U8','shape':[1],'data_offsets':[0,1]}}", 2, "do not cover the buffer: 1 of 2 bytes"},
      {"{}", 1, "do not cover the buffer: 0 of 1 bytes"},

      {"{'__metadata__':'text'}", 0, "__metadata__: must be an object"},
      {"{'__metadata__':['text']}", 0, "__metadata__: must be an object"},
      {"{'__metadata__':{'step':1}}", 0, "__metadata__: \"step\": values must be strings"},
      {"{'__metadata__':{'a':'b','c':{}}}", 0, "__metadata__: \"c\": values must be strings"},
  };
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    refused(file_of(files[i].header, files[i].buffer_size), files[i].rule);
}

/* A header of `count` empty tensors, with or without metadata before them. */
static bytes many_tensors(int count, bool metadata) {
  char *header;
  size_t size;
  FILE *stream = open_memstream(&header, &size);
  assert_non_null(stream);
  fprintf(stream, "{%s", metadata ? "'__metadata__':{}" : "");
  for (int i = 0; i < count; i++)
    fprintf(stream, "%s'%d':{'dtype':'U8','shape':[0],'data_offsets':[0,0]}", i > 0 || metadata ? "," : "", i);
  fputs("}", stream);
  assert_int_equal(fclose(stream), 0);
  const bytes file = file_of(header, 0);
  free(header);
  return file;
}

/* One tensor whose shape is a flood. */
static bytes long_shape(int dims) {
  char *header;
  size_t size;
  FILE *stream = open_memstream(&header, &size);
  assert_non_null(stream);
  fputs("{'a':{'shape':[0", stream);
  for (int i = 1; i < dims; i++) fputs(",0", stream);
  fputs("]}}", stream);
  assert_int_equal(fclose(stream), 0);
  const bytes file = file_of(header, 0);
  free(header);
  return file;
}

static void the_number_of_tensors_is_bounded(void **state) {
  (void)state;
  for (int metadata = 0; metadata < 2; metadata++) {
    const bytes file = many_tensors(MZ_TENSORS_MAX, metadata);
    mz_safetensors parsed;
    if (mz_safetensors_parse(file.data, file.size, "f", MZ_E_IO, &parsed) != MZ_OK) fail_msg("%s", mz_message());
    assert_int_equal(parsed.count, MZ_TENSORS_MAX);
    mz_safetensors_deinit(&parsed);
    free(file.data);
    refused(many_tensors(MZ_TENSORS_MAX + 1, metadata), "too many tensors");
  }
  refused(many_tensors(100000, false), "too many tensors");
  refused(long_shape(70000), "too many values");
  refused(long_shape(1000000), "too many values");
}

/* Whatever parses lies within the file. */
static void check_views(const mz_safetensors *parsed, const bytes *file) {
  for (int i = 0; i < parsed->count; i++) {
    const mz_tensor_view *tensor = &parsed->tensors[i];
    assert_true(tensor->data >= file->data + 8);
    assert_true(tensor->bytes <= (size_t)(file->data + file->size - tensor->data));
  }
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  const bytes whole = file_of(small, 22);
  for (size_t size = 0; size < whole.size; size++) {
    bytes cut = {.data = malloc(size ? size : 1), .size = size};
    assert_non_null(cut.data);
    memcpy(cut.data, whole.data, size);
    refused(cut, size < 8                   ? "truncated"
                 : size < 8 + strlen(small) ? "longer than the file"
                                            : "data_offsets reach beyond the file");
  }
  free(whole.data);
}

static void no_changed_byte_of_the_header_does_harm(void **state) {
  (void)state;
  const bytes file = file_of(small, 22);
  int accepted = 0;
  for (size_t at = 0; at < 8 + strlen(small); at++)
    for (int flip = 1; flip < 256; flip++) {
      file.data[at] ^= (uint8_t)flip;
      mz_safetensors parsed;
      const mz_status status = mz_safetensors_parse(file.data, file.size, "f", MZ_E_CHECKPOINT, &parsed);
      if (status == MZ_OK)
        check_views(&parsed, &file), accepted++;
      else
        assert_int_equal(status, MZ_E_CHECKPOINT);
      mz_safetensors_deinit(&parsed);
      file.data[at] ^= (uint8_t)flip;
    }
  assert_in_range(accepted, 1, 12 * 255); /* the 12 letters of names and metadata may change; little else */
  free(file.data);
}

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
      cmocka_unit_test(a_small_file_is_read),
      cmocka_unit_test(header_length_is_bounded),
      cmocka_unit_test(every_rule_of_the_header_is_kept),
      cmocka_unit_test(the_number_of_tensors_is_bounded),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(no_changed_byte_of_the_header_does_harm),
      cmocka_unit_test(a_written_file_is_read_back),
      cmocka_unit_test(weights_are_read_back_with_zero_padding),
      cmocka_unit_test(other_weights_are_refused_and_nothing_is_changed),
      cmocka_unit_test(another_dtype_is_refused),
      cmocka_unit_test(failed_allocations_are_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
