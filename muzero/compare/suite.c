#include "muzero/compare/suite.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/maths/statistics.h"
#include "muzero/run.h"
#include "muzero/steering/profile.h"
#include <math.h>
#include <string.h>

enum { SETS_MAX = 8, RESAMPLES = 10000, PLANS = 12, PASSES = 1, BLOCKS = 24, PATH_SIZE = 600 };
static const double LOOKING = 4;           /* times an arm's seconds: that looking for the best plan takes at the most */
static const uint64_t OTHER_SEED = 100003; /* from the first seed to that on which the best plan is looked for */

#define SHORT_ROUNDS "moves_per_round=2", "loop_count=2" /* a quarter of the preset's: as much learning for each move */
static const struct workload {
  const char *name, *env;
  int search; /* times the preset's simulations */
  const char *sets[8];
} workloads[] = {
    {"cartpole", "cartpole", 1, {NULL}},
    {"cartpole-search", "cartpole", 8, {NULL}},
    {"cartpole-learner", "cartpole", 1, {"network.width=256", "batch_size=512", NULL}},
    {"cartpole-few", "cartpole", 1, {"num_games=8", NULL}},
    {"tictactoe", "tictactoe", 1, {NULL}},
    {"tictactoe-search", "tictactoe", 8, {NULL}},
    {"tictactoe-learner", "tictactoe", 1, {SHORT_ROUNDS, "network.kind=conv", "network.channels=64", "network.blocks=2", NULL}},
    {"tictactoe-few", "tictactoe", 1, {"num_games=8", NULL}},
    {"connect4", "connect4", 1, {SHORT_ROUNDS, NULL}},
    {"connect4-search", "connect4", 8, {SHORT_ROUNDS, NULL}},
    {"connect4-learner", "connect4", 1, {SHORT_ROUNDS, "network.channels=64", "network.blocks=3", NULL}},
    {"connect4-few", "connect4", 1, {SHORT_ROUNDS, "num_games=8", NULL}},
};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

typedef struct suite {
  const mz_suite_options *options;
  const mz_compare_watcher *watcher;
  char dir[512];
} suite;

/* ---- what a workload runs ---- */

typedef struct work {
  const struct workload *workload;
  const char *sets[SETS_MAX + 256];
  char simulations[48], phase_rounds[48];
  mz_run_options run;
} work;

/* rounds: of a phase. */
static mz_status describe(const suite *s, const struct workload *w, int64_t rounds, work *out) {
  mz_settings settings;
  *out = (work){.workload = w, .run = s->options->run};
  int count = 0;
  for (int i = 0; w->sets[i]; i++) out->sets[count++] = w->sets[i];
  for (int i = 0; i < s->options->run.set_count && count < 256; i++) out->sets[count++] = s->options->run.sets[i];
  out->sets[count++] = "eval.interval=1000000";
  out->sets[count++] = out->phase_rounds;
  snprintf(out->phase_rounds, sizeof out->phase_rounds, "train.phase_rounds=%lld", (long long)rounds);
  out->run.env = w->env;
  out->run.sets = out->sets;
  out->run.set_count = count;
  out->run.seed_given = true;
  MZ_TRY(mz_settings_for_new_run(&out->run, &settings));
  if (w->search == 1) return MZ_OK;
  snprintf(out->simulations, sizeof out->simulations, "simulations=%d", (int)settings.search.simulations * w->search);
  out->sets[out->run.set_count++] = out->simulations;
  return MZ_OK;
}

/* ---- the best fixed plan ---- */

static bool stop_profile(void *context) {
  const suite *s = context;
  return s->watcher->stopping && s->watcher->stopping(s->watcher->context);
}

