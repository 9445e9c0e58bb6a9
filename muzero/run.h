/* A run: the state, the workers that advance it, and its directory. (Internal; muzero.h is the public face.) */
#pragma once
#include "muzero/game_lengths.h"
#include "muzero/steering/phase_meter.h"
#include "muzero/storage/metrics.h"
#include "muzero/trainer.h"
#include "muzero/storage/saver.h"
#include "muzero/steering/steer.h"
#include "muzero/training/watchdog.h"
#include "muzero/training/workers.h"

enum { MZ_DIR_MAX = 400 };

struct mz_run {
  char dir[MZ_DIR_MAX];
  mz_settings settings;
  mz_player opponent;            /* of the evaluation, when has_opponent */
  bool has_opponent, every_line; /* every_line: eval.opponent=all */
  mz_state state;
  mz_workers workers;
  mz_steer *steer;
  mz_watchdog *watchdog; /* NULL: nobody watches */
  mz_saver *saver;
  mz_metrics metrics;
  int lock;
  char *config_text;           /* the resolved config, as stored */
  char *parent;                /* the run this one started from, or NULL */
  char plans[MZ_DIR_MAX + 32]; /* the ledger whose plans it repeats; "": none */
  _Atomic int requests;

  uint64_t opened_ns;           /* of this invocation */
  double wall_before_s;         /* of the invocations before it */
  mz_lost_workers lost_before;  /* likewise */
  mz_lost_workers lost_at_open; /* its environment's, when this invocation began */
  double cost;                  /* of all before the phase under way, priced */
  mz_device_choice choice;
  int64_t batch_size;         /* rows of a batch that its state begins with; 0: those of the settings */
  mz_knobs last_plan;         /* of the invocation that is resumed; zeros: none */
  mz_device_records recorded; /* likewise: what its stages computed on */
  uint64_t saved_ns;          /* when the last checkpoint was begun */
  int64_t saved_round;        /* … and after which round */
  uint64_t rest_ns;           /* since when it rests; 0: it does not */
  double score, best_score;   /* of the last, of the best evaluation; NAN for none */
  int64_t reached;            /* evaluations in a row, up to the last, that reached train.target */
  bool owes_evaluation;       /* a stop came at a phase's end, before its evaluation: it is made first on resume */
  double score_rise;          /* of the last evaluation over the one before it; NAN: there were no two */
  double episode_length;      /* mean over the self-play of an earlier phase; NAN: none ended */
  int64_t evaluated_rounds;   /* after which the last evaluation was made; -1: none in this invocation */
  double round_s;             /* of the longest round of this invocation; 0: none was played */
  double game_s;              /* of the last evaluation, a game; NAN: none was made */
  mz_game_lengths lengths;    /* in moves; zeros where every line is played */
  int game_cores;             /* that it had; 0: not known */
  int64_t best_rounds;        /* when the best checkpoint was taken; -1: none yet, or not known */
  int fallbacks;              /* so often it went back to an older checkpoint, or lost a part of its replay */
  mz_round_stats phase_stats; /* of the phase under way */
  mz_phase_meter meter;
  struct {
    bool made;
    mz_promise is;
  } promise; /* of the plan for the whole run, where it has one */
  struct {
    uint64_t ns; /* up to when it is counted */
    double core_s, gpu_s, cost;
  } reserved;  /* in that phase, by the plans that were in force */
  bool paused; /* within that phase, at a round's end */
};

/* ---- opening (open.c, resume.c) ---- */

mz_status mz_run_allocate(mz_run **out);
/* Takes over the user's --set and --allocate. */
mz_status mz_run_apply_sets(mz_config *config, const mz_run_options *options);
/* Returns whether weights or games in play depend on the setting: those of a run with another value do not fit. */
bool mz_run_shapes_state(const mz_setting *row);
/* Makes state, allocator and workers by run->settings; nothing is written. */
mz_status mz_run_start(mz_run *run, const mz_env *env, const mz_run_options *options, uint64_t seed);
mz_status mz_run_open_saver(mz_run *run);
/* Resolves the settings that mz_run_open would run with: preset, then what is set. */
mz_status mz_settings_for_new_run(const mz_run_options *options, mz_settings *settings);

