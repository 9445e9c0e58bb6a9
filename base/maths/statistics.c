#include "base/maths/statistics.h"
#include "base/maths/streams.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int by_value(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void mz_sort(double *values, int n) { qsort(values, (size_t)n, sizeof *values, by_value); }

/* ---- of one sample ---- */

double mz_mean(double *values, int n) {
  MZ_ASSERT(n >= 1);
  double sum = 0.0;
  for (int i = 0; i < n; i++) sum += values[i];
  return sum / n;
}

/* Sorts. Returns how many are themselves still. */
static int winsorise(double *values, int n) {
  const int cut = n / 10;
  mz_sort(values, n);
  for (int i = 0; i < cut; i++) {
    values[i] = values[cut];
    values[n - 1 - i] = values[n - 1 - cut];
  }
  return n - 2 * cut;
}

static double quantile_of_sorted(const double *values, int n, double p) {
  const double at = (n - 1) * p;
  const int below = (int)at;
  if (below >= n - 1) return values[n - 1];
  if (at == below || isinf(values[below])) return values[below]; /* what lies between infinite values is not a number */
  return values[below] + (at - below) * (values[below + 1] - values[below]);
}

double mz_quantile(double *values, int n, double p) {
  MZ_ASSERT(n >= 1 && p >= 0.0 && p <= 1.0);
  mz_sort(values, n);
  return quantile_of_sorted(values, n, p);
}

double mz_median(double *values, int n) { return mz_quantile(values, n, 0.5); }

double mz_iqm(double *values, int n) {
  MZ_ASSERT(n >= 1);
  mz_sort(values, n);
  const double from = 0.25 * n, to = 0.75 * n; /* value i covers [i, i + 1] */
  double sum = 0.0;
  for (int i = (int)from; i < to; i++) sum += values[i] * (fmin(i + 1, to) - fmax(i, from));
  return sum / (to - from);
}

/* ---- bootstrap ---- */

typedef struct item {
  int stratum, at; /* at: its place among the caller's; 0 where that does not count */
  double a, b;     /* a value and 0, or a numerator and its denominator */
} item;

static int by_stratum_then_values(const void *left, const void *right) {
  const item *l = left, *r = right;
  if (l->stratum != r->stratum) return l->stratum < r->stratum ? -1 : 1;
  if (l->at != r->at) return l->at < r->at ? -1 : 1;
  if (l->a != r->a) return l->a < r->a ? -1 : 1;
  return (l->b > r->b) - (l->b < r->b);
}

/* The data that are resampled and the statistic of each resample. */
typedef struct sample {
  int n, run;
  item *items;            /* sorted: strata one after another, within each by place or, where that does not count, by value */
  double *a, *b;          /* one resample */
  mz_statistic statistic; /* of a; NULL: Σa / Σb */
} sample;

static void sample_free(sample *s) {
  free(s->items);
  free(s->a);
  free(s->b);
}

static mz_status sample_fill(sample *s, const double *a, const double *b, const int *stratum) {
  const size_t n = (size_t)s->n;
  MZ_TRY(mz_alloc(&s->items, n, sizeof *s->items));
  MZ_TRY(mz_alloc(&s->a, n, sizeof *s->a));
  MZ_TRY(mz_alloc(&s->b, n, sizeof *s->b));
  for (size_t i = 0; i < n; i++) {
    s->items[i] = (item){
        .stratum = stratum == NULL ? 0 : stratum[i], .at = s->run > 1 ? (int)i : 0, .a = a[i], .b = b == NULL ? 0.0 : b[i]};
  }
  qsort(s->items, n, sizeof *s->items, by_stratum_then_values);
  return MZ_OK;
}

