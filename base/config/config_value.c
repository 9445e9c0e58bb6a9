#include "base/config/config_value.h"
#include "base/text.h"
#include <errno.h>
#include <math.h>
#include <string.h>

typedef enum verdict { FITS, WRONG_TYPE, WRONG_UNIT, TOO_LOW, TOO_HIGH } verdict;

typedef struct unit {
  const char *name;
  int64_t factor;
} unit;

/* largest first: the first that divides a value is the one to write it in */
static const unit size_units[] = {{"GiB", 1 << 30}, {"G", 1000000000}, {"MiB", 1 << 20}, {"M", 1000000},
                                  {"KiB", 1 << 10}, {"k", 1000},       {"", 1},          {NULL, 0}};
static const unit count_units[] = {{"G", 1000000000}, {"M", 1000000}, {"k", 1000}, {"", 1}, {NULL, 0}};
static const unit time_units[] = {{"h", 3600}, {"m", 60}, {"s", 1}, {"", 1}, {NULL, 0}};
static const char size_unit_names[] = "k, M, G, KiB, MiB or GiB";
static const char time_unit_names[] = "s, m or h";

static const double WHOLE_MAX = 0x1p53; /* from here on doubles skip integers */

/* ---- text to numbers ---- */

/* Decimal notation only: strtod alone would take "nan", "inf", hexadecimal and leading blanks. */
static verdict parse_number(const char *text, double *out) {
  char *end = NULL;
  if (text[0] == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0') return WRONG_TYPE;
  *out = strtod(text, &end);
  if (end == text || *end != '\0') return WRONG_TYPE;
  if (isinf(*out)) return *out < 0 ? TOO_LOW : TOO_HIGH;
  return FITS;
}

/* text × factor, when that is a whole number: "12", "1e6", "1.5" of 1000. */
static verdict parse_whole(const char *text, int64_t factor, int64_t *out) {
  if (text[0] != '\0' && text[strspn(text, "0123456789+-")] == '\0') {
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') return WRONG_TYPE;
    if (errno == ERANGE || __builtin_mul_overflow(value, factor, out)) return text[0] == '-' ? TOO_LOW : TOO_HIGH;
    return FITS;
  }
  double value = 0;
  const verdict v = parse_number(text, &value);
  if (v != FITS) return v;
  value *= (double)factor;
  if (fabs(value) > WHOLE_MAX) return value < 0 ? TOO_LOW : TOO_HIGH;
  if (fabs(value - nearbyint(value)) > fmin(1e-12 * fabs(value), 1e-3))
    return WRONG_TYPE; /* 2.3 k is 2300, though not in binary */
  *out = (int64_t)nearbyint(value);
  return FITS;
}

/* "1.5 KiB" → "1.5" and its unit. */
static verdict split_unit(const char *text, const unit *units, char *number, size_t number_size, const unit **out) {
  const size_t length = strspn(text, "0123456789+-.eE");
  if (length == 0 || length >= number_size) return WRONG_TYPE;
  memcpy(number, text, length);
  number[length] = '\0';
  const char *name = text + length + strspn(text + length, " ");
  for (; units->name != NULL; units++) {
    if (strcmp(units->name, name) != 0) continue;
    *out = units;
    return FITS;
  }
  return WRONG_UNIT;
}

static verdict parse_units(const char *text, const unit *units, int64_t *out) {
  char number[64];
  const unit *u = NULL;
  const verdict v = split_unit(text, units, number, sizeof number, &u);
  return v != FITS ? v : parse_whole(number, u->factor, out);
}

static verdict parse_time(const char *text, double *out) {
  char number[64];
  const unit *u = NULL;
  verdict v = split_unit(text, time_units, number, sizeof number, &u);
  if (v == FITS) v = parse_number(number, out);
  if (v == FITS) *out *= (double)u->factor;
  return v == FITS && isinf(*out) ? (*out < 0 ? TOO_LOW : TOO_HIGH) : v;
}

static mz_status fail_unit(const char *text, const char *where, const char *what, const char *units) {
  return mz_fail(MZ_E_CONFIG, "%s %s: no such unit; a %s takes %s", where, text, what, units);
}

/* `what` takes `units`, whose names are `names`; `least` is said of the number. */
static mz_status parse_amount(const char *text, const char *where, const unit *units, const char *what, const char *names,
                              const char *least, int64_t *out) {
  int64_t value = 0;
  verdict v = parse_units(text, units, &value);
  if (v == FITS && value < 0) v = TOO_LOW;
  if (v == TOO_HIGH)
    return mz_fail(MZ_E_CONFIG, "%s %s: out of range; the largest is %lld, and from 2^53 on it takes every digit", where, text,
                   (long long)INT64_MAX);
  if (v == WRONG_UNIT) return fail_unit(text, where, what, names);
  if (v != FITS) return mz_fail(MZ_E_CONFIG, "%s %s: not a whole number%s, which may have %s", where, text, least, names);
  *out = value;
  return MZ_OK;
}

mz_status mz_parse_size(const char *text, const char *where, int64_t *out) {
  return parse_amount(text, where, size_units, "size", size_unit_names, " of 0 or more", out);
}

mz_status mz_parse_count(const char *text, const char *where, int64_t *out) {
  return parse_amount(text, where, count_units, "count", "k, M or G", "", out);
}

mz_status mz_parse_time(const char *text, const char *where, double *seconds) {
  double value = 0;
  verdict v = parse_time(text, &value);
  if (v == FITS && value < 0) v = TOO_LOW;
  if (v == TOO_HIGH) return mz_fail(MZ_E_CONFIG, "%s %s: out of range; no time is as long as that", where, text);
  if (v == WRONG_UNIT) return fail_unit(text, where, "time", time_unit_names);
  if (v != FITS)
    return mz_fail(MZ_E_CONFIG, "%s %s: not a time; it takes a number of 0 or more with %s", where, text, time_unit_names);
  *seconds = value;
  return MZ_OK;
}

/* ---- numbers to text ---- */

static void time_text(double seconds, char *out, size_t size) {
  char number[MZ_JSON_NUMBER_MAX];
  const unit *u = time_units;
  while (u->factor > 1 && (seconds < (double)u->factor || fmod(seconds, (double)u->factor) != 0)) u++;
  mz_json_number(seconds / (double)u->factor, number);
  snprintf(out, size, "%s%s", number, u->factor > 1 ? u->name : "s");
}

static void units_text(int64_t value, const unit *u, char *out, size_t size) {
  while (u->factor > 1 && (value == 0 || value % u->factor != 0)) u++;
  snprintf(out, size, "%lld%s", (long long)(value / u->factor), u->name);
}

/* The name of a choice, "" when there is none of that number. */
static void choice_text(const char *choices, int64_t index, char *out, size_t size) {
  const char *start = choices;
  for (; index > 0 && *start != '\0'; index--) {
    start += strcspn(start, "|");
    if (*start == '|') start++;
  }
  snprintf(out, size, "%.*s", (int)strcspn(start, "|"), start);
}

void mz_setting_value_text(const mz_setting *row, const mz_setting_value *value, char *out, size_t size) {
  char number[MZ_JSON_NUMBER_MAX];
  switch (row->type) {
    case MZ_INT: snprintf(out, size, "%lld", (long long)value->integer); break;
    case MZ_FLOAT:
      mz_json_number(value->number, number);
      snprintf(out, size, "%s", number);
      break;
    case MZ_BOOL: snprintf(out, size, "%s", value->integer != 0 ? "on" : "off"); break;
    case MZ_ENUM: choice_text(row->choices, value->integer, out, size); break;
    case MZ_TIME: time_text(value->number, out, size); break;
    case MZ_SIZE: units_text(value->integer, size_units, out, size); break;
    case MZ_COUNT: units_text(value->integer, count_units, out, size); break;
    case MZ_TEXT: snprintf(out, size, "%s", value->text); break;
  }
}

/* ---- ranges ---- */

static bool is_whole(const mz_setting *row) { return row->type == MZ_INT || row->type == MZ_SIZE || row->type == MZ_COUNT; }

static bool has_no_end(const mz_setting *row) { return row->max >= (is_whole(row) ? 0x1p63 : 0x1.fffffffffffffp1023); }

/* The valid value nearest to a bound. */
static mz_setting_value at_bound(const mz_setting *row, double bound) {
  mz_setting_value value = {.number = bound};
  if (is_whole(row)) value.integer = bound >= 0x1p63 ? INT64_MAX : bound < -0x1p63 ? INT64_MIN : (int64_t)bound;
  return value;
}

static void choices_range(const char *choices, char *out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "one of ");
  for (const char *c = choices; *c != '\0' && used + 3 < size; c++) {
    if (*c == '|') out[used++] = ',';
    out[used++] = *c == '|' ? ' ' : *c;
  }
  out[used] = '\0';
}

