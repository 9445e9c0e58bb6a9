/* One table of settings drives presets, --set, --help, errors and the resolved config of a run. Each room exports its rows
 * for its own plain settings struct; the roof joins them (muzero/settings.h). */
#pragma once
#include "base/json/json.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum mz_type {
  MZ_INT,   /* int64_t */
  MZ_FLOAT, /* double */
  MZ_BOOL,  /* bool; on/off, true/false */
  MZ_ENUM,  /* int32_t; `choices` lists the names */
  MZ_TIME,  /* double seconds; s, m, h */
  MZ_SIZE,  /* int64_t bytes; k, M, G (powers of ten), KiB, MiB, GiB */
  MZ_COUNT, /* int64_t things; k, M, G (powers of ten) */
  MZ_TEXT,  /* char[size], at most MZ_SETTING_TEXT_MAX */
} mz_type;

/* docs/architecture.md, "Classes of settings" */
typedef enum mz_class { MZ_EXACT, MZ_NUMERIC, MZ_ALGORITHMIC, MZ_OPERATIONAL } mz_class;

enum { MZ_SETTING_TEXT_MAX = 2048 };

typedef struct mz_setting {
  const char *key; /* "learning_rate", "replay.segment_moves" */
  mz_type type;
  mz_class class_;
  size_t offset, size;  /* bytes in the room's settings struct */
  double min, max;      /* inclusive; max of 0x1p63 (whole numbers) or INFINITY: no upper bound */
  const char *fallback; /* the default, as a user would type it */
  const char *choices;  /* MZ_ENUM: "puct|gumbel" */
  const char *unit;     /* shown with the range; "" for none */
  const char *help;
  bool common; /* one of those that matter most, which a short help shows */
} mz_setting;

/* A row of a table, the one form of all rooms: the struct and its field, the key, type, class, least and largest value, default
 * as a user would type it, unit and help; last, where it has them, .choices = "a|b" and .common = true. */
#define MZ_SETTING(struct_, field, key_, type_, class__, min_, max_, default_, unit_, ...)                                       \
  {                                                                                                                              \
    .key = key_, .type = type_, .class_ = class__, .offset = offsetof(struct_, field), .size = sizeof((struct_ *)0)->field,      \
    .min = min_, .max = max_, .fallback = default_, .unit = unit_, .help = __VA_ARGS__                                           \
  }

/* A run of rows and the struct they fill. Tables of one config have distinct keys. */
typedef struct mz_settings_table {
  const mz_setting *rows;
  int count;
  size_t base; /* offset of the room's struct in the joined struct */
} mz_settings_table;

/* A setting that got another key: users and files may still say the old one. */
typedef struct mz_renamed_key {
  const char *old, *key;
} mz_renamed_key;

typedef struct mz_config {
  const mz_settings_table *tables;
  int table_count;
  void *values;       /* the joined settings struct */
  uint8_t *explicit_; /* one flag per row over all tables, in order: set by preset, file or --set (NULL: not tracked) */
  const mz_renamed_key *renamed; /* ends with a row of NULL; NULL: no key was ever renamed */
  bool stored;                   /* settings come from a program's own file: an old key there is no mistake to warn of */
} mz_config;

int mz_config_row_count(const mz_config *config);
const mz_setting *mz_config_row(const mz_config *config, int index);
/* Returns the row of a key, also of one that was renamed; -1 when unknown. */
int mz_config_find(const mz_config *config, const char *key);

void mz_config_defaults(mz_config *config);
/* `where` names the origin in messages ("--set", "cartpole.json:12"). Unknown key: the nearest one is named. Out of range or
 * wrongly typed: range and unit are shown. An old key costs a warning, once a process; beside its new one it is an error.
 * MZ_E_CONFIG. Values are written only when valid. */
mz_status mz_config_set(mz_config *config, const char *key, const char *value, const char *where);
mz_status mz_config_set_pair(mz_config *config, const char *key_equals_value, const char *where); /* "key=value" */
/* An object; nested objects join their keys with dots. */
mz_status mz_config_set_json(mz_config *config, const cJSON *object, const char *where);
/* Every key with its value, nested by dots; reading it back gives the same bits. */
cJSON *mz_config_to_json(const mz_config *config);
/* Value of one row as a user would type it. */
void mz_config_text(const mz_config *config, int index, char *out, size_t size);
bool mz_config_equal(const mz_config *a, const mz_config *b, int index);
const char *mz_class_name(mz_class class_);

/* "1.5k", "64 MiB" → bytes; "1.5k" → a count; "90s", "1.5h" → seconds. Wrong units are an error that names the right ones. */
mz_status mz_parse_size(const char *text, const char *where, int64_t *out);
mz_status mz_parse_count(const char *text, const char *where, int64_t *out);
mz_status mz_parse_time(const char *text, const char *where, double *seconds);

/* Nearest of `count` names by edit distance (Damerau–Levenshtein), NULL when none is near enough to suggest. */
const char *mz_nearest(const char *word, const char *const *names, int count);
/* Finds a word among the names of a list, at most 32: name(i) is NULL past the last one. MZ_E_CONFIG: "WHERE: 'WORD' is no KIND; did you
 * mean NEAREST?", or all the names where none is near. */
mz_status mz_find_named(const char *word, const char *kind, const char *(*name)(int index), const char *where, int *index);