/* The statistic of the sample as it is (rng NULL), or of one resample. */
static double evaluate(sample *s, mz_rng *rng) {
  for (int start = 0; start < s->n;) {
    int end = start + 1;
    while (end < s->n && s->items[end].stratum == s->items[start].stratum) end++;
    for (int i = start, from = 0; i < end; i++) {
      const int count = end - start, along = s->run > 1 ? (i - start) % s->run : 0;
      if (rng != NULL && along == 0) from = (int)mz_rng_below(rng, (uint32_t)count);
      const item *drawn = &s->items[rng == NULL ? i : start + (from + along) % count];
      s->a[i] = drawn->a;
      s->b[i] = drawn->b;
    }
    start = end;
  }
  if (s->statistic != NULL) return s->statistic(s->a, s->n);
  const double above = mz_mean(s->a, s->n), below = mz_mean(s->b, s->n);
  return below > 0 ? above / below : above < 0 ? -INFINITY : INFINITY;
}

static void summarise(double *statistics, const mz_resampling *how, mz_bootstrapped *out) {
  const int count = how->resamples;
  int below = 0, above = 0; /* one that equals the null value is on both sides */
  for (int i = 0; i < count; i++) {
    below += statistics[i] <= how->null;
    above += statistics[i] >= how->null;
  }
  const int other_side = below < above ? below : above;
  out->p = fmin(1.0, 2.0 * (1.0 + other_side) / (1.0 + count));
  mz_sort(statistics, count);
  out->interval.low = quantile_of_sorted(statistics, count, 0.5 * (1.0 - how->level));
  out->interval.high = quantile_of_sorted(statistics, count, 0.5 * (1.0 + how->level));
}

static mz_status bootstrap(sample *s, const double *a, const double *b, const int *stratum, const mz_resampling *how,
                           mz_bootstrapped *out) {
  MZ_ASSERT(s->n >= 1 && how->resamples >= 1 && how->level > 0.0 && how->level < 1.0);
  double *statistics = NULL;
  mz_status status;
  MZ_TRY_CLEANUP(sample_fill(s, a, b, stratum));
  MZ_TRY_CLEANUP(mz_alloc(&statistics, (size_t)how->resamples, sizeof *statistics));
  out->interval.estimate = evaluate(s, NULL);
  for (int i = 0; i < how->resamples; i++) {
    mz_rng rng = mz_stream_resample(how->seed, i);
    statistics[i] = evaluate(s, &rng);
  }
  summarise(statistics, how, out);
cleanup:
  free(statistics);
  sample_free(s);
  return status;
}

mz_status mz_bootstrap(const double *values, const int *stratum, int n, mz_statistic statistic, const mz_resampling *how,
                       mz_bootstrapped *out) {
  sample s = {.n = n, .run = how->run, .statistic = statistic};
  return bootstrap(&s, values, NULL, stratum, how, out);
}

mz_status mz_bootstrap_ratio(const double *numerators, const double *denominators, const int *stratum, int n,
                             const mz_resampling *how, mz_bootstrapped *out) {
  sample s = {.n = n, .run = how->run};
  return bootstrap(&s, numerators, denominators, stratum, how, out);
}

/* ---- Holm ---- */

typedef struct ranked {
  double p;
  int index;
} ranked;

static int by_p(const void *left, const void *right) {
  const ranked *l = left, *r = right;
  if (l->p != r->p) return l->p < r->p ? -1 : 1;
  return l->index - r->index;
}

mz_status mz_holm(double *p, int n) {
  ranked *order = NULL;
  MZ_TRY(mz_alloc(&order, (size_t)n, sizeof *order));
  for (int i = 0; i < n; i++) order[i] = (ranked){.p = p[i], .index = i};
  qsort(order, (size_t)n, sizeof *order, by_p);
  double adjusted = 0.0; /* never below that of a smaller p */
  for (int i = 0; i < n; i++) {
    adjusted = fmax(adjusted, fmin(1.0, (n - i) * order[i].p));
    p[order[i].index] = adjusted;
  }
  free(order);
  return MZ_OK;
}

/* ---- Student's distribution ---- */

static double log_gamma(double x) {
  int sign; /* lgamma would write it to a global variable */
  return lgamma_r(x, &sign);
}

