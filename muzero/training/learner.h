/* The weights and what becomes of them: schedules, updates (networks/update.h) and their statistics. One thread drives a learner. */
#pragma once
#include "base/threads/pool.h"
#include "muzero/training/noise_scale.h"
#include "networks/update.h"
#include "replay/batches/batch.h"

typedef struct mz_learner_settings {
  mz_update_settings update;
  int64_t horizon; /* in updates; 0: the learning rate is constant after the warmup */
} mz_learner_settings;

/* Sums over updates since the last reset; in doubles, in update order. Telemetry: no part of the state. */
typedef struct mz_learning_stats {
  int64_t updates, rows;
  double loss, policy_loss, value_loss, reward_loss, gradient_norm;
  double step_loss[MZ_UNROLL_MAX + 1],
      step_weight[MZ_UNROLL_MAX + 1]; /* policy + value cross entropy by unroll step, trained rows */
  int64_t value_rows;                 /* whose value at step 0 was trained; of them: */
  double value, value_squared, target, target_squared, value_target; /* predicted value and target at step 0 */
  int64_t targets, clamped; /* of values and rewards that were trained; those of them beyond their support */
  double latent_spread;     /* mean over latent units of the standard deviation over a shard's rows */
  mz_gradient_noise noise;  /* of every sixteenth update: the shards' gradients are read once more */
} mz_learning_stats;

typedef struct mz_learner mz_learner;
/* Updates run there, on CPUs by the pool, whose size may change between updates. */
mz_status mz_learner_create(mz_learner **out, const mz_model *model, const mz_lane *where, const mz_learner_settings *settings,
                            mz_pool *pool);
void mz_learner_free(mz_learner *learner);
/* Between updates: batches have settings->update.batch_size rows from now on, and whatever else mz_batch_rule_apply changes is as in
 * `settings`; updates run at `where`, as before. Weights, average, moments and the optimizer's steps come along. What was for the old size
 * is freed first: after a failure (MZ_E_MEMORY, MZ_E_DEVICE) the learner can only be freed. */
mz_status mz_learner_resize_batch(mz_learner *learner, const mz_lane *where, const mz_learner_settings *settings);
/* Between updates: the next one stands there in the learning rate's schedule, and each that follows one further. A learner that is never
 * told goes by the optimizer's steps. */
void mz_learner_set_position(mz_learner *learner, const mz_rate_position *position);
/* Returns the learning rate that the next update takes. */
double mz_learner_rate(const mz_learner *learner);
/* Between updates: they run there from now on. Weights, average and moments come along. On failure it stays where it was. */
mz_status mz_learner_move(mz_learner *learner, const mz_lane *where);
/* Returns the bytes that create takes: weights, their average and packed copies, moments, a gradient for each shard. */
double mz_learner_bytes(const mz_model *model, const mz_lane *where, const mz_learner_settings *settings);
/* Computes the bytes that each thread takes besides when it first works: its tape. */
mz_status mz_learner_thread_bytes(const mz_model *model, const mz_lane *where, const mz_learner_settings *settings,
                                  double *bytes);

/* The trained state, owned by the learner: weights, and their average (NULL when there is none), [params.size]; as they were when they
 * were last fetched or changed. */
float *mz_learner_weights(mz_learner *learner);
float *mz_learner_average(mz_learner *learner);
mz_optimizer *mz_learner_optimizer(mz_learner *learner);
/* Call after the weights, and what belongs to them, were set from outside. */
mz_status mz_learner_weights_changed(mz_learner *learner);
/* After updates, before these are read: weights and average; moments: the optimizer's, too. */
mz_status mz_learner_fetch(mz_learner *learner, bool moments);

/* errors: [batch rows], |predicted value − target| at step 0, MZ_ERROR_UNKNOWN where there is no target. A target, loss or gradient
 * that is not finite: MZ_E_DIVERGED, weights untouched. */
mz_status mz_learner_update(mz_learner *learner, const mz_batch *batch, float *errors, mz_learning_stats *stats);
/* Numbers of the last update, for bounds on it (guard.h). */
typedef struct mz_update_seen {
  double loss, norm; /* of the gradient, before clipping */
  double value_rms;  /* of the predicted values of rows whose value was trained; 0: there was none */
} mz_update_seen;
mz_update_seen mz_learner_seen(const mz_learner *learner);
/* Returns the last update's losses by row, [batch rows]: cross entropies of policy, value and reward where they were trained, summed over
 * the unroll, before their weights. */
const float *mz_learner_row_losses(const mz_learner *learner);
/* The loss of the batch's first shard with the present weights; nothing is learned. */
mz_status mz_learner_probe(mz_learner *learner, const mz_batch *batch, double *loss);
