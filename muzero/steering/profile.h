/* Measuring plans before there is need: whole phases of one run under plan after plan, into the history. The plans are the
 * default, the plain one, and a Latin hypercube over the knobs that can move with uniform draws, or a grid; each is measured in
 * every pass, in an order drawn anew, and the default twice a pass: how much it differs from itself is the noise floor. Among many
 * plans the one that seems best was lucky as well, so the five best and the default are measured again, and judged by that. */
#pragma once
#include "muzero/trainer.h"

typedef struct mz_profile_options {
  mz_run_options run; /* dir: NULL: a temporary one, removed at the end */
  int plans, passes;  /* drawn besides default and plain; passes over all of them */
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
 * "round_s": [of a typical round alone], "median_s" (of round_s); of those measured again "again_s" (as round_s), "ratio",
 * "ratio_low", "ratio_high" (times as fast as the default, 90 % interval over all of them together)}], "noise" (relative, of a
 * measurement), "best", "default_s", "best_s" (medians of the last measurements), "ratio", … (of the best), "stopped"}. Where it
 * was stopped before plans were measured again, the best is that of the first measurements and ratios are null. cJSON_Delete. Stopping keeps what was measured. */
mz_status mz_profile(const mz_profile_options *options, const mz_profile_watcher *watcher, cJSON **out);
