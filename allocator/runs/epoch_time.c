#include "allocator/runs/epoch_time.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mz_epoch_time_axes[MZ_EPOCH_TIME_AXES] = {"cores", "gpus", "moves", "batch_size"};
enum { CORES, GPUS, MOVES, BATCH };
enum { SHORT = 4 };               /* a run with less than a quarter of the epochs is too short */
static const double ALPHA = 0.05; /* of the permutation tests */

/* ---- places ---- */

static const mz_epoch *epoch_at(const mz_curve *curve, int number) {
  const mz_epoch *last = NULL;
  for (int i = 0; i < curve->count && curve->epochs[i].number <= number; i++) last = &curve->epochs[i];
  return last;
}

/* Mean over the first `epochs`. A shorter run is taken to go on as in its second half. */
static double seconds_of(const mz_curve *curve, int epochs, const mz_epoch **last) {
  *last = epoch_at(curve, epochs);
  if (*last == NULL) return NAN;
  const int length = (*last)->number;
  const mz_epoch *middle = epoch_at(curve, length / 2);
  const double before_s = middle ? middle->wall_s : 0,
               pace_s = ((*last)->wall_s - before_s) / (length - (middle ? middle->number : 0));
  return ((*last)->wall_s + (epochs - length) * pace_s) / epochs;
}

static bool same_place(const mz_epoch_place *a, const mz_epoch_place *b, const mz_pipeline *pipeline) {
  return a->cores == b->cores && a->gpus == b->gpus && a->moves == b->moves && a->batch_size == b->batch_size &&
         (pipeline == NULL || mz_plan_equal(pipeline, &a->plan, &b->plan));
}

/* Index of the place; MZ_EPOCH_TIME_POINTS_MAX: there are too many. */
static int place_of(mz_epoch_time *m, const mz_epoch_place *wanted, const mz_pipeline *pipeline) {
  for (int i = 0; i < m->count; i++)
    if (same_place(&m->places[i], wanted, pipeline)) return i;
  if (m->count == MZ_EPOCH_TIME_POINTS_MAX) return m->count;
  m->places[m->count] = *wanted;
  return m->count++;
}

static void add_curve(mz_epoch_time *m, const mz_curve *curve, const mz_pipeline *pipeline, int epochs) {
  const mz_epoch *last;
  const double seconds = seconds_of(curve, epochs, &last);
  if (!last) return;
  const mz_epoch_place place = {.cores = last->amounts[MZ_COURSE_CORES],
                                .gpus = last->amounts[MZ_COURSE_GPUS],
                                .moves = curve->moves,
                                .batch_size = last->batch_size,
                                .plan = last->plan};
  const int at = place_of(m, &place, pipeline);
  if (at == MZ_EPOCH_TIME_POINTS_MAX) return;
  mz_epoch_place *p = &m->places[at];
  p->log_s += (log(seconds) - p->log_s) / (p->runs + 1);
  p->memory_gib = fmax(p->memory_gib, last->amounts[MZ_COURSE_MEMORY]);
  p->runs++;
}

static const mz_epoch_place *find(const mz_epoch_time *m, const mz_epoch *last, double moves, const mz_pipeline *pipeline) {
  const mz_epoch_place wanted = {.cores = last->amounts[MZ_COURSE_CORES],
                                 .gpus = last->amounts[MZ_COURSE_GPUS],
                                 .moves = moves,
                                 .batch_size = last->batch_size,
                                 .plan = last->plan};
  for (int i = 0; i < m->count; i++)
    if (same_place(&m->places[i], &wanted, pipeline)) return &m->places[i];
  return NULL;
}

/* How far runs under one knob plan at one place differ, whether it is the fastest there or not. */
static void measure_repeats(mz_epoch_time *m, const mz_curve *curves, const bool *used, int count, const mz_pipeline *pipeline,
                            int epochs) {
  double squares = 0;
  int runs = 0;
  for (int i = 0; i < count; i++) {
    const mz_epoch *last;
    const double seconds = used[i] ? seconds_of(&curves[i], epochs, &last) : NAN;
    const mz_epoch_place *place = used[i] && last ? find(m, last, curves[i].moves, pipeline) : NULL;
    if (!place) continue;
    squares += pow(log(seconds) - place->log_s, 2);
    runs++;
  }
  m->degrees = runs - m->count;
  m->noise = m->degrees >= 1 ? sqrt(squares / m->degrees) : NAN;
}

