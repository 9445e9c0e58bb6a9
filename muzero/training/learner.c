#include "muzero/training/learner.h"
#include "base/arena.h"
#include "networks/tape/backend.h"
#include "networks/parameters/shard_sum.h"
#include <math.h>
#include <string.h>

typedef struct lane { /* what a worker needs: made when it first works, never state */
  mz_tape *tape;
  mz_loss loss;
} lane;

typedef struct shard_stats {
  double loss, square; /* square: |gradient|², where noise is measured */
  mz_learning_stats sums;
} shard_stats;

struct mz_learner {
  const mz_model *model;
  const mz_backend *backend;
  mz_learner_settings settings;
  mz_pool *pool;
  mz_optimizer optimizer;
  lane *lanes; /* [MZ_POOL_MAX] */
  int shard_rows, chunks;
  void *block;
  float *weights, *average;   /* [params.size] */
  float *packed, *transposed; /* [params.packed] as forward (NULL: it reads the weights as they are) and backward read them */
  mz_shard_sum sum;
  double *squares;    /* [chunks] Σ g² */
  float *row_losses;  /* [batch_size] */
  shard_stats *stats; /* [shards] */
  /* of the update under way */
  const mz_batch *batch;
  float *errors;
  bool measures_noise;
  float scale;
  double rate, average_decay;
};

enum {
  CHUNKS_A_TASK = 8,
  NOISE_EVERY = 16,   /* updates between two of which the noise is measured */
  SHARED_CHUNKS = 64, /* below this many chunks the caller steps alone: waking another thread costs as much */
};

static void carve(mz_learner *l, mz_carver *carver) {
  const mz_params *params = &l->model->params;
  const size_t size = (size_t)params->size, packed = (size_t)params->packed;
  mz_carve(carver, &l->weights, size, sizeof(float));
  mz_carve(carver, &l->transposed, packed, sizeof(float));
  if (l->backend->pack_forward && mz_params_convolve(params)) mz_carve(carver, &l->packed, packed, sizeof(float));
  if (l->settings.average > 0) mz_carve(carver, &l->average, size, sizeof(float));
  mz_carve(carver, &l->squares, (size_t)l->chunks, sizeof(double));
  mz_carve(carver, &l->row_losses, (size_t)l->settings.batch_size, sizeof(float));
  mz_carve(carver, &l->stats, (size_t)l->settings.shards, sizeof(shard_stats));
  mz_carve(carver, &l->lanes, MZ_POOL_MAX, sizeof(lane));
}

mz_status mz_learner_create(mz_learner **out, const mz_model *model, const mz_backend *backend,
                            const mz_learner_settings *settings, mz_pool *pool) {
  MZ_ASSERT(backend->element_size == sizeof(float));
  MZ_ASSERT(settings->batch_size % settings->shards == 0);
  mz_learner *l;
  MZ_TRY(mz_alloc(&l, 1, sizeof *l));
  l->model = model;
  l->backend = backend;
  l->settings = *settings;
  l->pool = pool;
  l->shard_rows = (int)(settings->batch_size / settings->shards);
  l->chunks = mz_chunk_count(&model->params);
  mz_carver carver = {0};
  carve(l, &carver);
  mz_status status = mz_carve_commit(&carver, &l->block);
  if (status == MZ_OK) status = mz_shard_sum_init(&l->sum, (int)settings->shards, model->params.size);
  if (status == MZ_OK) status = mz_optimizer_init(&l->optimizer, &settings->optimizer, &model->params);
  if (status != MZ_OK) {
    mz_learner_free(l);
    return status;
  }
  *out = l;
  return MZ_OK;
}

double mz_learner_bytes(const mz_model *model, const mz_backend *backend, const mz_learner_settings *settings) {
  mz_learner l = {.model = model, .backend = backend, .settings = *settings, .chunks = mz_chunk_count(&model->params)};
  mz_carver carver = {0};
  carve(&l, &carver);
  const double moments = settings->optimizer.kind == MZ_ADAM ? 2 : 1;
  return (double)carver.bytes + (moments + (double)settings->shards) * (double)model->params.size * sizeof(float);
}

void mz_learner_free(mz_learner *l) {
  if (!l) return;
  if (l->lanes)
    for (int i = 0; i < MZ_POOL_MAX; i++) mz_tape_free(l->lanes[i].tape);
  mz_optimizer_deinit(&l->optimizer);
  mz_shard_sum_deinit(&l->sum);
  free(l->block);
  free(l);
}

