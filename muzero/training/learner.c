#include "muzero/training/learner.h"
#include "replay/batches/priority.h"
#include "base/arena.h"
#include "base/maths/maths.h"
#include <math.h>
#include <string.h>

enum { NOISE_EVERY = 16 }; /* updates between two of which the noise is measured */

struct mz_learner {
  mz_learner_settings settings;
  const mz_model *model;
  mz_pool *pool;
  mz_optimizer optimizer;
  mz_update *update;
  float *weights, *average; /* [params.size] */
  void *block;
  float *row_losses; /* [batch_size] */
  mz_update_seen seen;
  float value_low, value_high, reward_low, reward_high; /* targets beyond are clamped */
  bool positioned;                                      /* `position` counts, not the optimizer's steps */
  mz_rate_position position;
};

static void carve(mz_learner *l, const mz_model *model, mz_carver *carver) {
  const size_t size = (size_t)model->params.size;
  mz_carve(carver, &l->weights, size, sizeof(float));
  if (l->settings.update.average > 0) mz_carve(carver, &l->average, size, sizeof(float));
}

static size_t batch_rows(const mz_learner_settings *settings) { return (size_t)settings->update.batch_size; }

static mz_status create_update(mz_learner *l, const mz_lane *where, mz_update **out) {
  const mz_update_vectors vectors = {.weights = l->weights, .average = l->average, .optimizer = &l->optimizer};
  return mz_update_create(out, where, l->model, &l->settings.update, &vectors, l->pool);
}

mz_status mz_learner_create(mz_learner **out, const mz_model *model, const mz_lane *where, const mz_learner_settings *settings,
                            mz_pool *pool) {
  mz_learner *l;
  mz_status status;
  MZ_TRY(mz_alloc(&l, 1, sizeof *l));
  l->settings = *settings;
  l->model = model;
  l->pool = pool;
  mz_carver carver = {0};
  carve(l, model, &carver);
  mz_support_ends(&model->value, &l->value_low, &l->value_high);
  mz_support_ends(&model->reward, &l->reward_low, &l->reward_high);
  MZ_TRY_CLEANUP(mz_carve_commit(&carver, &l->block));
  MZ_TRY_CLEANUP(mz_alloc(&l->row_losses, batch_rows(settings), sizeof *l->row_losses));
  MZ_TRY_CLEANUP(mz_optimizer_init(&l->optimizer, &settings->update.optimizer, &model->params));
  MZ_TRY_CLEANUP(create_update(l, where, &l->update));
  *out = l;
  l = NULL;
cleanup:
  mz_learner_free(l);
  return status;
}

double mz_learner_bytes(const mz_model *model, const mz_lane *where, const mz_learner_settings *settings) {
  mz_learner l = {.settings = *settings};
  mz_carver carver = {0};
  carve(&l, model, &carver);
  const double moments = settings->update.optimizer.kind == MZ_ADAM ? 2 : 1;
  const double losses = (double)batch_rows(settings) * sizeof(float);
  return (double)carver.bytes + losses + moments * (double)model->params.size * sizeof(float) +
         mz_update_bytes(where, model, &settings->update).device;
}

mz_status mz_learner_thread_bytes(const mz_model *model, const mz_lane *where, const mz_learner_settings *settings,
                                  double *bytes) {
  return mz_update_thread_bytes(where, model, &settings->update, bytes);
}

void mz_learner_free(mz_learner *l) {
  if (!l) return;
  mz_update_free(l->update);
  mz_optimizer_deinit(&l->optimizer);
  free(l->row_losses);
  free(l->block);
  free(l);
}

mz_status mz_learner_resize_batch(mz_learner *l, const mz_lane *where, const mz_learner_settings *settings) {
  MZ_TRY(mz_learner_fetch(l, true));
  mz_update_free(l->update);
  free(l->row_losses);
  l->update = NULL;
  l->row_losses = NULL;
  l->settings = *settings;
  l->optimizer.settings = settings->update.optimizer;
  MZ_TRY(mz_alloc(&l->row_losses, batch_rows(settings), sizeof *l->row_losses));
  MZ_TRY(create_update(l, where, &l->update));
  return mz_update_changed(l->update);
}

void mz_learner_set_position(mz_learner *l, const mz_rate_position *position) {
  l->positioned = true;
  l->position = *position;
}

