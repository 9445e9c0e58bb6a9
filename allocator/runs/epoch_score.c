#include "allocator/runs/epoch_score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH, EPOCH, AXES };
static const double ALPHA = 0.05; /* of the permutation test */
static const double CENSORED = 2; /* times its length that a run counts with which never reached the target */
static const double HALF_PI = 1.5707963267948966;
static const double PACE_LEAST = 0.02; /* of log stretch: an epoch is a step */

/* ---- runs and their batches ---- */

/* One seed's runs in one batch size have one curve, whatever they ran on: the longest of them counts. */
static bool is_repeated(const mz_curve *curves, int count, int i) {
  for (int j = 0; j < count; j++) {
    if (j == i || !curves[j].learned || curves[j].seed != curves[i].seed ||
        mz_curve_batch_size(&curves[j]) != mz_curve_batch_size(&curves[i]))
      continue;
    const int other = mz_curve_length(&curves[j]), own = mz_curve_length(&curves[i]);
    if (other > own || (other == own && j < i)) return true;
  }
  return false;
}

static int index_of(const mz_epoch_score *m, double rows) {
  for (int b = 0; b < m->batches; b++)
    if (m->batch[b].rows == rows) return b;
  return -1;
}

static void add_batch(mz_epoch_score *m, double rows) {
  if (index_of(m, rows) >= 0 || m->batches == MZ_EPOCH_SCORE_BATCHES_MAX) return;
  int at = m->batches++;
  for (; at > 0 && m->batch[at - 1].rows > rows; at--) m->batch[at] = m->batch[at - 1];
  m->batch[at] = (mz_epoch_score_batch){.rows = rows, .typical = INFINITY};
}

static void count_runs(mz_epoch_score *m, const mz_curve *curves, int count) {
  for (int i = 0; i < count; i++)
    if (m->counted[i]) add_batch(m, mz_curve_batch_size(&curves[i]));
  m->start = INFINITY;
  m->best = -INFINITY;
  for (int i = 0; i < count; i++) {
    const int b = m->counted[i] ? index_of(m, mz_curve_batch_size(&curves[i])) : -1;
    if (b < 0) continue;
    const int length = mz_curve_length(&curves[i]);
    m->batch[b].runs++;
    m->runs++;
    m->batch[b].reached += mz_curve_reaches(&curves[i], m->target) > 0;
    if (length > m->batch[b].epochs) m->batch[b].epochs = length;
    if (length > m->epochs) m->epochs = length;
    for (int e = 0; e < curves[i].count; e++) {
      m->start = fmin(m->start, curves[i].epochs[e].score);
      m->best = fmax(m->best, curves[i].epochs[e].score);
    }
  }
}

/* ---- the grid of medians ---- */

/* The best scores up to an epoch of runs that came so far, or had reached the target when they ended. *scores: [count]; returns how
 * many. */
static int scores_at(const mz_epoch_score *m, const mz_curve *curves, int count, int b, int epoch, double *scores) {
  int found = 0;
  for (int i = 0; i < count; i++) {
    if (!m->counted[i] || mz_curve_batch_size(&curves[i]) != m->batch[b].rows) continue;
    const double best = mz_curve_best(&curves[i], epoch);
    if (isnan(best) || (mz_curve_length(&curves[i]) < epoch && !(best >= m->target))) continue;
    scores[found++] = best;
  }
  return found;
}

static void fill_grid(mz_epoch_score *m, const mz_curve *curves, int count, double *y, double *weight, double *scratch) {
  for (int b = 0; b < m->batches; b++) {
    for (int e = 0; e < m->epochs; e++) {
      const int cell = b * m->epochs + e, found = e < m->batch[b].epochs ? scores_at(m, curves, count, b, e + 1, scratch) : 0;
      y[cell] = found > 0 ? mz_median(scratch, found) : 0;
      weight[cell] = found;
    }
  }
}

