/* Timing rounds and stages into the window of a phase (allocator/pipeline/telemetry.h). Only rounds of full work count: those in
 * which learning takes place; the clocks start with the first of them. */
#pragma once
#include "muzero/steering/stage_clock.h"
#include "muzero/training/round.h"

enum { MZ_WINDOW_STAGES = MZ_STAGE_EVALUATE + 1 };

typedef struct mz_window_meter {
  mz_knobs knobs;                           /* of the last round; all 0: none was played yet */
  bool open, closed;                        /* the clocks run; the rounds have ended */
  mz_stage_sample start[MZ_CLOCKED_STAGES]; /* readings when they began */
  mz_stage_sample rounds[MZ_WINDOW_STAGES]; /* sums over the rounds */
  mz_round_stats before;                    /* the phase's sums before the present round */
  mz_round_stats started;                   /* … when the clocks began */
  int64_t simulations;                      /* counter when they began */
  int full, played;                         /* rounds of full work in the window; rounds of the phase */
  double full_s;                            /* of the full rounds */
  double pending_s;                         /* of the run of rounds that is being averaged */
  int pending, run;                         /* rounds in it; rounds a run: a power of two */
  int count;
  double round_s[MZ_WINDOW_ROUNDS_MAX];
  uint64_t evaluation_ns;
  mz_stage_sample evaluation;
  double evaluation_s;
} mz_window_meter;

/* Before the phase's first round, which counts only where the one before it ran under the same knobs: after a change, and after a
 * start, caches are cold. */
void mz_window_begin(mz_window_meter *meter, const mz_state *state, const mz_workers *workers);
/* After a round; stats: the phase's sums. Returns its seconds, cut to 6 digits, where it was of full work; 0 otherwise. */
double mz_window_round(mz_window_meter *meter, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats);
/* Drops the measurements of this phase so far, because the plan has changed. */
void mz_window_restart(mz_window_meter *meter);
/* The phase's rounds have ended; may be called twice. */
void mz_window_close_rounds(mz_window_meter *meter, const mz_state *state, const mz_workers *workers,
                            const mz_round_stats *stats);
/* After the evaluation that followed close_rounds. */
void mz_window_evaluated(mz_window_meter *meter, const mz_state *state, const mz_workers *workers, int64_t moves);
/* Everything but usage and score. */
void mz_window_read(const mz_window_meter *meter, const mz_state *state, mz_window *out);
