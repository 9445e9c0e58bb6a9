/* One value of a setting: from text, to text, into its struct. Used by config.c, and where a range is shown. */
#pragma once
#include "base/config/config.h"

typedef struct mz_setting_value {
  int64_t integer;                /* MZ_INT, MZ_SIZE, MZ_COUNT, MZ_ENUM, MZ_BOOL */
  double number;                  /* MZ_FLOAT, MZ_TIME */
  char text[MZ_SETTING_TEXT_MAX]; /* MZ_TEXT */
} mz_setting_value;

/* Checks type and range. The message is "ORIGIN KEY=VALUE: why; what the setting takes; nearest valid value". */
mz_status mz_setting_value_parse(const mz_setting *row, const char *text, const char *where, mz_setting_value *out);
mz_setting_value mz_setting_value_load(const mz_setting *row, const void *place);
void mz_setting_value_store(const mz_setting *row, const mz_setting_value *value, void *place);
/* As a user would type it; parses back to the same bits. */
void mz_setting_value_text(const mz_setting *row, const mz_setting_value *value, char *out, size_t size);
/* Writes the values that the setting takes: "0 … 4096 (updates a round)", "one of puct, gumbel". */
void mz_setting_value_range(const mz_setting *row, char *out, size_t size);
