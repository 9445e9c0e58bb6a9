#include "allocator/model/forecast.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

/* ---- signals ---- */

enum { VALUES = 2000 };
typedef double (*signal)(int i, mz_rng *rng);

static double normal(mz_rng *rng) { return (double)mz_rng_normal(rng); }
static double constant(int i, mz_rng *rng) { return (void)i, (void)rng, 0.4; }
static double a_step(int i, mz_rng *rng) { return (void)rng, i < VALUES - 16 ? 1.0 : 3.0; }
static double steps(int i, mz_rng *rng) { return (void)rng, i / 50 % 2 ? 0.3 : 0.8; }
static double ramp(int i, mz_rng *rng) { return (void)rng, 0.25 * i - 7; }
static double sine(int i, mz_rng *rng) { return (void)rng, 5 + sin(2 * 3.141592653589793 * i / 24); }
static double noise(int i, mz_rng *rng) { return (void)i, 0.5 + 0.05 * normal(rng); }
static double noisy_ramp(int i, mz_rng *rng) { return 0.1 * i + 0.1 * normal(rng); }
static double noisy_sine(int i, mz_rng *rng) { return sine(i, rng) + 0.1 * normal(rng); }
static double outliers(int i, mz_rng *rng) { return 1 + 0.01 * normal(rng) + (i % 40 == 39 ? 5 : 0); }

static const signal signals[] = {constant, a_step, steps, ramp, sine, noise, noisy_ramp, noisy_sine, outliers};
enum { SIGNALS = sizeof signals / sizeof *signals };

static void draw(signal s, uint32_t stream, double out[VALUES]) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, stream, 0);
  for (int i = 0; i < VALUES; i++) out[i] = s(i, &rng);
}

/* What a forecaster says of a whole signal. */
typedef struct tally {
  int driven[MZ_FORECAST_MODELS]; /* values forecast by each */
  int covered, forecasts;         /* values at or below the quantile */
  double error, naive;            /* mean absolute: of the driver; of the last value */
  mz_forecast last;
} tally;

static tally follow(const double values[VALUES]) {
  tally t = {0};
  mz_forecaster f;
  mz_forecaster_init(&f);
  for (int i = 0; i < VALUES; i++) {
    const mz_forecast next = mz_forecaster_next(&f);
    if (i >= MZ_FORECAST_WINDOW) {
      t.driven[next.model]++;
      t.covered += values[i] <= next.quantile;
      t.error += fabs(values[i] - next.value);
      t.naive += fabs(values[i] - values[i - 1]);
      t.forecasts++;
    }
    mz_forecaster_observe(&f, values[i]);
  }
  t.last = mz_forecaster_next(&f);
  return t;
}

/* Against the same models in another form, by their errors (Gardner & McKenzie 1985, eq. 6 and 7; EWMA is the case without a trend). */
static void models_are_those_of_their_error_forms(void **state) {
  (void)state;
  const double alpha = 0.6, beta = 0.3, phi = 0.9, ewma_alpha = 0.3;
  double values[VALUES];
  draw(noisy_sine, 3, values);
  double level = values[0], trend = 0, ewma = values[0];
  mz_forecaster f;
  mz_forecaster_init(&f);
  mz_forecaster_observe(&f, values[0]);
  for (int i = 1; i < 200; i++) {
    const double error = values[i] - (level + phi * trend), ewma_error = values[i] - ewma;
    mz_forecaster_observe(&f, values[i]);
    const int at = (i - 1) % MZ_FORECAST_WINDOW;
    assert_true(fabs(f.residual[MZ_FORECAST_HOLT][at] - error) < 1e-9);
    assert_true(fabs(f.residual[MZ_FORECAST_EWMA][at] - ewma_error) < 1e-9);
    assert_true(f.residual[MZ_FORECAST_LAST][at] == values[i] - values[i - 1]);
    level += phi * trend + alpha * error;
    trend = phi * trend + alpha * beta * error;
    ewma += ewma_alpha * ewma_error;
  }
}

static tally follow_signal(signal s) {
  double values[VALUES];
  draw(s, 0, values);
  return follow(values);
}

/* ---- few values ---- */

static void nothing_is_known_before_the_first_value(void **state) {
  (void)state;
  mz_forecaster f;
  mz_forecaster_init(&f);
  const mz_forecast next = mz_forecaster_next(&f);
  assert_true(isnan(next.value) && isnan(next.quantile));
  assert_true(isinf(next.mase));
  assert_false(next.trusted);
}

static void three_values_are_too_few_to_trust(void **state) {
  (void)state;
  mz_forecaster f;
  mz_forecaster_init(&f);
  for (int i = 0; i < 4; i++) {
    mz_forecaster_observe(&f, i); /* a ramp: the Kalman filter is best from the beginning */
    const mz_forecast next = mz_forecaster_next(&f);
    assert_true(isinf(next.mase) == (i < 3));
    assert_true(next.trusted == (i == 3));
    if (i < 3) assert_int_equal(next.model, MZ_FORECAST_LAST);
    if (i < 3) assert_true(next.value == i);
  }
}

