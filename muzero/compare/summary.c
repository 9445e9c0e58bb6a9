#include "muzero/compare/summary.h"
#include "base/machine/machine.h"
#include "base/maths/statistics.h"
#include "muzero/compare/sentences.h"
#include "networks/isa.h"
#include <math.h>
#include <string.h>

enum { RESAMPLES = 10000, BLOCKS_MIN = 14, SEEDS_MIN = 10, TEXT_MAX = 640 };

/* ---- pairs of numbers ---- */

typedef struct pairs {
  double *a, *b; /* [n] */
  int *stratum;
  int n, strata;
  bool by_block;
} pairs;

static mz_status pairs_init(pairs *p, const mz_series *series) {
  size_t most = 0;
  for (int i = 0; i < series->arms * series->seeds; i++) most += (size_t)series->cells[i].blocks + 1;
  *p = (pairs){0};
  MZ_TRY(mz_alloc(&p->a, most, sizeof(double)));
  MZ_TRY(mz_alloc(&p->b, most, sizeof(double)));
  return mz_alloc(&p->stratum, most, sizeof(int));
}

static void pairs_free(pairs *p) { free(p->a), free(p->b), free(p->stratum); }

static void add_pair(pairs *p, double a, double b, int stratum) {
  if (!(a > 0) || !(b > 0)) return;
  p->a[p->n] = a, p->b[p->n] = b, p->stratum[p->n] = stratum;
  p->n++;
}

/* Blocks where both learn alike, otherwise seeds. late: only their second half; what "settled" means is fixed before looking. */
static void pair(pairs *p, const mz_series *series, const mz_arm *arms, int a, int b, mz_metric metric, bool late) {
  p->n = p->strata = 0;
  p->by_block = arms[a].exact && arms[b].exact;
  for (int s = 0; s < series->seeds; s++) {
    const mz_cell_series *x = mz_series_cell(series, a, s), *y = mz_series_cell(series, b, s);
    if (x->crashed || y->crashed) continue;
    const int common = x->blocks < y->blocks ? x->blocks : y->blocks, before = p->n;
    if (!p->by_block)
      add_pair(p, mz_series_total(x, metric, late * x->blocks / 2), mz_series_total(y, metric, late * y->blocks / 2), 0);
    for (int i = late * common / 2; p->by_block && i < common; i++) add_pair(p, x->values[metric][i], y->values[metric][i], s);
    p->strata += p->n > before;
  }
}

/* ---- ratios ---- */

typedef struct ratio {
  int a, b;
  const char *metric, *words;
  mz_bootstrapped got;
  double p_holm;
  int n;
  double least;            /* of a single pair */
  bool by_block, censored; /* a or b did not reach its target in some seed */
} ratio;

static double iqm_of_logs(double *values, int n) { return mz_iqm(values, n); }

/* Neighbouring blocks share what the machine did and how far the agent was. The cube root of the series' length: Hall, Horowitz and
 * Jing (1995). */
static int run_of(const pairs *p) { return p->by_block && p->strata > 0 ? (int)ceil(cbrt((double)p->n / p->strata)) : 1; }

/* The ratio of totals: Σa / Σb. */
static mz_status of_totals(const pairs *p, mz_bootstrapped *out) {
  const mz_resampling how = {.resamples = RESAMPLES, .level = 0.95, .null = 1, .run = run_of(p), .seed = 1};
  return mz_bootstrap_ratio(p->a, p->b, p->stratum, p->n, &how, out);
}

/* The ratio of a typical pair: the interquartile mean of log a/b, which transients and disturbances do not reach. */
static mz_status of_typical(pairs *p, mz_bootstrapped *out) {
  const mz_resampling how = {.resamples = RESAMPLES, .level = 0.95, .null = 0, .run = run_of(p), .seed = 1};
  for (int i = 0; i < p->n; i++) p->a[i] = log(p->a[i] / p->b[i]);
  MZ_TRY(mz_bootstrap(p->a, p->stratum, p->n, iqm_of_logs, &how, out));
  out->interval = (mz_interval){exp(out->interval.estimate), exp(out->interval.low), exp(out->interval.high)};
  return MZ_OK;
}

