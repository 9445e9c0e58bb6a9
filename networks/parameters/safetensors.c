#include "networks/parameters/safetensors.h"
#include "base/text.h"
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors are little-endian and read in place");

enum {
  LENGTH_BYTES = 8,
  HEADER_MAX = 100000000,
  HEADER_ALIGNMENT = 8, /* the header is padded with spaces so that the buffer starts on such a boundary */
  /* A tensor has at most 11 commas within its entry; the rest is room for metadata. */
  HEADER_COMMAS_MAX = MZ_TENSORS_MAX * 16,
};
static const char metadata_key[] = "__metadata__";

static const struct {
  char name[8];
  size_t bytes;
} dtypes[] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
    {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"I64", 8},     {"U64", 8}, {"F64", 8},
};

/* 0 when unknown. */
static size_t dtype_bytes(const char *dtype) {
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
    if (strcmp(dtypes[i].name, dtype) == 0) return dtypes[i].bytes;
  return 0;
}

/* Bytes of a dense tensor; false when they do not fit a size_t. */
static bool tensor_bytes(const mz_tensor_view *tensor, size_t *bytes) {
  *bytes = dtype_bytes(tensor->dtype);
  for (int d = 0; d < tensor->dims; d++)
    if (__builtin_mul_overflow(*bytes, (size_t)tensor->shape[d], bytes)) return false;
  return true;
}

typedef struct parser {
  const char *name; /* of the file, in messages */
  mz_status code;
  const uint8_t *buffer; /* the tensors' bytes, behind the header */
  size_t buffer_size;
} parser;

/* Bounds the tree that the JSON parser is about to build, before it is built: 100 MB of "[0,0,0,…" would become gigabytes. */
static mz_status check_header_text(const parser *p, const char *text, size_t size) {
  int64_t commas = 0, top_commas = 0, depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < size; i++) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        i++;
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"')
      in_string = true;
    else if (c == '{' || c == '[')
      depth++;
    else if (c == '}' || c == ']')
      depth--;
    else if (c == ',') {
      commas++;
      if (depth == 1) top_commas++;
    }
  }
  /* n entries have n − 1 commas, and one entry may be the metadata. */
  if (top_commas > MZ_TENSORS_MAX)
    return mz_fail(p->code, "%s: safetensors header: too many tensors: about %lld, at most %d are read", p->name,
                   (long long)top_commas + 1, MZ_TENSORS_MAX);
  if (commas > HEADER_COMMAS_MAX)
    return mz_fail(p->code, "%s: safetensors header: too many values: about %lld, at most %d are read", p->name,
                   (long long)commas, HEADER_COMMAS_MAX);
  return MZ_OK;
}

static bool whole_number(const cJSON *item, int64_t *out) {
  const double largest = 9007199254740992.0; /* 2^53: JSON numbers are doubles here */
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0) || item->valuedouble > largest) return false;
  *out = (int64_t)item->valuedouble;
  return (double)*out == item->valuedouble;
}

/* Two names that are not would be one when they are written again. */
static bool is_utf8(const char *text) {
  uint32_t code;
  for (size_t bytes; (bytes = mz_text_character(text, &code)) > 0;) text += bytes;
  return *text == '\0';
}

static mz_status check_metadata(const parser *p, const cJSON *metadata) {
  if (!cJSON_IsObject(metadata)) return mz_fail(p->code, "%s: safetensors %s: must be an object", p->name, metadata_key);
  const cJSON *item;
  cJSON_ArrayForEach(item, metadata) {
    if (!cJSON_IsString(item))
      return mz_fail(p->code, "%s: safetensors %s: \"%s\": values must be strings", p->name, metadata_key, item->string);
    if (!is_utf8(item->string))
      return mz_fail(p->code, "%s: safetensors %s: \"%s\": the key is not UTF-8", p->name, metadata_key, item->string);
  }
  return MZ_OK;
}

static mz_status parse_shape(const parser *p, const cJSON *shape, mz_tensor_view *out) {
  if (!cJSON_IsArray(shape)) return mz_fail(p->code, "%s: tensor \"%s\": shape must be an array", p->name, out->name);
  const cJSON *item;
  cJSON_ArrayForEach(item, shape) {
    if (out->dims == MZ_TENSOR_DIMS)
      return mz_fail(p->code, "%s: tensor \"%s\": shape has more than %d dimensions", p->name, out->name, MZ_TENSOR_DIMS);
    if (!whole_number(item, &out->shape[out->dims++]))
      return mz_fail(p->code, "%s: tensor \"%s\": shape must hold whole numbers", p->name, out->name);
  }
  return MZ_OK;
}

