#include "networks/cpu/update.h"
#include "base/arena.h"
#include "base/threads/pool.h"
#include "networks/math/optimizer_step.h"
#include "networks/parameters/shard_sum.h"
#include "networks/tape/tape_state.h"
#include <math.h>
#include <string.h>

typedef struct shard_tape { /* what a worker needs: made when it first works */
  mz_tape *tape;
  mz_loss loss;
} shard_tape;

typedef struct shard_result {
  double loss, square; /* square: |gradient|², where it was asked for */
} shard_result;

typedef struct update {
  mz_update base;
  const mz_model *model;
  mz_update_settings settings;
  mz_update_vectors vectors;
  mz_pool *pool;
  shard_tape *tapes; /* [MZ_POOL_MAX] */
  int threads;       /* that may have one */
  int shard_rows, chunks;
  void *block;
  int64_t *layout;            /* [params.count] */
  float *packed, *transposed; /* as forward (NULL: it reads the weights as they are) and backward read them */
  mz_shard_sum sum;
  double *squares;                                       /* [chunks] Σ g² */
  shard_result *results;                                 /* [shards] */
  float *value, *policy_loss, *value_loss, *reward_loss; /* of the report */
  /* of the run under way */
  const mz_update_rows *rows;
  mz_update_step step;
  double latent_spread;
  float scale;
} update;

enum {
  CHUNKS_A_TASK = 8,
  SHARED_CHUNKS = 64, /* below this many chunks the caller steps alone: waking another thread costs as much */
};

static const mz_backend *const backend = &mz_backend_cpu;

static void carve(update *u, mz_carver *carver) {
  const mz_params *params = &u->model->params;
  const size_t packed = (size_t)mz_backend_layout(backend, params, NULL), rows = (size_t)u->settings.batch_size;
  const size_t losses = ((size_t)u->settings.loss.unroll + 1) * rows;
  mz_carve(carver, &u->layout, (size_t)params->count, sizeof(int64_t));
  mz_carve(carver, &u->transposed, packed, sizeof(float));
  if (mz_params_convolve(params)) mz_carve(carver, &u->packed, packed, sizeof(float));
  mz_carve(carver, &u->squares, (size_t)u->chunks, sizeof(double));
  mz_carve(carver, &u->value, rows, sizeof(float));
  mz_carve(carver, &u->policy_loss, losses, sizeof(float));
  mz_carve(carver, &u->value_loss, losses, sizeof(float));
  mz_carve(carver, &u->reward_loss, losses, sizeof(float));
  mz_carve(carver, &u->results, (size_t)u->settings.shards, sizeof(shard_result));
  mz_carve(carver, &u->tapes, MZ_POOL_MAX, sizeof(shard_tape));
}

static update *of(mz_update *base) { return (update *)base; }

static void destroy(mz_update *base) {
  update *u = of(base);
  if (u->tapes)
    for (int i = 0; i < MZ_POOL_MAX; i++) mz_tape_free(u->tapes[i].tape);
  mz_shard_sum_deinit(&u->sum);
  free(u->block);
  free(u);
}

static mz_status create(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                        const mz_update_vectors *vectors, mz_pool *pool) {
  update *u;
  MZ_TRY(mz_model_check(model, where, true));
  MZ_TRY(mz_alloc(&u, 1, sizeof *u));
  *u = (update){.base = {&mz_cpu_updater}, .model = model, .settings = *settings, .vectors = *vectors, .pool = pool};
  u->shard_rows = (int)(settings->batch_size / settings->shards);
  u->chunks = mz_chunk_count(&model->params);
  mz_carver carver = {0};
  carve(u, &carver);
  mz_status status = mz_carve_commit(&carver, &u->block);
  if (status == MZ_OK) status = mz_shard_sum_init(&u->sum, (int)settings->shards, model->params.size);
  if (status != MZ_OK) {
    destroy(&u->base);
    return status;
  }
  mz_backend_layout(backend, &model->params, u->layout);
  *out = &u->base;
  return MZ_OK;
}

static mz_lane_bytes bytes_of(const mz_model *model, const mz_update_settings *settings) {
  update u = {.model = model, .settings = *settings, .chunks = mz_chunk_count(&model->params)};
  mz_carver carver = {0};
  carve(&u, &carver);
  return (mz_lane_bytes){.device = (double)carver.bytes + (double)settings->shards * (double)model->params.size * sizeof(float)};
}

/* ---- the weights as tapes read them ---- */

static mz_status run_pack(void *context, int task, int worker) {
  (void)worker;
  update *u = context;
  const mz_param *param = &u->model->params.items[task];
  const float *values = u->vectors.weights + param->offset;
  const bool bf16 = u->model->train_bf16;
  if (u->packed) MZ_TRY(backend->pack_forward(&mz_lane_cpu, param, values, bf16, u->packed + u->layout[task]));
  return backend->pack_backward(&mz_lane_cpu, param, values, bf16, u->transposed + u->layout[task]);
}

