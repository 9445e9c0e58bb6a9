#include "allocator/runs/course_plans.h"
#include "base/text.h"
#include <math.h>
#include <string.h>

typedef struct setup {
  double cores, gpus;
} setup;

typedef struct found {
  bool known[MZ_CHOICE_SETUPS_MAX][MZ_CHOICE_BATCHES_MAX];
  mz_course_choice measured[MZ_CHOICE_SETUPS_MAX][MZ_CHOICE_BATCHES_MAX];
  int setup_count;
  setup setups[MZ_CHOICE_SETUPS_MAX];
  bool lacks_setup[MZ_CHOICE_SETUPS_MAX], lacks_batch[MZ_CHOICE_BATCHES_MAX];
} found;

/* ---- amounts and batch sizes that were run ---- */

static void add_setup(found *f, setup one) {
  int at = 0;
  while (at < f->setup_count &&
         (f->setups[at].gpus < one.gpus || (f->setups[at].gpus == one.gpus && f->setups[at].cores < one.cores)))
    at++;
  if (at < f->setup_count && f->setups[at].gpus == one.gpus && f->setups[at].cores == one.cores) return;
  if (f->setup_count == MZ_CHOICE_SETUPS_MAX) return;
  memmove(&f->setups[at + 1], &f->setups[at], (size_t)(f->setup_count - at) * sizeof f->setups[0]);
  f->setups[at] = one;
  f->setup_count++;
}

static void add_batch(mz_course_choices *out, double size) {
  int at = 0;
  while (at < out->batch_count && out->batches[at] < size) at++;
  if ((at < out->batch_count && out->batches[at] == size) || out->batch_count == MZ_CHOICE_BATCHES_MAX) return;
  memmove(&out->batches[at + 1], &out->batches[at], (size_t)(out->batch_count - at) * sizeof out->batches[0]);
  out->batches[at] = size;
  out->batch_count++;
}

static void find_axes(mz_course_choices *out, found *f, const mz_stage_pool *pool) {
  for (int i = 0; i < pool->count; i++) {
    const mz_curve_stage *item = &pool->items[i];
    if (!item->uniform) continue;
    if (isfinite(item->seconds)) add_setup(f, (setup){item->amounts[MZ_COURSE_CORES], item->amounts[MZ_COURSE_GPUS]});
    add_batch(out, item->batch_size);
  }
}

/* ---- seconds ---- */

static bool time_plan(const mz_stage_pool *pool, mz_course_choice *choice) {
  choice->total_s = 0;
  for (int s = 0; s < pool->stages; s++) {
    choice->seconds[s] = mz_pool_seconds_from_near(pool, &choice->plan, s);
    choice->total_s += choice->seconds[s];
  }
  return isfinite(choice->total_s);
}

static bool same_setup(const mz_curve_stage *item, setup on, double batch_size) {
  return item->uniform && isfinite(item->seconds) && item->batch_size == batch_size &&
         item->amounts[MZ_COURSE_CORES] == on.cores && item->amounts[MZ_COURSE_GPUS] == on.gpus;
}

/* Returns whether an earlier stage on the same amounts, with the same batch size, had the plan of this one. */
static bool was_seen(const mz_stage_pool *pool, int at, setup on, double batch_size) {
  for (int i = 0; i < at; i++)
    if (same_setup(&pool->items[i], on, batch_size) && mz_plan_equal(pool->pipeline, &pool->items[i].plan, &pool->items[at].plan))
      return true;
  return false;
}

/* The quickest of the plans that runs of this batch size had on these amounts; false: of none all stages can be told. */
static bool find_quickest(const mz_stage_pool *pool, setup on, double batch_size, mz_course_choice *out) {
  bool any = false;
  for (int i = 0; i < pool->count; i++) {
    const mz_curve_stage *item = &pool->items[i];
    if (!same_setup(item, on, batch_size) || was_seen(pool, i, on, batch_size)) continue;
    mz_course_choice choice = {.plan = {.cores = on.cores, .gpus = on.gpus, .batch_size = batch_size, .plan = item->plan}};
    if (!time_plan(pool, &choice) || (any && choice.total_s >= out->total_s)) continue;
    *out = choice;
    any = true;
  }
  if (!any) return false;
  out->near = out->plan;
  out->memory = mz_pool_memory(pool, &out->plan);
  return true;
}

static double doublings(double a, double b) { return fabs(log2(a / b)); }