static void few_residuals_give_a_normal_quantile(void **state) {
  (void)state;
  mz_forecaster f;
  mz_forecaster_init(&f);
  mz_forecaster_observe(&f, 1);
  assert_true(mz_forecaster_next(&f).quantile == 1); /* no residual yet */
  mz_forecaster_observe(&f, 4);
  mz_forecaster_observe(&f, 0);
  const mz_forecast next = mz_forecaster_next(&f); /* the last value drives; its residuals are 3 and −4 */
  assert_true(fabs(next.quantile - 0.8416212335729143 * sqrt((9.0 + 16.0) / 2)) < 1e-12);
}

static void what_is_not_finite_is_skipped_and_counted(void **state) {
  (void)state;
  double values[VALUES];
  draw(noisy_sine, 3, values);
  mz_forecaster clean, holed;
  mz_forecaster_init(&clean);
  mz_forecaster_init(&holed);
  for (int i = 0; i < 100; i++) {
    mz_forecaster_observe(&clean, values[i]);
    if (i % 3 == 0) mz_forecaster_observe(&holed, i % 2 ? NAN : -INFINITY);
    mz_forecaster_observe(&holed, values[i]);
  }
  assert_int_equal(holed.skipped, 34);
  assert_int_equal(holed.seen, 100);
  const mz_forecast a = mz_forecaster_next(&clean), b = mz_forecaster_next(&holed);
  assert_true(a.model == b.model && a.value == b.value && a.quantile == b.quantile && a.mase == b.mase);
}

/* ---- who drives ---- */

static void a_signal_that_does_not_move_is_trusted(void **state) {
  (void)state;
  const tally t = follow_signal(constant);
  assert_int_equal(t.last.model, MZ_FORECAST_LAST);
  assert_true(t.last.value == 0.4 && t.last.quantile == 0.4 && t.last.mase == 1);
  assert_true(t.last.trusted);
}

static void after_a_step_nothing_beats_the_last_value(void **state) {
  (void)state;
  const tally t = follow_signal(a_step);
  assert_int_equal(t.last.model, MZ_FORECAST_LAST);
  assert_true(t.last.value == 3 && t.last.mase == 1);
  assert_false(t.last.trusted);
}

static void a_ramp_is_extrapolated(void **state) {
  (void)state;
  const tally t = follow_signal(ramp);
  assert_int_equal(t.last.model, MZ_FORECAST_KALMAN);
  assert_true(fabs(t.last.value - (0.25 * VALUES - 7)) < 1e-6);
  assert_true(t.last.mase < 1e-6 && t.last.trusted);
}

static void a_wave_is_followed_by_its_slope(void **state) {
  (void)state;
  const tally t = follow_signal(sine);
  assert_int_equal(t.driven[MZ_FORECAST_KALMAN], t.forecasts);
  assert_true(t.last.mase < 0.25 && t.error < 0.25 * t.naive);
}

/* The mean would leave 0.707 of the last value's error (√½), an average with α = 0.3 leaves 0.767 (√((1 + α/(2 − α))/2)). */
static void noise_around_a_level_is_smoothed(void **state) {
  (void)state;
  const tally t = follow_signal(noise);
  assert_true(t.driven[MZ_FORECAST_EWMA] + t.driven[MZ_FORECAST_KALMAN] > 0.99 * t.forecasts);
  assert_int_equal(t.driven[MZ_FORECAST_LAST], 0);
  assert_true(t.error < 0.767 * t.naive);
}

static void a_noisy_ramp_is_smoothed_and_extrapolated(void **state) {
  (void)state;
  const tally t = follow_signal(noisy_ramp);
  assert_true(t.driven[MZ_FORECAST_KALMAN] > 0.99 * t.forecasts);
  assert_int_equal(t.driven[MZ_FORECAST_LAST], 0);
  assert_true(t.error < 0.65 * t.naive);
}

/* The last value is the oracle: on the values that were seen never worse, nor on those to come, but for lone outliers: whoever was
 * better on the last ones is chosen just when he is about to be worse. */
static void no_driver_is_worse_than_the_last_value(void **state) {
  (void)state;
  double values[VALUES];
  for (int s = 0; s < SIGNALS; s++) {
    draw(signals[s], (uint32_t)s, values);
    mz_forecaster f;
    mz_forecaster_init(&f);
    for (int i = 0; i < VALUES; i++) {
      mz_forecaster_observe(&f, values[i]);
      const mz_forecast next = mz_forecaster_next(&f);
      assert_true(i < 3 ? isinf(next.mase) : next.mase <= 1);
      if (next.model == MZ_FORECAST_LAST) assert_true(next.value == values[i]);
      if (next.model != MZ_FORECAST_LAST) assert_true(next.trusted && next.mase < 1);
    }
    const tally t = follow(values);
    assert_true(t.error <= (signals[s] == outliers ? 1.35 : 1) * t.naive);
  }
}