/* For steps over all parameters: in parallel where there are many. */
static mz_status run_shared(update *u, mz_task task, int tasks) {
  if (u->chunks >= SHARED_CHUNKS) return mz_pool_run(u->pool, task, u, tasks);
  for (int i = 0; i < tasks; i++) MZ_TRY(task(u, i, 0));
  return MZ_OK;
}

static mz_status changed(mz_update *base) { return run_shared(of(base), run_pack, of(base)->model->params.count); }

/* ---- a shard ---- */

static mz_status tape_prepare(update *u, shard_tape *own) {
  if (own->tape) return MZ_OK;
  mz_tape *tape;
  MZ_TRY(mz_update_record(&tape, &mz_lane_cpu, u->model, &u->settings, &own->loss));
  mz_status status = mz_tape_plan(tape);
  if (status != MZ_OK) {
    mz_tape_free(tape);
    return status;
  }
  own->tape = tape;
  return MZ_OK;
}

static const float *at(shard_tape *own, mz_value value) { return mz_tape_at(own->tape, value)->data; }

static void write_categorical(shard_tape *own, mz_value value, const mz_support *support, const float *scalars, int rows) {
  mz_tape_value *target = mz_tape_at(own->tape, value);
  for (int r = 0; r < rows; r++) mz_two_hot(support, scalars[r], (float *)target->data + (size_t)r * (size_t)target->stride);
}

static mz_status write_step(const update *u, shard_tape *own, int k, int first) {
  const mz_update_rows *b = u->rows;
  const mz_model *m = u->model;
  const mz_loss *loss = &own->loss;
  const size_t at_step = (size_t)k * (size_t)b->rows + (size_t)first;
  const int rows = u->shard_rows;
  MZ_TRY(mz_tape_put(own->tape, loss->policy_target[k], 0, b->policy + at_step * (size_t)m->actions, rows));
  write_categorical(own, loss->value_target[k], &m->value, b->value + at_step, rows);
  MZ_TRY(mz_tape_put(own->tape, loss->policy_weight[k], 0, b->policy_weight + at_step, rows));
  MZ_TRY(mz_tape_put(own->tape, loss->value_weight[k], 0, b->value_weight + at_step, rows));
  if (loss->next_obs[k] >= 0) {
    MZ_TRY(mz_tape_put(own->tape, loss->next_obs[k], 0, b->obs + at_step * (size_t)m->obs_size, rows));
    MZ_TRY(mz_tape_put(own->tape, loss->next_weight[k], 0, b->obs_weight + at_step, rows));
  }
  if (k == 0) return MZ_OK;
  MZ_TRY(mz_tape_put_list(own->tape, loss->action[k], 0, b->action + at_step, rows));
  write_categorical(own, loss->reward_target[k], &m->reward, b->reward + at_step, rows);
  if (loss->turn_target[k] >= 0) {
    write_categorical(own, loss->turn_target[k], &mz_model_turn_support, b->turn + at_step, rows);
    MZ_TRY(mz_tape_put(own->tape, loss->turn_weight[k], 0, b->turn_weight + at_step, rows));
  }
  return mz_tape_put(own->tape, loss->reward_weight[k], 0, b->reward_weight + at_step, rows);
}

/* Rows first … first + shard_rows − 1 of the batch into the tape's inputs. */
static mz_status write_inputs(const update *u, shard_tape *own, int first) {
  const size_t seen = (size_t)first * (size_t)u->model->obs_size;
  MZ_TRY(mz_tape_put(own->tape, own->loss.obs, 0, u->rows->obs + seen, u->shard_rows));
  for (int k = 0; k <= own->loss.unroll; k++) MZ_TRY(write_step(u, own, k, first));
  return MZ_OK;
}