static mz_status make_grid(mz_epoch_score *m, const mz_curve *curves, int count) {
  const size_t cells = (size_t)m->batches * (size_t)m->epochs, lines = (size_t)(m->batches + m->epochs);
  MZ_TRY(mz_alloc(&m->numbers, 5 * cells + lines + (size_t)count, sizeof *m->numbers));
  double *y = m->numbers, *weight = y + cells, *fitted = weight + cells, *low = fitted + cells, *high = low + cells,
         *rows = high + cells, *epochs = rows + m->batches, *scratch = epochs + m->epochs;
  for (int b = 0; b < m->batches; b++) rows[b] = m->batch[b].rows;
  for (int e = 0; e < m->epochs; e++) epochs[e] = e + 1;
  fill_grid(m, curves, count, y, weight, scratch);
  m->grid = (mz_isotonic_grid){.axes = AXES,
                               .axis = {{m->batches, rows, true}, {m->epochs, epochs, false}},
                               .y = y,
                               .weight = weight,
                               .fitted = fitted,
                               .low = low,
                               .high = high};
  return mz_isotonic_grid_fit(&m->grid);
}

/* ---- whether scores fall with batches ---- */

/* At so many epochs evenly spread: a test of all would take long, and neighbours say the same. */
enum { EPOCHS_TESTED = 16, POINTS = MZ_EPOCH_SCORE_BATCHES_MAX * EPOCHS_TESTED };

static mz_status test_batches(mz_epoch_score *m) {
  double x[POINTS][AXES], y[POINTS], weight[POINTS];
  mz_isotonic_points points = {.axes = AXES, .x = &x[0][0], .y = y, .weight = weight};
  for (int b = 0; b < m->batches; b++) {
    for (int t = 1; t <= EPOCHS_TESTED; t++) {
      const int epoch = (int)((int64_t)m->epochs * t / EPOCHS_TESTED), cell = b * m->epochs + epoch - 1;
      if (epoch < 1 || m->grid.weight[cell] == 0) continue;
      x[points.count][BATCH] = -m->batch[b].rows;
      x[points.count][EPOCH] = epoch;
      y[points.count] = m->grid.y[cell];
      weight[points.count++] = m->grid.weight[cell];
    }
  }
  MZ_TRY(mz_monotone_test(&points, BATCH, ALPHA, 1, &m->axis));
  return MZ_OK;
}

bool mz_epoch_score_cuts_batch(const mz_epoch_score *m, double batch_size) { return mz_monotone_cuts(&m->axis, -batch_size); }

/* Leaves batches out that are smaller than the best; *cut: whether there were any. */
static void cut_batches(mz_epoch_score *m, bool *cut) {
  int kept = 0;
  *cut = false;
  if (m->axis.verdict != MZ_MONOTONE_REFUTED) return;
  for (int b = 0; b < m->batches; b++)
    if (!mz_epoch_score_cuts_batch(m, m->batch[b].rows)) m->batch[kept++] = m->batch[b];
  *cut = kept < m->batches;
  if (*cut)
    snprintf(m->cut, sizeof m->cut, "scores rise with batches up to %g rows (p = %.3g): smaller ones are left out", -m->axis.peak,
             m->axis.fall_p);
  m->batches = kept;
}

/* ---- pace ---- */

static void find_typical(mz_epoch_score *m) {
  for (int b = 0; b < m->batches; b++) {
    m->batch[b].typical = INFINITY;
    for (int e = 0; e < m->batch[b].epochs && !isfinite(m->batch[b].typical); e++)
      if (m->grid.fitted[b * m->epochs + e] >= m->target) m->batch[b].typical = e + 1;
  }
}

/* Slow runs and fast ones have a spread each: half of a normal's is as wide as the whole. The variance of a median is π/2 times that of a
 * mean. */
static double spread_of(double squares, double degrees, double blocks, double runs) {
  return fmax(PACE_LEAST, sqrt(2 * squares / degrees * (1 + HALF_PI * blocks / runs)));
}

