/* Strict reading of JSON objects: a key that is missing or of another type is an error that names it and the way to it,
 * "ledger.jsonl:3: window: stages: 'actor' takes 6 numbers". Everything that the allocator reads back is read by this. */
#pragma once
#include "base/json/json.h"

#define MZ_WHOLE_MAX (INT64_C(1) << 53) /* whole numbers are exact in JSON up to here */

typedef struct mz_fields {
  const cJSON *object;
  const char *where; /* the origin in messages: a file and line */
  mz_status code;    /* of errors */
  const struct mz_fields *parent;
  const char *name; /* in the parent */
} mz_fields;

/* Not an object: an error. `where`, and a parent and its `name` for a child, stay alive as long as *out. */
mz_status mz_fields_open(mz_fields *out, const cJSON *json, const char *where, mz_status code);
mz_status mz_fields_open_child(const mz_fields *parent, const cJSON *json, const char *name, mz_fields *out);
mz_status mz_fields_object(const mz_fields *fields, const char *key, mz_fields *out);

mz_status mz_fields_number(const mz_fields *fields, const char *key, double *out);  /* finite */
mz_status mz_fields_measure(const mz_fields *fields, const char *key, double *out); /* null is read as NAN */
mz_status mz_fields_whole(const mz_fields *fields, const char *key, int64_t min, int64_t max, int64_t *out);
mz_status mz_fields_int(const mz_fields *fields, const char *key, int min, int max, int *out);
mz_status mz_fields_text(const mz_fields *fields, const char *key, char *out, size_t size);
/* Index of the text among `names`. */
mz_status mz_fields_choice(const mz_fields *fields, const char *key, const char *const *names, int count, int *out);
/* *count elements, at most `max`. */
mz_status mz_fields_array(const mz_fields *fields, const char *key, int max, const cJSON **out, int *count);
mz_status mz_fields_measures(const mz_fields *fields, const char *key, int max, double *out, int *count);

/* For checks of one's own: "where: way: 'key' why". */
mz_status mz_fields_fail(const mz_fields *fields, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writing: an array under a key, NAN as null. cJSON has no call that adds one and frees it where that fails. */
void mz_fields_add_numbers(cJSON *object, const char *key, const double *values, int count);