static double apart(setup a, setup b) {
  return doublings(fmax(1, a.cores), fmax(1, b.cores)) + doublings(1 + a.gpus, 1 + b.gpus);
}

/* Composes the seconds of a pair that was not run from the three other corners of the nearest rectangle; false: there is none. */
static bool compose(const found *f, const mz_course_choices *out, int u, int b, int stages, mz_course_choice *choice) {
  double nearest = INFINITY;
  int at_u = -1, at_b = -1;
  for (int v = 0; v < f->setup_count; v++)
    for (int c = 0; c < out->batch_count; c++) {
      if (v == u || c == b || !f->known[u][c] || !f->known[v][b] || !f->known[v][c]) continue;
      const double distance = apart(f->setups[u], f->setups[v]) + doublings(out->batches[b], out->batches[c]);
      if (distance >= nearest) continue;
      nearest = distance;
      at_u = v;
      at_b = c;
    }
  if (at_u < 0) return false;
  const mz_course_choice *with = &f->measured[at_u][b], *over = &f->measured[at_u][at_b];
  *choice = f->measured[u][at_b];
  choice->plan.batch_size = out->batches[b];
  choice->composed = true;
  choice->total_s = 0;
  for (int s = 0; s < stages; s++) {
    choice->seconds[s] *= with->seconds[s] / over->seconds[s];
    choice->total_s += choice->seconds[s];
  }
  return true;
}

/* ---- what runs are lacking ---- */

static void say(char *text, size_t size, const char *what) {
  const size_t used = strlen(text);
  snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", what);
}

static void lack_seconds(mz_course_choices *out, found *f, int u, int b) {
  char what[96], gpus[24] = "";
  const setup on = f->setups[u];
  if (on.gpus > 0) snprintf(gpus, sizeof gpus, " with %g GPU%s", on.gpus, mz_plural(on.gpus));
  snprintf(what, sizeof what, "batch %.6g on %g core%s%s", out->batches[b], on.cores, mz_plural(on.cores), gpus);
  say(out->lacking, sizeof out->lacking, what);
  f->lacks_setup[u] = f->lacks_batch[b] = true;
}

static void lack_scores(mz_course_choices *out, found *f, int b, int known, int stages, int epochs) {
  char what[96];
  snprintf(what, sizeof what, "batch %.6g evaluated over %d epochs (%d at most until now)", out->batches[b], epochs,
           known > 0 ? mz_stage_last_epoch(epochs, stages, known - 1) : 0);
  say(out->lacking, sizeof out->lacking, what);
  f->lacks_batch[b] = true;
}

/* Adds a value to "key=1,2" where it fits whole. */
static void add_value(char *list, size_t size, const char *key, double value) {
  char text[48];
  const size_t used = strlen(list);
  const int length = snprintf(text, sizeof text, "%s%.6g", used > 0 ? "," : key, value);
  if (used + (size_t)length < size) memcpy(list + used, text, (size_t)length + 1);
}

/* "cores=2,4;batch_size=64" */
static void fill_grid(mz_course_choices *out, const found *f) {
  char cores[64] = "", batches[64] = "";
  double last = NAN;
  for (int u = 0; u < f->setup_count; u++) {
    if (!f->lacks_setup[u] || f->setups[u].cores == last) continue;
    last = f->setups[u].cores;
    add_value(cores, sizeof cores, "cores=", last);
  }
  for (int b = 0; b < out->batch_count; b++)
    if (f->lacks_batch[b]) add_value(batches, sizeof batches, "batch_size=", out->batches[b]);
  snprintf(out->grid, sizeof out->grid, "%s%s%s", cores, cores[0] && batches[0] ? ";" : "", batches);
}

/* ---- choosing ---- */

/* A stage in which the typical run reaches the target counts in part until then. */
static void judge(mz_course_choice *choice, const mz_stage_pool *pool, const mz_course_ask *ask) {
  const double amounts[MZ_COURSE_RESOURCES] = {choice->plan.cores, choice->plan.gpus, choice->memory};
  const double needed = mz_course_closes((ask->target - pool->start) / (pool->ceiling - pool->start));
  double price_s = 0, closed = 0;
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) price_s += amounts[r] * ask->prices[r] / 3600;
  choice->until_stages = mz_course_place(choice->growths, pool->stages, needed);
  choice->until_s = 0;
  for (int s = 0; s < pool->stages; s++) {
    choice->until_s += choice->seconds[s] * fmax(0, fmin(1, choice->until_stages - s));
    closed += mz_course_closes(choice->growths[s]);
  }
  choice->cost = choice->total_s * price_s;
  choice->until_cost = choice->until_s * price_s;
  choice->growth = 1 - exp(-closed);
}

