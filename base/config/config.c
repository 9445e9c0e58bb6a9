#include "base/config/config.h"
#include "base/config/config_value.h"
#include "base/log.h"
#include "base/maths/maths_inline.h"
#include <stdatomic.h>
#include <string.h>

enum { KEY_MAX = 128 };

typedef struct row_place {
  const mz_setting *row;
  size_t offset; /* in the joined struct */
} row_place;

static row_place locate(const mz_config *config, int index) {
  for (int t = 0; t < config->table_count; t++) {
    const mz_settings_table *table = &config->tables[t];
    if (index < table->count) return (row_place){&table->rows[index], table->base + table->rows[index].offset};
    index -= table->count;
  }
  MZ_ASSERT(!"row index within the tables");
  abort();
}

static void *address(const mz_config *config, row_place place) { return (char *)config->values + place.offset; }

int mz_config_row_count(const mz_config *config) {
  int count = 0;
  for (int t = 0; t < config->table_count; t++) count += config->tables[t].count;
  return count;
}

const mz_setting *mz_config_row(const mz_config *config, int index) { return locate(config, index).row; }

/* Returns the row of a renamed key by its old name, or NULL. */
static const mz_renamed_key *find_renamed(const mz_config *config, const char *key) {
  const mz_renamed_key *row = config->renamed;
  while (row != NULL && row->old != NULL && strcmp(row->old, key) != 0) row++;
  return row != NULL && row->old != NULL ? row : NULL;
}

int mz_config_find(const mz_config *config, const char *key) {
  const mz_renamed_key *renamed = find_renamed(config, key);
  if (renamed != NULL) key = renamed->key;
  int first = 0;
  for (int t = 0; t < config->table_count; t++) {
    const mz_settings_table *table = &config->tables[t];
    for (int i = 0; i < table->count; i++)
      if (strcmp(table->rows[i].key, key) == 0) return first + i;
    first += table->count;
  }
  return -1;
}

const char *mz_class_name(mz_class class_) {
  static const char *const names[] = {"exact", "numeric", "algorithmic", "operational"};
  return names[class_];
}

void mz_config_defaults(mz_config *config) {
  const int count = mz_config_row_count(config);
  for (int i = 0; i < count; i++) {
    const row_place place = locate(config, i);
    mz_setting_value value;
    const mz_status status = mz_setting_value_parse(place.row, place.row->fallback, "default", &value);
    if (status != MZ_OK) mz_log_write(MZ_LOG_ERROR, "%s", mz_message());
    MZ_ASSERT(status == MZ_OK);
    mz_setting_value_store(place.row, &value, address(config, place));
    if (config->explicit_ != NULL) config->explicit_[i] = 0;
  }
}

/* ---- setting ---- */

/* A key given without its section ("segment_moves" for "replay.segment_moves"), else the nearest by spelling. */
static const char *suggest_key(const mz_config *config, const char *key) {
  const int count = mz_config_row_count(config);
  const char **keys = NULL;
  if (mz_alloc(&keys, (size_t)count, sizeof *keys) != MZ_OK) return NULL;
  const char *found = NULL;
  for (int i = 0; i < count; i++) {
    keys[i] = mz_config_row(config, i)->key;
    const char *last = strrchr(keys[i], '.');
    if (last != NULL && strcmp(last + 1, key) == 0) found = keys[i];
  }
  if (found == NULL) found = mz_nearest(key, keys, count);
  free(keys);
  return found;
}

