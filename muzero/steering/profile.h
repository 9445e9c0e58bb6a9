/* Measuring plans before there is need: whole phases of one run under plan after plan, into the history. The plans are the
 * default, the plain one, and drawn ones or a grid (profile_plans.h); each is measured in every pass, in an order drawn anew, and the
 * default twice a pass: how much it differs from itself is the noise floor. Among many plans the one that seems best was lucky as
 * well, so the five best and the default are measured again, and judged by that. */
#pragma once
#include "muzero/steering/profile_plans.h"
#include "allocator/pipeline/telemetry.h"
#include "muzero/trainer.h"

enum { MZ_PROFILE_AGAIN_CHOSEN = -1 };

typedef struct mz_profile_options {
  mz_run_options run; /* dir: NULL: a temporary one, removed at the end */
  int plans, passes;  /* drawn besides default and plain; passes over all of them */
  int again;          /* passes over the five best and the default; 0: none; MZ_PROFILE_AGAIN_CHOSEN: as many, five at least */
  const char *grid;   /* NULL, or instead of drawn plans every combination of "cpu_actor=1,2,4;mcts_storage_size=1,8,64" */
  double for_s;       /* no measurement begins later than this; 0: no limit */
} mz_profile_options;

typedef struct mz_profile_progress {
  int done, all;
  double left_s; /* NAN: not known yet */
  char plan[200];
  double round_s; /* of the measurement just made */
} mz_profile_progress;
typedef struct mz_profile_watcher {
  void *context;
  void (*progress)(void *context, const mz_profile_progress *progress);
  bool (*stopping)(void *context);
} mz_profile_watcher;

/* *out: {"env", "plans": [{"plan", "source", "unit_s": [seconds per unit of work, by pass],
 * "round_s": [of a typical round alone], "median_s" (of round_s), "stages": {name: {"items", "busy_s", "cpu_s", "elapsed_s"}} (per
 * unit of work, means over the passes); of those measured again "again_s" (as round_s), "ratio",
 * "ratio_low", "ratio_high" (times as fast as the default, 90 % interval over all of them together)}], "noise" (relative, of a
 * measurement), "best", "default_s", "best_s" (medians of the last measurements), "ratio", … (of the best), "stopped",
 * "learner_serial" (share of an update that one thread does alone), "machine_simulated": null}. Where it was stopped before plans were
 * measured again, the best is that of the first measurements and ratios are null. cJSON_Delete. Stopping keeps what was measured. */
mz_status mz_profile(const mz_profile_options *options, const mz_profile_watcher *watcher, cJSON **out);

/* What plans can be measured on: a run on this machine (profile_run.c), or a machine that is simulated. */
typedef struct mz_profile_subject {
  const char *env;
  const mz_pipeline *pipeline;
  mz_plan usual; /* the default */
  uint64_t seed;
  void *context;
  mz_status (*warm_up)(void *context); /* before the first measurement, once the plans are known to be good; NULL: needs none */
  mz_status (*measure)(void *context, const mz_plan *plan, mz_observation *out);
} mz_profile_subject;
/* As mz_profile, on a subject; "learner_serial" and "machine_simulated" are left to the caller. */
mz_status mz_profile_measure(const mz_profile_subject *subject, const mz_profile_options *options,
                             const mz_profile_watcher *watcher, cJSON **out);
