#include "muzero/steering/course_fitting.h"
#include "muzero/steering/curve_record.h"
#include <math.h>

mz_status mz_course_fitting_for(mz_fitted_course *out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                                const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask,
                                int stages) {
  const mz_allocation_settings *a = &settings->allocation;
  mz_curve_key key;
  mz_curve *curves = NULL;
  int count = 0;
  MZ_TRY(mz_run_curves_read(place, &key, &curves, &count, env, settings, choice, options));
  const mz_course_fit_options fit = {.pipeline = &place->outset.pipeline,
                                     .env = key.env,
                                     .network = key.network,
                                     .learning = key.learning,
                                     .epochs = (int)ask->epochs,
                                     .stages = stages,
                                     .moves = mz_epoch_moves(settings),
                                     .prices = {a->core_hour, a->gpu_hour, a->gib_hour},
                                     .deadline_s = ask->deadline_s,
                                     .budget = ask->budget,
                                     .target = ask->target,
                                     .start = NAN,
                                     .ceiling = NAN};
  const mz_status status = mz_course_fit(out, curves, count, &fit);
  mz_curves_free(curves, count);
  return status;
}
