#include "envs/worker/options.h"
#include "envs/worker/workers.h"
#include <math.h>
#include <string.h>

bool mz_worker_env_is_name(const char *name) { return strncmp(name, "gym:", 4) == 0 || strncmp(name, "spiel:", 6) == 0; }

/* ---- numbers ---- */

mz_status mz_worker_option_read(const char *name, const mz_worker_option *row, const char *text, double *out) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value))
    return mz_fail(MZ_E_CONFIG, "environment '%s': %s: '%s' is no number", name, row->key, text);
  const double inside = value < row->min ? row->min : value > row->max ? row->max : row->whole ? rint(value) : value;
  if (inside != value)
    return mz_fail(MZ_E_CONFIG, "environment '%s': %s: %s is outside of %s%g … %g; nearest valid value: %g", name, row->key, text,
                   row->whole ? "the whole numbers " : "", row->min, row->max, inside);
  *out = value;
  return MZ_OK;
}

/* ---- items ---- */

/* Ends the item that begins at `at` with a NUL and returns where the next one begins, NULL behind the last. */
static char *split(char *at) {
  int depth = 0;
  char quote = '\0';
  for (; *at; at++) {
    if (quote) {
      if (*at == quote) quote = '\0';
    } else if (*at == '\'' || *at == '"') {
      quote = *at;
    } else if (strchr("([{", *at)) {
      depth++;
    } else if (strchr(")]}", *at)) {
      depth--;
    } else if (*at == ',' && depth <= 0) {
      *at = '\0';
      return at + 1;
    }
  }
  return NULL;
}

typedef enum known { WORKERS, TIMEOUT, LIMIT, RANGES, KNOWN = RANGES + MZ_WORKER_RANGES } known;
static const mz_worker_option numbers[KNOWN] = {
    [WORKERS] = {"workers", 1, MZ_WORKERS_MAX, true,
                 "processes; by default as many as a run may use cores; results do not depend on it"},
    [TIMEOUT] =
        {"timeout", 0.05, 86400, false,
         "seconds, by default 60, that a worker may take for an answer, its start included, before it is ended and replaced"},
    [LIMIT] = {"limit", 1, 1e9, true, "moves after which a game is truncated"},
    [RANGES + MZ_REWARD_MIN] = {"reward_min", -1e6, 1e6, false, "least reward"},
    [RANGES + MZ_REWARD_MAX] = {"reward_max", -1e6, 1e6, false, "greatest reward"},
    [RANGES + MZ_RETURN_MIN] = {"return_min", -1e9, 1e9, false, "least return of a game"},
    [RANGES + MZ_RETURN_MAX] = {"return_max", -1e9, 1e9, false, "greatest return of a game"},
};

const mz_worker_option *mz_worker_option_at(int index) { return index >= 0 && index < KNOWN ? &numbers[index] : NULL; }

static int find_known(const char *item) {
  const size_t length = strcspn(item, "=");
  for (int i = 0; i < KNOWN; i++)
    if (strlen(numbers[i].key) == length && strncmp(numbers[i].key, item, length) == 0) return i;
  return -1;
}

const mz_worker_option *mz_worker_option_named(const char *key) {
  const int row = find_known(key);
  MZ_ASSERT(row >= 0);
  return &numbers[row];
}

static mz_status read_item(const char *name, char *item, mz_worker_options *out) {
  const char *equals = strchr(item, '=');
  if (!equals || equals == item)
    return mz_fail(MZ_E_CONFIG, "environment '%s': option '%s': takes key=value, as in workers=2", name, item);
  const int row = find_known(item);
  double value = 0;
  if (row < 0) {
    if (out->other_count == MZ_WORKER_OPTIONS_MAX)
      return mz_fail(MZ_E_CONFIG, "environment '%s': more than %d options", name, MZ_WORKER_OPTIONS_MAX);
    out->others[out->other_count++] = item;
    return MZ_OK;
  }
  MZ_TRY(mz_worker_option_read(name, &numbers[row], equals + 1, &value));
  if (row == WORKERS)
    out->workers = (int)value;
  else if (row == TIMEOUT)
    out->timeout_s = value;
  else if (row == LIMIT)
    out->limit = (int)value;
  else
    out->ranges[row - RANGES] = (float)value;
  return MZ_OK;
}

mz_status mz_worker_ranges_check(const char *name, const float *ranges, const float *named, const char *source) {
  for (int low = MZ_REWARD_MIN; low < MZ_WORKER_RANGES; low += 2) {
    const int high = low + 1;
    if (!(ranges[low] > ranges[high])) continue; /* either may be NAN */
    return mz_fail(MZ_E_CONFIG, "environment '%s': %s %g%s is above %s %g%s", name, numbers[RANGES + low].key,
                   (double)ranges[low], isnan(named[low]) ? source : "", numbers[RANGES + high].key, (double)ranges[high],
                   isnan(named[high]) ? source : "");
  }
  return MZ_OK;
}

mz_status mz_worker_options_read(const char *name, mz_worker_options *out) {
  *out = (mz_worker_options){.timeout_s = MZ_WORKER_TIMEOUT_S};
  for (int i = 0; i < MZ_WORKER_RANGES; i++) out->ranges[i] = NAN;
  if (strlen(name) >= sizeof out->text)
    return mz_fail(MZ_E_CONFIG, "environment '%.60s…': a name of more than %d bytes", name, MZ_WORKER_NAME_MAX - 1);
  strcpy(out->text, name);
  char *item = strchr(out->text, ':') + 1, *next = split(item);
  out->id = item;
  if (!item[0])
    return mz_fail(MZ_E_CONFIG, "environment '%s': names no environment; as in gym:CartPole-v1 or spiel:breakthrough", name);
  size_t used = (size_t)snprintf(out->canonical, sizeof out->canonical, "%s", out->text);
  for (item = next; item; item = next) {
    next = split(item);
    MZ_TRY(read_item(name, item, out));
    const int row = find_known(item);
    if (row != WORKERS && row != TIMEOUT)
      used += (size_t)snprintf(out->canonical + used, sizeof out->canonical - used, ",%s", item);
  }
  return mz_worker_ranges_check(name, out->ranges, out->ranges, "");
}
