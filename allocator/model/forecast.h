/* Forecasts of one signal, a value per window. Four models run side by side: last value, EWMA, damped Holt (Gardner & McKenzie
 * 1985), local-linear Kalman; the one with the lowest rolling MASE (mean absolute scaled error over the last 32 values: 1 is what
 * "last value" achieves; Hyndman & Koehler 2006) drives, the simpler one where two are equal. Plain structs, no memory of their
 * own, deterministic. A value that is not finite is skipped and counted. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

typedef enum mz_forecast_model {
  MZ_FORECAST_LAST,
  MZ_FORECAST_EWMA,
  MZ_FORECAST_HOLT,
  MZ_FORECAST_KALMAN,
  MZ_FORECAST_MODELS
} mz_forecast_model;
const char *mz_forecast_model_name(mz_forecast_model model); /* "last value", "EWMA", "damped Holt", "Kalman" */

enum { MZ_FORECAST_WINDOW = 32, MZ_FORECAST_VALUES_MIN = 4 };

/* Level and slope with noise on the slope (white acceleration). Only the ratio of the two noises matters to a forecast, so
 * variances are in units of the observation's; the ratio is learned from the innovations, which are white where it is right. */
typedef struct mz_kalman {
  double level, slope;
  double variance[3];         /* of level; of both; of slope */
  double process_noise;       /* of the slope, in observation variances */
  double innovation;          /* the last one */
  double innovation_variance; /* exponential average */
} mz_kalman;

typedef struct mz_forecaster {
  int64_t seen, skipped;
  double last, ewma;
  double level, trend; /* Holt */
  mz_kalman kalman;
  double residual[MZ_FORECAST_MODELS][MZ_FORECAST_WINDOW]; /* value − forecast; ring: value i (from 0) is at (i − 1) % 32 */
} mz_forecaster;

typedef struct mz_forecast {
  mz_forecast_model model;
  double value;    /* of the next window; NAN: nothing was seen */
  double quantile; /* what stays below it in 80 % of cases: what to provision */
  double mase;     /* of the model that drives, rolling; INFINITY until 4 values were seen */
  bool trusted;    /* mase < 1, or the signal does not move at all; never before 4 values */
} mz_forecast;

void mz_forecaster_init(mz_forecaster *f);
void mz_forecaster_observe(mz_forecaster *f, double value);
mz_forecast mz_forecaster_next(const mz_forecaster *f);
