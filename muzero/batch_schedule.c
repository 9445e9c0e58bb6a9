#include "muzero/batch_schedule.h"
#include "muzero/batch_rule.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_SIZE = 64 };

typedef struct entry {
  int64_t phase, rows;
  char text[ENTRY_SIZE];
} entry;

/* A whole number from 0 on that ends at `end`. */
static bool read_whole(const char *text, char end, const char **next, int64_t *out) {
  char *stop;
  if (*text < '0' || *text > '9') return false;
  errno = 0;
  *out = strtoll(text, &stop, 10);
  *next = stop;
  return errno == 0 && *stop == end;
}

/* Takes the entry that begins at *at, and moves *at behind it. False: it is no PHASE:ROWS. */
static bool next_entry(const char **at, entry *out) {
  const size_t length = strcspn(*at, ",");
  const char *stop = out->text;
  snprintf(out->text, sizeof out->text, "%.*s", (int)length, *at);
  *at += length;
  *at += **at == ',';
  return read_whole(out->text, ':', &stop, &out->phase) && read_whole(stop + 1, '\0', &stop, &out->rows);
}

static mz_status check_entry(const mz_settings *settings, const entry *e, int64_t before) {
  char where[ENTRY_SIZE + 32];
  mz_settings copy = *settings;
  snprintf(where, sizeof where, "batch_schedule: entry '%s'", e->text);
  if (e->phase <= before)
    return mz_fail(MZ_E_CONFIG, "%s: phases rise from entry to entry; nearest valid phase: %lld", where, (long long)before + 1);
  return mz_batch_rule_apply(&copy, e->rows, where);
}

mz_status mz_batch_schedule_check(const mz_settings *settings) {
  const char *at = settings->learning.batch_schedule;
  if (*at == '\0') return MZ_OK;
  if (settings->allocation.objective == MZ_OBJECTIVE_GOODPUT)
    return mz_fail(MZ_E_CONFIG,
                   "batch_schedule: %s: it moves loop_count, as allocate.objective=goodput does; leave it empty, or use "
                   "allocate.objective=time",
                   at);
  if (at[strlen(at) - 1] == ',') return mz_fail(MZ_E_CONFIG, "batch_schedule: %s: ends with a comma; leave that out", at);
  for (int64_t before = -1; *at;) {
    entry e;
    if (!next_entry(&at, &e))
      return mz_fail(MZ_E_CONFIG, "batch_schedule: entry '%s' is no PHASE:ROWS of two whole numbers, as in 10:256,40:512",
                     e.text);
    MZ_TRY(check_entry(settings, &e, before));
    before = e.phase;
  }
  return MZ_OK;
}

int64_t mz_batch_schedule_at(const mz_settings *settings, int64_t phases) {
  int64_t rows = settings->learning.batch_size;
  entry e;
  for (const char *at = settings->learning.batch_schedule; *at && next_entry(&at, &e) && e.phase <= phases;) rows = e.rows;
  return rows;
}

int64_t mz_batch_schedule_largest(const mz_settings *settings) {
  int64_t largest = settings->learning.batch_size;
  entry e;
  for (const char *at = settings->learning.batch_schedule; *at && next_entry(&at, &e);)
    if (e.rows > largest) largest = e.rows;
  return largest;
}
