/* The folder that `train --seeds` leaves: a run for each seed. */
#include "base/file/file.h"
#include "muzero/report/data.h"
#include "muzero/report/report.h"
#include <stdlib.h>
#include <string.h>

typedef struct seeds {
  unsigned long long *numbers;
  int count, capacity;
} seeds;

static mz_status add_seed(void *context, const char *name) {
  static const char prefix[] = "seed-";
  seeds *s = context;
  const size_t length = strlen(prefix);
  const char *digits = name + length;
  if (strncmp(name, prefix, length) != 0 || !*digits || digits[strspn(digits, "0123456789")]) return MZ_OK;
  MZ_TRY(mz_reserve_one(&s->numbers, &s->capacity, s->count, sizeof *s->numbers));
  s->numbers[s->count++] = strtoull(digits, NULL, 10);
  return MZ_OK;
}

static int by_number(const void *a, const void *b) {
  const unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;
  return (x > y) - (x < y);
}

/* A seed that has not finished a phase has no metrics yet and is left out. */
static mz_status add_run(const char *dir, const char *name, unsigned long long seed, cJSON *runs) {
  char folder[32], path[576], metrics[640], shown[576];
  snprintf(folder, sizeof folder, "seed-%llu", seed);
  MZ_TRY(mz_path_join(path, sizeof path, dir, folder));
  MZ_TRY(mz_path_join(metrics, sizeof metrics, path, "metrics.jsonl"));
  if (!mz_file_exists(metrics)) return MZ_OK;
  MZ_TRY(mz_path_join(shown, sizeof shown, name, folder));
  cJSON *run;
  MZ_TRY(mz_report_run(path, shown, &run));
  cJSON_AddStringToObject(run, "folder", name);
  cJSON_AddItemToArray(runs, run);
  return MZ_OK;
}

bool mz_report_has_seeds(const char *dir) {
  seeds s = {0};
  const bool found = mz_file_list(dir, add_seed, &s) == MZ_OK && s.count > 0;
  free(s.numbers);
  return found;
}

mz_status mz_report_seeds(const char *dir, const char *name, cJSON *runs, int *found) {
  seeds s = {0};
  const int before = cJSON_GetArraySize(runs);
  mz_status status;
  MZ_TRY_CLEANUP(mz_file_list(dir, add_seed, &s));
  if (s.count > 0) qsort(s.numbers, (size_t)s.count, sizeof *s.numbers, by_number);
  for (int i = 0; i < s.count; i++) MZ_TRY_CLEANUP(add_run(dir, name, s.numbers[i], runs));
  *found = cJSON_GetArraySize(runs) - before;
cleanup:
  free(s.numbers);
  return status;
}
