/* Writing JSON. cJSON prints numbers with 15 digits where these read back *nearly* the same; ours read back the same bits. */
#include "base/bytes.h"
#include "base/json/json.h"
#include "base/json/json_memory.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

void mz_json_number(double value, char out[MZ_JSON_NUMBER_MAX]) {
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, MZ_JSON_NUMBER_MAX, "%.*g", digits, value);
    if (strtod(out, NULL) == value) return;
  }
}

static void put(mz_writer *out, const char *text) { mz_write(out, text, strlen(text)); }

/* Writes a character, or of a byte that is none (length 0) the character that stands for such. */
static void put_character(mz_writer *out, const char *text, size_t length, uint32_t code) {
  char escape[8];
  if (length == 0)
    put(out, "\xEF\xBF\xBD"); /* U+FFFD */
  else if (code == '"')
    put(out, "\\\"");
  else if (code == '\\')
    put(out, "\\\\");
  else if (code == '\n')
    put(out, "\\n");
  else if (code == '\t')
    put(out, "\\t");
  else if (mz_text_is_control(code))
    snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code), put(out, escape);
  else
    mz_write(out, text, length);
}

static void put_string(mz_writer *out, const char *text) {
  put(out, "\"");
  while (*text != '\0') {
    uint32_t code;
    const size_t length = mz_text_character(text, &code);
    put_character(out, text, length, code);
    text += length > 0 ? length : 1;
  }
  put(out, "\"");
}

/* The depth of what is written in one line. */
enum { ONE_LINE = -1 };

static void put_break(mz_writer *out, int depth) {
  if (depth == ONE_LINE) return;
  put(out, "\n");
  for (int i = 0; i < depth; i++) put(out, "  ");
}

static void put_value(mz_writer *out, const cJSON *value, int depth);

/* depth: of the members. */
static void put_members(mz_writer *out, const cJSON *parent, const char *open, const char *close, int depth) {
  put(out, open);
  for (const cJSON *child = parent->child; child != NULL; child = child->next) {
    if (child != parent->child) put(out, ",");
    put_break(out, depth);
    if (cJSON_IsObject(parent)) {
      put_string(out, child->string);
      put(out, depth == ONE_LINE ? ":" : ": ");
    }
    put_value(out, child, depth);
  }
  if (parent->child != NULL) put_break(out, depth == ONE_LINE ? depth : depth - 1);
  put(out, close);
}

static void put_value(mz_writer *out, const cJSON *value, int depth) {
  const int inside = depth == ONE_LINE ? depth : depth + 1;
  if (cJSON_IsObject(value)) {
    put_members(out, value, "{", "}", inside);
  } else if (cJSON_IsArray(value)) {
    put_members(out, value, "[", "]", inside);
  } else if (cJSON_IsString(value)) {
    put_string(out, value->valuestring);
  } else if (cJSON_IsBool(value)) {
    put(out, cJSON_IsTrue(value) ? "true" : "false");
  } else if (cJSON_IsNumber(value) && isfinite(value->valuedouble)) {
    char number[MZ_JSON_NUMBER_MAX];
    mz_json_number(value->valuedouble, number);
    put(out, number);
  } else if (cJSON_IsRaw(value)) {
    put(out, value->valuestring);
  } else {
    put(out, "null");
  }
}

static char *text_of(const cJSON *json, int depth) {
  if (mz_json_memory_failed() || json == NULL) return NULL;
  mz_writer out = {0};
  put_value(&out, json, depth);
  if (depth != ONE_LINE) put(&out, "\n");
  mz_write_u8(&out, 0);
  if (!out.failed) return (char *)out.data;
  mz_writer_free(&out);
  return NULL;
}

char *mz_json_line(const cJSON *json) { return text_of(json, ONE_LINE); }

char *mz_json_page(const cJSON *json) { return text_of(json, 0); }