/* ---- devices (run_devices.c) ---- */

/* Refuses to continue with other rounding than the resumed run's: MZ_E_CONFIG naming the stage and what differs. */
mz_status mz_run_check_devices(const mz_run *run);

/* ---- the directory (run_files.c) ---- */

/* "runs/NAME/UTC-sSEED-ID", "-" for ":" in the name. */
mz_status mz_run_make_up_dir(const char *name, uint64_t seed, char *out, size_t size);
mz_status mz_run_set_dir(mz_run *run, const char *dir);
/* Locks the directory, and removes the temporary files of writers that were stopped. */
mz_status mz_run_lock(mz_run *run);
/* MZ_E_CONFIG naming `resume` when there is a run. */
mz_status mz_run_refuse_existing(const char *dir);
mz_status mz_run_write_env_json(const mz_run *run);
mz_status mz_run_write_config_json(mz_run *run);
/* Makes run->config_text, section 'config' of every checkpoint. */
mz_status mz_run_make_config_text(mz_run *run);

/* ---- the ledger whose plans a run repeats (run_plans.c) ---- */

/* Sets run->plans to the ledger that the user names, by itself or by its run. MZ_E_CONFIG where that run is of another environment. */
mz_status mz_run_find_plans(mz_run *run, const char *given, const mz_env *env);
/* Copies the ledger at run->plans, if there is one, into the run's directory; otherwise no such copy is left there. */
mz_status mz_run_keep_plans(mz_run *run);
/* Sets run->plans to the copy in the run's directory, if there is one. */
mz_status mz_run_find_kept_plans(mz_run *run);

/* ---- a plan for the whole run (run_static.c) ---- */

/* Makes the plan of strategy static, and changes run->settings by it. MZ_E_CONFIG: what it needs is missing, or no plan keeps the
 * limits. */
mz_status mz_run_plan_whole(mz_run *run, const mz_env *env, const mz_run_options *options);
/* Reads the promise of a resumed run from its ledger. */
mz_status mz_run_recall_promise(mz_run *run);
/* The run ends for `reason`: into the ledger, beside the promise, if there is one. */
mz_status mz_run_keep_promise(mz_run *run, mz_reason reason);

/* ---- evaluation (run_evaluation.c) ---- */

/* As mz_run_evaluate, with the games that follow the phase. */
mz_status mz_run_evaluate_phase(mz_run *run, mz_evaluation *out, double *score);
/* Under a limit of time nothing is known of what evaluations take until the first: a few games are played to learn it. */
mz_status mz_run_time_evaluation(mz_run *run, const mz_limits *limits);
/* Returns what a game of the next evaluation may take under the plan in force; NAN: not known. */
double mz_run_game_s(const mz_run *run);
/* Returns how many games are evaluated when the run stops; evaluates: those of the phase are still to come, too. */
int mz_run_closing_games(const mz_run *run, bool evaluates);

/* ---- how far training is (run_stage.c) ---- */

/* Returns the mean over the episodes that ended in this phase, or in an earlier one where none did. */
double mz_run_episode_length(const mz_run *run);
mz_training_stage mz_run_training_stage(const mz_run *run, const mz_limits *limits, double invocation_s);

/* ---- section 'session' (run_session.c) ---- */

/* Writes where the run stands, for resume: wall time, scores, lengths of the logs, parent. One line; free(*out). */
mz_status mz_run_session(const mz_run *run, char **out);
typedef struct mz_log_offsets {
  uint64_t metrics, ledger;
} mz_log_offsets;
mz_status mz_run_restore_session(mz_run *run, const mz_checkpoint *checkpoint, mz_log_offsets *offsets);
