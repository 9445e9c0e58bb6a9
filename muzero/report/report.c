#include "muzero/report/report.h"
#include "base/bytes.h"
#include "base/file/file.h"
#include "muzero/report/assets.h"
#include "muzero/report/data.h"
#include <string.h>

/* ---- the data ---- */

/* The folder's own name in a path. */
static const char *last_part(const char *path, int *length) {
  int end = (int)strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  int start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  *length = end - start;
  return path + start;
}

/* The folder's own name, or the path as it was given where another one is called the same or it has none ("."). */
static void name_of(const char *const *runs, int run_count, int index, char *out, size_t size) {
  int length, other_length;
  const char *name = last_part(runs[index], &length);
  bool clear = length > 0 && strncmp(name, ".", (size_t)length) != 0 && strncmp(name, "..", (size_t)length) != 0;
  for (int i = 0; i < run_count && clear; i++) {
    const char *other = last_part(runs[i], &other_length);
    clear = i == index || other_length != length || strncmp(name, other, (size_t)length) != 0;
  }
  if (clear)
    snprintf(out, size, "%.*s", length, name);
  else
    snprintf(out, size, "%s", runs[index]);
}

static bool has(const char *dir, const char *file) {
  char path[640];
  return mz_path_join(path, sizeof path, dir, file) == MZ_OK && mz_file_exists(path);
}

static mz_status add_directory(const char *dir, const char *name, cJSON *runs, cJSON *comparisons) {
  if (!mz_file_exists(dir)) return mz_fail(MZ_E_IO, "%s: no such directory", dir);
  if (!mz_file_is_dir(dir)) return mz_fail(MZ_E_IO, "%s: not a directory; a report is made from a run's directory", dir);
  const bool run = has(dir, "metrics.jsonl"), comparison = has(dir, "compare.json");
  int seeds = 0;
  if (!run && !comparison) MZ_TRY(mz_report_seeds(dir, name, runs, &seeds));
  if (!run && !comparison && seeds == 0)
    return mz_fail(MZ_E_CHECKPOINT,
                   "%s: neither metrics.jsonl (a run) nor compare.json (a comparison) is there, nor runs named seed-N (what "
                   "`train --seeds` leaves)",
                   dir);
  cJSON *data;
  if (comparison) {
    MZ_TRY(mz_report_comparison(dir, name, &data));
    cJSON_AddItemToArray(comparisons, data);
  }
  if (run) {
    MZ_TRY(mz_report_run(dir, name, &data));
    cJSON_AddItemToArray(runs, data);
  }
  return MZ_OK;
}

static mz_status collect(const char *const *paths, int count, cJSON *to) {
  cJSON_AddStringToObject(to, "muzero", MUZERO_VERSION);
  cJSON_AddNumberToObject(to, "points_max", MZ_POINTS_MAX);
  cJSON *runs = cJSON_AddArrayToObject(to, "runs"), *comparisons = cJSON_AddArrayToObject(to, "comparisons");
  for (int i = 0; i < count; i++) {
    char name[512];
    name_of(paths, count, i, name, sizeof name);
    MZ_TRY(add_directory(paths[i], name, runs, comparisons));
  }
  return MZ_OK;
}

/* ---- the page ---- */

/* Inside <script> no text may end it or begin a comment: JSON has '<' in strings only, and there it may be an escape. */
static void write_data(mz_writer *out, const char *json) {
  for (const char *at = json; *at;) {
    const size_t plain = strcspn(at, "<");
    mz_write(out, at, plain);
    at += plain;
    if (*at == '<') {
      mz_write(out, "\\u003c", 6);
      at++;
    }
  }
}

static const mz_asset *asset(const char *name, size_t length) {
  for (int i = 0; i < mz_asset_count; i++)
    if (strlen(mz_assets[i].name) == length && strncmp(mz_assets[i].name, name, length) == 0) return &mz_assets[i];
  return NULL;
}

/* page.html with {{NAME}} replaced by the asset of that name, {{data}} by the data. */
static void write_page(mz_writer *out, const char *json) {
  const mz_asset *page = asset("page.html", 9);
  MZ_ASSERT(page != NULL);
  const char *at = (const char *)page->data, *end = at + page->size;
  for (const char *open; (open = memmem(at, (size_t)(end - at), "{{", 2));) {
    const char *name = open + 2, *close = memmem(name, (size_t)(end - name), "}}", 2);
    MZ_ASSERT(close != NULL);
    mz_write(out, at, (size_t)(open - at));
    const size_t length = (size_t)(close - name);
    if (length == 4 && strncmp(name, "data", 4) == 0) {
      write_data(out, json);
    } else {
      const mz_asset *part = asset(name, length);
      MZ_ASSERT(part != NULL);
      mz_write(out, part->data, part->size);
    }
    at = close + 2;
  }
  mz_write(out, at, (size_t)(end - at));
}

mz_status mz_report_write(const char *out_path, const char *const *runs, int run_count) {
  mz_writer page = {0};
  char *json = NULL;
  cJSON *data = cJSON_CreateObject();
  mz_status status;
  MZ_TRY_CLEANUP(collect(runs, run_count, data));
  json = mz_json_line(data);
  if (json) write_page(&page, json);
  if (!json || page.failed) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "%s: no memory for the report", out_path));
  MZ_TRY_CLEANUP(mz_file_write_output(out_path, page.data, page.size));
cleanup:
  cJSON_Delete(data);
  free(json);
  mz_writer_free(&page);
  return status;
}
