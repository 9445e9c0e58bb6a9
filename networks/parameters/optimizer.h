/* Adam and SGD with momentum, both with decoupled weight decay (Loshchilov & Hutter 2019), over the flat parameter vector:
 *   Adam  m = β₁m + (1−β₁)g,  v = β₂v + (1−β₂)g²,  θ −= lr·( (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε) + λθ )
 *   SGD   m = μm + g,  θ −= lr·(m + λθ)
 * A step is cut into fixed chunks so that any number of threads gives the same bits. State is plain vectors: saved, restored,
 * hashed. */
#pragma once
#include "base/config/config.h"
#include "networks/parameters/params.h"

typedef enum mz_optimizer_kind { MZ_ADAM, MZ_SGD } mz_optimizer_kind;
typedef enum mz_schedule { MZ_SCHEDULE_CONSTANT, MZ_SCHEDULE_COSINE, MZ_SCHEDULE_LINEAR, MZ_SCHEDULE_EXPONENTIAL } mz_schedule;

typedef struct mz_optimizer_settings {
  int32_t kind, schedule; /* mz_optimizer_kind, mz_schedule */
  double learning_rate;
  int64_t warmup_updates; /* the rate rises linearly to learning_rate over these, then follows the schedule */
  double final_fraction;  /* the schedule falls to final_fraction × learning_rate at the horizon; > 0 for exponential */
  double momentum, beta1, beta2, epsilon, weight_decay, gradient_clip; /* clip by global norm; 0: never */
} mz_optimizer_settings;
extern const mz_settings_table mz_optimizer_table; /* keys optimizer, learning_rate, … */

/* A pure function of update index and horizon (both in updates; horizon 0: constant after the warmup). */
double mz_learning_rate(const mz_optimizer_settings *settings, int64_t update, int64_t horizon);
/* The place of an update in the schedule, in updates of the present batch size; not whole where earlier batches had other sizes. */
typedef struct mz_rate_position {
  double update, warmup, horizon;
} mz_rate_position;
/* The same function of fractions: warmup takes the place of settings->warmup_updates. */
double mz_learning_rate_at(const mz_optimizer_settings *settings, const mz_rate_position *at);

enum { MZ_CHUNK = 1024 }; /* elements a chunk */
static inline int mz_chunk_count(const mz_params *params) { return (int)((params->size + MZ_CHUNK - 1) / MZ_CHUNK); }

typedef struct mz_optimizer {
  const mz_params *params;
  mz_optimizer_settings settings;
  float *moment1, *moment2; /* SGD: moment1 is the momentum, moment2 unused (NULL) */
  int64_t steps;            /* updates begun: t of the bias corrections */
  void *block;              /* owns the moments */
} mz_optimizer;

/* MZ_E_CONFIG for settings that do not go together. `params` must outlive the optimizer. */
mz_status mz_optimizer_init(mz_optimizer *optimizer, const mz_optimizer_settings *settings, const mz_params *params);
void mz_optimizer_deinit(mz_optimizer *optimizer);

/* One update, chunk by chunk, from the batch's gradient (shard_sum.h): Σ g² of each chunk of the trained parameters (size:
 * params->trained); the caller adds these in index order,
 * takes the square root and derives `scale` with mz_clip_scale, increments `steps`, and steps each chunk with gradient × scale. A
 * statistic's "gradient" is the batch's statistic, of which its share is taken over. */
double mz_gradient_squares_chunk(const float *gradient, int64_t size, int chunk);
float mz_clip_scale(const mz_optimizer_settings *settings, double norm);
/* The constants of the step that `steps` counts (math/optimizer_step.h); scale: of the gradient. */
typedef struct mz_step_factors mz_step_factors;
mz_step_factors mz_optimizer_factors(const mz_optimizer *optimizer, float scale, double learning_rate);
void mz_optimizer_step_chunk(mz_optimizer *optimizer, int chunk, const float *gradient, float scale, double learning_rate,
                             float *values);