static const struct {
  const char *name, *words;
  mz_metric metric;
  bool typical, late;
} kinds[] = {
    {"wall_s", "wall time", MZ_METRIC_WALL, false, false},
    {"block_s", "wall time in a typical block", MZ_METRIC_WALL, true, false},
    {"wall_settled_s", "wall time in the second half", MZ_METRIC_WALL, false, true},
    {"core_s", "core-seconds used", MZ_METRIC_CORE, false, false},
    {"core_reserved_s", "core-seconds reserved", MZ_METRIC_RESERVED, false, false},
    {"cost", "priced cost", MZ_METRIC_COST, false, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], RATIOS_MAX = KINDS * MZ_ARMS_MAX * (MZ_ARMS_MAX - 1) / 2 };

/* Which pairs are looked at: what adapts against what does not, and against what adapts and was named before it; where nothing
 * adapts, all against the first. */
static bool looked_at(const mz_arm *arms, int count, int a, int b) {
  bool any = false;
  for (int i = 0; i < count - 1; i++) any |= arms[i].adapts;
  return any ? arms[a].adapts && (!arms[b].adapts || b < a) : b == 0 && a != 0;
}

static mz_status find_ratio(const mz_series *series, const mz_arm *arms, int a, int b, int kind, pairs *p, ratio *out,
                            bool *found) {
  pair(p, series, arms, a, b, kinds[kind].metric, kinds[kind].late);
  *found = p->n >= 2;
  if (!*found) return MZ_OK;
  *out = (ratio){.a = a,
                 .b = b,
                 .metric = kinds[kind].name,
                 .words = kinds[kind].words,
                 .n = p->n,
                 .by_block = p->by_block,
                 .censored = mz_series_censored(series, a) || mz_series_censored(series, b)};
  out->least = INFINITY;
  for (int i = 0; i < p->n; i++) out->least = fmin(out->least, p->a[i] / p->b[i]);
  return kinds[kind].typical ? of_typical(p, &out->got) : of_totals(p, &out->got);
}

static mz_status find_ratios(const mz_series *series, const mz_arm *arms, int count, pairs *p, ratio *ratios, int *found) {
  double corrected[RATIOS_MAX]; /* over all that is looked at */
  *found = 0;
  for (int kind = 0; kind < KINDS; kind++)
    for (int a = 0; a < count - 1; a++)
      for (int b = 0; b < count - 1; b++) {
        bool there = false;
        if (looked_at(arms, count, a, b)) MZ_TRY(find_ratio(series, arms, a, b, kind, p, &ratios[*found], &there));
        *found += there;
      }
  for (int i = 0; i < *found; i++) corrected[i] = ratios[i].got.p;
  MZ_TRY(mz_holm(corrected, *found));
  for (int i = 0; i < *found; i++) ratios[i].p_holm = corrected[i];
  return MZ_OK;
}

/* ---- what may be said ---- */

/* Writes why nothing is claimed of a ratio; returns false where something is. */
static bool unclaimed_text(const ratio *r, double noise, char out[TEXT_MAX]) {
  const mz_interval *i = &r->got.interval;
  const int least = r->by_block ? BLOCKS_MIN : SEEDS_MIN;
  if (i->low <= 1 && i->high >= 1)
    snprintf(out, TEXT_MAX, "the interval holds 1");
  else if (r->censored)
    snprintf(out, TEXT_MAX, "an arm did not reach the target in every seed");
  else if (r->n < least)
    snprintf(out, TEXT_MAX, "%d paired %s are too few: a claim needs %d", r->n, r->by_block ? "blocks" : "seeds", least);
  else if (r->p_holm >= 0.05)
    snprintf(out, TEXT_MAX, "p is %.2g after Holm's correction: a claim needs less than 0.05", r->p_holm);
  else if (!isfinite(noise))
    snprintf(out, TEXT_MAX, "the noise of an arm against itself is not known");
  else if (fabs(log(i->estimate)) <= noise)
    snprintf(out, TEXT_MAX, "an arm against itself may differ by %.1f %%", 100 * expm1(noise));
  else
    return false;
  return true;
}

