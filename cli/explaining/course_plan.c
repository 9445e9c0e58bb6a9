#include "cli/explaining/course_plan.h"
#include "allocator/runs/course_file.h"
#include "cli/print.h"
#include "muzero/compare/simulated_runs.h"
#include "muzero/run.h"
#include <math.h>

static mz_status ask_of(const mz_course_plan_view *v, const mz_settings *settings, mz_run_ask *ask) {
  const mz_env *env;
  const mz_allocation_settings *a = &settings->allocation;
  const double deadline = isnan(v->deadline_s) ? a->deadline : v->deadline_s, budget = isnan(v->budget) ? a->budget : v->budget;
  const char *missing = !(deadline > 0) ? "--deadline T" : !(budget > 0) ? "--budget C" : v->epochs == 0 ? "--epochs N" : NULL;
  if (missing) return mz_fail(MZ_E_USAGE, "--course %s: a course has limits and a length: give %s, too", v->file, missing);
  MZ_TRY(mz_env_find(v->run.env, &env));
  *ask = mz_run_ask_of(settings, env, &v->run);
  ask->deadline_s = deadline;
  ask->target = v->target;
  ask->budget = budget;
  ask->epochs = v->epochs;
  ask->env = v->run.env;
  return MZ_OK;
}

static void add_plan(cJSON *array, const mz_fitted_course *f, int p) {
  cJSON *o = cJSON_CreateObject();
  double seconds = 0, left = 1;
  for (int s = 0; s < f->course.stages; s++) {
    seconds += f->course.cell[s][p].seconds;
    left *= 1 - f->course.cell[s][p].growth;
  }
  cJSON_AddNumberToObject(o, "cores", f->course.plan[p].amounts[MZ_COURSE_CORES]);
  cJSON_AddNumberToObject(o, "gpus", f->course.plan[p].amounts[MZ_COURSE_GPUS]);
  cJSON_AddNumberToObject(o, "batch_size", f->course.plan[p].batch_size);
  cJSON_AddNumberToObject(o, "seconds", seconds);
  cJSON_AddNumberToObject(o, "cost", seconds * f->course.plan[p].cost_per_s);
  cJSON_AddNumberToObject(o, "score", f->course.ceiling - left * (f->course.ceiling - f->course.score));
  cJSON_AddBoolToObject(o, "composed", f->composed[p]);
  cJSON_AddItemToArray(array, o);
}

static cJSON *json_of(const mz_fitted_course *f, const char *file) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "course", file);
  cJSON_AddItemToObject(o, "machine_simulated", f->simulated[0] ? cJSON_CreateString(f->simulated) : cJSON_CreateNull());
  cJSON_AddNumberToObject(o, "stages", f->course.stages);
  cJSON_AddNumberToObject(o, "epochs", f->epochs);
  cJSON *plans = cJSON_AddArrayToObject(o, "plans");
  for (int p = 0; p < f->course.plans; p++) add_plan(plans, f, p);
  cJSON *error = cJSON_AddObjectToObject(o, "error");
  cJSON_AddNumberToObject(error, "seconds", f->error.seconds);
  cJSON_AddNumberToObject(error, "score", f->error.score);
  cJSON_AddNumberToObject(error, "seconds_noise", f->error.seconds_noise);
  cJSON_AddNumberToObject(error, "score_noise", f->error.score_noise);
  cJSON_AddBoolToObject(o, "usable", f->error.usable);
  cJSON_AddStringToObject(o, "notes", f->notes);
  return o;
}

static void print_error(const char *of, double error, double noise, int stages) {
  printf("%-10s ", of);
  if (isfinite(error))
    printf("%.3g %% off in the median of %d stages of runs that were left out; runs differ by %.3g %%\n", 100 * error, stages,
           100 * noise);
  else
    printf("not known how far off: no run can be foretold from runs of other seeds\n");
}

