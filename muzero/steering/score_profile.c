#include "muzero/steering/score_profile.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "base/maths/streams.h"
#include "muzero/batch_rule.h"
#include "muzero/run.h"
#include "muzero/steering/profile_plans.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { CASES_MAX = MZ_SCORE_PROFILE_AXIS_MAX * (MZ_SCORE_PROFILE_AXIS_MAX + MZ_SCORE_PROFILE_SEEDS_MAX), EPOCHS_MOST = 512 };

typedef struct axis {
  int count;
  int64_t values[MZ_SCORE_PROFILE_AXIS_MAX]; /* rising */
} axis;

typedef struct one { /* run to be made */
  int cores;
  int64_t batch_size;
  uint64_t seed;
} one;

typedef struct profile {
  const mz_score_profile_options *options;
  const mz_score_profile_watcher *watcher;
  mz_settings settings;
  axis cores, batches;
  int64_t epochs;
  double until; /* NAN: nothing is to be reached */
  one *cases;
  int count;
  uint64_t start_ns;
  cJSON *runs;
} profile;

/* ---- the grid ---- */

static mz_status add_value(axis *a, const char *name, int64_t value) {
  int at = 0;
  while (at < a->count && a->values[at] < value) at++;
  if (at < a->count && a->values[at] == value) return MZ_OK;
  if (a->count == MZ_SCORE_PROFILE_AXIS_MAX)
    return mz_fail(MZ_E_CONFIG, "--grid: %s: %d values at the most", name, MZ_SCORE_PROFILE_AXIS_MAX);
  memmove(&a->values[at + 1], &a->values[at], (size_t)(a->count - at) * sizeof *a->values);
  a->values[at] = value;
  a->count++;
  return MZ_OK;
}

static int cores_most(const profile *p) { return p->options->run.threads > 0 ? p->options->run.threads : mz_machine_cores(); }

static mz_status check_value(const profile *p, bool cores, int64_t value) {
  mz_settings copy = p->settings;
  if (!cores) return mz_batch_rule_apply(&copy, value, "--grid: batch_size");
  const int most = cores_most(p);
  if (value >= 1 && value <= most) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "--grid: cores: %lld of the %d granted; nearest valid value: %d", (long long)value, most,
                 value < 1 ? 1 : most);
}

static mz_status read_part(void *context, const char *part) {
  profile *p = context;
  const char *names[] = {"cores", "batch_size"}, *equals = strchr(part, '=');
  const size_t length = equals ? (size_t)(equals - part) : 0;
  const bool cores = length == strlen(names[0]) && strncmp(part, names[0], length) == 0,
             batch = length == strlen(names[1]) && strncmp(part, names[1], length) == 0;
  if (!cores && !batch) return mz_fail(MZ_E_CONFIG, "--grid: '%s': with --score a part is cores=N,N or batch_size=N,N", part);
  if (equals[1] == '\0') return mz_fail(MZ_E_CONFIG, "--grid: '%s': no value; takes whole numbers", part);
  for (const char *at = equals + 1; *at;) {
    char *end;
    errno = 0;
    const long long value = strtoll(at, &end, 10);
    if (end == at || errno != 0 || (*end != '\0' && *end != ','))
      return mz_fail(MZ_E_CONFIG, "--grid: '%s': '%s' is no whole number", part, at);
    MZ_TRY(check_value(p, cores, value));
    MZ_TRY(add_value(cores ? &p->cores : &p->batches, names[batch], value));
    at = *end ? end + 1 : end;
  }
  return MZ_OK;
}

/* Axes that the user left out. */
static mz_status complete_grid(profile *p) {
  const int most = cores_most(p);
  const int64_t batch = p->settings.learning.batch_size;
  if (p->cores.count == 0) {
    for (int cores = 1; cores < most; cores *= 2) MZ_TRY(add_value(&p->cores, "cores", cores));
    MZ_TRY(add_value(&p->cores, "cores", most));
  }
  if (p->batches.count > 0) return MZ_OK;
  for (int64_t quarter = 1; quarter <= 16; quarter *= 2) {
    mz_settings copy = p->settings;
    const int64_t rows = batch * quarter / 4;
    if (rows >= 1 && mz_batch_rule_apply(&copy, rows, "batch_size") == MZ_OK) MZ_TRY(add_value(&p->batches, "batch_size", rows));
  }
  return MZ_OK;
}

