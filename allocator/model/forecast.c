#include "allocator/model/forecast.h"
#include "base/status.h"
#include <math.h>

/* EWMA follows a level through noise; Holt's are common values for short series, his trend fades by PHI a phase. */
static const double EWMA_ALPHA = 0.3, HOLT_ALPHA = 0.6, HOLT_BETA = 0.3, HOLT_PHI = 0.9;
/* The Kalman filter's process noise: where it starts, how fast it is adapted, its bounds. */
static const double NOISE_START = 0.1, NOISE_RATE = 0.5, NOISE_MIN = 1e-6, NOISE_MAX = 1e2, INNOVATION_ALPHA = 0.1;
static const double QUANTILE = 0.8, NORMAL_QUANTILE = 0.8416212335729143; /* Φ⁻¹(0.8) */
enum { EMPIRICAL_MIN = 8 };                                               /* residuals that an empirical quantile needs */

const char *mz_forecast_model_name(mz_forecast_model model) {
  static const char *const names[MZ_FORECAST_MODELS] = {"last value", "EWMA", "damped Holt", "Kalman"};
  MZ_ASSERT(model >= 0 && model < MZ_FORECAST_MODELS);
  return names[model];
}

void mz_forecaster_init(mz_forecaster *f) { *f = (mz_forecaster){0}; }

static double predict(const mz_forecaster *f, mz_forecast_model model) {
  switch (model) {
    case MZ_FORECAST_EWMA: return f->ewma;
    case MZ_FORECAST_HOLT: return f->level + HOLT_PHI * f->trend;
    case MZ_FORECAST_KALMAN: return f->kalman.level + f->kalman.slope;
    default: return f->last;
  }
}

static void holt_observe(mz_forecaster *f, double value) {
  const double level = HOLT_ALPHA * value + (1 - HOLT_ALPHA) * predict(f, MZ_FORECAST_HOLT);
  f->trend = HOLT_BETA * (level - f->level) + (1 - HOLT_BETA) * HOLT_PHI * f->trend;
  f->level = level;
}

static void kalman_init(mz_kalman *k, double value) {
  *k = (mz_kalman){.level = value, .variance = {1, 0, 1}, .process_noise = NOISE_START};
}

/* Neighbouring innovations of one sign mean that the filter lags: more process noise; of changing sign, that it chases noise. */
static void kalman_adapt(mz_kalman *k, double innovation) {
  const double square = innovation * innovation;
  k->innovation_variance += (k->innovation_variance == 0 ? 1 : INNOVATION_ALPHA) * (square - k->innovation_variance);
  if (k->innovation_variance > 0) {
    const double correlation = fmax(-1, fmin(1, innovation * k->innovation / k->innovation_variance));
    k->process_noise = fmax(NOISE_MIN, fmin(NOISE_MAX, k->process_noise * exp(NOISE_RATE * correlation)));
  }
  k->innovation = innovation;
}

static void kalman_observe(mz_kalman *k, double value) {
  const double *v = k->variance, q = k->process_noise;
  const double level = v[0] + 2 * v[1] + v[2] + q / 4, both = v[1] + v[2] + q / 2, slope = v[2] + q;
  const double gain_level = level / (level + 1), gain_slope = both / (level + 1);
  const double innovation = value - (k->level + k->slope);
  k->level += k->slope + gain_level * innovation;
  k->slope += gain_slope * innovation;
  k->variance[0] = (1 - gain_level) * level;
  k->variance[1] = (1 - gain_level) * both;
  k->variance[2] = slope - gain_slope * both;
  kalman_adapt(k, innovation);
}

void mz_forecaster_observe(mz_forecaster *f, double value) {
  if (!isfinite(value)) {
    f->skipped++;
    return;
  }
  if (f->seen == 0) {
    f->ewma = f->level = value;
    kalman_init(&f->kalman, value);
  } else {
    for (int m = 0; m < MZ_FORECAST_MODELS; m++)
      f->residual[m][(f->seen - 1) % MZ_FORECAST_WINDOW] = value - predict(f, (mz_forecast_model)m);
    f->ewma += EWMA_ALPHA * (value - f->ewma);
    holt_observe(f, value);
    kalman_observe(&f->kalman, value);
  }
  f->last = value;
  f->seen++;
}

/* Residuals kept: one less than values. */
static int residual_count(const mz_forecaster *f) {
  if (f->seen < 2) return 0;
  return f->seen - 1 < MZ_FORECAST_WINDOW ? (int)(f->seen - 1) : MZ_FORECAST_WINDOW;
}

static double absolute_error(const mz_forecaster *f, mz_forecast_model model) {
  double sum = 0;
  for (int i = 0; i < residual_count(f); i++) sum += fabs(f->residual[model][i]);
  return sum;
}

/* The quantile that a further value exceeds with probability 1 − QUANTILE (Weibull's plotting position). */
static double empirical_quantile(const double *values, int count) {
  double sorted[MZ_FORECAST_WINDOW];
  for (int i = 0; i < count; i++) {
    int at = i;
    for (; at > 0 && sorted[at - 1] > values[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = values[i];
  }
  const double position = QUANTILE * (count + 1) - 1;
  const int below = (int)position;
  if (below >= count - 1) return sorted[count - 1];
  return sorted[below] + (position - below) * (sorted[below + 1] - sorted[below]);
}

static double residual_quantile(const mz_forecaster *f, mz_forecast_model model) {
  const int count = residual_count(f);
  if (count >= EMPIRICAL_MIN) return empirical_quantile(f->residual[model], count);
  double squares = 0;
  for (int i = 0; i < count; i++) squares += f->residual[model][i] * f->residual[model][i];
  return count > 0 ? NORMAL_QUANTILE * sqrt(squares / count) : 0;
}

mz_forecast mz_forecaster_next(const mz_forecaster *f) {
  if (f->seen == 0) return (mz_forecast){.value = NAN, .quantile = NAN, .mase = INFINITY};
  mz_forecast best = {.model = MZ_FORECAST_LAST, .mase = INFINITY};
  if (f->seen >= MZ_FORECAST_VALUES_MIN) {
    const double naive = absolute_error(f, MZ_FORECAST_LAST); /* 0: the signal does not move, and nothing beats the last value */
    best.mase = 1;
    best.trusted = naive == 0;
    for (int m = 1; m < MZ_FORECAST_MODELS && naive > 0; m++) {
      const double mase = absolute_error(f, (mz_forecast_model)m) / naive;
      if (mase >= best.mase) continue;
      best = (mz_forecast){.model = (mz_forecast_model)m, .mase = mase, .trusted = true};
    }
  }
  best.value = predict(f, best.model);
  best.quantile = best.value + residual_quantile(f, best.model);
  return best;
}