mz_status mz_learner_move(mz_learner *l, const mz_lane *where) {
  mz_update *next;
  MZ_TRY(mz_update_fetch(l->update, true));
  MZ_TRY(create_update(l, where, &next));
  const mz_status status = mz_update_changed(next);
  if (status != MZ_OK) {
    mz_update_free(next);
    return status;
  }
  mz_update_free(l->update);
  l->update = next;
  return MZ_OK;
}

float *mz_learner_weights(mz_learner *l) { return l->weights; }
float *mz_learner_average(mz_learner *l) { return l->average; }
mz_optimizer *mz_learner_optimizer(mz_learner *l) { return &l->optimizer; }
mz_update_seen mz_learner_seen(const mz_learner *l) { return l->seen; }
const float *mz_learner_row_losses(const mz_learner *l) { return l->row_losses; }

mz_status mz_learner_weights_changed(mz_learner *l) { return mz_update_changed(l->update); }

mz_status mz_learner_fetch(mz_learner *l, bool moments) {
  if (l->update == NULL) return mz_fail(MZ_E_MEMORY, "the learner: there was no memory to make it anew for other batches");
  return mz_update_fetch(l->update, moments);
}

static mz_update_rows rows_of(const mz_batch *b) {
  return (mz_update_rows){.rows = b->rows,
                          .unroll = b->unroll,
                          .obs = b->obs,
                          .obs_weight = b->obs_weight,
                          .action = b->action,
                          .policy = b->policy,
                          .value = b->value,
                          .reward = b->reward,
                          .policy_weight = b->policy_weight,
                          .value_weight = b->value_weight,
                          .reward_weight = b->reward_weight,
                          .turn = b->turn,
                          .turn_weight = b->turn_weight};
}

/* ---- statistics ---- */

static void add_values(const mz_batch *b, const float *predicted, int first, int rows, float *errors, mz_learning_stats *sums) {
  for (int r = first; r < first + rows; r++) {
    const float value = predicted[r], target = b->value[r];
    if (b->value_weight[r] == 0) {
      errors[r] = MZ_ERROR_UNKNOWN;
      continue;
    }
    errors[r] = fabsf(value - target);
    sums->value_rows++;
    sums->value += value;
    sums->value_squared += (double)value * value;
    sums->target += target;
    sums->target_squared += (double)target * target;
    sums->value_target += (double)value * target;
  }
}

static void count_clamped(const mz_learner *l, const mz_batch *b, int k, int first, int rows, mz_learning_stats *sums) {
  for (int r = first; r < first + rows; r++) {
    const size_t at = (size_t)k * (size_t)b->rows + (size_t)r;
    const bool has_value = b->value_weight[at] > 0, has_reward = k > 0 && b->reward_weight[at] > 0;
    sums->targets += has_value + has_reward;
    sums->clamped += has_value && (b->value[at] < l->value_low || b->value[at] > l->value_high);
    sums->clamped += has_reward && (b->reward[at] < l->reward_low || b->reward[at] > l->reward_high);
  }
}

/* Losses count where they were trained. */
static void add_losses(mz_learner *l, const mz_batch *b, const mz_update_report *report, int k, int first, int rows,
                       mz_learning_stats *sums) {
  for (int r = first; r < first + rows; r++) {
    const size_t at = (size_t)k * (size_t)b->rows + (size_t)r;
    const double p = b->policy_weight[at] > 0 ? report->policy_loss[at] : 0,
                 v = b->value_weight[at] > 0 ? report->value_loss[at] : 0;
    const double reward = k > 0 && b->reward_weight[at] > 0 ? report->reward_loss[at] : 0;
    sums->policy_loss += p;
    sums->value_loss += v;
    sums->reward_loss += reward;
    l->row_losses[r] += (float)(p + v + reward);
    if (b->policy_weight[at] > 0) {
      sums->step_loss[k] += p + v;
      sums->step_weight[k] += 1;
    }
  }
}

/* A shard's gradient is its part of the batch's mean: the mean over its own rows is `shards` times as much. */
static void add_noise(const mz_learner *l, const mz_update_report *report, mz_gradient_noise *noise) {
  noise->updates++;
  noise->shard_square += (double)l->settings.update.shards * report->shard_square;
  noise->batch_square += report->norm * report->norm;
}

