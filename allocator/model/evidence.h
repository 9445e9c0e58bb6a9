/* Observations of a pipeline at work, and the models that follow from them: observations by plan, T_ana fitted to them, forecasts
 * of every stage's utilisation, of cores and of memory. Holds a pointer into itself (the model's pipeline): never copied. */
#pragma once
#include "allocator/model/analytic.h"
#include "allocator/model/forecast.h"

enum { MZ_OBSERVATIONS_MAX = 128, MZ_OBSERVATIONS_PLAN_MAX = 32 };

typedef struct mz_evidence {
  mz_pipeline pipeline;                             /* stages' items are those that telemetry counted last */
  mz_observation observations[MZ_OBSERVATIONS_MAX]; /* oldest first */
  int count;
  mz_analytic model;
  mz_forecaster utilisation[MZ_STAGES_MAX]; /* busy / (threads · wall) */
  mz_forecaster cores, memory;              /* CPU seconds per second; resident bytes */
} mz_evidence;

/* cores: what all stages share. */
void mz_evidence_init(mz_evidence *evidence, const mz_pipeline *pipeline, double cores);
/* When there are too many, the oldest of the same plan goes (32 of a plan), or the oldest of all (128): a long time under
 * one plan does not make the others forgotten. mz_evidence_fit is due afterwards. */
void mz_evidence_add(mz_evidence *evidence, const mz_observation *observation);
void mz_evidence_fit(mz_evidence *evidence);
/* A window under `plan`: observation, items, model, forecasts. Seconds per unit; NAN where the window holds no full unit of
 * work, which leaves everything as it was. */
double mz_evidence_window(mz_evidence *evidence, const mz_plan *plan, const mz_window *window);
/* A plan that was given up: all that is known are its rounds, `slowness` times as long as those of `old`. */
void mz_evidence_slow(mz_evidence *evidence, const mz_plan *plan, const mz_plan *old, double slowness, int rounds);
/* Costs have changed at once, but in the newest `kept` observations of this run: those before them count as an earlier run's, whose level
 * of cost says nothing of the present one; what they say of how plans compare stays. */
void mz_evidence_reset(mz_evidence *evidence, int kept);
/* Standard deviation of log(observed / predicted) that a window under a plan that was measured has by its noise and the usual drift. */
double mz_evidence_sigma(const mz_evidence *evidence);
/* Relative standard error of a window's seconds per unit: the noise of rounds, pooled over the last windows, by the last one's
 * number of rounds. 0: nothing known. */
double mz_evidence_noise(const mz_evidence *evidence);
