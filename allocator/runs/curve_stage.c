#include "allocator/runs/curve_stage.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <string.h>

enum { NOISES_MAX = 256 };

int mz_stage_last_epoch(int epochs, int stages, int stage) { return (int)((int64_t)epochs * (stage + 1) / stages); }

/* Mean over the epochs in which it was measured. */
static double mean_of(const mz_epoch *epochs, int count, size_t offset) {
  double sum = 0, value;
  int measured = 0;
  for (int i = 0; i < count; i++) {
    memcpy(&value, (const char *)&epochs[i] + offset, sizeof value);
    if (!isfinite(value)) continue;
    sum += value;
    measured++;
  }
  return measured > 0 ? sum / measured : NAN;
}

static bool has_noise(const mz_epoch *epoch) { return isfinite(epoch->noise_scale) && epoch->noise_scale > 0; }

/* Takes as many epochs as there is room for, evenly spread. */
static double median_noise(const mz_epoch *epochs, int count) {
  double values[NOISES_MAX];
  int measured = 0;
  for (int i = 0; i < count; i++) measured += has_noise(&epochs[i]);
  const int kept = measured < NOISES_MAX ? measured : NOISES_MAX;
  for (int i = 0, at = 0; i < count; i++)
    if (has_noise(&epochs[i])) values[(int64_t)at++ * kept / measured] = epochs[i].noise_scale;
  return kept > 0 ? mz_median(values, kept) : NAN;
}

static double seconds_of(const mz_curve *curve, const mz_epoch *epochs, int count, double moves) {
  const double scale = moves > 0 && curve->moves > 0 ? moves / curve->moves : 1;
  double seconds = 0;
  for (int i = 0; i < count; i++) seconds += epochs[i].rounds_s * scale + epochs[i].evaluation_s;
  return seconds > 0 ? seconds : NAN;
}

static void take_setup(const mz_epoch *epochs, int count, mz_curve_stage *out) {
  const mz_epoch *last = &epochs[count - 1];
  out->uniform = true;
  for (int i = 0; i < count; i++) out->uniform = out->uniform && mz_epoch_same_setup(&epochs[i], last);
  out->plan = last->plan;
  if (!out->uniform) return;
  out->batch_size = last->batch_size;
  memcpy(out->amounts, last->amounts, sizeof out->amounts);
  for (int i = 0; i < count; i++)
    out->amounts[MZ_COURSE_MEMORY] = fmax(out->amounts[MZ_COURSE_MEMORY], epochs[i].amounts[MZ_COURSE_MEMORY]);
}

/* Fills in *out from epochs first … last of a curve; false: the curve has none of them, or ends before. */
static bool cut(const mz_curve *curve, int first, int last, double moves, mz_curve_stage *out) {
  int begin = 0, end;
  while (begin < curve->count && curve->epochs[begin].number < first) begin++;
  for (end = begin; end < curve->count && curve->epochs[end].number <= last;) end++;
  if (end == begin || mz_curve_length(curve) < last) return false;
  const mz_epoch *epochs = &curve->epochs[begin];
  const int count = end - begin;
  *out = (mz_curve_stage){.seed = curve->seed, .seconds = NAN, .start = NAN, .end = NAN, .noise_scale = NAN};
  take_setup(epochs, count, out);
  out->one_batch = out->uniform;
  for (int i = 0; i < begin; i++) out->one_batch = out->one_batch && curve->epochs[i].batch_size == out->batch_size;
  if (curve->timed && count == last - first + 1) out->seconds = seconds_of(curve, epochs, count, moves);
  if (curve->learned) {
    out->start = mz_curve_best(curve, first - 1);
    out->end = mz_curve_best(curve, last);
    out->noise_scale = median_noise(epochs, count);
  }
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    out->use[r] = mean_of(epochs, count, offsetof(mz_epoch, use) + (size_t)r * sizeof(double));
    out->stall[r] = mean_of(epochs, count, offsetof(mz_epoch, stall) + (size_t)r * sizeof(double));
  }
  return true;
}

/* Fills in *out for a stage that a run which reached the target ended before; false: it did not, or had several batch sizes. */
static bool extend(const mz_curve *curve, int last, double target, mz_curve_stage *out) {
  if (!curve->learned || curve->count == 0 || mz_curve_length(curve) >= last) return false;
  const mz_epoch *newest = &curve->epochs[curve->count - 1];
  const double best = mz_curve_best(curve, newest->number);
  if (!(best >= target) || mz_curve_batch_size(curve) == 0) return false;
  *out = (mz_curve_stage){.seed = curve->seed,
                          .uniform = true,
                          .batch_size = newest->batch_size,
                          .plan = newest->plan,
                          .over = true,
                          .one_batch = true,
                          .seconds = NAN,
                          .start = best,
                          .end = best,
                          .noise_scale = NAN};
  memcpy(out->amounts, newest->amounts, sizeof out->amounts);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) out->use[r] = out->stall[r] = NAN;
  return true;
}

/* Returns whether another stage tells the same scores: resources change no result, so runs of one seed in the same batches learn alike.
 * One that a run went through tells more than one that had ended before. */
static bool is_repeated(const mz_curve_stage *stages, int count, int at) {
  const mz_curve_stage *one = &stages[at];
  if (!one->one_batch || !isfinite(one->end)) return false;
  for (int i = 0; i < count; i++) {
    const mz_curve_stage *other = &stages[i];
    const bool alike = other->stage == one->stage && other->seed == one->seed && other->one_batch &&
                       other->batch_size == one->batch_size && isfinite(other->end);
    if (alike && (other->over == one->over ? i < at : one->over)) return true;
  }
  return false;
}

mz_status mz_curve_stages(const mz_curve *curves, int count, int epochs, int stages, double target, double moves,
                          mz_curve_stage **out, int *out_count) {
  MZ_ASSERT(stages > 0 && epochs >= stages);
  *out_count = 0;
  MZ_TRY(mz_alloc(out, (size_t)count * (size_t)stages, sizeof **out));
  for (int c = 0; c < count; c++) {
    for (int s = 0; s < stages; s++) {
      mz_curve_stage *at = &(*out)[*out_count];
      const int first = s > 0 ? mz_stage_last_epoch(epochs, stages, s - 1) + 1 : 1;
      const int last = mz_stage_last_epoch(epochs, stages, s);
      if (!cut(&curves[c], first, last, moves, at) && !extend(&curves[c], last, target, at)) continue;
      at->curve = c;
      at->stage = s;
      (*out_count)++;
    }
  }
  for (int i = 0; i < *out_count; i++) (*out)[i].repeats = is_repeated(*out, *out_count, i);
  return MZ_OK;
}