void mz_setting_value_range(const mz_setting *row, char *out, size_t size) {
  if (row->type == MZ_BOOL) {
    snprintf(out, size, "on or off");
  } else if (row->type == MZ_ENUM) {
    choices_range(row->choices, out, size);
  } else if (row->type == MZ_TEXT) {
    snprintf(out, size, "text of at most %zu bytes of UTF-8", row->size - 1);
  } else {
    char low[48], high[48];
    const mz_setting_value min = at_bound(row, row->min), max = at_bound(row, row->max);
    mz_setting_value_text(row, &min, low, sizeof low);
    mz_setting_value_text(row, &max, high, sizeof high);
    const bool has_unit = row->unit != NULL && row->unit[0] != '\0';
    snprintf(out, size, "%s%s%s%s%s%s", low, has_no_end(row) ? " or more" : " … ", has_no_end(row) ? "" : high,
             has_unit ? " (" : "", has_unit ? row->unit : "", has_unit ? ")" : "");
  }
}

/* ---- parsing a setting ---- */

static verdict parse_choice(const char *choices, const char *text, int64_t *out) {
  char name[64];
  for (int64_t i = 0;; i++) {
    choice_text(choices, i, name, sizeof name);
    if (name[0] == '\0') return WRONG_TYPE;
    if (strcmp(name, text) != 0) continue;
    *out = i;
    return FITS;
  }
}