/* Keeps the fastest knob plan of a place. */
static void keep_fastest(mz_epoch_time *m) {
  int kept = 0;
  for (int i = 0; i < m->count; i++) {
    int at = 0;
    while (at < kept && !same_place(&m->places[at], &m->places[i], NULL)) at++;
    if (at == kept)
      m->places[kept++] = m->places[i];
    else if (m->places[i].log_s < m->places[at].log_s)
      m->places[at] = m->places[i];
  }
  m->count = kept;
}

/* ---- axes along which speed rises ---- */

static void coordinates(double cores, double gpus, double moves, double batch_size, double x[MZ_EPOCH_TIME_AXES]) {
  x[CORES] = cores;
  x[GPUS] = gpus;
  x[MOVES] = -moves;
  x[BATCH] = batch_size;
}

static void points_of(mz_epoch_time *m, double *y, double *weight, mz_isotonic_points *out) {
  for (int i = 0; i < m->count; i++) {
    const mz_epoch_place *p = &m->places[i];
    coordinates(p->cores, p->gpus, p->moves, p->batch_size, m->x[i]);
    y[i] = -p->log_s;
    weight[i] = p->runs;
  }
  *out = (mz_isotonic_points){.count = m->count, .axes = MZ_EPOCH_TIME_AXES, .x = &m->x[0][0], .y = y, .weight = weight};
}

static mz_status test_axis(mz_epoch_time *m, int axis, int *cuts) {
  double y[MZ_EPOCH_TIME_POINTS_MAX], weight[MZ_EPOCH_TIME_POINTS_MAX];
  mz_isotonic_points points;
  points_of(m, y, weight, &points);
  mz_monotone *found = &m->axes[axis];
  MZ_TRY(mz_monotone_test(&points, axis, ALPHA, 1, found));
  if (axis == MOVES || found->verdict != MZ_MONOTONE_REFUTED) return MZ_OK;
  mz_monotone_say_cut(found, "seconds per epoch rise again", mz_epoch_time_axes[axis], m->cut[*cuts], sizeof *m->cut);
  ++*cuts;
  int kept = 0;
  for (int i = 0; i < m->count; i++)
    if (!mz_monotone_cuts(found, m->x[i][axis])) m->places[kept++] = m->places[i];
  m->count = kept;
  return MZ_OK;
}

static mz_status fit(mz_epoch_time *m) {
  double y[MZ_EPOCH_TIME_POINTS_MAX], weight[MZ_EPOCH_TIME_POINTS_MAX];
  mz_isotonic_points points;
  uint8_t *scratch;
  points_of(m, y, weight, &points);
  MZ_TRY(mz_alloc(&scratch, MZ_ISOTONIC_SCRATCH_BYTES(m->count > 0 ? m->count : 1), 1));
  mz_isotonic_fit(&points, m->fitted, scratch);
  free(scratch);
  return MZ_OK;
}

/* ---- noise ---- */

static int distinct(const double *values, int count) {
  int found = 0;
  for (int i = 0; i < count; i++) {
    int before = 0;
    while (before < i && values[before] != values[i]) before++;
    found += before == i;
  }
  return found;
}

static void measure_noise(mz_epoch_time *m, const mz_curve *curves, const bool *used, int count, const mz_pipeline *pipeline,
                          int epochs) {
  double squares = 0, closing = 0;
  int runs = 0, closed = 0;
  for (int i = 0; i < count; i++) {
    const mz_epoch *last;
    const double seconds = used[i] ? seconds_of(&curves[i], epochs, &last) : NAN;
    if (!used[i] || !last) continue;
    const double closing_s = curves[i].epochs[curves[i].count - 1].closing_s;
    if (closing_s > 0) closing += closing_s, closed++;
    const mz_epoch_place *place = find(m, last, curves[i].moves, pipeline);
    if (!place) continue;
    const double off = log(seconds) + m->fitted[place - m->places];
    squares += off * off;
    runs++;
  }
  const int degrees = runs - distinct(m->fitted, m->count);
  if (degrees >= 1) { /* otherwise what repeats of slower plans tell stays */
    m->degrees = degrees;
    m->noise = sqrt(squares / degrees);
  }
  m->closing_s = closed ? closing / closed : 0;
}