/* *out: {"best": {knob: value}, "rounds": of a run, "for_s": that it was asked to take}. */
static mz_status look_for_plan(suite *s, const struct workload *w, cJSON **out) {
  enum { PHASE_ROUNDS = 4 };
  work wk;
  cJSON *found = NULL;
  MZ_TRY(describe(s, w, PHASE_ROUNDS, &wk));
  wk.run.seed = s->options->run.seed + OTHER_SEED;
  const mz_profile_options options = {
      .run = wk.run, .plans = PLANS, .passes = PASSES, .again = MZ_PROFILE_AGAIN_CHOSEN, .for_s = LOOKING * s->options->seconds};
  const mz_profile_watcher watcher = {.context = s, .stopping = stop_profile};
  mz_log_write(MZ_LOG_INFO, "%s: looking for its best fixed plan", w->name);
  MZ_TRY(mz_profile(&options, &watcher, &found));
  mz_status status = MZ_OK;
  if (stop_profile(s)) MZ_TRY_CLEANUP(mz_compare_stopped(s->dir));
  const double round_s = mz_json_number_or_nan(found, "default_s");
  if (!(round_s > 0))
    MZ_TRY_CLEANUP(
        mz_fail(MZ_E_CONFIG, "%s: %g s are too few to measure a plan; give more by --for", w->name, s->options->seconds));
  const double phase = fmax(1, round(s->options->seconds / round_s / BLOCKS));
  *out = cJSON_CreateObject();
  cJSON_AddItemToObject(*out, "best", cJSON_Duplicate(mz_json_item(found, "best"), true));
  cJSON_AddNumberToObject(*out, "rounds", phase * BLOCKS);
  cJSON_AddNumberToObject(*out, "for_s", s->options->seconds);
cleanup:
  cJSON_Delete(found);
  return status;
}

/* Looked for once: a suite that was interrupted continues with the same plan. */
static mz_status best_plan(suite *s, const struct workload *w, cJSON **out) {
  char path[PATH_SIZE], name[64];
  uint8_t *text;
  size_t size;
  snprintf(name, sizeof name, "%s.json", w->name);
  MZ_TRY(mz_path_join(path, sizeof path, s->dir, name));
  if (mz_file_exists(path)) {
    MZ_TRY(mz_file_read(path, 1 << 20, &text, &size));
    mz_status status = mz_json_parse((const char *)text, size, path, false, MZ_E_CHECKPOINT, out);
    free(text);
    const double for_s = status == MZ_OK ? mz_json_number_or_nan(*out, "for_s") : NAN; /* NAN: of an earlier version */
    if (isfinite(for_s) && for_s != s->options->seconds)
      status =
          mz_fail(MZ_E_CONFIG, "%s: a suite with --for %gs is here already; continue with it by that, or choose another --run",
                  s->dir, for_s);
    return status;
  }
  MZ_TRY(look_for_plan(s, w, out));
  char *page = mz_json_line(*out);
  const mz_status status = page ? mz_file_write_atomic(path, page, strlen(page)) : mz_fail(MZ_E_MEMORY, "compare: no memory");
  free(page);
  return status;
}

/* "fixed:cpu_actor=2,…": the knobs that a user may hold by a number. */
static void name_best(const cJSON *plan, char *out, size_t size) {
  const cJSON *best = mz_json_item(plan, "best"), *knob;
  size_t used = (size_t)snprintf(out, size, "fixed");
  char before = ':';
  if (!cJSON_IsObject(best)) best = NULL; /* a damaged file */
  cJSON_ArrayForEach(knob, best) {
    if (strcmp(mz_knob_setting(knob->string), knob->string) != 0 || used >= size) continue;
    used += (size_t)snprintf(out + used, size - used, "%c%s=%.0f", before, knob->string, cJSON_GetNumberValue(knob));
    before = ',';
  }
}

/* ---- a workload's result ---- */