static verdict parse_bool(const char *text, int64_t *out) {
  *out = strcmp(text, "on") == 0 || strcmp(text, "true") == 0;
  return *out != 0 || strcmp(text, "off") == 0 || strcmp(text, "false") == 0 ? FITS : WRONG_TYPE;
}

/* Returns whether JSON keeps the text as it is and a terminal shows it. */
static bool is_clean(const char *text) {
  uint32_t code;
  size_t length;
  while ((length = mz_text_character(text, &code)) > 0 && !mz_text_is_control(code)) text += length;
  return *text == '\0';
}

static verdict parse_text(const char *text, char *out, size_t size) {
  const size_t length = strlen(text);
  if (length >= size || !is_clean(text)) return WRONG_TYPE;
  memcpy(out, text, length + 1);
  return FITS;
}

/* k, M and G are taken, and not advertised where they mean nothing. */
static verdict parse_int(const char *text, int64_t *out) {
  const verdict plain = parse_whole(text, 1, out);
  return plain == FITS || parse_units(text, count_units, out) != FITS ? plain : FITS;
}

static verdict parse_type(const mz_setting *row, const char *text, mz_setting_value *out) {
  switch (row->type) {
    case MZ_INT: return parse_int(text, &out->integer);
    case MZ_FLOAT: return parse_number(text, &out->number);
    case MZ_BOOL: return parse_bool(text, &out->integer);
    case MZ_ENUM: return parse_choice(row->choices, text, &out->integer);
    case MZ_TIME: return parse_time(text, &out->number);
    case MZ_SIZE: return parse_units(text, size_units, &out->integer);
    case MZ_COUNT: return parse_units(text, count_units, &out->integer);
    case MZ_TEXT:
      MZ_ASSERT(row->size > 0 && row->size <= sizeof out->text); /* every row's default comes here first */
      return parse_text(text, out->text, row->size);
  }
  return WRONG_TYPE;
}

