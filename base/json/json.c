#include "base/json/json.h"
#include "base/json/json_memory.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 64 }; /* nested objects and arrays: far beyond any of our files, far within the stack */

typedef struct source {
  const char *name;
  mz_status code;       /* of errors in the text */
  const char *original; /* the user's text; positions in messages refer to it */
  char *text;           /* copy with a NUL behind it; comments are overwritten by spaces, so offsets stay the same */
  size_t size;
} source;

/* "name:line:column: what"; columns count code points. */
static mz_status fail_at(const source *src, size_t offset, const char *what) {
  int line = 1, column = 1;
  for (size_t i = 0; i < offset && i < src->size; i++) {
    const unsigned char c = (unsigned char)src->original[i];
    if (c == '\n')
      line++, column = 1;
    else if ((c & 0xC0) != 0x80)
      column++; /* not a UTF-8 continuation byte */
  }
  return mz_fail(src->code, "%s:%d:%d: %s", src->name, line, column, what);
}

/* *at: the opening quote, then the offset behind the closing one. */
static mz_status skip_string(const source *src, size_t *at) {
  for (size_t i = *at + 1; i < src->size; i++) {
    const unsigned char c = (unsigned char)src->text[i];
    if (c == '"') {
      *at = i + 1;
      return MZ_OK;
    }
    if (c < 0x20) return fail_at(src, i, "line break or control character in a string");
    if (c != '\\') continue;
    if (strncmp(src->text + i, "\\u0000", 6) == 0) return fail_at(src, i, "\\u0000 is not allowed in a string");
    i++; /* the escaped character cannot end the string */
  }
  return fail_at(src, *at, "string without an end");
}

static mz_status blank_comment(source *src, size_t *at) {
  const bool block = src->text[*at + 1] == '*';
  const char *close = strstr(src->text + *at + 2, block ? "*/" : "\n");
  if (close == NULL && block) return fail_at(src, *at, "comment without an end");
  const size_t end = close == NULL ? src->size : (size_t)(close - src->text) + (block ? 2 : 0);
  memset(src->text + *at, ' ', end - *at);
  *at = end;
  return MZ_OK;
}

/* Checks that cJSON lacks, made before it sees the text: comments, a bound on the depth, NUL bytes and control characters. */
static mz_status prescan(source *src, bool comments) {
  int depth = 0;
  for (size_t i = 0; i < src->size;) {
    const char c = src->text[i];
    if (c == '"') {
      MZ_TRY(skip_string(src, &i));
      continue;
    }
    if (comments && c == '/' && (src->text[i + 1] == '/' || src->text[i + 1] == '*')) {
      MZ_TRY(blank_comment(src, &i));
      continue;
    }
    if (c == '\0') return fail_at(src, i, "NUL byte");
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    if (depth > DEPTH_MAX) return fail_at(src, i, "nested more than 64 levels deep");
    i++;
  }
  return MZ_OK;
}

/* Offset of the n-th key of a text that parsed: a string with a colon behind it. */
static size_t key_offset(const source *src, size_t n) {
  for (size_t i = 0; i < src->size;) {
    if (src->text[i] != '"') {
      i++;
      continue;
    }
    const size_t start = i;
    if (skip_string(src, &i) != MZ_OK) break;
    const size_t next = i + strspn(src->text + i, " \t\r\n");
    if (src->text[next] == ':' && n-- == 0) return start;
  }
  return 0;
}

typedef struct named {
  const char *key;
  size_t ordinal; /* of the key among all keys of the text */
} named;