/* Steady runs; of these none that is much shorter than what is asked for, where there are longer ones: evaluations take longer later on. */
static void choose(const mz_curve *curves, int count, const mz_pipeline *pipeline, int epochs, bool *used) {
  int longest = 0;
  for (int i = 0; i < count; i++) {
    const int length = mz_curve_length(&curves[i]);
    used[i] = curves[i].timed && mz_curve_is_steady(&curves[i], pipeline);
    if (used[i] && length > longest) longest = length;
  }
  const int asked = epochs < longest ? epochs : longest;
  for (int i = 0; i < count; i++) used[i] = used[i] && (int64_t)SHORT * mz_curve_length(&curves[i]) >= asked;
}

mz_status mz_epoch_time_fit(mz_epoch_time *out, const mz_curve *curves, int count, const mz_pipeline *pipeline, int epochs) {
  bool *used;
  int cuts = 0;
  memset(out, 0, sizeof *out);
  MZ_TRY(mz_alloc(&used, (size_t)count, sizeof *used));
  choose(curves, count, pipeline, epochs, used);
  for (int i = 0; i < count; i++)
    if (used[i]) add_curve(out, &curves[i], pipeline, epochs);
  measure_repeats(out, curves, used, count, pipeline, epochs);
  keep_fastest(out);
  mz_status status = MZ_OK;
  for (int axis = 0; axis < MZ_EPOCH_TIME_AXES && status == MZ_OK; axis++) status = test_axis(out, axis, &cuts);
  if (status == MZ_OK) status = fit(out);
  if (status == MZ_OK) measure_noise(out, curves, used, count, pipeline, epochs);
  free(used);
  return status;
}

bool mz_epoch_time_cuts_batch(const mz_epoch_time *m, double batch_size) { return mz_monotone_cuts(&m->axes[BATCH], batch_size); }

/* How far one more run may be from a bound, which is the mean of the runs that have this fitted value. */
static double spread_at(const mz_epoch_time *m, double bound, double level) {
  double runs = 0;
  for (int i = 0; i < m->count; i++) runs += m->fitted[i] == bound ? m->places[i].runs : 0;
  return isfinite(m->noise) ? mz_student_quantile((1 + level) / 2, m->degrees) * m->noise * sqrt(1 + 1 / runs) : INFINITY;
}

mz_interval mz_epoch_time_at(const mz_epoch_time *m, double cores, double gpus, double moves, double batch_size, double level) {
  double x[MZ_EPOCH_TIME_AXES], low, high, least = INFINITY, most = -INFINITY;
  if (m->count == 0) return (mz_interval){NAN, 0, INFINITY};
  double y[1], weight[1]; /* bounds need places and fitted values only */
  const mz_isotonic_points points = {.count = m->count, .axes = MZ_EPOCH_TIME_AXES, .x = &m->x[0][0], .y = y, .weight = weight};
  coordinates(cores, gpus, moves, batch_size, x);
  mz_isotonic_bounds(&points, m->fitted, x, &low, &high);
  for (int i = 0; i < m->count; i++) {
    least = fmin(least, m->fitted[i]);
    most = fmax(most, m->fitted[i]);
  }
  const mz_interval speed = mz_isotonic_envelope(low, high, least, most, (mz_isotonic_noise){0, 0});
  return (mz_interval){exp(-speed.estimate), isfinite(speed.high) ? exp(-speed.high - spread_at(m, speed.high, level)) : 0,
                       isfinite(speed.low) ? exp(-speed.low + spread_at(m, speed.low, level)) : INFINITY};
}