static void claim_text(const ratio *r, const mz_arm *arms, char out[TEXT_MAX]) {
  const mz_interval *i = &r->got.interval;
  char best[64] = "";
  if (!r->by_block) snprintf(best, sizeof best, "; the best of them %.3g %% less", 100 * (1 - r->least));
  snprintf(out, TEXT_MAX, "%s takes %.3g %% %s %s than %s (ratio %.3f, 95 %% interval %.3f to %.3f, %d paired %s%s)",
           arms[r->a].name, 100 * fabs(i->estimate - 1), i->estimate < 1 ? "less" : "more", r->words, arms[r->b].name,
           i->estimate, i->low, i->high, r->n, r->by_block ? "blocks" : "seeds", best);
}

static cJSON *interval_json(const mz_interval *i) {
  const double ends[] = {i->low, i->high};
  return cJSON_CreateDoubleArray(ends, 2);
}

static cJSON *ratio_json(const ratio *r, const mz_arm *arms, double noise) {
  char text[TEXT_MAX];
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "a", arms[r->a].name);
  cJSON_AddStringToObject(o, "b", arms[r->b].name);
  cJSON_AddStringToObject(o, "metric", r->metric);
  cJSON_AddNumberToObject(o, "ratio", r->got.interval.estimate);
  mz_json_add(o, "ci95", interval_json(&r->got.interval));
  cJSON_AddNumberToObject(o, "least", r->least);
  cJSON_AddNumberToObject(o, "n", r->n);
  cJSON_AddStringToObject(o, "unit", r->by_block ? "block" : "seed");
  cJSON_AddNumberToObject(o, "p", r->got.p);
  cJSON_AddNumberToObject(o, "p_holm", r->p_holm);
  cJSON_AddBoolToObject(o, "censored", r->censored);
  const bool claimed = !unclaimed_text(r, noise, text);
  cJSON_AddItemToObject(o, "unclaimed", claimed ? cJSON_CreateNull() : cJSON_CreateString(text));
  if (claimed) claim_text(r, arms, text);
  cJSON_AddItemToObject(o, "claim", claimed ? cJSON_CreateString(text) : cJSON_CreateNull());
  return o;
}

/* ---- the summary ---- */

static const cJSON *cell_json(const cJSON *seeds, int arm, int seed) {
  return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(seeds, seed), "cells"), arm);
}

static cJSON *last_of(const cJSON *cell, const char *key) {
  const cJSON *blocks = cJSON_GetObjectItemCaseSensitive(cell, "blocks");
  const cJSON *last = cJSON_GetArrayItem(blocks, cJSON_GetArraySize(blocks) - 1);
  cJSON *value = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(last, key), true);
  return value ? value : cJSON_CreateNull();
}

/* Returns by how much the blocks before the plan settled took longer than as many typical ones after it; 0 where they took no
 * longer (early blocks may hold less work), NAN when the plan never settled. */
static double tuning_s(const mz_cell_series *cell) {
  const int after = cell->blocks - cell->settled;
  if (cell->settled == 0) return 0;
  if (after <= 0) return NAN;
  const double rate = mz_series_total(cell, MZ_METRIC_WALL, cell->settled) / after;
  const double before = mz_series_total(cell, MZ_METRIC_WALL, 0) - mz_series_total(cell, MZ_METRIC_WALL, cell->settled);
  return fmax(before - rate * cell->settled, 0);
}

