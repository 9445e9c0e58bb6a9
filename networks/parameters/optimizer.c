#include "networks/parameters/optimizer.h"

#include "base/arena.h"
#include "base/maths/maths.h"
#include "networks/math/optimizer_step.h"

#include <math.h>

static const mz_setting rows[] = {
    MZ_SETTING(mz_optimizer_settings, kind, "optimizer", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "adam", "",
               "update rule; both decay weights decoupled from the gradient", .choices = "adam|sgd"),
    MZ_SETTING(mz_optimizer_settings, learning_rate, "learning_rate", MZ_FLOAT, MZ_ALGORITHMIC, 0, 10, "0.002", "",
               "step size after the warmup", .common = true),
    MZ_SETTING(mz_optimizer_settings, schedule, "learning_rate_schedule", MZ_ENUM, MZ_ALGORITHMIC, 0, 0, "constant", "",
               "how the learning rate falls over train.horizon", .choices = "constant|cosine|linear|exponential", .common = true),
    MZ_SETTING(mz_optimizer_settings, warmup_updates, "warmup_updates", MZ_INT, MZ_ALGORITHMIC, 0, 1e9, "0", "updates",
               "the learning rate rises linearly over these"),
    MZ_SETTING(mz_optimizer_settings, final_fraction, "learning_rate_final", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1, "0.1", "",
               "learning rate at the horizon, as a fraction of learning_rate"),
    MZ_SETTING(mz_optimizer_settings, momentum, "momentum", MZ_FLOAT, MZ_ALGORITHMIC, 0, 0.9999, "0.9", "", "of sgd"),
    MZ_SETTING(mz_optimizer_settings, beta1, "adam.beta1", MZ_FLOAT, MZ_ALGORITHMIC, 0, 0.9999, "0.9", "",
               "decay of adam's mean of gradients"),
    MZ_SETTING(mz_optimizer_settings, beta2, "adam.beta2", MZ_FLOAT, MZ_ALGORITHMIC, 0, 0.999999, "0.999", "",
               "decay of adam's mean of squared gradients"),
    MZ_SETTING(mz_optimizer_settings, epsilon, "adam.epsilon", MZ_FLOAT, MZ_ALGORITHMIC, 1e-12, 1, "1e-8", "",
               "added to adam's denominator"),
    MZ_SETTING(mz_optimizer_settings, weight_decay, "weight_decay", MZ_FLOAT, MZ_ALGORITHMIC, 0, 10, "1e-4", "",
               "pulls weights (not biases) to zero, times the learning rate, each update", .common = true),
    MZ_SETTING(mz_optimizer_settings, gradient_clip, "gradient_clip", MZ_FLOAT, MZ_ALGORITHMIC, 0, 1e9, "5", "",
               "largest norm of the whole gradient; 0: never clipped"),
};
const mz_settings_table mz_optimizer_table = {.rows = rows, .count = sizeof rows / sizeof rows[0]};

/* Fraction of the learning rate when `progress` (0 … 1) of the way from the warmup's end to the horizon is done. */
static double schedule_factor(const mz_optimizer_settings *settings, double progress) {
  const double last = settings->final_fraction;
  double sine, cosine;
  switch (settings->schedule) {
    case MZ_SCHEDULE_COSINE: mz_sincos(M_PI * progress, &sine, &cosine); return last + (1.0 - last) * 0.5 * (1.0 + cosine);
    case MZ_SCHEDULE_LINEAR: return 1.0 + (last - 1.0) * progress;
    case MZ_SCHEDULE_EXPONENTIAL: return mz_exp(progress * mz_log(last));
    default: return 1.0;
  }
}

double mz_learning_rate_at(const mz_optimizer_settings *settings, const mz_rate_position *at) {
  const double update = at->update, warmup = at->warmup, horizon = at->horizon;
  if (update < warmup) return update + 1 > warmup ? settings->learning_rate : settings->learning_rate * (update + 1) / warmup;
  if (horizon == 0) return settings->learning_rate;
  const double progress = update < horizon ? (update - warmup) / (horizon - warmup) : 1.0;
  return settings->learning_rate * schedule_factor(settings, progress);
}

double mz_learning_rate(const mz_optimizer_settings *settings, int64_t update, int64_t horizon) {
  return mz_learning_rate_at(settings, &(mz_rate_position){(double)update, (double)settings->warmup_updates, (double)horizon});
}

mz_status mz_optimizer_init(mz_optimizer *optimizer, const mz_optimizer_settings *settings, const mz_params *params) {
  if (settings->schedule == MZ_SCHEDULE_EXPONENTIAL && !(settings->final_fraction > 0.0))
    return mz_fail(MZ_E_CONFIG, "learning_rate_final: an exponential schedule never reaches 0; try 0.01");
  *optimizer = (mz_optimizer){.params = params, .settings = *settings};
  mz_carver carver = {0};
  mz_carve(&carver, &optimizer->moment1, (size_t)params->size, sizeof(float));
  if (settings->kind == MZ_ADAM) mz_carve(&carver, &optimizer->moment2, (size_t)params->size, sizeof(float));
  return mz_carve_commit(&carver, &optimizer->block);
}

