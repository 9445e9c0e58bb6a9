/* The roof's face to the program and to the library (library/include/muzero.h): open or resume a run, advance it phase by phase,
 * read metrics, load an agent, close.
 * One thread drives a run; mz_run_request may come from anywhere, a signal handler included. */
#pragma once
#include "envs/worker/worker_env.h"
#include "muzero/settings.h"
#include "selfplay/evaluation/evaluate.h"

typedef struct mz_run mz_run;

#define MZ_RUNS_FOLDER "runs" /* where a run goes that is given no directory: runs/ENV/NAME */

typedef struct mz_run_options {
  const char *env, *preset; /* preset: a bundled name, a JSON file or a run's directory; NULL: the environment's own */
  const char *dir;          /* NULL: runs/ENV/UTC-SEED-ID is made up */
  const char *from;         /* a run or checkpoint whose state the new run starts with; NULL: fresh */
  const char *device;       /* "auto", "cpu", "cuda" or "cuda:N"; MZ_E_DEVICE when it cannot be had */
  const char *const *sets;  /* "key=value" */
  int set_count;
  uint64_t seed;
  bool seed_given;
  int threads;           /* budget of worker threads; 0: the cores granted */
  const char *allocate;  /* the allocator's strategy; NULL: the settings' */
  const char *watchdog;  /* "warn" or "abort"; NULL: the settings' */
  const char *history;   /* file of measured phases; NULL or "none": none is read or kept */
  bool history_optional; /* it is the user's common one: where it cannot be opened, a warning, and none */
  const char *source;    /* of this run's rows in it: NULL: "run" */
  const char *plans;     /* a run, or its ledger, whose plans this run repeats round by round; NULL: the allocator decides */
  bool *refused;         /* set where opening fails because static has no plan that keeps the limits; NULL: not asked */
} mz_run_options;

/* Creates the run directory and its lock. MZ_E_CONFIG naming `resume` when there is a run already. With options->plans the ledger is
 * copied into the run, so that a resumed run continues to follow it. */
mz_status mz_run_open(mz_run **out, const mz_run_options *options);
/* Flags for resuming. */
enum {
  MZ_ALLOW_NUMERIC = 1, /* numeric settings may differ */
  /* A latest checkpoint that is damaged or missing, or lacks a segment, gives way to the newest checkpoint that is whole; where
   * there is none, to the newest whose own sections are sound, without the segments that are lost. Said in a warning and in
   * metrics.jsonl. */
  MZ_ALLOW_FALLBACK = 2,
};
/* Continues `run`, a directory, from its latest checkpoint, exactly; but games of an environment that does not copy begin anew. Only
 * exact and operational settings may differ (numeric ones with MZ_ALLOW_NUMERIC): MZ_E_CONFIG naming the key. options->env, where
 * it is given, must be the run's (MZ_E_CONFIG; nothing has changed); preset, from, plans are ignored. */
mz_status mz_run_resume(mz_run **out, const char *run, const mz_run_options *options, int allow);
/* Waits for a checkpoint in flight; releases the lock. Does not save. */
void mz_run_close(mz_run *run);

typedef struct mz_limits { /* totals since the run began, except for_s; 0: none; the preset's where all are 0 */
  int64_t rounds, env_steps, updates;
  double for_s;
  bool until; /* stop at `score`, confirmed on 100 fresh games; otherwise the preset's target holds where no limit is given */
  double score;
  int64_t evaluations; /* in a row that must reach it, which is train.target; 0: one, whatever it is */
} mz_limits;

typedef struct mz_counters { /* all that a resumed run counts on from */
  int64_t rounds, phases, updates, env_steps, simulations, episodes;
} mz_counters;

typedef struct mz_phase { /* one record of metrics.jsonl */
  int64_t phase;
  int64_t played; /* rounds; 0: a limit was met before the first */
  mz_counters counters;
  uint64_t digest;
  double wall_s; /* of the run, over all invocations */
  bool evaluated;
  double score; /* NAN when never evaluated; the last evaluation's otherwise */
  mz_evaluation evaluation;
  double loss, policy_loss, value_loss, reward_loss, gradient_norm, learning_rate; /* means over the phase's updates */
  double env_steps_per_s, sims_per_s, updates_per_s;
  double mean_return, mean_length; /* of self-play games that ended; NAN for none */
  double policy_entropy, value_bias, value_correlation, latent_spread, model_error; /* diagnosis.h */
  double eval_value_bias, eval_value_correlation; /* with what followed in the phase's evaluation; NAN without one */
  double clamped_targets;         /* share of value and reward targets beyond the network's range; NAN without updates */
  int64_t batch_size, loop_count; /* rows an update; updates a round, at its end */
  double noise_scale;             /* of the gradient, in rows (noise_scale.h); NAN: not measured, or the gradient is lost in it */
  double prequential_loss;        /* of games that no update was trained on (prequential.h); NAN: of none */
  const char *warning;            /* plain language, or NULL */
  double busy;                    /* share of the cores granted that did useful work (CPU time of stages / wall) */
  double actor_busy, batch_busy, learner_busy, learner_wait,
      batch_wait;            /* shares of the phase's wall time, summed over threads */
  double env_busy, env_wait; /* likewise: processes that play the environment at work; threads that wait for them */
  int64_t positions, replay_bytes;
  int64_t replay_raw, replay_packed, replay_spilled; /* bytes as they are kept: in memory, packed in memory, in the file */
  uint64_t rss_bytes;
  mz_knobs plan;
  double phase_s, round_s, evaluation_s; /* wall time of the phase; of its rounds; of its evaluation */
  double cpu_s, env_cpu_s, reserved_core_s, reserved_gpu_s, gib_s,
      cost; /* used, in all and by those processes; reserved by the plan; resident; priced, by what is reserved */
  const char *strategy, *action; /* of the allocator: its last decision in the phase, a change rather than none; NULL: none */
  char reason[240];              /* why, in words */
} mz_phase;

