#include "allocator/runs/course_regret.h"
#include <math.h>

mz_status mz_course_means(mz_course *out, const mz_course *course) {
  *out = *course;
  out->spread = 0;
  return mz_course_prepare(out, "course");
}

/* The value of the best run that begins with `plan`. */
static mz_status value_with(mz_course_oracle *oracle, const mz_course *means, const mz_course_state *state, int plan,
                            double *value) {
  mz_course_state next = *state;
  mz_course_answer rest = {0};
  const mz_course_result result = mz_course_step(means, &next, plan);
  if (!result.ended) MZ_TRY(mz_course_solve(oracle, means, &next, &rest));
  *value = result.reward + (result.ended ? 0 : rest.value);
  return MZ_OK;
}

mz_status mz_course_regrets(mz_course_oracle *oracle, const mz_course *means, const mz_course_state *state, const int *plans,
                            int count, double *regrets) {
  MZ_ASSERT(means->spread <= 0);
  mz_course_answer best;
  MZ_TRY(mz_course_solve(oracle, means, state, &best));
  for (int i = 0; i < count; i++) {
    double value;
    MZ_TRY(value_with(oracle, means, state, plans[i], &value));
    regrets[i] = fmax(0, best.value - value);
  }
  return MZ_OK;
}

int mz_course_nearest_plan(const mz_course *course, double batch_size, double cores, double gpus) {
  static const double BATCH_FIRST = 1e6, GPUS_NEXT = 1e3;
  double nearest = INFINITY;
  int at = 0;
  for (int p = 0; p < course->plans; p++) {
    const mz_course_plan *plan = &course->plan[p];
    const double distance = BATCH_FIRST * fabs(log2(plan->batch_size / batch_size)) +
                            GPUS_NEXT * fabs(plan->amounts[MZ_COURSE_GPUS] - gpus) +
                            fabs(log2(fmax(1, plan->amounts[MZ_COURSE_CORES]) / fmax(1, cores)));
    if (distance >= nearest) continue;
    nearest = distance;
    at = p;
  }
  return at;
}
