#include "base/json/fields.h"
#include "base/config/config.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* "where: way: to: it", outermost first. */
static void way(const mz_fields *fields, char *out, size_t size) {
  if (fields->parent == NULL) {
    snprintf(out, size, "%s", fields->where);
    return;
  }
  way(fields->parent, out, size);
  const size_t used = strlen(out);
  snprintf(out + used, size - used, ": %s", fields->name);
}

mz_status mz_fields_fail(const mz_fields *fields, const char *key, const char *format, ...) {
  char where[MZ_MESSAGE_MAX], why[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  way(fields, where, sizeof where);
  return mz_fail(fields->code, "%s: '%s' %s", where, key, why);
}

static mz_status check_object(const mz_fields *fields) {
  if (cJSON_IsObject(fields->object)) return MZ_OK;
  char where[MZ_MESSAGE_MAX];
  way(fields, where, sizeof where);
  return mz_fail(fields->code, "%s: takes a JSON object", where);
}

mz_status mz_fields_open(mz_fields *out, const cJSON *json, const char *where, mz_status code) {
  *out = (mz_fields){.object = json, .where = where, .code = code};
  return check_object(out);
}

mz_status mz_fields_open_child(const mz_fields *parent, const cJSON *json, const char *name, mz_fields *out) {
  *out = (mz_fields){.object = json, .where = parent->where, .code = parent->code, .parent = parent, .name = name};
  return check_object(out);
}

static mz_status find(const mz_fields *fields, const char *key, const cJSON **out) {
  *out = cJSON_GetObjectItemCaseSensitive(fields->object, key);
  return *out != NULL ? MZ_OK : mz_fields_fail(fields, key, "is missing");
}

mz_status mz_fields_object(const mz_fields *fields, const char *key, mz_fields *out) {
  const cJSON *item;
  MZ_TRY(find(fields, key, &item));
  return mz_fields_open_child(fields, item, key, out);
}

mz_status mz_fields_number(const mz_fields *fields, const char *key, double *out) {
  const cJSON *item;
  MZ_TRY(find(fields, key, &item));
  if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) return mz_fields_fail(fields, key, "takes a number");
  *out = item->valuedouble;
  return MZ_OK;
}

/* Numbers that are not finite are there only in values that were never text. */
static bool read_measure(const cJSON *item, double *out) {
  *out = cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : NAN;
  return cJSON_IsNumber(item) || cJSON_IsNull(item);
}

mz_status mz_fields_measure(const mz_fields *fields, const char *key, double *out) {
  const cJSON *item;
  MZ_TRY(find(fields, key, &item));
  return read_measure(item, out) ? MZ_OK : mz_fields_fail(fields, key, "takes a number or null");
}

mz_status mz_fields_whole(const mz_fields *fields, const char *key, int64_t min, int64_t max, int64_t *out) {
  const cJSON *item;
  MZ_TRY(find(fields, key, &item));
  const double value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
  if (!(value >= (double)min && value <= (double)max) || value != floor(value)) {
    return mz_fields_fail(fields, key, "takes a whole number, %lld … %lld", (long long)min, (long long)max);
  }
  *out = (int64_t)value;
  return MZ_OK;
}

mz_status mz_fields_int(const mz_fields *fields, const char *key, int min, int max, int *out) {
  int64_t value = 0;
  MZ_TRY(mz_fields_whole(fields, key, min, max, &value));
  *out = (int)value;
  return MZ_OK;
}

static mz_status find_text(const mz_fields *fields, const char *key, const char **out) {
  const cJSON *item;
  MZ_TRY(find(fields, key, &item));
  if (!cJSON_IsString(item)) return mz_fields_fail(fields, key, "takes a string");
  *out = item->valuestring;
  return MZ_OK;
}

mz_status mz_fields_text(const mz_fields *fields, const char *key, char *out, size_t size) {
  const char *text = NULL;
  MZ_TRY(find_text(fields, key, &text));
  const size_t length = strlen(text);
  if (length >= size) return mz_fields_fail(fields, key, "takes at most %zu bytes", size - 1);
  memcpy(out, text, length + 1);
  return MZ_OK;
}

mz_status mz_fields_choice(const mz_fields *fields, const char *key, const char *const *names, int count, int *out) {
  const char *text = NULL;
  MZ_TRY(find_text(fields, key, &text));
  for (int i = 0; i < count; i++) {
    if (strcmp(names[i], text) != 0) continue;
    *out = i;
    return MZ_OK;
  }
  const char *near = mz_nearest(text, names, count);
  return mz_fields_fail(fields, key, "takes no '%.40s'; nearest valid value: %s", text, near != NULL ? near : names[0]);
}

mz_status mz_fields_array(const mz_fields *fields, const char *key, int max, const cJSON **out, int *count) {
  MZ_TRY(find(fields, key, out));
  if (!cJSON_IsArray(*out)) return mz_fields_fail(fields, key, "takes an array");
  *count = cJSON_GetArraySize(*out);
  return *count <= max ? MZ_OK : mz_fields_fail(fields, key, "has %d elements; at most %d", *count, max);
}

mz_status mz_fields_measures(const mz_fields *fields, const char *key, int max, double *out, int *count) {
  const cJSON *array = NULL;
  MZ_TRY(mz_fields_array(fields, key, max, &array, count));
  for (const cJSON *item = array->child; item != NULL; item = item->next) {
    if (!read_measure(item, out++)) return mz_fields_fail(fields, key, "takes numbers or null");
  }
  return MZ_OK;
}

void mz_fields_add_numbers(cJSON *object, const char *key, const double *values, int count) {
  cJSON *array = cJSON_CreateDoubleArray(values, count);
  mz_json_add(object, key, array);
}
