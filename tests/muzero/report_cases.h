/* Pages and the data in them. */
#pragma once
#include "muzero/report/report.h"
#include "testing.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

__attribute__((unused)) static char folder[64];

static inline int begin(void **unused) {
  (void)unused;
  make_folder(folder);
  return 0;
}

static inline int end(void **unused) {
  (void)unused;
  drop_folder(folder);
  return 0;
}

/* ---- helpers ---- */

static inline const char *in_folder(const char *name) {
  static char paths[4][512];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* Not inlined: gcc 12 then warns of pointers into what mz_file_read has given. */
__attribute__((noinline, unused)) static char *page_of(const char *const *runs, int count) {
  const char *path = in_folder("page.html");
  expect_ok(mz_report_write(path, runs, count));
  uint8_t *text;
  size_t size;
  expect_ok(mz_file_read(path, 0, &text, &size));
  assert_int_equal(strlen((char *)text), size);
  return (char *)text;
}

static inline cJSON *data_of(const char *page) {
  static const char opening[] = "<script type=\"application/json\" id=\"data\">";
  const char *from = strstr(page, opening);
  assert_non_null(from);
  from += sizeof opening - 1;
  const char *to = strstr(from, "</script>");
  assert_non_null(to);
  cJSON *data;
  expect_ok(mz_json_parse(from, (size_t)(to - from), "page", false, MZ_E_INTERNAL, &data));
  return data;
}

static inline cJSON *data_of_run(const char *dir) {
  char *page = page_of(&dir, 1);
  cJSON *data = data_of(page);
  free(page);
  return data;
}

/* "runs.0.columns.loss.-1": numbers are places in an array, from the end where negative. */
static inline const cJSON *at(const cJSON *json, const char *path) {
  char part[64];
  for (const char *p = path; *p;) {
    const size_t length = strcspn(p, ".");
    snprintf(part, sizeof part, "%.*s", (int)length, p);
    const int size = cJSON_GetArraySize(json), place = atoi(part);
    json = cJSON_IsArray(json) ? cJSON_GetArrayItem(json, place < 0 ? size + place : place)
                               : cJSON_GetObjectItemCaseSensitive(json, part);
    if (!json) fail_msg("%s: nothing at '%s'", path, part);
    p += length + (p[length] == '.');
  }
  return json;
}

static inline double number(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsNumber(item)) fail_msg("%s: no number", path);
  return item->valuedouble;
}

static inline const char *string(const cJSON *json, const char *path) {
  const cJSON *item = at(json, path);
  if (!cJSON_IsString(item)) fail_msg("%s: no string", path);
  return item->valuestring;
}

static inline int size_at(const cJSON *json, const char *path) { return cJSON_GetArraySize(at(json, path)); }

static inline void assert_near(double value, double wanted) {
  if (!(fabs(value - wanted) <= 1e-6 * fmax(1, fabs(wanted)))) fail_msg("%.9g, wanted %.9g", value, wanted);
}

static inline void put_file(const char *dir, const char *name, const char *text) {
  char path[512];
  expect_ok(mz_file_mkdirs(dir));
  expect_ok(mz_path_join(path, sizeof path, dir, name));
  expect_ok(mz_file_write_atomic(path, text, strlen(text)));
}