static cJSON *by_seed_json(const cJSON *seeds, const mz_series *series, int arm, int seed) {
  const mz_cell_series *cell = mz_series_cell(series, arm, seed);
  const cJSON *json = cell_json(seeds, arm, seed);
  cJSON *o = cJSON_CreateObject();
  cJSON_AddItemToObject(o, "seed",
                        cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(seeds, seed), "seed"), true));
  for (int m = 0; m < MZ_METRICS; m++)
    cJSON_AddNumberToObject(o, mz_metric_name((mz_metric)m), mz_series_total(cell, (mz_metric)m, 0));
  cJSON_AddNumberToObject(o, "score", cell->score);
  cJSON_AddBoolToObject(o, "reached", cell->reached);
  mz_json_add(o, "rounds", last_of(json, "rounds"));
  mz_json_add(o, "digest", last_of(json, "digest"));
  mz_json_add(o, "plan", last_of(json, "plan"));
  cJSON_AddNumberToObject(o, "tuning_s", tuning_s(cell));
  mz_json_add(o, "run", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(json, "run"), true));
  mz_json_add(o, "crashed", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(json, "crashed"), true));
  mz_json_add(o, "refused", cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(json, "refused"), true));
  return o;
}

/* Means over the seeds in which it began and did not crash. */
static cJSON *arm_json(const cJSON *seeds, const mz_series *series, const mz_arm *arms, int arm) {
  cJSON *o = cJSON_CreateObject(), *scores = cJSON_CreateArray(), *by_seed = cJSON_CreateArray();
  double sums[MZ_METRICS] = {0}, score = 0, tuning = 0;
  int whole = 0, reached = 0, scored = 0;
  const cJSON *why = NULL;
  for (int s = 0; s < series->seeds; s++) {
    const mz_cell_series *cell = mz_series_cell(series, arm, s);
    cJSON_AddItemToArray(by_seed, by_seed_json(seeds, series, arm, s));
    cJSON_AddItemToArray(scores, cJSON_CreateNumber(cell->score));
    if (cell->crashed) why = cJSON_GetObjectItemCaseSensitive(cell_json(seeds, arm, s), "crashed");
    if (cell->crashed || cell->refused) continue;
    for (int m = 0; m < MZ_METRICS; m++) sums[m] += mz_series_total(cell, (mz_metric)m, 0);
    tuning += tuning_s(cell);
    whole++;
    reached += cell->reached;
    if (isfinite(cell->score)) score += cell->score, scored++;
  }
  cJSON_AddStringToObject(o, "name", arms[arm].name);
  cJSON_AddStringToObject(o, "strategy", arms[arm].strategy);
  for (int m = 0; m < MZ_METRICS; m++) cJSON_AddNumberToObject(o, mz_metric_name((mz_metric)m), whole ? sums[m] / whole : NAN);
  cJSON_AddNumberToObject(o, "score", scored ? score / scored : NAN);
  cJSON_AddItemToObject(o, "scores", scores);
  cJSON_AddNumberToObject(o, "reached", reached);
  cJSON_AddNumberToObject(o, "tuning_s", whole ? tuning / whole : NAN);
  cJSON_AddBoolToObject(o, "exact", arms[arm].exact);
  const cJSON *refused = cJSON_GetObjectItemCaseSensitive(cell_json(seeds, arm, series->seeds - 1), "refused");
  mz_json_add(o, "refused", cJSON_Duplicate(refused, true));
  cJSON_AddItemToObject(o, "crashed", why ? cJSON_Duplicate(why, true) : cJSON_CreateNull());
  mz_json_add(o, "plan", last_of(cell_json(seeds, arm, series->seeds - 1), "plan"));
  cJSON_AddItemToObject(o, "by_seed", by_seed);
  return o;
}