static mz_status parse_offsets(const parser *p, const cJSON *offsets, mz_tensor_view *out) {
  int64_t begin, end;
  if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !whole_number(offsets->child, &begin) ||
      !whole_number(offsets->child->next, &end))
    return mz_fail(p->code, "%s: tensor \"%s\": data_offsets must be two whole numbers", p->name, out->name);
  if (begin > end)
    return mz_fail(p->code, "%s: tensor \"%s\": data_offsets end before they begin: [%lld, %lld]", p->name, out->name,
                   (long long)begin, (long long)end);
  if ((uint64_t)end > p->buffer_size)
    return mz_fail(p->code, "%s: tensor \"%s\": data_offsets reach beyond the file: [%lld, %lld] in a buffer of %zu bytes",
                   p->name, out->name, (long long)begin, (long long)end, p->buffer_size);
  out->data = p->buffer + begin;
  out->bytes = (size_t)(end - begin);
  return MZ_OK;
}

static mz_status parse_tensor(const parser *p, const cJSON *entry, mz_tensor_view *out) {
  *out = (mz_tensor_view){.name = entry->string};
  if (!is_utf8(out->name)) return mz_fail(p->code, "%s: tensor \"%s\": its name is not UTF-8", p->name, out->name);
  const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(entry, "dtype");
  const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
  const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(entry, "data_offsets");
  if (!cJSON_IsObject(entry) || !dtype || !shape || !offsets || cJSON_GetArraySize(entry) != 3)
    return mz_fail(p->code, "%s: tensor \"%s\": must have dtype, shape and data_offsets, nothing else", p->name, out->name);
  if (!cJSON_IsString(dtype) || dtype_bytes(dtype->valuestring) == 0)
    return mz_fail(p->code, "%s: tensor \"%s\": unknown dtype %s", p->name, out->name,
                   cJSON_IsString(dtype) ? dtype->valuestring : "(not a string)");
  strcpy(out->dtype, dtype->valuestring); /* a known one fits */
  MZ_TRY(parse_shape(p, shape, out));
  MZ_TRY(parse_offsets(p, offsets, out));
  size_t bytes;
  if (!tensor_bytes(out, &bytes))
    return mz_fail(p->code, "%s: tensor \"%s\": shape overflows the address space", p->name, out->name);
  if (bytes != out->bytes)
    return mz_fail(p->code, "%s: tensor \"%s\": shape and dtype need %zu bytes, data_offsets hold %zu", p->name, out->name, bytes,
                   out->bytes);
  return MZ_OK;
}

/* One behind the other, from the first byte to the last. */
static mz_status check_layout(const parser *p, const mz_safetensors *file) {
  const uint8_t *at = p->buffer;
  for (int i = 0; i < file->count; i++) {
    const mz_tensor_view *tensor = &file->tensors[i];
    if (tensor->data != at) {
      const char *rule = tensor->data > at ? "leave a hole" : "overlap";
      for (int later = i + 1; later < file->count; later++)
        if (file->tensors[later].data == at) rule = "are out of order";
      return mz_fail(p->code, "%s: tensor \"%s\": data_offsets %s: begins at %td, the previous tensor ended at %td", p->name,
                     tensor->name, rule, tensor->data - p->buffer, at - p->buffer);
    }
    at += tensor->bytes;
  }
  const size_t covered = (size_t)(at - p->buffer);
  if (covered != p->buffer_size)
    return mz_fail(p->code, "%s: safetensors: the tensors do not cover the buffer: %zu of %zu bytes", p->name, covered,
                   p->buffer_size);
  return MZ_OK;
}

static mz_status parse_header(const parser *p, mz_safetensors *file) {
  if (!cJSON_IsObject(file->header)) return mz_fail(p->code, "%s: safetensors header: must be a JSON object", p->name);
  const int entries = cJSON_GetArraySize(file->header);
  MZ_TRY(mz_alloc(&file->tensors, (size_t)entries, sizeof *file->tensors));
  const cJSON *entry;
  cJSON_ArrayForEach(entry, file->header) {
    if (strcmp(entry->string, metadata_key) == 0) {
      MZ_TRY(check_metadata(p, entry));
      continue;
    }
    if (file->count == MZ_TENSORS_MAX)
      return mz_fail(p->code, "%s: safetensors header: too many tensors: at most %d are read", p->name, MZ_TENSORS_MAX);
    MZ_TRY(parse_tensor(p, entry, &file->tensors[file->count]));
    file->count++;
  }
  return check_layout(p, file);
}

