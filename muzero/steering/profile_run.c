/* A profile of a run on this machine. */
#include "base/file/file.h"
#include "base/log.h"
#include "muzero/run.h"
#include "muzero/steering/probe.h"
#include "muzero/steering/profile.h"
#include <math.h>

enum { WARM_PHASES = 2 };

/* out->unit_s NAN: a phase without full work, or of one round, the first under its plan. */
static mz_status play_phase(mz_run *run, mz_observation *out) {
  const mz_limits endless = {.rounds = INT64_MAX};
  const mz_plan plan = mz_plan_of_knobs(&run->workers.knobs);
  mz_phase phase;
  mz_reason reason;
  MZ_TRY(mz_run_phase(run, &endless, NULL, NULL, &phase, &reason));
  if (!mz_observation_from_window(out, &plan, mz_steer_window(run->steer)))
    *out = (mz_observation){.plan = plan, .unit_s = NAN, .round_s = NAN};
  return MZ_OK;
}

typedef struct subject {
  mz_run *run;
  const mz_profile_watcher *watcher;
} subject;

static mz_status measure(void *context, const mz_plan *plan, mz_observation *out) {
  mz_run *run = ((subject *)context)->run;
  const mz_knobs knobs = mz_knobs_of_plan(plan);
  MZ_TRY(mz_run_resize(run, &knobs));
  MZ_TRY(play_phase(run, out));
  return isfinite(out->unit_s) ? MZ_OK : play_phase(run, out);
}

/* Plays until replay is filled and a whole phase of full work has gone by, or until somebody asks to stop. */
static mz_status warm_up(void *context) {
  const subject *s = context;
  mz_observation seen;
  for (int full = 0; full < WARM_PHASES;) {
    if (s->watcher->stopping && s->watcher->stopping(s->watcher->context)) return MZ_OK;
    MZ_TRY(play_phase(s->run, &seen));
    full += isfinite(seen.unit_s);
  }
  return MZ_OK;
}

mz_status mz_profile(const mz_profile_options *options, const mz_profile_watcher *watcher, cJSON **out) {
  char made_up[512] = "";
  mz_run_options asked = options->run;
  mz_run *run = NULL;
  *out = NULL;
  mz_status status = MZ_OK;
  if (!asked.dir) {
    MZ_TRY(mz_file_make_temporary("muzero-profile", made_up, sizeof made_up));
    asked.dir = made_up;
  }
  asked.allocate = "fixed";
  asked.source = "profile";
  MZ_TRY_CLEANUP(mz_run_open(&run, &asked));
  if (run->settings.learning.loop_count == 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no unit of work to measure"));
  run->state.settings.allocation.window = run->settings.train.phase_rounds; /* a phase is a window */
  subject measured = {.run = run, .watcher = watcher};
  const mz_profile_subject asked_of = {.env = mz_run_env(run)->name,
                                       .pipeline = mz_steer_pipeline(run->steer),
                                       .usual = mz_plan_of_knobs(&run->workers.knobs),
                                       .seed = mz_run_seed(run),
                                       .context = &measured,
                                       .warm_up = warm_up,
                                       .measure = measure};
  MZ_TRY_CLEANUP(mz_profile_measure(&asked_of, options, watcher, out));
  double serial;
  MZ_TRY_CLEANUP(mz_probe_serial(&run->state, &serial));
  cJSON_AddNumberToObject(*out, "learner_serial", serial);
  cJSON_AddNullToObject(*out, "machine_simulated");
cleanup:
  if (status != MZ_OK) {
    cJSON_Delete(*out);
    *out = NULL;
  }
  mz_run_close(run);
  if (made_up[0] && mz_file_remove_tree(made_up) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
  return status;
}
