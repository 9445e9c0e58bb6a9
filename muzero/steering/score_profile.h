/* Learning curves before there is need: short runs over a grid of cores and batch sizes, into the history, where plans of whole runs find
 * them (allocator/runs/run_plan.h). On the most cores every batch size is run with several seeds; on fewer cores with the first of them,
 * for the time alone: cores change no result. The order is drawn, so that what else goes on spreads evenly. */
#pragma once
#include "muzero/trainer.h"

enum { MZ_SCORE_PROFILE_AXIS_MAX = 16, MZ_SCORE_PROFILE_SEEDS_MIN = 3, MZ_SCORE_PROFILE_SEEDS_MAX = 64 };

typedef struct mz_score_profile_options {
  mz_run_options run; /* dir is left out: runs go to temporary directories, removed at their end; its history takes the curves */
  const char *grid; /* "cores=1,2;batch_size=64,128"; NULL, or an axis left out: 1, 2, 4 … all cores; a quarter to four times the
                         settings' batch size, where these may be */
  int seeds;        /* the first is run.seed */
  int64_t epochs;   /* of a run at the most; 0: as many as the settings' limits let it have */
  double until;     /* a run that has reached this score runs as many epochs again, and no more; NAN: train.target */
  double for_s;     /* no run begins later than this, and one under way ends after its epoch; 0: no limit */
} mz_score_profile_options;

typedef struct mz_score_profile_progress {
  int done, all;
  double left_s; /* NAN: not known yet */
  int cores;
  int64_t batch_size, epochs; /* that the run just made had */
  uint64_t seed;
  double best, seconds; /* its best score, its time; reached: epochs to the score, 0: it was not reached */
  int reached;
} mz_score_profile_progress;
typedef struct mz_score_profile_watcher {
  void *context;
  void (*progress)(void *context, const mz_score_profile_progress *progress);
  bool (*stopping)(void *context);
} mz_score_profile_watcher;

/* *out: {"env", "until", "runs": [{"cores", "batch_size", "seed", "epochs", "reached", "best", "seconds"}], "stopped"}; cJSON_Delete.
 * What was run is kept when it is stopped; a run that is cut short is not listed. MZ_E_CONFIG for a grid that cannot be. */
mz_status mz_score_profile(const mz_score_profile_options *options, const mz_score_profile_watcher *watcher, cJSON **out);