mz_status mz_safetensors_parse(const uint8_t *data, size_t size, const char *name, mz_status code, mz_safetensors *out) {
  *out = (mz_safetensors){0};
  if (size < LENGTH_BYTES) return mz_fail(code, "%s: safetensors: truncated: %zu bytes have no header length", name, size);
  uint64_t header_size;
  memcpy(&header_size, data, sizeof header_size);
  if (header_size > HEADER_MAX)
    return mz_fail(code, "%s: safetensors header length %llu: at most %d is allowed", name, (unsigned long long)header_size,
                   HEADER_MAX);
  if (header_size > size - LENGTH_BYTES)
    return mz_fail(code, "%s: safetensors header length %llu: longer than the file, %zu bytes", name,
                   (unsigned long long)header_size, size);

  const char *text = (const char *)data + LENGTH_BYTES;
  const parser p = {
      .name = name,
      .code = code,
      .buffer = data + LENGTH_BYTES + header_size,
      .buffer_size = size - LENGTH_BYTES - (size_t)header_size,
  };
  if (header_size == 0 || text[0] != '{') return mz_fail(code, "%s: safetensors header: not JSON: must begin with {", name);
  MZ_TRY(check_header_text(&p, text, (size_t)header_size));
  char where[256];
  snprintf(where, sizeof where, "%s: safetensors header", name);
  MZ_TRY(mz_json_parse(text, (size_t)header_size, where, false, code, &out->header));
  const mz_status status = parse_header(&p, out);
  if (status != MZ_OK) mz_safetensors_deinit(out);
  return status;
}

void mz_safetensors_deinit(mz_safetensors *file) {
  cJSON_Delete(file->header);
  free(file->tensors);
  *file = (mz_safetensors){0};
}

const mz_tensor_view *mz_safetensors_find(const mz_safetensors *file, const char *tensor) {
  for (int i = 0; i < file->count; i++)
    if (strcmp(file->tensors[i].name, tensor) == 0) return &file->tensors[i];
  return NULL;
}

static bool add_number(cJSON *array, double number) {
  cJSON *item = cJSON_CreateNumber(number);
  return item && cJSON_AddItemToArray(array, item);
}

/* False: memory ran out. */
static bool describe_tensor(cJSON *header, const mz_tensor_view *tensor, size_t begin) {
  cJSON *entry = cJSON_AddObjectToObject(header, tensor->name);
  if (!entry || !cJSON_AddStringToObject(entry, "dtype", tensor->dtype)) return false;
  cJSON *shape = cJSON_AddArrayToObject(entry, "shape");
  if (!shape) return false;
  for (int d = 0; d < tensor->dims; d++)
    if (!add_number(shape, (double)tensor->shape[d])) return false;
  cJSON *offsets = cJSON_AddArrayToObject(entry, "data_offsets");
  return offsets && add_number(offsets, (double)begin) && add_number(offsets, (double)(begin + tensor->bytes));
}

static void assert_metadata(const cJSON *metadata) {
  MZ_ASSERT(cJSON_IsObject(metadata));
  const cJSON *item;
  cJSON_ArrayForEach(item, metadata) MZ_ASSERT(cJSON_IsString(item));
}

/* The header as text, free(); NULL: memory ran out. */
static char *describe(const mz_tensor_view *tensors, int count, const cJSON *metadata, size_t *data_size) {
  cJSON *header = cJSON_CreateObject();
  if (!header) return NULL;
  char *text = NULL;
  if (metadata) {
    assert_metadata(metadata);
    cJSON *copy = cJSON_Duplicate(metadata, true);
    if (!copy || !cJSON_AddItemToObject(header, metadata_key, copy)) goto cleanup;
  }
  *data_size = 0;
  for (int i = 0; i < count; i++) {
    size_t bytes;
    MZ_ASSERT(tensor_bytes(&tensors[i], &bytes));
    MZ_ASSERT(bytes == tensors[i].bytes);
    MZ_ASSERT(!cJSON_GetObjectItemCaseSensitive(header, tensors[i].name));
    if (!describe_tensor(header, &tensors[i], *data_size)) goto cleanup;
    *data_size += bytes;
  }
  text = mz_json_line(header);
cleanup:
  cJSON_Delete(header);
  return text;
}

mz_status mz_safetensors_write(const mz_tensor_view *tensors, int count, const cJSON *metadata, uint8_t **out, size_t *size) {
  MZ_ASSERT(count <= MZ_TENSORS_MAX);
  size_t data_size;
  char *text = describe(tensors, count, metadata, &data_size);
  if (!text) return mz_fail(MZ_E_MEMORY, "safetensors header: out of memory");
  const size_t text_size = strlen(text);
  const uint64_t header_size = (text_size + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
  MZ_ASSERT(header_size <= HEADER_MAX);

  uint8_t *file;
  *size = LENGTH_BYTES + (size_t)header_size + data_size;
  const mz_status status = mz_alloc(&file, *size, 1);
  if (status == MZ_OK) {
    uint8_t *at = file;
    memcpy(at, &header_size, LENGTH_BYTES);
    at += LENGTH_BYTES;
    memset(at, ' ', (size_t)header_size);
    memcpy(at, text, text_size);
    at += header_size;
    for (int i = 0; i < count; i++) {
      if (tensors[i].bytes > 0) memcpy(at, tensors[i].data, tensors[i].bytes); /* an empty tensor may have no address */
      at += tensors[i].bytes;
    }
    *out = file;
  }
  free(text);
  return status;
}