static mz_status list_cases(profile *p) {
  const int seeds = p->options->seeds, most = p->cores.count - 1;
  MZ_TRY(mz_alloc(&p->cases, CASES_MAX, sizeof *p->cases));
  for (int c = 0; c <= most; c++)
    for (int b = 0; b < p->batches.count; b++)
      for (int s = 0; s < (c == most ? seeds : 1); s++)
        p->cases[p->count++] = (one){(int)p->cores.values[c], p->batches.values[b], p->options->run.seed + (uint64_t)s};
  return MZ_OK;
}

/* ---- how long ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many epochs, each of so much, begin within a limit; 0: none is set. */
static int64_t epochs_within(int64_t limit, int64_t each) {
  return limit == 0 || each == 0 ? EPOCHS_MOST : limit < each ? 1 : limit / each;
}

/* Epochs of a run within the settings' own limits. */
static int64_t epochs_of(const mz_settings *s) {
  const int64_t rounds = s->train.phase_rounds, updates = rounds * s->learning.loop_count,
                moves = rounds * s->selfplay.games * s->selfplay.moves;
  const int64_t by_counts = least(epochs_within(s->train.rounds, rounds), epochs_within(s->train.env_steps, moves));
  return least(EPOCHS_MOST, least(by_counts, epochs_within(s->train.updates, updates)));
}

static mz_status begin(profile *p) {
  const mz_score_profile_options *o = p->options;
  MZ_TRY(mz_settings_for_new_run(&o->run, &p->settings));
  if (p->settings.learning.loop_count == 0)
    return mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no learning curve to measure");
  if (p->settings.learning.batch_schedule[0])
    return mz_fail(MZ_E_CONFIG, "batch_schedule: '%s': with --score the grid says which batch sizes are run; leave it empty",
                   p->settings.learning.batch_schedule);
  if (o->seeds < MZ_SCORE_PROFILE_SEEDS_MIN || o->seeds > MZ_SCORE_PROFILE_SEEDS_MAX)
    return mz_fail(MZ_E_CONFIG, "--seeds %d: %d to %d show how runs differ; nearest valid value: %d", o->seeds,
                   MZ_SCORE_PROFILE_SEEDS_MIN, MZ_SCORE_PROFILE_SEEDS_MAX,
                   o->seeds < MZ_SCORE_PROFILE_SEEDS_MIN ? MZ_SCORE_PROFILE_SEEDS_MIN : MZ_SCORE_PROFILE_SEEDS_MAX);
  if (o->grid) MZ_TRY(mz_grid_read(o->grid, read_part, p));
  MZ_TRY(complete_grid(p));
  p->epochs = o->epochs > 0 ? o->epochs : epochs_of(&p->settings);
  p->until = !isnan(o->until) ? o->until : p->settings.train.target < MZ_SCORE_NONE ? p->settings.train.target : NAN;
  return list_cases(p);
}

/* ---- a run ---- */

static mz_status open_run(const profile *p, const one *c, const char *dir, mz_run **out) {
  enum { SETS_MAX = 256 };
  const char *sets[SETS_MAX];
  char batch[64];
  mz_run_options asked = p->options->run;
  if (asked.set_count > SETS_MAX - 1)
    return mz_fail(MZ_E_USAGE, "--set: %d settings; %d at the most", asked.set_count, SETS_MAX - 1);
  memcpy(sets, asked.sets, (size_t)asked.set_count * sizeof *sets);
  snprintf(batch, sizeof batch, "batch_schedule=0:%lld", (long long)c->batch_size);
  if (c->batch_size != p->settings.learning.batch_size) sets[asked.set_count++] = batch;
  asked.sets = sets;
  asked.dir = dir;
  asked.threads = c->cores;
  asked.seed = c->seed;
  asked.seed_given = true;
  asked.allocate = "fixed";
  asked.source = "profile";
  return mz_run_open(out, &asked);
}

static double seconds_so_far(const profile *p) { return (double)(mz_clock_ns() - p->start_ns) * 1e-9; }