/* Whether a is better than b in one thing, and no worse in any. */
static bool beats(const mz_course_choice *a, const mz_course_choice *b) {
  const double costs[][2] = {{a->total_s, b->total_s},
                             {a->cost, b->cost},
                             {a->until_s, b->until_s},
                             {a->until_cost, b->until_cost},
                             {b->growth, a->growth}};
  bool better = false;
  for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
    if (costs[i][0] > costs[i][1]) return false;
    better = better || costs[i][0] < costs[i][1];
  }
  return better;
}

static void remove_at(mz_course_choices *out, int at) {
  memmove(&out->items[at], &out->items[at + 1], (size_t)(out->count - at - 1) * sizeof out->items[0]);
  out->count--;
}

static void remove_beaten(mz_course_choices *out) {
  for (int i = out->count - 1; i >= 0; i--) {
    bool beaten = false;
    for (int k = 0; k < out->count && !beaten; k++)
      beaten = k != i && (beats(&out->items[k], &out->items[i]) ||
                          (k < i && !beats(&out->items[i], &out->items[k]) && out->items[k].total_s == out->items[i].total_s &&
                           out->items[k].cost == out->items[i].cost && out->items[k].growth == out->items[i].growth));
    if (beaten) remove_at(out, i);
  }
}

static double distance(const mz_course_choice *a, const mz_course_choice *b) {
  return doublings(a->total_s, b->total_s) + doublings(fmax(1e-12, a->cost), fmax(1e-12, b->cost)) +
         4 * fabs(a->growth - b->growth);
}

/* The quickest, the cheapest and the one of the highest growth stay, whatever lies near them; of equal ones the first. */
static bool is_extreme(const mz_course_choices *out, int at) {
  int quickest = 0, cheapest = 0, highest = 0;
  for (int i = 1; i < out->count; i++) {
    if (out->items[i].total_s < out->items[quickest].total_s) quickest = i;
    if (out->items[i].cost < out->items[cheapest].cost) cheapest = i;
    if (out->items[i].growth > out->items[highest].growth) highest = i;
  }
  return at == quickest || at == cheapest || at == highest;
}

/* Removes plans that lie next to others until there are few enough. */
static void thin(mz_course_choices *out) {
  while (out->count > MZ_COURSE_PLANS_MAX) {
    double nearest = INFINITY;
    int at = out->count - 1;
    for (int i = 0; i < out->count; i++) {
      if (is_extreme(out, i)) continue;
      for (int k = 0; k < out->count; k++) {
        const double d = k == i ? INFINITY : distance(&out->items[i], &out->items[k]);
        if (d >= nearest) continue;
        nearest = d;
        at = i;
      }
    }
    remove_at(out, at);
  }
}

static void find_pairs(mz_course_choices *out, found *f, const mz_stage_pool *pool, const mz_course_ask *ask) {
  for (int u = 0; u < f->setup_count; u++)
    for (int b = 0; b < out->batch_count; b++)
      f->known[u][b] = find_quickest(pool, f->setups[u], out->batches[b], &f->measured[u][b]);
  for (int b = 0; b < out->batch_count; b++) {
    double growths[MZ_COURSE_STAGES_MAX] = {0};
    const int known = mz_pool_growths(pool, out->batches[b], growths);
    if (known < pool->stages) {
      lack_scores(out, f, b, known, pool->stages, ask->epochs);
      continue;
    }
    for (int u = 0; u < f->setup_count; u++) {
      mz_course_choice *choice = &out->items[out->count];
      if (f->known[u][b])
        *choice = f->measured[u][b];
      else if (!compose(f, out, u, b, pool->stages, choice)) {
        lack_seconds(out, f, u, b);
        continue;
      }
      memcpy(choice->growths, growths, sizeof growths);
      judge(choice, pool, ask);
      out->count++;
    }
  }
}

mz_status mz_course_choose(mz_course_choices *out, const mz_stage_pool *pool, const mz_course_ask *ask) {
  found *f;
  MZ_TRY(mz_alloc(&f, 1, sizeof *f));
  memset(out, 0, sizeof *out);
  find_axes(out, f, pool);
  find_pairs(out, f, pool, ask);
  fill_grid(out, f);
  out->found = out->count;
  remove_beaten(out);
  thin(out);
  free(f);
  return MZ_OK;
}
