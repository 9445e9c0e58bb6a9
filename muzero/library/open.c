/* Making, resuming and closing runs. */
#include "muzero/storage/run_path.h"
#include "muzero/library/training.h"
#include <string.h>

enum { OPTIONS_FIRST_SIZE = sizeof(muzero_run_options) };

static muzero_status read_options(const muzero_run_options *given, const char *function, muzero_run_options *out) {
  *out = (muzero_run_options)MUZERO_RUN_OPTIONS_INIT;
  if (!given) return MUZERO_OK;
  MUZERO_TRY(mz_call_read(out, sizeof *out, OPTIONS_FIRST_SIZE, given, function, "muzero_run_options"));
  if (out->threads < 0)
    return mz_failure(MUZERO_E_USAGE, "%s: threads is %d; takes 0, for all cores, or more", function, (int)out->threads);
  if (out->settings_count > 0 && !out->settings)
    return mz_failure(MUZERO_E_USAGE, "%s: settings is NULL, and settings_count is %zu", function, out->settings_count);
  if (out->settings_count > MZ_SETTINGS_ROWS_MAX * (size_t)100)
    return mz_failure(MUZERO_E_USAGE, "%s: settings_count is %zu, more than there can be", function, out->settings_count);
  for (size_t i = 0; i < out->settings_count; i++)
    if (!out->settings[i]) return mz_failure(MUZERO_E_USAGE, "%s: settings[%zu] is NULL", function, i);
  return MUZERO_OK;
}

/* The roof's options. The watchdog never ends the process of whoever uses a library. */
static mz_run_options roof_options(const muzero_run_options *o, const char *dir) {
  return (mz_run_options){.env = o->env,
                          .preset = o->preset,
                          .dir = dir,
                          .from = o->from,
                          .device = o->device,
                          .sets = o->settings,
                          .set_count = (int)o->settings_count,
                          .seed = o->seed ? *o->seed : 1,
                          .seed_given = o->seed != NULL,
                          .threads = o->threads,
                          .watchdog = "warn",
                          .history = o->history,
                          .source = "library"};
}

/* Takes the run over, also where it fails. */
static muzero_status give_out(muzero_run **out, mz_run *run, const muzero_run_options *options) {
  mz_training *training;
  void *handle;
  const mz_status allocated = mz_alloc(&training, 1, sizeof *training);
  if (allocated != MZ_OK) {
    mz_run_close(run);
    return mz_failure_of(allocated);
  }
  *training =
      (mz_training){.run = run, .on_round = options->on_round, .on_phase = options->on_phase, .context = options->context};
  const muzero_status status = mz_handle_create(&handle, MZ_HANDLE_RUN, training);
  if (status != MUZERO_OK) {
    mz_training_free(training);
    return status;
  }
  training->handle = handle;
  mz_run_rest(run); /* until the first call that trains */
  *out = handle;
  return MUZERO_OK;
}

static muzero_status create(muzero_run **out, const char *dir, const muzero_run_options *given, const char *function) {
  muzero_run_options options;
  mz_run *run;
  MUZERO_TRY(read_options(given, function, &options));
  if (!options.env && !options.from)
    return mz_failure(MUZERO_E_USAGE, "%s: options.env is NULL; muzero_env_name lists the environments", function);
  const mz_run_options roof = roof_options(&options, dir);
  MUZERO_TRY(mz_failure_of(mz_run_open(&run, &roof)));
  return give_out(out, run, &options);
}

static muzero_status resume(muzero_run **out, const char *dir, const muzero_run_options *options) {
  mz_run *run;
  const mz_run_options roof = roof_options(options, NULL);
  const int allow = (options->allow_numeric ? MZ_ALLOW_NUMERIC : 0) | (options->allow_fallback ? MZ_ALLOW_FALLBACK : 0);
  MUZERO_TRY(mz_failure_of(mz_run_resume(&run, dir, &roof, allow)));
  return give_out(out, run, options);
}

static muzero_status resume_only(muzero_run **out, const char *dir, const muzero_run_options *given, const char *function) {
  muzero_run_options options;
  MUZERO_TRY(read_options(given, function, &options));
  if (options.env || options.preset || options.from)
    return mz_failure(MUZERO_E_USAGE, "%s: options.env, preset and from are those of the run, and must be NULL", function);
  return resume(out, dir, &options);
}

static muzero_status resume_or_create(muzero_run **out, const char *dir, const muzero_run_options *given, const char *function) {
  muzero_run_options options;
  MUZERO_TRY(read_options(given, function, &options));
  return mz_run_is_run(dir) ? resume(out, dir, &options) : create(out, dir, given, function);
}

muzero_status muzero_run_create(muzero_run **out, const char *dir, const muzero_run_options *options) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  return mz_call_end(&call, create(out, dir, options, __func__));
}

muzero_status muzero_run_resume(muzero_run **out, const char *dir, const muzero_run_options *options) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  MUZERO_NOT_NULL(dir);
  return mz_call_end(&call, resume_only(out, dir, options, __func__));
}

muzero_status muzero_run_open(muzero_run **out, const char *dir, const muzero_run_options *options) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  MUZERO_NOT_NULL(dir);
  return mz_call_end(&call, resume_or_create(out, dir, options, __func__));
}

void mz_training_free(mz_training *training) {
  mz_run_close(training->run);
  cJSON_Delete(training->record);
  free(training);
}

muzero_status muzero_run_close(muzero_run *run) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_RUN, run));
  mz_training *training = call.object;
  const muzero_status status = mz_failure_of(mz_run_wait_for_checkpoint(training->run));
  mz_training_free(training);
  return mz_call_end_closed(&call, status);
}