static void add_sums(const mz_learner *l, const mz_batch *b, const mz_learning_stats *sums, mz_learning_stats *total) {
  total->policy_loss += sums->policy_loss / b->rows;
  total->value_loss += sums->value_loss / b->rows;
  total->reward_loss += sums->reward_loss / b->rows;
  total->targets += sums->targets;
  total->clamped += sums->clamped;
  total->value_rows += sums->value_rows;
  total->value += sums->value;
  total->value_squared += sums->value_squared;
  total->target += sums->target;
  total->target_squared += sums->target_squared;
  total->value_target += sums->value_target;
  for (int k = 0; k <= l->settings.update.loss.unroll; k++) {
    total->step_loss[k] += sums->step_loss[k];
    total->step_weight[k] += sums->step_weight[k];
  }
}

/* Shard by shard, so that sums have one order wherever the batch was learned. */
static void add_stats(mz_learner *l, const mz_batch *b, const mz_update_report *report, float *errors, mz_learning_stats *total) {
  const int shards = (int)l->settings.update.shards, rows = b->rows / shards;
  double squares = 0, trained = 0;
  total->updates++;
  total->rows += b->rows;
  total->loss += report->loss;
  total->gradient_norm += report->norm;
  total->latent_spread += report->latent_spread;
  memset(l->row_losses, 0, (size_t)b->rows * sizeof *l->row_losses);
  for (int s = 0; s < shards; s++) {
    mz_learning_stats sums = {0};
    add_values(b, report->value, s * rows, rows, errors, &sums);
    for (int k = 0; k <= l->settings.update.loss.unroll; k++) {
      add_losses(l, b, report, k, s * rows, rows, &sums);
      count_clamped(l, b, k, s * rows, rows, &sums);
    }
    add_sums(l, b, &sums, total);
    squares += sums.value_squared, trained += (double)sums.value_rows;
  }
  l->seen = (mz_update_seen){report->loss, report->norm, trained > 0 ? sqrt(squares / trained) : 0};
}

/* ---- updates ---- */

/* A bin is found for any number, so that the loss would not show one that is none. */
static mz_status check_targets(const mz_learner *l, const mz_batch *b) {
  const size_t count = (size_t)(b->unroll + 1) * (size_t)b->rows;
  const char *const what = !mz_all_finite(b->value, count) ? "value" : !mz_all_finite(b->reward, count) ? "reward" : NULL;
  if (!what) return MZ_OK;
  return mz_fail(MZ_E_DIVERGED, "update %lld: the target of a %s is not finite", (long long)l->optimizer.steps + 1, what);
}

double mz_learner_rate(const mz_learner *l) {
  const mz_optimizer_settings *optimizer = &l->settings.update.optimizer;
  return l->positioned ? mz_learning_rate_at(optimizer, &l->position)
                       : mz_learning_rate(optimizer, l->optimizer.steps, l->settings.horizon);
}

static mz_update_step step_of(const mz_learner *l) {
  const int64_t steps = l->optimizer.steps;
  /* The average follows closely while it is young. */
  const double young = (double)(2 + steps) / (double)(11 + steps);
  return (mz_update_step){.rate = mz_learner_rate(l),
                          .average_decay = young < l->settings.update.average ? young : l->settings.update.average,
                          .shard_squares = l->settings.update.shards > 1 && steps % NOISE_EVERY == 0};
}

mz_status mz_learner_update(mz_learner *l, const mz_batch *batch, float *errors, mz_learning_stats *stats) {
  MZ_ASSERT(batch->observed >= mz_loss_observed(&l->settings.update.loss));
  const mz_update_rows rows = rows_of(batch);
  const mz_update_step step = step_of(l);
  mz_update_report report;
  MZ_TRY(check_targets(l, batch));
  MZ_TRY(mz_update_run(l->update, &rows, &step, &report));
  if (!isfinite(report.loss) || !isfinite(report.norm))
    return mz_fail(MZ_E_DIVERGED, "update %lld: the %s is not finite (loss %g, gradient norm %g)",
                   (long long)l->optimizer.steps + 1, isfinite(report.loss) ? "gradient" : "loss", report.loss, report.norm);
  l->position.update++;
  if (step.shard_squares) add_noise(l, &report, &stats->noise);
  add_stats(l, batch, &report, errors, stats);
  return MZ_OK;
}

mz_status mz_learner_probe(mz_learner *l, const mz_batch *batch, double *loss) {
  const mz_update_rows rows = rows_of(batch);
  return mz_update_probe(l->update, &rows, loss);
}