static void print_text(const mz_fitted_course *f, const char *file) {
  cJSON *json = json_of(f, file);
  const cJSON *plan;
  char shown[MZ_SHOWN_SIZE];
  if (f->simulated[0])
    printf("Times and costs are simulated, on the machine %s. Scores are those of real runs.\n\n",
           mz_text_shown(f->simulated, shown));
  printf("course     %s: %d plans, %d stages of %d epochs in all\n", file, f->course.plans, f->course.stages, f->epochs);
  cJSON_ArrayForEach(plan, cJSON_GetObjectItem(json, "plans"))
      printf("  %g cores, %g GPUs, batches of %g rows: %.4g s, cost %.3g, score %.4g%s\n", mz_json_number_or_nan(plan, "cores"),
             mz_json_number_or_nan(plan, "gpus"), mz_json_number_or_nan(plan, "batch_size"),
             mz_json_number_or_nan(plan, "seconds"), mz_json_number_or_nan(plan, "cost"), mz_json_number_or_nan(plan, "score"),
             cJSON_IsTrue(cJSON_GetObjectItem(plan, "composed")) ? " (seconds composed of those of other plans)" : "");
  cJSON_Delete(json);
  print_error("seconds", f->error.seconds, f->error.seconds_noise, f->error.seconds_count);
  print_error("score", f->error.score, f->error.score_noise, f->error.score_count);
  if (f->notes[0]) printf("%s\n", f->notes);
  if (!f->error.usable)
    printf("It says nothing of real runs: that takes errors of at most %g %% that are known.\n", 100 * MZ_FIT_ERROR_MAX);
}

static mz_status fit_here(const mz_course_plan_view *v, const mz_settings *settings, const mz_run_ask *ask,
                          mz_fitted_course *fitted) {
  struct {
    mz_run_place place;
    mz_device_choice choice;
  } * all;
  const mz_env *env;
  mz_status status;
  MZ_TRY(mz_env_find(v->run.env, &env));
  MZ_TRY(mz_alloc(&all, 1, sizeof *all));
  MZ_TRY_CLEANUP(mz_device_choose(&all->choice, v->run.device, settings, &env->spec, NULL));
  MZ_TRY_CLEANUP(mz_course_fitting_for(fitted, &all->place, env, settings, &all->choice, &v->run, ask, (int)v->stages));
  status = mz_course_file_write(v->file, fitted, &all->place.outset.pipeline);
cleanup:
  free(all);
  return status;
}

static mz_status fit_simulated(const mz_course_plan_view *v, const mz_settings *settings, const mz_run_ask *ask,
                               mz_fitted_course *fitted) {
  mz_sim_machine machine;
  mz_simulated_runs *runs = NULL;
  mz_status status;
  MZ_TRY(mz_sim_machine_parse(&machine, v->machine));
  MZ_TRY_CLEANUP(mz_simulated_runs_open(
      &runs, &(mz_simulated_runs_options){.run = &v->run, .machine = &machine, .machine_text = v->machine, .target = v->target}));
  MZ_TRY_CLEANUP(mz_simulated_runs_fit_course(runs, settings, ask, (int)v->stages, fitted));
  status = mz_course_file_write(v->file, fitted, &runs->place.outset.pipeline);
cleanup:
  mz_simulated_runs_close(runs);
  return status;
}

static mz_status fit(const mz_course_plan_view *v, mz_fitted_course *fitted) {
  mz_settings settings;
  mz_run_ask ask;
  MZ_TRY(mz_settings_for_new_run(&v->run, &settings));
  MZ_TRY(ask_of(v, &settings, &ask));
  return v->machine ? fit_simulated(v, &settings, &ask, fitted) : fit_here(v, &settings, &ask, fitted);
}

mz_status mz_course_plan_show(const mz_course_plan_view *v) {
  mz_fitted_course *fitted;
  MZ_TRY(mz_alloc(&fitted, 1, sizeof *fitted));
  mz_status status = fit(v, fitted);
  if (status == MZ_OK && v->json)
    status = mz_print_json(json_of(fitted, v->file));
  else if (status == MZ_OK)
    print_text(fitted, v->file);
  free(fitted);
  return status == MZ_OK ? mz_print_flush() : status;
}
