/* Timing rounds and stages into windows (allocator/pipeline/telemetry.h). A window is so many whole rounds under one plan, of one
 * phase or of several. Only rounds of full work count: those in which learning takes place; the clocks start with the first of them.
 * They stand still while the run evaluates or records; evaluations are a stage that is timed apart. */
#pragma once
#include "muzero/steering/stage_clock.h"
#include "muzero/training/round.h"

enum { MZ_WINDOW_STAGES = MZ_STAGE_ENV + 1 };

/* Zeroed: nothing was played yet. */
typedef struct mz_window_meter {
  mz_knobs knobs;                           /* of the last round; all 0: none was played yet */
  bool open;                                /* the next full round counts */
  bool running;                             /* the clocks run */
  mz_stage_sample start[MZ_CLOCKED_STAGES]; /* readings when they were started */
  mz_round_stats started;                   /* the phase's sums then */
  int64_t simulations;                      /* counter then */
  int clocked;                              /* full rounds since */
  mz_round_stats before;                    /* the phase's sums before the present round */
  mz_stage_sample stages[MZ_WINDOW_STAGES]; /* sums */
  int full, played;                         /* rounds of full work in the window; all of its rounds */
  double full_s;                            /* of the full rounds */
  double pending_s;                         /* of the run of rounds that is being averaged */
  int pending, doublings;                   /* rounds in it; a run has 2^doublings rounds */
  int count;
  double round_s[MZ_WINDOW_ROUNDS_MAX];
} mz_window_meter;

/* Least length of a window's full rounds where the user sets none: short while plans are tried, longer while nothing changes, for
 * deciding costs, and so do lines of the ledger. */
#define MZ_WINDOW_LEAST_S 0.1
double mz_window_next_s(double least_s, bool calm);
/* Whether the window has as many rounds as it needs. rounds: allocate.window; told: full rounds since the last decision, those that do not
 * count included. In a trial a window is a block of one of the two plans; the first of its rounds tells nothing. */
bool mz_window_is_long_enough(const mz_window_meter *meter, int64_t rounds, bool on_trial, int told, double least_s);

/* Forgets what was measured. The next round counts only where the one before it ran under the same knobs: after a change, and after
 * a start, caches are cold. */
void mz_window_begin(mz_window_meter *meter, const mz_state *state, const mz_workers *workers);
/* Before a phase's first round: the phase's sums begin at 0, and the clocks run again. */
void mz_window_phase(mz_window_meter *meter, const mz_state *state, const mz_workers *workers);
/* After a round; stats: the phase's sums. Returns its seconds, cut to 6 digits, where it was of full work; 0 otherwise. */
double mz_window_round(mz_window_meter *meter, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats);
/* Counts a full round, where the clocks are another's. */
void mz_window_count(mz_window_meter *meter, double seconds);
/* Forgets what was measured, because the plan has changed between two rounds of the window. */
void mz_window_restart(mz_window_meter *meter);
/* The clocks stand still, until the next phase or window begins; stats: the phase's sums. May be called again. */
void mz_window_stop_clocks(mz_window_meter *meter, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats);

/* Around an evaluation, while the clocks stand still. */
typedef struct mz_evaluation_clock {
  mz_stage_sample start, env;
  uint64_t ns;
} mz_evaluation_clock;
mz_evaluation_clock mz_window_evaluation_starts(const mz_state *state, const mz_workers *workers);
void mz_window_evaluated(mz_window_meter *meter, const mz_evaluation_clock *since, const mz_state *state,
                         const mz_workers *workers, int64_t moves);
/* Everything but number, usage and score. The clocks stand still. */
void mz_window_read(const mz_window_meter *meter, const mz_state *state, mz_window *out);