static void measure_pace(mz_epoch_score *m, const mz_curve *curves, int count) {
  double slower = 0, faster = 0;
  int runs = 0, batches = 0;
  for (int i = 0; i < count; i++) {
    const int b = m->counted[i] ? index_of(m, mz_curve_batch_size(&curves[i])) : -1;
    if (b < 0 || !isfinite(m->batch[b].typical)) continue;
    const int reached = mz_curve_reaches(&curves[i], m->target);
    if (reached == 0 && mz_curve_length(&curves[i]) < m->batch[b].typical) continue; /* too short to tell */
    const double epochs = reached > 0 ? reached : CENSORED * mz_curve_length(&curves[i]);
    const double off = log(epochs / m->batch[b].typical);
    *(off > 0 ? &slower : &faster) += off * off;
    runs++;
  }
  for (int b = 0; b < m->batches; b++) batches += isfinite(m->batch[b].typical);
  const double degrees = runs - batches;
  if (degrees < 1) return;
  m->degrees = fmax(1, degrees / 2); /* each side has half of the runs */
  m->slower = spread_of(slower, degrees, batches, runs);
  m->faster = spread_of(faster, degrees, batches, runs);
}

/* ---- all of it ---- */

static mz_status choose_curves(mz_epoch_score *m, const mz_curve *curves, int count) {
  MZ_TRY(mz_alloc(&m->counted, (size_t)count, sizeof *m->counted));
  for (int i = 0; i < count; i++)
    m->counted[i] = curves[i].learned && mz_curve_batch_size(&curves[i]) > 0 && !is_repeated(curves, count, i);
  return MZ_OK;
}

mz_status mz_epoch_score_init(mz_epoch_score *m, const mz_curve *curves, int count, double target) {
  mz_status status;
  bool cut;
  memset(m, 0, sizeof *m);
  MZ_TRY(choose_curves(m, curves, count));
  m->target = target;
  m->slower = m->faster = NAN;
  count_runs(m, curves, count);
  if (m->batches == 0 || m->epochs == 0) return MZ_OK;
  MZ_TRY_CLEANUP(make_grid(m, curves, count));
  MZ_TRY_CLEANUP(test_batches(m));
  cut_batches(m, &cut);
  if (cut) {
    free(m->numbers);
    m->numbers = NULL;
    MZ_TRY_CLEANUP(make_grid(m, curves, count));
  }
  find_typical(m);
  measure_pace(m, curves, count);
cleanup:
  if (status != MZ_OK) mz_epoch_score_deinit(m);
  return status;
}

void mz_epoch_score_deinit(mz_epoch_score *m) {
  free(m->numbers);
  free(m->counted);
  memset(m, 0, sizeof *m);
}

static double stretch(const mz_epoch_score *m, double spread, double level) {
  return isfinite(spread) ? exp(mz_student_quantile(level, m->degrees) * spread) : INFINITY;
}

double mz_epoch_score_stretch(const mz_epoch_score *m, double level) { return stretch(m, m->slower, level); }

static mz_interval at(const mz_epoch_score *m, double batch_size, double epochs) {
  return mz_isotonic_grid_at(&m->grid, (const double[AXES]){batch_size, epochs}, (mz_isotonic_noise){0, 0});
}

mz_interval mz_epoch_score_at(const mz_epoch_score *m, double batch_size, double epochs, double level) {
  if (m->batches == 0) return (mz_interval){NAN, -INFINITY, INFINITY};
  const double slow = stretch(m, m->slower, (1 + level) / 2), fast = stretch(m, m->faster, (1 + level) / 2);
  const mz_interval middle = at(m, batch_size, epochs);
  if (!isfinite(slow)) return (mz_interval){middle.estimate, -INFINITY, INFINITY};
  return (mz_interval){middle.estimate, at(m, batch_size, epochs / slow).low, at(m, batch_size, epochs * fast).high};
}