void mz_optimizer_deinit(mz_optimizer *optimizer) {
  free(optimizer->block);
  *optimizer = (mz_optimizer){0};
}

/* Elements of a chunk: all but the last are full. */
static int64_t chunk_end(int64_t size, int chunk) {
  const int64_t end = ((int64_t)chunk + 1) * MZ_CHUNK;
  return end < size ? end : size;
}

double mz_gradient_squares_chunk(const float *gradient, int64_t size, int chunk) {
  MZ_ASSERT(size % MZ_LANES == 0);
  const int64_t end = chunk_end(size, chunk);
  double squares[MZ_LANES] = {0}; /* as many running sums at every instruction-set level */
  for (int64_t at = (int64_t)chunk * MZ_CHUNK; at < end; at += MZ_LANES)
    for (int i = 0; i < MZ_LANES; i++) squares[i] += (double)gradient[at + i] * (double)gradient[at + i];
  for (int width = MZ_LANES / 2; width > 0; width /= 2)
    for (int i = 0; i < width; i++) squares[i] += squares[i + width];
  return squares[0];
}

float mz_clip_scale(const mz_optimizer_settings *settings, double norm) {
  const double limit = settings->gradient_clip;
  return limit > 0.0 && norm > limit ? (float)(limit / norm) : 1.0f;
}

/* baseᵗ by squaring: multiplications only, the same bits everywhere. */
static double power(double base, int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

/* Whole vectors of MZ_LANES: parameters begin and end on such boundaries, and the padding stays zero because its gradient is. */
static void adam_run(const mz_step_factors f, float decay, int64_t size, const float *restrict gradient, float *restrict moment1,
                     float *restrict moment2, float *restrict values) {
  for (int64_t at = 0; at < size; at += MZ_LANES)
    for (int64_t i = at; i < at + MZ_LANES; i++) mz_adam_inline(&f, decay, gradient[i], &moment1[i], &moment2[i], &values[i]);
}

static void sgd_run(const mz_step_factors f, float decay, int64_t size, const float *restrict gradient, float *restrict moment1,
                    float *restrict values) {
  for (int64_t at = 0; at < size; at += MZ_LANES)
    for (int64_t i = at; i < at + MZ_LANES; i++) mz_sgd_inline(&f, decay, gradient[i], &moment1[i], &values[i]);
}

mz_step_factors mz_optimizer_factors(const mz_optimizer *optimizer, float scale, double learning_rate) {
  MZ_ASSERT(optimizer->steps >= 1);
  const mz_optimizer_settings *settings = &optimizer->settings;
  mz_step_factors factors = {
      .scale = scale,
      .rate = (float)learning_rate,
      .decay = (float)(learning_rate * settings->weight_decay),
  };
  if (settings->kind == MZ_SGD) {
    factors.momentum = (float)settings->momentum;
    return factors;
  }
  factors.beta1 = (float)settings->beta1;
  factors.rest1 = (float)(1.0 - settings->beta1);
  factors.beta2 = (float)settings->beta2;
  factors.rest2 = (float)(1.0 - settings->beta2);
  factors.rate = (float)(learning_rate / (1.0 - power(settings->beta1, optimizer->steps)));
  factors.inverse_root = (float)(1.0 / sqrt(1.0 - power(settings->beta2, optimizer->steps)));
  factors.epsilon = (float)settings->epsilon;
  return factors;
}

void mz_optimizer_step_chunk(mz_optimizer *optimizer, int chunk, const float *gradient, float scale, double learning_rate,
                             float *values) {
  const mz_step_factors factors = mz_optimizer_factors(optimizer, scale, learning_rate);
  const mz_params *params = optimizer->params;
  const int64_t begin = (int64_t)chunk * MZ_CHUNK, end = chunk_end(params->size, chunk);
  for (int p = 0; p < params->count; p++) { /* the part of each parameter that lies in this chunk */
    const mz_param *param = &params->items[p];
    const int64_t param_end = param->offset + (int64_t)param->rows * param->stride;
    const int64_t from = param->offset > begin ? param->offset : begin;
    const int64_t size = (param_end < end ? param_end : end) - from;
    if (size <= 0) continue;
    if (param->statistic > 0) {
      for (int64_t i = from; i < from + size; i++) mz_statistic_inline(param->statistic, gradient[i], &values[i]);
      continue;
    }
    const float decay = param->decay ? factors.decay : 0.0f;
    if (optimizer->settings.kind == MZ_ADAM)
      adam_run(factors, decay, size, gradient + from, optimizer->moment1 + from, optimizer->moment2 + from, values + from);
    else
      sgd_run(factors, decay, size, gradient + from, optimizer->moment1 + from, values + from);
  }
}