float *mz_learner_weights(mz_learner *l) { return l->weights; }
float *mz_learner_average(mz_learner *l) { return l->average; }
mz_optimizer *mz_learner_optimizer(mz_learner *l) { return &l->optimizer; }
const float *mz_learner_row_losses(const mz_learner *l) { return l->row_losses; }

static mz_status run_pack(void *context, int task, int worker) {
  (void)worker;
  mz_learner *l = context;
  const mz_param *param = &l->model->params.items[task];
  const bool bf16 = l->model->train_bf16;
  if (l->packed) MZ_TRY(l->backend->pack_forward(param, l->weights, bf16, l->packed));
  return l->backend->pack_backward ? l->backend->pack_backward(param, l->weights, bf16, l->transposed) : MZ_OK;
}

/* For steps over all parameters: in parallel where there are many. */
static mz_status run_shared(mz_learner *l, mz_task task, int tasks) {
  if (l->chunks >= SHARED_CHUNKS) return mz_pool_run(l->pool, task, l, tasks);
  for (int i = 0; i < tasks; i++) MZ_TRY(task(l, i, 0));
  return MZ_OK;
}

mz_status mz_learner_weights_changed(mz_learner *l) { return run_shared(l, run_pack, l->model->params.count); }

static mz_status record(const mz_model *model, const mz_backend *backend, const mz_learner_settings *settings, mz_loss *loss,
                        mz_tape **out) {
  MZ_TRY(mz_tape_create(out, backend, &model->params, (int)(settings->batch_size / settings->shards), true));
  mz_tape_set_share(*out, 1.0 / (double)settings->shards);
  mz_loss_build(loss, model, &settings->loss, *out);
  return MZ_OK;
}

mz_status mz_learner_thread_bytes(const mz_model *model, const mz_backend *backend, const mz_learner_settings *settings,
                                  double *bytes) {
  mz_tape *tape;
  mz_loss loss;
  size_t size = 0;
  MZ_TRY(record(model, backend, settings, &loss, &tape));
  const mz_status status = mz_tape_measure(tape, &size);
  mz_tape_free(tape);
  *bytes = (double)size;
  return status;
}

static mz_status lane_prepare(mz_learner *l, lane *own) {
  if (own->tape) return MZ_OK;
  mz_tape *tape;
  MZ_TRY(record(l->model, l->backend, &l->settings, &own->loss, &tape));
  mz_status status = mz_tape_plan(tape);
  if (status != MZ_OK) {
    mz_tape_free(tape);
    return status;
  }
  own->tape = tape;
  return MZ_OK;
}

static float *at(lane *own, mz_value value) { return mz_tape_at(own->tape, value)->data; }

static void write_categorical(lane *own, mz_value value, const mz_support *support, const float *scalars, int rows) {
  mz_tape_value *target = mz_tape_at(own->tape, value);
  for (int r = 0; r < rows; r++) mz_two_hot(support, scalars[r], (float *)target->data + (size_t)r * (size_t)target->stride);
}

/* Rows first … first+rows−1 of the batch into the tape's inputs. */
static void write_inputs(mz_learner *l, lane *own, int first, int rows) {
  const mz_batch *b = l->batch;
  const mz_model *m = l->model;
  const mz_loss *loss = &own->loss;
  mz_tape_write(own->tape, loss->obs, b->obs + (size_t)first * (size_t)m->obs_size, rows);
  for (int k = 0; k <= loss->unroll; k++) {
    size_t at_step = (size_t)k * (size_t)b->rows + (size_t)first;
    mz_tape_write(own->tape, loss->policy_target[k], b->policy + at_step * (size_t)m->actions, rows);
    write_categorical(own, loss->value_target[k], &m->value, b->value + at_step, rows);
    mz_tape_write(own->tape, loss->policy_weight[k], b->policy_weight + at_step, rows);
    mz_tape_write(own->tape, loss->value_weight[k], b->value_weight + at_step, rows);
    if (loss->next_obs[k] >= 0) {
      mz_tape_write(own->tape, loss->next_obs[k], b->obs + at_step * (size_t)m->obs_size, rows);
      mz_tape_write(own->tape, loss->next_weight[k], b->obs_weight + at_step, rows);
    }
    if (k == 0) continue;
    memcpy(mz_tape_index_at(own->tape, loss->action[k]), b->action + at_step, (size_t)rows * sizeof(int32_t));
    write_categorical(own, loss->reward_target[k], &m->reward, b->reward + at_step, rows);
    mz_tape_write(own->tape, loss->reward_weight[k], b->reward_weight + at_step, rows);
  }
}