static bool stopping(const profile *p) {
  const double for_s = p->options->for_s;
  return (for_s > 0 && seconds_so_far(p) >= for_s) || (p->watcher->stopping && p->watcher->stopping(p->watcher->context));
}

/* Epoch by epoch, to its last one. */
static mz_status drive(const profile *p, mz_run *run, mz_score_profile_progress *told, bool *stopped) {
  const int64_t rounds = mz_run_settings(run)->train.phase_rounds;
  int64_t last = p->epochs;
  told->best = NAN;
  for (told->epochs = 0; told->epochs < last && !*stopped; told->epochs++) {
    const mz_limits limits = {.rounds = (told->epochs + 1) * rounds + (told->epochs + 1 < last)};
    mz_phase phase;
    mz_reason reason;
    MZ_TRY(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
    told->best = fmax(told->best, phase.score);
    if (!told->reached && phase.score >= p->until) {
      told->reached = (int)told->epochs + 1;
      last = least(2 * told->reached, p->epochs);
    }
    *stopped = reason == MZ_REASON_INTERRUPTED || (told->epochs + 1 < last && stopping(p)); /* a run that is whole counts */
    if (reason == MZ_GOES_ON || reason == MZ_REASON_ROUNDS) continue;
    told->epochs += mz_run_counters(run)->rounds == (told->epochs + 1) * rounds; /* a limit of the settings may cut it short */
    break;
  }
  return MZ_OK;
}

static mz_status make_run(profile *p, const one *c, mz_score_profile_progress *told, bool *stopped) {
  char dir[512];
  mz_run *run = NULL;
  MZ_TRY(mz_file_make_temporary("muzero-score", dir, sizeof dir));
  mz_status status = open_run(p, c, dir, &run);
  if (status == MZ_OK) status = drive(p, run, told, stopped);
  if (run) told->seconds = mz_run_wall_s(run);
  mz_run_close(run);
  if (mz_file_remove_tree(dir) != MZ_OK && status == MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
  return status;
}

static void note(profile *p, const mz_score_profile_progress *told) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddNumberToObject(row, "cores", told->cores);
  cJSON_AddNumberToObject(row, "batch_size", (double)told->batch_size);
  mz_json_add_u64(row, "seed", told->seed);
  cJSON_AddNumberToObject(row, "epochs", (double)told->epochs);
  cJSON_AddNumberToObject(row, "reached", told->reached);
  cJSON_AddNumberToObject(row, "best", told->best);
  cJSON_AddNumberToObject(row, "seconds", told->seconds);
  cJSON_AddItemToArray(p->runs, row);
}

static mz_status make_runs(profile *p, bool *stopped) {
  int order[CASES_MAX];
  mz_rng rng = mz_stream_order(p->options->run.seed, MZ_ORDER_PASSES, 0);
  mz_rng_permutation(&rng, p->count, order);
  p->start_ns = mz_clock_ns();
  for (int i = 0; i < p->count && !*stopped; i++) {
    const one *c = &p->cases[order[i]];
    *stopped = stopping(p);
    if (*stopped) break;
    mz_score_profile_progress told = {.all = p->count, .cores = c->cores, .batch_size = c->batch_size, .seed = c->seed};
    MZ_TRY(make_run(p, c, &told, stopped));
    if (*stopped) break;
    told.done = i + 1;
    told.left_s = seconds_so_far(p) / told.done * (p->count - told.done);
    note(p, &told);
    if (p->watcher->progress) p->watcher->progress(p->watcher->context, &told);
  }
  return MZ_OK;
}

mz_status mz_score_profile(const mz_score_profile_options *options, const mz_score_profile_watcher *watcher, cJSON **out) {
  profile p = {.options = options, .watcher = watcher};
  bool stopped = false;
  mz_status status;
  cJSON *made = cJSON_CreateObject();
  p.runs = cJSON_AddArrayToObject(made, "runs");
  MZ_TRY_CLEANUP(begin(&p));
  cJSON_AddStringToObject(made, "env", options->run.env);
  cJSON_AddNumberToObject(made, "until", p.until);
  MZ_TRY_CLEANUP(make_runs(&p, &stopped));
  cJSON_AddBoolToObject(made, "stopped", stopped);
  *out = made;
  made = NULL;
cleanup:
  cJSON_Delete(made);
  free(p.cases);
  return status;
}
