/* The safetensors reader against files that break one rule each, and parameters written and read back. */
#include "tests/networks/safetensors_bytes.h"

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

      {"{'\xC3\xA4':{'dtype':'U8','shape':[1],'data_offsets':[0,1]},'\xC3':{'dtype':'U8','shape':[1],'data_offsets':[1,2]}}", 2,
       "its name is not UTF-8"},
      {"{'__metadata__':{'\xFF':'a'}}", 0, "the key is not UTF-8"},

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_file_is_read),
                                     cmocka_unit_test(header_length_is_bounded),
                                     cmocka_unit_test(every_rule_of_the_header_is_kept),
                                     cmocka_unit_test(the_number_of_tensors_is_bounded),
                                     cmocka_unit_test(every_truncation_is_refused),
                                     cmocka_unit_test(no_changed_byte_of_the_header_does_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