static verdict check_range(const mz_setting *row, const mz_setting_value *value) {
  if (row->type == MZ_BOOL || row->type == MZ_ENUM || row->type == MZ_TEXT) return FITS;
  const double x = is_whole(row) ? (double)value->integer : value->number;
  return x < row->min ? TOO_LOW : x > row->max ? TOO_HIGH : FITS;
}

static const char *kind(mz_type type) {
  switch (type) {
    case MZ_INT: return "a whole number, ";
    case MZ_FLOAT: return "a number, ";
    case MZ_TIME: return "a time with s, m or h, ";
    case MZ_SIZE: return "a size with k, M, G, KiB, MiB or GiB, ";
    case MZ_COUNT: return "a number with k, M or G, ";
    default: return ""; /* the range says it all */
  }
}

mz_status mz_setting_value_parse(const mz_setting *row, const char *text, const char *where, mz_setting_value *out) {
  *out = (mz_setting_value){0};
  verdict v = parse_type(row, text, out);
  if (v == FITS) v = check_range(row, out);
  if (v == FITS) return MZ_OK;

  char range[512], nearest[64];
  mz_setting_value_range(row, range, sizeof range);
  const char *gap = where[0] == '-' ? " " : ": "; /* "--set key=value", "cartpole.json: key=value" */
  if (v == TOO_LOW || v == TOO_HIGH) {
    const mz_setting_value bound = at_bound(row, v == TOO_LOW ? row->min : row->max);
    mz_setting_value_text(row, &bound, nearest, sizeof nearest);
    return mz_fail(MZ_E_CONFIG, "%s%s%s=%.80s: out of range; %s takes %s; nearest valid value: %s", where, gap, row->key, text,
                   row->key, range, nearest);
  }
  return mz_fail(MZ_E_CONFIG, "%s%s%s=%.80s: %s; %s takes %s%s", where, gap, row->key, text,
                 v == WRONG_UNIT ? "no such unit" : "not a valid value", row->key, kind(row->type), range);
}

/* ---- in and out of the struct ---- */

mz_setting_value mz_setting_value_load(const mz_setting *row, const void *place) {
  mz_setting_value value = {0};
  int32_t choice;
  bool flag;
  switch (row->type) {
    case MZ_INT:
    case MZ_SIZE:
    case MZ_COUNT: memcpy(&value.integer, place, sizeof value.integer); break;
    case MZ_FLOAT:
    case MZ_TIME: memcpy(&value.number, place, sizeof value.number); break;
    case MZ_BOOL:
      memcpy(&flag, place, sizeof flag);
      value.integer = flag;
      break;
    case MZ_ENUM:
      memcpy(&choice, place, sizeof choice);
      value.integer = choice;
      break;
    case MZ_TEXT: snprintf(value.text, row->size, "%s", (const char *)place); break;
  }
  return value;
}

void mz_setting_value_store(const mz_setting *row, const mz_setting_value *value, void *place) {
  const int32_t choice = (int32_t)value->integer;
  const bool flag = value->integer != 0;
  switch (row->type) {
    case MZ_INT:
    case MZ_SIZE:
    case MZ_COUNT: memcpy(place, &value->integer, sizeof value->integer); break;
    case MZ_FLOAT:
    case MZ_TIME: memcpy(place, &value->number, sizeof value->number); break;
    case MZ_BOOL: memcpy(place, &flag, sizeof flag); break;
    case MZ_ENUM: memcpy(place, &choice, sizeof choice); break;
    case MZ_TEXT: memcpy(place, value->text, row->size); break;
  }
}
