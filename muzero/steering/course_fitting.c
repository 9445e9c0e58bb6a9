#include "muzero/steering/course_fitting.h"
#include "muzero/steering/curve_record.h"
#include <math.h>

mz_status mz_course_fitting_to(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_runs *runs) {
  const mz_allocation_settings *a = &runs->settings->allocation;
  const mz_course_fit_options fit = {.pipeline = runs->pipeline,
                                     .env = runs->key->env,
                                     .network = runs->key->network,
                                     .learning = runs->key->learning,
                                     .simulated = runs->simulated ? runs->simulated : "",
                                     .epochs = (int)runs->ask->epochs,
                                     .stages = runs->stages,
                                     .moves = mz_epoch_moves(runs->settings),
                                     .prices = {a->core_hour, a->gpu_hour, a->gib_hour},
                                     .deadline_s = runs->ask->deadline_s,
                                     .budget = runs->ask->budget,
                                     .target = runs->ask->target,
                                     .start = NAN,
                                     .ceiling = NAN};
  return mz_course_fit(out, curves, count, &fit);
}

mz_status mz_course_fitting_for(mz_fitted_course *out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                                const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask,
                                int stages) {
  mz_curve_key key;
  mz_curve *curves = NULL;
  int count = 0;
  MZ_TRY(mz_run_curves_read(place, &key, &curves, &count, env, settings, choice, options));
  const mz_course_runs runs = {
      .key = &key, .pipeline = &place->outset.pipeline, .settings = settings, .ask = ask, .stages = stages};
  const mz_status status = mz_course_fitting_to(out, curves, count, &runs);
  mz_curves_free(curves, count);
  return status;
}
