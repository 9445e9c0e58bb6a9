#include "muzero/steering/course_fitting.h"
#include "muzero/batch_schedule.h"
#include "muzero/steering/curve_record.h"
#include <math.h>
#include <stdlib.h>

/* Fits to the runs that kept the batch size which the user set. */
static mz_status fit_in_one_batch(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_runs *runs,
                                  const mz_course_fit_options *fit) {
  const double batch_size = (double)mz_batch_schedule_at(runs->settings, 0);
  mz_curve *kept; /* their epochs stay those of `curves` */
  int found = 0;
  MZ_TRY(mz_alloc(&kept, (size_t)count, sizeof *kept));
  for (int c = 0; c < count; c++)
    if (mz_curve_batch_size(&curves[c]) == batch_size) kept[found++] = curves[c];
  const mz_status status = mz_course_fit(out, kept, found, fit);
  free(kept);
  return status;
}

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
  return runs->ask->batch_open ? mz_course_fit(out, curves, count, &fit) : fit_in_one_batch(out, curves, count, runs, &fit);
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