/* Time of one arm over another's in the blocks of a comparison. */
static mz_status ratio_of(const cJSON *summary, const char *a, const char *b, mz_interval *out) {
  const cJSON *blocks = mz_json_item(summary, "blocks"), *block;
  const size_t most = (size_t)cJSON_GetArraySize(blocks) + 1;
  double *x = NULL, *y = NULL;
  int *stratum = NULL, n = 0, seeds = 0;
  mz_bootstrapped got;
  const mz_resampling how = {.resamples = RESAMPLES, .level = 0.95, .null = 1, .run = (int)ceil(cbrt(BLOCKS)), .seed = 1};
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&x, most, sizeof *x));
  MZ_TRY_CLEANUP(mz_alloc(&y, most, sizeof *y));
  MZ_TRY_CLEANUP(mz_alloc(&stratum, most, sizeof *stratum));
  cJSON_ArrayForEach(block, blocks) {
    const cJSON *seconds = mz_json_item(block, "seconds");
    x[n] = mz_json_number_or_nan(seconds, a);
    y[n] = mz_json_number_or_nan(seconds, b);
    seeds += mz_json_number_or_nan(block, "block") == 0; /* a seed's blocks stand together */
    stratum[n] = seeds;
    n += x[n] > 0 && y[n] > 0;
  }
  *out = (mz_interval){NAN, NAN, NAN};
  if (n < 2) goto cleanup;
  MZ_TRY_CLEANUP(mz_bootstrap_ratio(x, y, stratum, n, &how, &got));
  *out = got.interval;
cleanup:
  free(x), free(y), free(stratum);
  return status;
}

static mz_status add_arms(const cJSON *summary, const char *best, cJSON *out) {
  const cJSON *arm;
  cJSON *arms = cJSON_AddArrayToObject(out, "arms");
  cJSON_ArrayForEach(arm, mz_json_item(summary, "arms")) {
    mz_interval ratio;
    const char *name = mz_json_text_or_empty(arm, "name");
    if (strcmp(name, best) == 0) continue;
    MZ_TRY(ratio_of(summary, name, best, &ratio));
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "arm", name);
    cJSON_AddNumberToObject(row, "ratio", ratio.estimate);
    mz_json_add(row, "ci95", cJSON_CreateDoubleArray((const double[]){ratio.low, ratio.high}, 2));
    cJSON_AddItemToArray(arms, row);
  }
  return MZ_OK;
}

static mz_status run_workload(suite *s, const struct workload *w, cJSON *out) {
  char arms[1024], best[512], dir[PATH_SIZE], where[PATH_SIZE];
  work wk;
  cJSON *plan = NULL, *summary = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(best_plan(s, w, &plan));
  const int64_t rounds = (int64_t)mz_json_number_or_nan(plan, "rounds");
  name_best(plan, best, sizeof best);
  if (snprintf(arms, sizeof arms, "%s,%s", s->options->arms, best) >= (int)sizeof arms)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "--arms: too long for a suite"));
  MZ_TRY_CLEANUP(describe(s, w, rounds / BLOCKS, &wk));
  MZ_TRY_CLEANUP(mz_path_join(dir, sizeof dir, s->dir, w->name));
  const mz_compare_options options = {.run = wk.run,
                                      .arms = arms,
                                      .seeds = s->options->seeds,
                                      .dir = dir,
                                      .limits = {.rounds = rounds},
                                      .together = 1,
                                      .block_phases = 1};
  MZ_TRY_CLEANUP(mz_compare(&options, s->watcher, &summary, where, sizeof where));
  cJSON_AddStringToObject(out, "name", w->name);
  cJSON_AddStringToObject(out, "env", w->env);
  cJSON_AddNumberToObject(out, "rounds", (double)rounds);
  mz_json_add(out, "best", cJSON_Duplicate(mz_json_item(plan, "best"), true));
  mz_json_add(out, "noise", cJSON_Duplicate(mz_json_item(mz_json_item(summary, "noise"), "ci95"), true));
  MZ_TRY_CLEANUP(add_arms(summary, best, out));
cleanup:
  cJSON_Delete(plan);
  cJSON_Delete(summary);
  return status;
}

/* ---- all of them ---- */