/* Mean over latent units of their standard deviation over the rows. */
static double latent_spread(lane *own, int rows) {
  const mz_tape_value *latent = mz_tape_at(own->tape, own->loss.heads[0].latent);
  double total = 0;
  for (int c = 0; c < latent->columns; c++) {
    double sum = 0, squares = 0;
    for (int r = 0; r < rows; r++) {
      double x = ((const float *)latent->data)[(size_t)r * (size_t)latent->stride + (size_t)c];
      sum += x;
      squares += x * x;
    }
    double variance = squares / rows - sum / rows * (sum / rows);
    total += variance > 0 ? sqrt(variance) : 0;
  }
  return total / latent->columns;
}

static void read_results(mz_learner *l, lane *own, int first, int rows, shard_stats *stats) {
  const mz_batch *b = l->batch;
  const mz_loss *loss = &own->loss;
  mz_learning_stats *sums = &stats->sums;
  memset(stats, 0, sizeof *stats);
  stats->loss = mz_tape_loss(own->tape);
  const mz_tape_value *logits = mz_tape_at(own->tape, loss->heads[0].value);
  for (int r = 0; r < rows; r++) {
    float value = mz_support_expectation(&l->model->value, (const float *)logits->data + (size_t)r * (size_t)logits->stride);
    float target = b->value[first + r];
    l->errors[first + r] = fabsf(value - target);
    sums->value += value;
    sums->value_squared += (double)value * value;
    sums->target += target;
    sums->target_squared += (double)target * target;
    sums->value_target += (double)value * target;
    l->row_losses[first + r] = 0;
  }
  for (int k = 0; k <= loss->unroll; k++) {
    const float *policy = at(own, loss->policy_loss[k]), *value = at(own, loss->value_loss[k]);
    const float *reward = k ? at(own, loss->reward_loss[k]) : NULL;
    const float *policy_on = b->policy_weight + (size_t)k * (size_t)b->rows + first,
                *value_on = b->value_weight + (size_t)k * (size_t)b->rows + first;
    for (int r = 0; r < rows; r++) { /* a value of one column has a stride of MZ_LANES */
      double p = policy_on[r] > 0 ? policy[r * MZ_LANES] : 0, v = value_on[r] > 0 ? value[r * MZ_LANES] : 0;
      sums->policy_loss += p;
      sums->value_loss += v;
      double of_reward =
          reward && b->reward_weight[(size_t)k * (size_t)b->rows + (size_t)(first + r)] > 0 ? reward[r * MZ_LANES] : 0;
      sums->reward_loss += of_reward;
      l->row_losses[first + r] += (float)(p + v + of_reward);
      if (policy_on[r] > 0) {
        sums->step_loss[k] += p + v;
        sums->step_weight[k] += 1;
      }
    }
  }
  if (first == 0) sums->latent_spread = latent_spread(own, rows);
}

static double gradient_square(const mz_learner *l, const float *gradient) {
  double square = 0;
  for (int c = 0; c < l->chunks; c++) square += mz_gradient_squares_chunk(gradient, l->model->params.trained, c);
  return square;
}

static mz_status run_shard(void *context, int shard, int worker) {
  mz_learner *l = context;
  lane *own = &l->lanes[worker];
  MZ_TRY(lane_prepare(l, own));
  int first = shard * l->shard_rows;
  write_inputs(l, own, first, l->shard_rows);
  const float *weights = l->packed ? l->packed : l->weights;
  mz_tape_forward(own->tape, weights, l->shard_rows);
  mz_tape_backward(own->tape, weights, l->transposed, l->sum.gradients[shard], l->shard_rows);
  const double square = l->measures_noise ? gradient_square(l, l->sum.gradients[shard]) : 0; /* before it is summed */
  mz_shard_sum_arrive(&l->sum, shard);
  read_results(l, own, first, l->shard_rows, &l->stats[shard]);
  l->stats[shard].square = square;
  return MZ_OK;
}

static mz_status run_squares(void *context, int task, int worker) {
  (void)worker;
  mz_learner *l = context;
  for (int c = task * CHUNKS_A_TASK; c < (task + 1) * CHUNKS_A_TASK && c < l->chunks; c++)
    l->squares[c] = mz_gradient_squares_chunk(l->sum.gradients[0], l->model->params.trained, c);
  return MZ_OK;
}

static void average_chunk(mz_learner *l, int chunk) {
  int64_t first = (int64_t)chunk * MZ_CHUNK, end = first + MZ_CHUNK;
  if (end > l->model->params.size) end = l->model->params.size;
  float decay = (float)l->average_decay;
  for (int64_t i = first; i < end; i++) l->average[i] += (1 - decay) * (l->weights[i] - l->average[i]);
}