static void mase_is_the_error_over_the_last_values_error(void **state) {
  (void)state;
  double values[VALUES], ewma = 0, errors[VALUES] = {0};
  draw(noise, 5, values);
  mz_forecaster f;
  mz_forecaster_init(&f);
  int compared = 0;
  for (int i = 0; i < VALUES; i++) {
    errors[i] = fabs(values[i] - ewma);
    ewma = i == 0 ? values[0] : ewma + 0.3 * (values[i] - ewma);
    mz_forecaster_observe(&f, values[i]);
    const mz_forecast next = mz_forecaster_next(&f);
    if (i < 40 || next.model != MZ_FORECAST_EWMA) continue;
    double error = 0, naive = 0;
    for (int k = i - 31; k <= i; k++) {
      error += errors[k];
      naive += fabs(values[k] - values[k - 1]);
    }
    assert_true(fabs(next.mase - error / naive) < 1e-9);
    assert_true(fabs(next.value - ewma) < 1e-12);
    compared++;
  }
  assert_true(compared > VALUES / 10);
}

/* ---- the quantile ---- */

static void the_quantile_covers_four_fifths(void **state) {
  (void)state;
  static const signal random_signals[] = {noise, noisy_ramp, noisy_sine};
  for (size_t s = 0; s < sizeof random_signals / sizeof *random_signals; s++) {
    const tally t = follow_signal(random_signals[s]);
    const double covered = (double)t.covered / t.forecasts;
    assert_true(covered > 0.77 && covered < 0.83);
  }
}

/* Of the 7 residuals of 8 values the normal quantile is used; of the 8 of 9 values the empirical one. */
static void short_series_are_covered_too(void **state) {
  (void)state;
  for (int length = 8; length <= 9; length++) {
    int covered = 0;
    for (uint32_t i = 0; i < VALUES; i++) {
      mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, i, (uint64_t)length);
      mz_forecaster f;
      mz_forecaster_init(&f);
      for (int k = 0; k < length; k++) mz_forecaster_observe(&f, normal(&rng));
      covered += normal(&rng) <= mz_forecaster_next(&f).quantile;
    }
    assert_true(covered > 0.75 * VALUES && covered < 0.85 * VALUES);
  }
}

/* Units do not matter: seconds or bytes are forecast alike, to the bit where the factor is a power of two. */
static void forecasts_scale_with_the_signal(void **state) {
  (void)state;
  double values[VALUES];
  draw(noisy_sine, 7, values);
  mz_forecaster small, large;
  mz_forecaster_init(&small);
  mz_forecaster_init(&large);
  for (int i = 0; i < 300; i++) {
    mz_forecaster_observe(&small, values[i]);
    mz_forecaster_observe(&large, 0x1p40 * values[i]);
    const mz_forecast a = mz_forecaster_next(&small), b = mz_forecaster_next(&large);
    assert_true(a.model == b.model && b.value == 0x1p40 * a.value);
    assert_true(a.mase == b.mase && b.quantile == 0x1p40 * a.quantile);
  }
}

static void models_have_names(void **state) {
  (void)state;
  assert_string_equal(mz_forecast_model_name(MZ_FORECAST_LAST), "last value");
  assert_string_equal(mz_forecast_model_name(MZ_FORECAST_EWMA), "EWMA");
  assert_string_equal(mz_forecast_model_name(MZ_FORECAST_HOLT), "damped Holt");
  assert_string_equal(mz_forecast_model_name(MZ_FORECAST_KALMAN), "Kalman");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_known_before_the_first_value),
      cmocka_unit_test(models_are_those_of_their_error_forms),
      cmocka_unit_test(three_values_are_too_few_to_trust),
      cmocka_unit_test(few_residuals_give_a_normal_quantile),
      cmocka_unit_test(what_is_not_finite_is_skipped_and_counted),
      cmocka_unit_test(a_signal_that_does_not_move_is_trusted),
      cmocka_unit_test(after_a_step_nothing_beats_the_last_value),
      cmocka_unit_test(a_ramp_is_extrapolated),
      cmocka_unit_test(a_wave_is_followed_by_its_slope),
      cmocka_unit_test(noise_around_a_level_is_smoothed),
      cmocka_unit_test(a_noisy_ramp_is_smoothed_and_extrapolated),
      cmocka_unit_test(no_driver_is_worse_than_the_last_value),
      cmocka_unit_test(mase_is_the_error_over_the_last_values_error),
      cmocka_unit_test(the_quantile_covers_four_fifths),
      cmocka_unit_test(short_series_are_covered_too),
      cmocka_unit_test(forecasts_scale_with_the_signal),
      cmocka_unit_test(models_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