static cJSON *blocks_json(const cJSON *seeds, const mz_series *series, const mz_arm *arms) {
  cJSON *array = cJSON_CreateArray();
  for (int s = 0; s < series->seeds; s++) {
    int most = 0;
    for (int a = 0; a < series->arms; a++) {
      const int blocks = mz_series_cell(series, a, s)->blocks;
      if (blocks > most) most = blocks;
    }
    for (int b = 0; b < most; b++) {
      cJSON *o = cJSON_CreateObject(), *seconds = cJSON_CreateObject();
      cJSON_AddItemToObject(o, "seed",
                            cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(seeds, s), "seed"), true));
      cJSON_AddNumberToObject(o, "block", b);
      for (int a = 0; a < series->arms; a++) {
        const mz_cell_series *cell = mz_series_cell(series, a, s);
        if (b >= cell->blocks) continue;
        if (!cJSON_GetObjectItemCaseSensitive(o, "rounds")) cJSON_AddNumberToObject(o, "rounds", cell->rounds[b]);
        cJSON_AddNumberToObject(seconds, arms[a].name, cell->values[MZ_METRIC_WALL][b]);
      }
      cJSON_AddItemToObject(o, "seconds", seconds);
      cJSON_AddItemToArray(array, o);
    }
  }
  return array;
}

static cJSON *machine_json(void) {
  char model[128];
  cJSON *o = cJSON_CreateObject();
  mz_machine_model(model, sizeof model);
  cJSON_AddStringToObject(o, "model", model);
  cJSON_AddNumberToObject(o, "cores", mz_machine_cores());
  cJSON_AddStringToObject(o, "isa", mz_isa_name(mz_isa_level()));
  return o;
}

mz_status mz_compare_summarise(const cJSON *plan, const cJSON *seeds, const mz_arm *arms, int count, cJSON **out) {
  mz_series series;
  pairs p = {0};
  ratio *ratios = NULL, noise = {0};
  int found = 0;
  bool there = false;
  MZ_TRY(mz_series_read(&series, seeds, count));
  mz_status status;
  MZ_TRY_CLEANUP(pairs_init(&p, &series));
  MZ_TRY_CLEANUP(mz_alloc(&ratios, RATIOS_MAX, sizeof *ratios));
  MZ_TRY_CLEANUP(find_ratio(&series, arms, count - 1, 0, 0, &p, &noise, &there));
  const mz_interval nothing = {1, 0, INFINITY}, *aa = there ? &noise.got.interval : &nothing;
  const double noise_log = there ? fmax(fabs(log(aa->low)), fabs(log(aa->high))) : INFINITY;
  MZ_TRY_CLEANUP(find_ratios(&series, arms, count, &p, ratios, &found));

  cJSON *o = cJSON_Duplicate(plan, true);
  if (!o) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "compare: no memory for the summary"));
  cJSON_DeleteItemFromObjectCaseSensitive(o, "arms");
  mz_json_add(o, "machine", machine_json());
  cJSON *list = cJSON_AddArrayToObject(o, "seeds"), *array = cJSON_AddArrayToObject(o, "arms"), *rows;
  for (int s = 0; s < series.seeds; s++)
    cJSON_AddItemToArray(list, cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(seeds, s), "seed"), true));
  for (int a = 0; a < count - 1; a++) cJSON_AddItemToArray(array, arm_json(seeds, &series, arms, a));
  cJSON *noise_json = cJSON_AddObjectToObject(o, "noise");
  cJSON_AddStringToObject(noise_json, "metric", "wall_s");
  cJSON_AddStringToObject(noise_json, "arm", arms[0].name);
  cJSON_AddNumberToObject(noise_json, "ratio", aa->estimate);
  mz_json_add(noise_json, "ci95", interval_json(aa));
  rows = cJSON_AddArrayToObject(o, "ratios");
  for (int i = 0; i < found; i++) cJSON_AddItemToArray(rows, ratio_json(&ratios[i], arms, noise_log));
  mz_sentences_add(o, &series, arms, count, aa, noise_log);
  mz_json_add(o, "blocks", blocks_json(seeds, &series, arms));
  *out = o;
cleanup:
  pairs_free(&p);
  free(ratios);
  mz_series_free(&series);
  return status;
}