static mz_status run_step(void *context, int task, int worker) {
  (void)worker;
  mz_learner *l = context;
  for (int c = task * CHUNKS_A_TASK; c < (task + 1) * CHUNKS_A_TASK && c < l->chunks; c++) {
    mz_optimizer_step_chunk(&l->optimizer, c, l->sum.gradients[0], l->scale, l->rate, l->weights);
    if (l->average) average_chunk(l, c);
  }
  return MZ_OK;
}

static mz_status run_over_chunks(mz_learner *l, mz_task task) {
  return run_shared(l, task, (l->chunks + CHUNKS_A_TASK - 1) / CHUNKS_A_TASK);
}

/* A shard's gradient is its part of the batch's mean: the mean over its own rows is `shards` times as much. */
static void add_noise(const mz_learner *l, double norm, mz_gradient_noise *noise) {
  const double shards = (double)l->settings.shards;
  noise->updates++;
  for (int s = 0; s < l->settings.shards; s++) noise->shard_square += shards * l->stats[s].square;
  noise->batch_square += norm * norm;
}

static void add_stats(mz_learner *l, double loss, double norm, mz_learning_stats *total) {
  total->updates++;
  total->rows += l->batch->rows;
  total->loss += loss;
  total->gradient_norm += norm;
  if (l->measures_noise) add_noise(l, norm, &total->noise);
  for (int s = 0; s < l->settings.shards; s++) {
    const mz_learning_stats *sums = &l->stats[s].sums;
    total->policy_loss += sums->policy_loss / l->batch->rows;
    total->value_loss += sums->value_loss / l->batch->rows;
    total->reward_loss += sums->reward_loss / l->batch->rows;
    total->value += sums->value;
    total->value_squared += sums->value_squared;
    total->target += sums->target;
    total->target_squared += sums->target_squared;
    total->value_target += sums->value_target;
    total->latent_spread += sums->latent_spread;
    for (int k = 0; k <= l->settings.loss.unroll; k++) {
      total->step_loss[k] += sums->step_loss[k];
      total->step_weight[k] += sums->step_weight[k];
    }
  }
}

mz_status mz_learner_update(mz_learner *l, const mz_batch *batch, float *errors, mz_learning_stats *stats) {
  MZ_ASSERT(batch->rows == l->settings.batch_size && batch->unroll == l->settings.loss.unroll);
  MZ_ASSERT(batch->observed >= mz_loss_observed(&l->settings.loss));
  l->batch = batch;
  l->errors = errors;
  l->measures_noise = l->settings.shards > 1 && l->optimizer.steps % NOISE_EVERY == 0;
  MZ_TRY(mz_pool_run(l->pool, run_shard, l, (int)l->settings.shards));
  MZ_TRY(run_over_chunks(l, run_squares));
  double square = 0, loss = 0;
  for (int c = 0; c < l->chunks; c++) square += l->squares[c];
  for (int s = 0; s < l->settings.shards; s++) loss += l->stats[s].loss;
  double norm = sqrt(square);
  if (!isfinite(loss) || !isfinite(norm))
    return mz_fail(MZ_E_DIVERGED, "update %lld: the %s is not finite (loss %g, gradient norm %g)",
                   (long long)l->optimizer.steps + 1, isfinite(loss) ? "gradient" : "loss", loss, norm);
  l->scale = mz_clip_scale(&l->settings.optimizer, norm);
  l->rate = mz_learning_rate(&l->settings.optimizer, l->optimizer.steps, l->settings.horizon);
  l->optimizer.steps++;
  /* The average follows closely while it is young. */
  double young = (double)(1 + l->optimizer.steps) / (double)(10 + l->optimizer.steps);
  l->average_decay = young < l->settings.average ? young : l->settings.average;
  MZ_TRY(run_over_chunks(l, run_step));
  MZ_TRY(mz_learner_weights_changed(l));
  add_stats(l, loss, norm, stats);
  return MZ_OK;
}

mz_status mz_learner_probe(mz_learner *l, const mz_batch *batch, double *loss) {
  lane *own = &l->lanes[0];
  MZ_TRY(lane_prepare(l, own));
  l->batch = batch;
  write_inputs(l, own, 0, l->shard_rows);
  mz_tape_forward(own->tape, l->packed ? l->packed : l->weights, l->shard_rows);
  *loss = mz_tape_loss(own->tape);
  return MZ_OK;
}