typedef struct mz_progress { /* after every round, for a screen */
  mz_counters counters;
  double wall_s, for_s, fraction; /* fraction of the nearest limit, 0 … 1 */
  double env_steps_per_s, sims_per_s, updates_per_s, loss, mean_return, score, target;
  int64_t positions, min_fill;
} mz_progress;
typedef void (*mz_tick)(void *context, const mz_progress *progress);

typedef enum mz_reason {
  MZ_GOES_ON,
  MZ_REASON_ROUNDS,
  MZ_REASON_ENV_STEPS,
  MZ_REASON_UPDATES,
  MZ_REASON_TIME,
  MZ_REASON_SCORE,
  MZ_REASON_BUDGET, /* limits.budget */
  MZ_REASON_INTERRUPTED
} mz_reason;
const char *mz_reason_name(mz_reason reason); /* "rounds", "env_steps", "updates", "time", "score", "budget", "interrupted" */

/* Plays rounds to the end of the phase or to a limit, evaluates when due, checkpoints when due, appends to metrics.jsonl. *reason
 * says whether a limit was met (a checkpoint is then on disk). After MZ_GOES_ON call again. Limits of time and budget leave room
 * for the evaluation that ends the run, by what the last one took. A failure (NaN in the loss, full disk) leaves the last good
 * checkpoint as the latest. */
mz_status mz_run_phase(mz_run *run, const mz_limits *limits, mz_tick tick, void *context, mz_phase *phase, mz_reason *reason);
/* Final score on `games` fresh games; touches no state. */
mz_status mz_run_evaluate(mz_run *run, int games, mz_evaluation *out, double *score);

typedef enum mz_request {
  MZ_REQUEST_STOP = 1,
  MZ_REQUEST_CHECKPOINT = 2,
  /* Asked by a tick: mz_run_phase returns MZ_GOES_ON within the phase, with *phase empty, and the next call continues the phase. */
  MZ_REQUEST_PAUSE = 4,
} mz_request;
/* Whether the last mz_run_phase returned for a pause within its phase. */
bool mz_run_is_paused(const mz_run *run);
/* Until the next phase begins no time passes for the run, and its sensors sleep. */
void mz_run_rest(mz_run *run);
void mz_run_request(mz_run *run, mz_request request); /* async-signal-safe; honoured at the next round's end */
/* Writes a checkpoint now and waits until it is durable. */
mz_status mz_run_save(mz_run *run);
/* Waits for a checkpoint in flight, which closing does as well; its failure. */
mz_status mz_run_wait_for_checkpoint(mz_run *run);

const char *mz_run_dir(const mz_run *run);
/* "self-play, reanalysis and learning on cuda:0 (NVIDIA H100 80GB HBM3): asked for by --device cuda"; "" where there are CPUs only. */
void mz_run_devices_text(const mz_run *run, char *out, size_t size);
const mz_env *mz_run_env(const mz_run *run);
const mz_settings *mz_run_settings(const mz_run *run);
const mz_counters *mz_run_counters(const mz_run *run);
uint64_t mz_run_seed(const mz_run *run);
double mz_run_wall_s(const mz_run *run);
/* Returns what was lost with the workers of the run's environment while the run was open, over all its invocations (runs of one process
 * share workers); zeros for an environment without workers. */
mz_lost_workers mz_run_lost(const mz_run *run);
/* Resizes pools between phases: any field 0 keeps its value. On failure the old knobs stay. The allocator begins anew from there. */
mz_status mz_run_resize(mz_run *run, const mz_knobs *knobs);

cJSON *mz_phase_to_json(const mz_phase *phase); /* keys of the contract, event "phase" */
cJSON *mz_evaluation_to_json(const mz_evaluation *evaluation, int players, int64_t simulations, const char *opponent);

/* A trained agent from a run directory (its latest checkpoint), RUN@best, RUN@ROUND or a checkpoint file (storage/run_path.h),
 * for eval, play and inference. */
typedef struct mz_loaded mz_loaded;
mz_status mz_loaded_open(mz_loaded **out, const char *path);
/* Before its agent is asked for: it computes where --device says (NULL: "auto"). MZ_E_DEVICE: there it cannot. */
mz_status mz_loaded_place(mz_loaded *loaded, const char *device);
/* Returns whether an opponent's name is a run's or a checkpoint's path rather than a built-in player's name. */
bool mz_names_run(const char *who);
void mz_loaded_close(mz_loaded *loaded);
mz_agent mz_loaded_agent(const mz_loaded *loaded);
const mz_settings *mz_loaded_settings(const mz_loaded *loaded);
const mz_counters *mz_loaded_counters(const mz_loaded *loaded);
uint64_t mz_loaded_seed(const mz_loaded *loaded);
mz_lost_workers mz_loaded_lost(const mz_loaded *loaded); /* as mz_run_lost, when the checkpoint was taken */
uint64_t mz_loaded_digest(const mz_loaded *loaded);      /* of its weights: equal for the same agent */
/* Digest of the course that an agent of `allocation` was trained on; 0: of another environment, or from before it was recorded. */
uint64_t mz_loaded_course(const mz_loaded *loaded);

/* The fixed small job whose digest certifies behaviour (`bench --signature`): our own kernels only. */
mz_status mz_signature(int threads, uint64_t *out);