static int by_key_then_ordinal(const void *left, const void *right) {
  const named *a = left, *b = right;
  const int order = strcmp(a->key, b->key);
  return order != 0 ? order : (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static mz_status check_unique(const source *src, named *keys, size_t count) {
  qsort(keys, count, sizeof *keys, by_key_then_ordinal);
  for (size_t i = 1; i < count; i++) {
    if (strcmp(keys[i - 1].key, keys[i].key) != 0) continue;
    char what[256];
    snprintf(what, sizeof what, "key '%.200s' is there twice", keys[i].key);
    return fail_at(src, key_offset(src, keys[i].ordinal), what);
  }
  return MZ_OK;
}

/* Keys are unique and numbers finite, at every depth. *ordinal counts the keys passed, in the order of the text. */
static mz_status check_values(const source *src, const cJSON *value, size_t *ordinal) {
  if (cJSON_IsNumber(value) && !isfinite(value->valuedouble)) {
    return mz_fail(src->code, "%s: %s%snumber too large for a double", src->name, value->string ? value->string : "",
                   value->string ? ": " : "");
  }
  if (value->child == NULL) return MZ_OK;
  const bool object = cJSON_IsObject(value);
  const size_t count = (size_t)cJSON_GetArraySize(value);
  named *keys = NULL;
  if (object) MZ_TRY(mz_alloc(&keys, count, sizeof *keys));
  mz_status status = MZ_OK;
  size_t i = 0;
  for (const cJSON *child = value->child; child != NULL && status == MZ_OK; child = child->next) {
    if (object) keys[i++] = (named){.key = child->string, .ordinal = (*ordinal)++};
    status = check_values(src, child, ordinal);
  }
  if (object && status == MZ_OK) status = check_unique(src, keys, count);
  free(keys);
  return status;
}

static mz_status parse(source *src, bool comments, cJSON **out) {
  MZ_TRY(prescan(src, comments));
  const char *stopped = src->text;
  const bool before = mz_json_memory_failed(); /* of another value */
  cJSON *json = cJSON_ParseWithLengthOpts(src->text, src->size + 1, &stopped, true);
  const bool no_memory = mz_json_memory_failed();
  mz_json_memory_remember(before);
  if (no_memory) {
    cJSON_Delete(json);
    return mz_fail(MZ_E_MEMORY, "%s: no memory to read it", src->name);
  }
  if (json == NULL) {
    const size_t offset = (size_t)(stopped - src->text);
    return fail_at(src, offset, offset >= src->size ? "the text ends too early" : "not valid JSON from here on");
  }
  size_t ordinal = 0;
  const mz_status status = check_values(src, json, &ordinal);
  if (status == MZ_OK)
    *out = json;
  else
    cJSON_Delete(json);
  return status;
}

mz_status mz_json_parse(const char *text, size_t size, const char *name, bool comments, mz_status code, cJSON **out) {
  *out = NULL;
  source src = {.name = name, .code = code, .original = text, .size = size};
  MZ_TRY(mz_alloc(&src.text, size + 1, 1));
  if (size > 0) memcpy(src.text, text, size);
  const mz_status status = parse(&src, comments, out);
  free(src.text);
  return status;
}

void mz_json_add(cJSON *object, const char *key, cJSON *item) {
  if (!cJSON_AddItemToObject(object, key, item)) cJSON_Delete(item);
}

void mz_json_add_u64(cJSON *object, const char *key, uint64_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, value);
  if (value <= UINT64_C(1) << 53)
    cJSON_AddNumberToObject(object, key, (double)value);
  else
    cJSON_AddRawToObject(object, key, digits);
}

void mz_json_add_u64_hex(cJSON *object, const char *key, uint64_t value) {
  char text[17];
  snprintf(text, sizeof text, "%016" PRIx64, value);
  cJSON_AddStringToObject(object, key, text);
}

static mz_status get(const cJSON *object, const char *key, const char *name, mz_status code, const cJSON **out) {
  *out = cJSON_GetObjectItemCaseSensitive(object, key);
  return *out != NULL ? MZ_OK : mz_fail(code, "%s: key '%s' is missing", name, key);
}

mz_status mz_json_get_number(const cJSON *object, const char *key, const char *name, mz_status code, double *out) {
  const cJSON *item;
  MZ_TRY(get(object, key, name, code, &item));
  if (!cJSON_IsNumber(item)) return mz_fail(code, "%s: '%s' takes a number", name, key);
  *out = item->valuedouble;
  return MZ_OK;
}

mz_status mz_json_get_string(const cJSON *object, const char *key, const char *name, mz_status code, const char **out) {
  const cJSON *item;
  MZ_TRY(get(object, key, name, code, &item));
  if (!cJSON_IsString(item)) return mz_fail(code, "%s: '%s' takes a string", name, key);
  *out = item->valuestring;
  return MZ_OK;
}

mz_status mz_json_get_u64_hex(const cJSON *object, const char *key, const char *name, mz_status code, uint64_t *out) {
  const char *text = NULL;
  MZ_TRY(mz_json_get_string(object, key, name, code, &text));
  if (text == NULL || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) {
    return mz_fail(code, "%s: '%s' takes 16 lower-case hexadecimal digits", name, key);
  }
  *out = strtoull(text, NULL, 16);
  return MZ_OK;
}

double mz_json_number_or_nan(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

const char *mz_json_text_or_empty(const cJSON *object, const char *key) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
  return text ? text : "";
}

const cJSON *mz_json_item(const cJSON *object, const char *key) { return cJSON_GetObjectItemCaseSensitive(object, key); }
