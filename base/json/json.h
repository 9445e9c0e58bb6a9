/* JSON on cJSON: strict reading (duplicate keys and trailing bytes are errors, // and block comments allowed on request,
 * line:column in messages, at most 64 levels), doubles written with up to 17 significant digits, as many as it takes to read
 * the same bits back; integers beyond 2^53 that we read ourselves as hex strings. */
#pragma once
#include "base/status.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `name` is used in messages (a path, or "--set"). Parser errors are `code` (MZ_E_CONFIG, MZ_E_CHECKPOINT …). */
mz_status mz_json_parse(const char *text, size_t size, const char *name, bool comments, mz_status code, cJSON **out);
/* One line of valid UTF-8, no spaces, NUL-terminated; free(). Non-finite numbers become null, bytes that are not UTF-8 become
 * U+FFFD, control characters (C1, too) are escaped. NULL when memory is out, or was while the value was built: a text never lacks
 * a member. */
char *mz_json_line(const cJSON *json);
/* The same, indented over many lines, for people. */
char *mz_json_page(const cJSON *json);

/* A finite double in the fewest digits (15 to 17) that read back the same bits. */
enum { MZ_JSON_NUMBER_MAX = 32 };
void mz_json_number(double value, char out[MZ_JSON_NUMBER_MAX]);

/* Writing helpers; failed allocations show when the text is made. mz_json_add takes `item` over: it becomes the object's, or is deleted
 * where there is no memory. */
void mz_json_add(cJSON *object, const char *key, cJSON *item);
void mz_json_add_u64(cJSON *object, const char *key, uint64_t value);     /* a number with all its digits, for others to read */
void mz_json_add_u64_hex(cJSON *object, const char *key, uint64_t value); /* "0123456789abcdef" */
mz_status mz_json_get_number(const cJSON *object, const char *key, const char *name, mz_status code, double *out);
mz_status mz_json_get_string(const cJSON *object, const char *key, const char *name, mz_status code, const char **out);
mz_status mz_json_get_u64_hex(const cJSON *object, const char *key, const char *name, mz_status code, uint64_t *out);

/* The member `key` of an object; NULL where there is none, or it is no object. */
const cJSON *mz_json_item(const cJSON *object, const char *key);
/* For reading what need not be there: NAN, "" where it is not, or is something else. */
double mz_json_number_or_nan(const cJSON *object, const char *key);
const char *mz_json_text_or_empty(const cJSON *object, const char *key);