static double latent_spread(shard_tape *own, int rows) {
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

/* A value of one column has a stride of MZ_LANES. */
static void read_losses(shard_tape *own, mz_value loss, float *out, int rows) {
  const float *from = at(own, loss);
  for (int r = 0; r < rows; r++) out[r] = from[r * MZ_LANES];
}

static mz_status read_results(update *u, shard_tape *own, int shard) {
  const mz_loss *loss = &own->loss;
  const int first = shard * u->shard_rows, rows = u->shard_rows;
  const mz_tape_value *logits = mz_tape_at(own->tape, loss->heads[0].value);
  for (int r = 0; r < rows; r++)
    u->value[first + r] =
        mz_support_expectation(&u->model->value, (const float *)logits->data + (size_t)r * (size_t)logits->stride);
  for (int k = 0; k <= loss->unroll; k++) {
    const size_t at_step = (size_t)k * (size_t)u->rows->rows + (size_t)first;
    read_losses(own, loss->policy_loss[k], u->policy_loss + at_step, rows);
    read_losses(own, loss->value_loss[k], u->value_loss + at_step, rows);
    if (k > 0) read_losses(own, loss->reward_loss[k], u->reward_loss + at_step, rows);
  }
  if (shard == 0) u->latent_spread = latent_spread(own, rows);
  return mz_tape_loss(own->tape, &u->results[shard].loss);
}

static double gradient_square(const update *u, const float *gradient) {
  double square = 0;
  for (int c = 0; c < u->chunks; c++) square += mz_gradient_squares_chunk(gradient, u->model->params.trained, c);
  return square;
}

static const float *forward_weights(const update *u) { return u->packed ? u->packed : u->vectors.weights; }

static mz_status run_shard(void *context, int shard, int worker) {
  update *u = context;
  shard_tape *own = &u->tapes[worker];
  MZ_TRY(tape_prepare(u, own));
  MZ_TRY(write_inputs(u, own, shard * u->shard_rows));
  MZ_TRY(mz_tape_forward(own->tape, forward_weights(u), u->shard_rows));
  MZ_TRY(mz_tape_backward(own->tape, forward_weights(u), u->transposed, u->sum.gradients[shard], u->shard_rows));
  if (u->step.shard_squares) u->results[shard].square = gradient_square(u, u->sum.gradients[shard]); /* before it is summed */
  mz_shard_sum_arrive(&u->sum, shard);
  return read_results(u, own, shard);
}

/* ---- the step ---- */

static mz_status run_squares(void *context, int task, int worker) {
  (void)worker;
  update *u = context;
  for (int c = task * CHUNKS_A_TASK; c < (task + 1) * CHUNKS_A_TASK && c < u->chunks; c++)
    u->squares[c] = mz_gradient_squares_chunk(u->sum.gradients[0], u->model->params.trained, c);
  return MZ_OK;
}

static void average_chunk(update *u, int chunk) {
  int64_t first = (int64_t)chunk * MZ_CHUNK, end = first + MZ_CHUNK;
  if (end > u->model->params.size) end = u->model->params.size;
  const float decay = (float)u->step.average_decay, *weights = u->vectors.weights;
  float *average = u->vectors.average;
  for (int64_t i = first; i < end; i++) mz_average_inline(decay, weights[i], &average[i]);
}

static mz_status run_step(void *context, int task, int worker) {
  (void)worker;
  update *u = context;
  for (int c = task * CHUNKS_A_TASK; c < (task + 1) * CHUNKS_A_TASK && c < u->chunks; c++) {
    mz_optimizer_step_chunk(u->vectors.optimizer, c, u->sum.gradients[0], u->scale, u->step.rate, u->vectors.weights);
    if (u->vectors.average) average_chunk(u, c);
  }
  return MZ_OK;
}

static mz_status run_over_chunks(update *u, mz_task task) {
  return run_shared(u, task, (u->chunks + CHUNKS_A_TASK - 1) / CHUNKS_A_TASK);
}

/* Threads that the pool no longer has leave nothing. */
static void free_idle(update *u) {
  const int threads = mz_pool_threads(u->pool);
  for (int i = threads; i < u->threads; i++) {
    mz_tape_free(u->tapes[i].tape);
    u->tapes[i].tape = NULL;
  }
  u->threads = threads;
}

static mz_status run(mz_update *base, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report) {
  update *u = of(base);
  MZ_ASSERT(rows->rows == u->settings.batch_size && rows->unroll == u->settings.loss.unroll);
  free_idle(u);
  u->rows = rows;
  u->step = *step;
  MZ_TRY(mz_pool_run(u->pool, run_shard, u, (int)u->settings.shards));
  MZ_TRY(run_over_chunks(u, run_squares));
  double square = 0;
  for (int c = 0; c < u->chunks; c++) square += u->squares[c];
  *report = (mz_update_report){.norm = sqrt(square),
                               .latent_spread = u->latent_spread,
                               .value = u->value,
                               .policy_loss = u->policy_loss,
                               .value_loss = u->value_loss,
                               .reward_loss = u->reward_loss};
  for (int s = 0; s < u->settings.shards; s++) {
    report->loss += u->results[s].loss;
    if (step->shard_squares) report->shard_square += u->results[s].square;
  }
  if (!isfinite(report->loss) || !isfinite(report->norm)) return MZ_OK;
  u->scale = mz_clip_scale(&u->settings.optimizer, report->norm);
  u->vectors.optimizer->steps++;
  MZ_TRY(run_over_chunks(u, run_step));
  return changed(base);
}

static mz_status probe(mz_update *base, const mz_update_rows *rows, double *loss) {
  update *u = of(base);
  shard_tape *own = &u->tapes[0];
  MZ_TRY(tape_prepare(u, own));
  u->rows = rows;
  MZ_TRY(write_inputs(u, own, 0));
  MZ_TRY(mz_tape_forward(own->tape, forward_weights(u), u->shard_rows));
  return mz_tape_loss(own->tape, loss);
}

const mz_updater mz_cpu_updater = {
    .create = create,
    .free = destroy,
    .bytes = bytes_of,
    .changed = changed,
    .run = run,
    .probe = probe,
};
