/* A run: the state, the workers that advance it, and its directory. (Internal; muzero.h is the public face.) */
#pragma once
#include "muzero/metrics.h"
#include "muzero/muzero.h"
#include "muzero/saver.h"
#include "muzero/steer.h"
#include "muzero/workers.h"

enum { MZ_DIR_MAX = 400 };

struct mz_run {
  char dir[MZ_DIR_MAX];
  mz_settings settings;
  mz_player opponent;            /* of the evaluation, when has_opponent */
  bool has_opponent, every_line; /* every_line: eval.opponent=all */
  mz_state state;
  mz_workers workers;
  mz_steer *steer;
  mz_saver *saver;
  mz_metrics metrics;
  int lock;
  char *config_text; /* the resolved config, as stored */
  char *parent;      /* the run this one started from, or NULL */
  _Atomic int requests;

  uint64_t opened_ns;         /* of this invocation */
  double wall_before_s;       /* of the invocations before it */
  double cost;                /* of all phases so far, priced */
  mz_knobs last_plan;         /* of the invocation that is resumed; zeros: none */
  uint64_t saved_ns;          /* when the last checkpoint was begun */
  uint64_t rest_ns;           /* since when it rests; 0: it does not */
  double score, best_score;   /* of the last, of the best evaluation; NAN for none */
  mz_round_stats phase_stats; /* of the phase under way */
  mz_meter meter;
};

/* Where the run stands, for resume: wall time, scores, offset of the log, parent. */
cJSON *mz_run_session(const mz_run *run);
mz_status mz_run_restore_session(mz_run *run, const mz_checkpoint *checkpoint, uint64_t *metrics_offset, uint64_t *ledger_offset);

/* What mz_run_open would run with: preset, then what is set. */
mz_status mz_settings_for_new_run(const mz_run_options *options, mz_settings *settings);
/* "runs/NAME/UTC-sSEED-ID", "-" for ":" in the name. */
mz_status mz_run_make_up_dir(const char *name, uint64_t seed, char *out, size_t size);
