/* Whole runs on a simulated machine: what they are planned and played through with. Scores are those of real runs in the history, for
 * what is learned depends on seed and batch size, and on no core; seconds of rounds come from the simulation
 * (allocator/machine/simulation.h) of stages that were timed here in every batch size of the curves. What an epoch is besides its rounds,
 * evaluations and the opening among it, takes what it was measured to take on this machine (allocator/runs/epoch_rest.h): more cores do
 * not shorten it. All times and costs are simulated. */
#pragma once
#include "allocator/runs/epoch_rest.h"
#include "muzero/compare/simulated_probes.h"
#include "muzero/steering/course_fitting.h"

typedef struct mz_simulated_runs_options {
  const mz_run_options *run; /* its history has the curves that plans are made by */
  const char *curves;        /* history with those by which scores grow; NULL: the same */
  const mz_sim_machine *machine;
  const char *machine_text; /* as the user named it; kept */
  double target;            /* the score that runs are after */
  const cJSON *probes;      /* made by mz_simulated_runs_json, in the file at `path`; NULL: the stages are timed here */
  const char *path;
} mz_simulated_runs_options;

typedef struct mz_simulated_runs {
  mz_sim_machine machine;
  const char *machine_text;
  const mz_env *env;
  const char *env_name; /* as the user named it */
  mz_settings settings; /* that all runs learn by, in batches of any size */
  mz_curve_key key;     /* of their curves */
  int threads;
  double target;
  mz_curve *curves; /* real ones, none of them timed on the simulated machine */
  int count;
  mz_epoch_score score; /* that plans know */
  mz_curve *learned;    /* [learned_count]: by which runs learn; of the same history, or of another that plans know nothing of */
  int learned_count;
  double start, ceiling; /* of their scores: the least first one; what they tend to (allocator/runs/course_fit.h) */
  uint64_t digest;       /* of all curves */
  mz_epoch_rest rest;
  mz_simulated_probes *probes; /* [score.batches]: of each batch size */
  mz_curve *timed;             /* of every place on the simulated machine, for their times alone; NULL: not made yet */
  int timed_count;
  mz_run_place place; /* all of the simulated machine */
} mz_simulated_runs;

/* Reads the curves and times the stages, a second or so for each batch size. MZ_E_CONFIG: too few curves, none of this machine; the
 * message names the command that makes some. */
mz_status mz_simulated_runs_open(mz_simulated_runs **out, const mz_simulated_runs_options *options);
void mz_simulated_runs_close(mz_simulated_runs *runs);
/* Finds the bounds of a run by `settings` on the machine. MZ_E_CONFIG as mz_bounds_resolve. */
mz_status mz_simulated_runs_bounds(const mz_simulated_runs *runs, const mz_settings *settings, mz_bounds *out);
/* Plans a run by `settings`, which may differ in limits, prices and what batch sizes it is given. Takes seconds, the first time some more.
 * Errors as mz_run_planning_make's; the plans' knobs are those of runs->place. mz_run_planning_free. */
mz_status mz_simulated_runs_plan(mz_simulated_runs *runs, const mz_settings *settings, const mz_run_ask *ask,
                                 mz_run_planning **out);
/* Fits a course to the curves, with the simulated times of every place. ask: as in mz_course_runs. Errors as mz_course_fit's. */
mz_status mz_simulated_runs_fit_course(mz_simulated_runs *runs, const mz_settings *settings, const mz_run_ask *ask, int stages,
                                       mz_fitted_course *out);
/* Returns the probes of stages in batches of so many rows; NULL: no curve is known of them. */
const mz_simulated_probes *mz_simulated_runs_probes(const mz_simulated_runs *runs, double batch_size);
/* Finds the real run that a run of this seed learns as: of the same seed, where there is one, otherwise of a seed that is drawn among those
 * that ran in every batch size, the same for all batch sizes. MZ_E_CONFIG: there is none in batches of so many rows. */
mz_status mz_simulated_runs_find_curve(const mz_simulated_runs *runs, uint64_t seed, double batch_size, const mz_curve **out);
/* Returns the epochs of which any real run of this one's seed tells, in batches of any size. */
int mz_simulated_runs_longest(const mz_simulated_runs *runs, const mz_curve *curve);
/* Returns times as many epochs as the typical run in its batches that a real run took to the target; 1 where that is not known. */
double mz_simulated_runs_pace(const mz_simulated_runs *runs, const mz_curve *curve);
/* Returns the seconds of the games that end a run, or confirm its score, after an epoch of the typical run. */
double mz_simulated_runs_closing_s(const mz_simulated_runs *runs, double cores, double batch_size, double epoch);
/* {"curves": {"runs", "learned", "digest"}, "probes": [as mz_simulated_probes_json's, "batch_size", …]} added to `o`: what a comparison
 * is made of. */
void mz_simulated_runs_json(const mz_simulated_runs *runs, cJSON *o);
/* A sentence that says what is simulated, and what is not. */
void mz_simulated_runs_text(const mz_simulated_runs *runs, const char *machine, char *out, size_t size);