static mz_status fail_unknown(const mz_config *config, const char *key, const char *value, const char *where) {
  const char *near = suggest_key(config, key);
  return mz_fail(MZ_E_CONFIG, "%s%s%.80s=%.80s: unknown key '%.80s'%s%s%s", where, where[0] == '-' ? " " : ": ", key, value, key,
                 near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Bits of a row's flag: the setting was given; in this source (the command line, a file) by its old key, by its new one. */
enum { GIVEN = 1, GIVEN_OLD = 2, GIVEN_NEW = 4 };

static void warn_renamed(const mz_config *config, const mz_renamed_key *renamed, const char *where) {
  static _Atomic uint64_t warned;
  const uint64_t bit = UINT64_C(1) << (renamed - config->renamed) % 64;
  if (config->stored || (atomic_fetch_or(&warned, bit) & bit)) return;
  mz_log_write(MZ_LOG_WARNING, "%s: '%s' is now called '%s'; the old name still works", where, renamed->old, renamed->key);
}

/* Notes in `flags` under which of its names the setting is given. */
static mz_status note_name(uint8_t *flags, const mz_renamed_key *renamed, const char *key, const char *where) {
  *flags |= renamed != NULL ? GIVEN_OLD : GIVEN_NEW;
  if (!(*flags & GIVEN_OLD) || !(*flags & GIVEN_NEW)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s%s%s: the setting is given under its old and under its new name; keep one of them", where,
                 where[0] == '-' ? " " : ": ", key);
}

/* Checks; stores unless `rehearsal`, the rows' flags of a file that is only being checked, is there. */
static mz_status set(mz_config *config, const char *key, const char *text, const char *where, uint8_t *rehearsal) {
  const int index = mz_config_find(config, key);
  if (index < 0) return fail_unknown(config, key, text, where);
  const mz_renamed_key *renamed = find_renamed(config, key);
  const row_place place = locate(config, index);
  mz_setting_value value;
  MZ_TRY(mz_setting_value_parse(place.row, text, where, &value));
  if (rehearsal != NULL) {
    if (rehearsal[index] & (renamed != NULL ? GIVEN_OLD : GIVEN_NEW)) /* "a": {"b": 1}, "a.b": 2 */
      return mz_fail(MZ_E_CONFIG, "%s: %s: the setting is given twice; keep one of them", where, key);
    return note_name(&rehearsal[index], renamed, key, where);
  }
  if (config->explicit_ != NULL) {
    if (where[0] == '-' && config->renamed != NULL) MZ_TRY(note_name(&config->explicit_[index], renamed, key, where));
    config->explicit_[index] |= GIVEN;
  }
  if (renamed != NULL) warn_renamed(config, renamed, where);
  mz_setting_value_store(place.row, &value, address(config, place));
  return MZ_OK;
}

mz_status mz_config_set(mz_config *config, const char *key, const char *value, const char *where) {
  return set(config, key, value, where, NULL);
}

mz_status mz_config_set_pair(mz_config *config, const char *key_equals_value, const char *where) {
  const char *equals = strchr(key_equals_value, '=');
  const size_t length = equals != NULL ? (size_t)(equals - key_equals_value) : 0;
  if (length == 0 || length >= KEY_MAX) {
    return mz_fail(MZ_E_CONFIG, "%s %.80s: takes key=value", where, key_equals_value);
  }
  char key[KEY_MAX];
  memcpy(key, key_equals_value, length);
  key[length] = '\0';
  return set(config, key, equals + 1, where, NULL);
}

/* ---- JSON ---- */

/* A JSON value as a user would type it; *text points into `buffer` or into the value. */
static mz_status json_text(const cJSON *value, mz_type type, const char *key, const char *where, char buffer[MZ_JSON_NUMBER_MAX],
                           const char **text) {
  const bool whole = type == MZ_INT || type == MZ_SIZE || type == MZ_COUNT;
  const bool takes_number = whole || type == MZ_FLOAT || type == MZ_TIME;
  *text = buffer;
  if (cJSON_IsString(value)) {
    *text = value->valuestring;
  } else if (cJSON_IsBool(value) && type == MZ_BOOL) {
    *text = cJSON_IsTrue(value) ? "true" : "false";
  } else if (cJSON_IsNumber(value) && takes_number) {
    if (whole && (value->valuedouble >= 0x1p53 || value->valuedouble <= -0x1p53)) {
      return mz_fail(MZ_E_CONFIG, "%s: %s: JSON numbers are exact below 2^53 only; write this one as a string", where, key);
    }
    mz_json_number(value->valuedouble, buffer);
  } else {
    return mz_fail(MZ_E_CONFIG, "%s: %s: takes %s", where, key,
                   takes_number      ? "a number or a string"
                   : type == MZ_BOOL ? "true, false or a string"
                                     : "a string");
  }
  return MZ_OK;
}

static mz_status set_member(mz_config *config, const cJSON *value, const char *key, const char *where, uint8_t *rehearsal) {
  const int index = mz_config_find(config, key);
  if (index < 0) return fail_unknown(config, key, cJSON_IsString(value) ? value->valuestring : "…", where);
  char buffer[MZ_JSON_NUMBER_MAX];
  const char *text = NULL;
  MZ_TRY(json_text(value, mz_config_row(config, index)->type, key, where, buffer, &text));
  return set(config, key, text, where, rehearsal);
}

static mz_status set_object(mz_config *config, const cJSON *object, const char *prefix, const char *where, uint8_t *rehearsal) {
  for (const cJSON *child = object->child; child != NULL; child = child->next) {
    char key[KEY_MAX];
    const int length = snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", child->string);
    if (length >= KEY_MAX) return mz_fail(MZ_E_CONFIG, "%s: unknown key '%s…'", where, key);
    if (cJSON_IsObject(child))
      MZ_TRY(set_object(config, child, key, where, rehearsal));
    else
      MZ_TRY(set_member(config, child, key, where, rehearsal));
  }
  return MZ_OK;
}

mz_status mz_config_set_json(mz_config *config, const cJSON *object, const char *where) {
  if (!cJSON_IsObject(object)) return mz_fail(MZ_E_CONFIG, "%s: takes a JSON object", where);
  uint8_t *rehearsal;
  MZ_TRY(mz_alloc(&rehearsal, (size_t)mz_config_row_count(config), 1));
  const mz_status status = set_object(config, object, "", where, rehearsal); /* all or nothing */
  free(rehearsal);
  return status == MZ_OK ? set_object(config, object, "", where, NULL) : status;
}

static cJSON *value_to_json(const mz_setting *row, const mz_setting_value *value) {
  char text[80];
  switch (row->type) {
    case MZ_FLOAT:
    case MZ_TIME: return cJSON_CreateNumber(value->number);
    case MZ_BOOL: return cJSON_CreateBool(value->integer != 0);
    case MZ_INT:
    case MZ_SIZE:
    case MZ_COUNT:
      if (value->integer < (INT64_C(1) << 53) && value->integer > -(INT64_C(1) << 53))
        return cJSON_CreateNumber((double)value->integer);
      break; /* as a string: JSON numbers are doubles */
    case MZ_TEXT: return cJSON_CreateString(value->text);
    case MZ_ENUM: break;
  }
  mz_setting_value_text(row, value, text, sizeof text);
  return cJSON_CreateString(text);
}

/* Adds item under "a.b.c", making objects on the way. False when memory is out; takes the item in any case. */
static bool add_nested(cJSON *root, const char *key, cJSON *item) {
  cJSON *object = root;
  const char *dot;
  while (object != NULL && (dot = strchr(key, '.')) != NULL) {
    char section[KEY_MAX];
    snprintf(section, sizeof section, "%.*s", (int)(dot - key), key);
    cJSON *next = cJSON_GetObjectItemCaseSensitive(object, section);
    object = next != NULL ? next : cJSON_AddObjectToObject(object, section);
    key = dot + 1;
  }
  if (object != NULL && item != NULL && cJSON_AddItemToObject(object, key, item)) return true;
  cJSON_Delete(item);
  return false;
}

cJSON *mz_config_to_json(const mz_config *config) {
  cJSON *root = cJSON_CreateObject();
  const int count = mz_config_row_count(config);
  for (int i = 0; i < count && root != NULL; i++) {
    const row_place place = locate(config, i);
    const mz_setting_value value = mz_setting_value_load(place.row, address(config, place));
    if (add_nested(root, place.row->key, value_to_json(place.row, &value))) continue;
    cJSON_Delete(root);
    root = NULL;
  }
  return root;
}

void mz_config_text(const mz_config *config, int index, char *out, size_t size) {
  const row_place place = locate(config, index);
  const mz_setting_value value = mz_setting_value_load(place.row, address(config, place));
  mz_setting_value_text(place.row, &value, out, size);
}

bool mz_config_equal(const mz_config *a, const mz_config *b, int index) {
  const row_place place = locate(a, index);
  const mz_setting_value left = mz_setting_value_load(place.row, address(a, place)),
                         right = mz_setting_value_load(place.row, address(b, place));
  return left.integer == right.integer && mz_bits_of_f64(left.number) == mz_bits_of_f64(right.number) &&
         strcmp(left.text, right.text) == 0;
}