/* Continued fraction of the incomplete beta function by Lentz's method (DLMF 8.17.22); converges fast for x < (a + 1) / (a + b +
 * 2). */
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
  d = 1.0 / (fabs(d) < tiny ? tiny : d);
  double product = d;
  for (int m = 1; m <= 10000; m++) {
    for (int odd = 0; odd <= 1; odd++) {
      const double k = a + 2.0 * m;
      const double term = odd ? -(a + m) * (a + b + m) * x / (k * (k + 1.0)) : m * (b - m) * x / ((k - 1.0) * k);
      d = 1.0 + term * d;
      c = 1.0 + term / c;
      d = 1.0 / (fabs(d) < tiny ? tiny : d);
      if (fabs(c) < tiny) c = tiny;
      product *= c * d;
    }
    if (fabs(c * d - 1.0) < 1e-15) break;
  }
  return product;
}

/* Regularised incomplete beta function I_x(a, b); y = 1 − x is given apart, where it would cancel. */
static double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0.0) return 0.0;
  if (y <= 0.0) return 1.0;
  const double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, y) / b;
}

/* P(T > t), t >= 0. */
static double student_tail(double t, double degrees) {
  const double square = t * t;
  return 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + square), square / (degrees + square));
}

double mz_student_quantile(double p, double degrees) {
  MZ_ASSERT(p > 0.0 && p < 1.0 && degrees > 0.0);
  if (p < 0.5) return -mz_student_quantile(1.0 - p, degrees);
  const double tail = 1.0 - p;
  double low = 0.0, high = 1.0;
  while (high < 1e300 && student_tail(high, degrees) > tail) low = high, high *= 2.0;
  for (;;) { /* the tail falls with t: halve until two neighbouring numbers are left */
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return middle;
    if (student_tail(middle, degrees) > tail)
      low = middle;
    else
      high = middle;
  }
}

/* ---- speed ---- */

enum { PIECES_MAX = 1024 };

/* Mean of logarithms, its variance and the degrees of freedom of that. */
typedef struct level {
  int count;
  double mean, variance, degrees;
} level;

static level level_of(const double *seconds, int count) {
  double logs[PIECES_MAX];
  int n = 0;
  for (int i = count - 1; i >= 0 && n < PIECES_MAX; i--) {
    if (isfinite(seconds[i]) && seconds[i] > 0.0) logs[n++] = log(seconds[i]);
  }
  if (n == 0) return (level){.mean = NAN};
  const int kept = winsorise(logs, n);
  level out = {.count = n, .mean = mz_mean(logs, n), .degrees = kept - 1};
  if (n < 2) return out;
  double squares = 0.0;
  for (int i = 0; i < n; i++) squares += (logs[i] - out.mean) * (logs[i] - out.mean);
  const double winsorised = (n - 1.0) / (kept - 1.0); /* makes up for the spread that winsorising took away */
  out.variance = squares / (n - 1.0) / n * winsorised * winsorised;
  return out;
}

mz_interval mz_speed_ratio(const double *before_s, int before_count, const double *after_s, int after_count, double confidence) {
  MZ_ASSERT(confidence > 0.0 && confidence < 1.0);
  const level before = level_of(before_s, before_count), after = level_of(after_s, after_count);
  const double difference = before.mean - after.mean;
  mz_interval out = {.estimate = exp(difference), .low = 0.0, .high = INFINITY};
  if (before.count < 2 || after.count < 2) return out;
  const double variance = before.variance + after.variance;
  double reach = 0.0; /* equal pieces on both sides: nothing varies */
  if (variance > 0.0) {
    const double degrees = variance * variance /
                           (before.variance * before.variance / before.degrees +
                            after.variance * after.variance / after.degrees); /* Welch–Satterthwaite */
    reach = mz_student_quantile(0.5 * (1.0 + confidence), degrees) * sqrt(variance);
  }
  out.low = exp(difference - reach);
  out.high = exp(difference + reach);
  return out;
}
