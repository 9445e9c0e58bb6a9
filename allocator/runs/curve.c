#include "allocator/runs/curve.h"
#include <math.h>
#include <stdlib.h>

double mz_curve_batch_size(const mz_curve *curve) {
  for (int i = 1; i < curve->count; i++)
    if (curve->epochs[i].batch_size != curve->epochs[0].batch_size) return 0;
  return curve->count > 0 ? curve->epochs[0].batch_size : 0;
}

double mz_curve_best(const mz_curve *curve, int epochs) {
  double best = NAN;
  for (int i = 0; i < curve->count && curve->epochs[i].number <= epochs; i++) best = fmax(best, curve->epochs[i].score);
  return best;
}

double mz_curve_noise_scale(const mz_curve *curve, int epoch) {
  for (int i = 0; i < curve->count; i++)
    if (curve->epochs[i].number == epoch) return curve->epochs[i].noise_scale;
  return NAN;
}

bool mz_curves_range(const mz_curve *curves, int count, double *least, double *most) {
  *least = *most = NAN;
  for (int c = 0; c < count; c++) {
    if (!curves[c].learned) continue;
    for (int i = 0; i < curves[c].count; i++) {
      if (!isfinite(curves[c].epochs[i].score)) continue;
      *least = fmin(*least, curves[c].epochs[i].score);
      break;
    }
    *most = fmax(*most, mz_curve_best(&curves[c], mz_curve_length(&curves[c])));
  }
  return isfinite(*least);
}

int mz_curve_reaches(const mz_curve *curve, double score) {
  for (int i = 0; i < curve->count; i++)
    if (curve->epochs[i].score >= score) return curve->epochs[i].number;
  return 0;
}

int mz_curve_length(const mz_curve *curve) { return curve->count > 0 ? curve->epochs[curve->count - 1].number : 0; }

bool mz_epoch_same_setup(const mz_epoch *a, const mz_epoch *b) {
  return a->batch_size == b->batch_size && a->amounts[MZ_COURSE_CORES] == b->amounts[MZ_COURSE_CORES] &&
         a->amounts[MZ_COURSE_GPUS] == b->amounts[MZ_COURSE_GPUS];
}

bool mz_curve_is_steady(const mz_curve *curve, const mz_pipeline *pipeline) {
  for (int i = 1; i < curve->count; i++)
    if (!mz_epoch_same_setup(&curve->epochs[0], &curve->epochs[i]) ||
        !mz_plan_equal(pipeline, &curve->epochs[0].plan, &curve->epochs[i].plan))
      return false;
  return true;
}

void mz_curves_free(mz_curve *curves, int count) {
  for (int i = 0; curves != NULL && i < count; i++) free(curves[i].epochs);
  free(curves);
}