static void add_means(cJSON *summary) {
  const cJSON *list = mz_json_item(summary, "workloads"), *first = mz_json_item(cJSON_GetArrayItem(list, 0), "arms"), *arm,
              *workload;
  cJSON *out = cJSON_AddArrayToObject(summary, "arms");
  int index = 0;
  cJSON_ArrayForEach(arm, first) {
    double sum = 0, worst = 0;
    int count = 0;
    const char *where = "";
    cJSON_ArrayForEach(workload, list) {
      const double ratio = mz_json_number_or_nan(cJSON_GetArrayItem(mz_json_item(workload, "arms"), index), "ratio");
      if (!(ratio > 0)) continue;
      sum += log(ratio);
      count++;
      if (ratio > worst) worst = ratio, where = mz_json_text_or_empty(workload, "name");
    }
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "arm", mz_json_text_or_empty(arm, "arm"));
    cJSON_AddNumberToObject(row, "mean", count > 0 ? exp(sum / count) : NAN);
    cJSON_AddNumberToObject(row, "worst", worst > 0 ? worst : NAN);
    cJSON_AddStringToObject(row, "worst_workload", where);
    cJSON_AddItemToArray(out, row);
    index++;
  }
}

static mz_status write_summary(const suite *s, const cJSON *summary) {
  char path[PATH_SIZE];
  char *text = mz_json_page(summary);
  mz_status status =
      text ? mz_path_join(path, sizeof path, s->dir, "suite.json") : mz_fail(MZ_E_MEMORY, "compare: no memory for its summary");
  if (status == MZ_OK) status = mz_file_write_atomic(path, text, strlen(text));
  free(text);
  return status;
}

static bool is_of_suite(const char *name) {
  for (int i = 0; i < WORKLOADS; i++) {
    const size_t length = strlen(workloads[i].name);
    if (strncmp(name, workloads[i].name, length) == 0 && (name[length] == '\0' || name[length] == '.')) return true;
  }
  return false;
}

typedef struct contents { /* of a folder */
  bool suite;
  char other[256]; /* something else in it; "": nothing is */
} contents;

static mz_status look_at_entry(void *context, const char *name) {
  contents *c = context;
  if (is_of_suite(name))
    c->suite = true;
  else
    snprintf(c->other, sizeof c->other, "%s", name);
  return MZ_OK;
}

/* A directory continues with the suite that it holds; another's, such as a run, is left alone. */
static mz_status open_dir(const suite *s) {
  contents there = {0};
  if (mz_file_exists(s->dir)) MZ_TRY(mz_file_list(s->dir, look_at_entry, &there));
  if (there.suite || !there.other[0]) return mz_file_mkdirs(s->dir);
  return mz_fail(MZ_E_CONFIG, "%s: holds %s, and no suite to continue; choose another --run", s->dir, there.other);
}

mz_status mz_suite(const mz_suite_options *options, const mz_compare_watcher *watcher, cJSON **summary, char *dir,
                   size_t dir_size) {
  suite s = {.options = options, .watcher = watcher};
  mz_status status;
  cJSON *out = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(out, "workloads");
  *summary = NULL;
  if (options->dir)
    MZ_TRY_CLEANUP(mz_compare_take_dir(options->dir, s.dir, sizeof s.dir));
  else
    MZ_TRY_CLEANUP(mz_run_make_up_dir("suite", options->run.seed, s.dir, sizeof s.dir));
  MZ_TRY_CLEANUP(open_dir(&s));
  for (int i = 0; i < WORKLOADS; i++) {
    cJSON *workload = cJSON_CreateObject();
    cJSON_AddItemToArray(list, workload);
    MZ_TRY_CLEANUP(run_workload(&s, &workloads[i], workload));
  }
  add_means(out);
  MZ_TRY_CLEANUP(write_summary(&s, out));
  snprintf(dir, dir_size, "%s", s.dir);
  *summary = out;
  return MZ_OK;
cleanup:
  cJSON_Delete(out);
  return status;
}
