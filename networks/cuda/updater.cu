#include "networks/cuda/updater.cuh"
#include "networks/cuda/inputs.cuh"
#include "networks/cuda/losses.cuh"
#include "networks/cuda/update.cuh"
extern "C" {
#include "base/arena.h"
}
#include <math.h>
#include <string.h>

typedef struct batch { /* as mz_update_rows, in the device's memory */
  float *obs, *obs_weight, *policy, *value, *reward, *policy_weight, *value_weight, *reward_weight;
  float *turn, *turn_weight; /* NULL where the model tells no turns */
  int32_t *action;
} batch;

typedef struct outcome { /* what an update is asked for afterwards, in the device's memory */
  double *losses;        /* [shards][loss nodes] */
  double *shard_squares; /* [shards] */
  double *latent_spread;
  mz_cuda_decision *decision;
  float *value;   /* [rows] */
  float *columns; /* [shards][(unroll + 1) · MZ_CUDA_LOSS_KINDS][shard rows] */
} outcome;

typedef struct update {
  mz_update base;
  const mz_model *model;
  mz_update_settings settings;
  mz_update_vectors vectors;
  mz_lane lane;
  mz_tape *tape;
  mz_loss loss;
  int shard_rows, loss_count;
  mz_cuda_update rules;
  void *block; /* in the device's memory; all below, too */
  float *weights, *packed, *average, *moment1, *moment2;
  float *gradient, *gradients; /* of a shard; [shards][size] */
  double *squares, *spreads;   /* [chunks]; [latent] */
  batch rows;
  outcome out;
  void *host; /* of the report */
  double *losses, *shard_squares, latent_spread;
  mz_cuda_decision decision;
  float *value, *columns, *policy_loss, *value_loss, *reward_loss;
} update;

static update *of(mz_update *base) { return (update *)base; }

/* ---- memory ---- */

template <typename T> static void take(mz_carver *carver, T **out, size_t count) { mz_carve(carver, out, count, sizeof **out); }

static void carve_batch(update *u, mz_carver *carver) {
  const mz_model *m = u->model;
  const size_t rows = (size_t)u->settings.batch_size, steps = (size_t)u->settings.loss.unroll + 1;
  const size_t observed = (size_t)mz_loss_observed(&u->settings.loss);
  take(carver, &u->rows.obs, observed * rows * (size_t)m->obs_size);
  take(carver, &u->rows.obs_weight, observed * rows);
  take(carver, &u->rows.policy, steps * rows * (size_t)m->actions);
  float **const scalars[] = {&u->rows.value, &u->rows.reward, &u->rows.policy_weight, &u->rows.value_weight,
                             &u->rows.reward_weight};
  for (float **scalar : scalars) take(carver, scalar, steps * rows);
  if (m->tells_turns) {
    take(carver, &u->rows.turn, steps * rows);
    take(carver, &u->rows.turn_weight, steps * rows);
  }
  take(carver, &u->rows.action, steps * rows);
}

static void carve_device(update *u, mz_carver *carver) {
  const mz_model *m = u->model;
  const size_t size = (size_t)m->params.size, rows = (size_t)u->settings.batch_size, steps = (size_t)u->settings.loss.unroll + 1;
  const size_t shards = (size_t)u->settings.shards;
  take(carver, &u->weights, size);
  if (mz_params_convolve(&m->params)) take(carver, &u->packed, size);
  if (u->settings.average > 0) take(carver, &u->average, size);
  take(carver, &u->moment1, size);
  if (u->settings.optimizer.kind == MZ_ADAM) take(carver, &u->moment2, size);
  take(carver, &u->gradient, size);
  take(carver, &u->gradients, shards * size);
  take(carver, &u->squares, (size_t)mz_chunk_count(&m->params));
  take(carver, &u->spreads, (size_t)m->latent);
  carve_batch(u, carver);
  take(carver, &u->out.losses, shards * (size_t)u->loss_count);
  take(carver, &u->out.shard_squares, shards);
  take(carver, &u->out.latent_spread, 1);
  take(carver, &u->out.decision, 1);
  take(carver, &u->out.value, rows);
  take(carver, &u->out.columns, steps * rows * MZ_CUDA_LOSS_KINDS);
}

static void carve_host(update *u, mz_carver *carver) {
  const size_t rows = (size_t)u->settings.batch_size, steps = (size_t)u->settings.loss.unroll + 1;
  take(carver, &u->losses, (size_t)(u->settings.shards * u->loss_count));
  take(carver, &u->shard_squares, (size_t)u->settings.shards);
  take(carver, &u->value, rows);
  take(carver, &u->columns, steps * rows * MZ_CUDA_LOSS_KINDS);
  take(carver, &u->policy_loss, steps * rows);
  take(carver, &u->value_loss, steps * rows);
  take(carver, &u->reward_loss, steps * rows);
}

static void destroy(mz_update *base) {
  update *u = of(base);
  mz_tape_free(u->tape);
  if (u->lane.own != nullptr) {
    mz_cuda_update_deinit(&u->rules);
    mz_lane_free(&u->lane, u->block);
    mz_lane_close(&u->lane);
  }
  free(u->host);
  free(u);
}

static mz_status allocate(update *u) {
  mz_carver device = {}, host = {};
  carve_device(u, &device);
  carve_host(u, &host);
  MZ_TRY(mz_lane_alloc(&u->lane, &u->block, device.bytes));
  mz_carve_within(&device, u->block);
  MZ_TRY(mz_carve_commit(&host, &u->host));
  u->decision.clip = u->settings.optimizer.gradient_clip;
  return mz_lane_load(&u->lane, u->out.decision, &u->decision, sizeof u->decision);
}

static mz_status begin(update *u, const mz_lane *where) {
  mz_cuda_lane *own;
  MZ_TRY(mz_lane_open(&u->lane, where));
  MZ_TRY(mz_model_check(u->model, &u->lane, true));
  MZ_TRY(mz_update_record(&u->tape, &u->lane, u->model, &u->settings, &u->loss));
  MZ_TRY(mz_tape_plan(u->tape));
  u->loss_count = mz_loss_count(u->model, &u->settings.loss);
  MZ_ASSERT(u->loss_count == mz_cuda_loss_count(u->tape));
  MZ_TRY(mz_cuda_lane_enter(&u->lane, &own));
  MZ_TRY(mz_cuda_update_init(&u->rules, own, (mz_optimizer_kind)u->settings.optimizer.kind, &u->model->params));
  return allocate(u);
}

static mz_status create(mz_update **out, const mz_lane *where, const mz_model *model, const mz_update_settings *settings,
                        const mz_update_vectors *vectors, mz_pool *pool) {
  (void)pool;
  update *u;
  MZ_TRY(mz_alloc(&u, 1, sizeof *u));
  u->base.updater = &mz_cuda_updater;
  u->model = model;
  u->settings = *settings;
  u->vectors = *vectors;
  u->shard_rows = (int)(settings->batch_size / settings->shards);
  const mz_status status = begin(u, where);
  if (status != MZ_OK) {
    destroy(&u->base);
    return status;
  }
  *out = &u->base;
  return MZ_OK;
}

/* What goes before the host waits: the vectors (changed, fetch), with what create sends, or a batch and its report. */
static double moved_by(update *u, const mz_carver *host) {
  enum { VECTORS = 4 }; /* weights, average, two moments */
  mz_carver sent = {};
  carve_batch(u, &sent);
  const double vectors =
      VECTORS * (double)u->model->params.size * sizeof(float) + (double)mz_cuda_update_bytes(&u->model->params);
  return fmax(vectors, (double)sent.bytes + (double)host->bytes);
}

static mz_lane_bytes bytes_of(const mz_model *model, const mz_update_settings *settings) {
  mz_carver device = {}, host = {};
  update u = {};
  u.model = model;
  u.settings = *settings;
  u.loss_count = mz_loss_count(model, &settings->loss);
  carve_device(&u, &device);
  carve_host(&u, &host);
  return {(double)device.bytes + (double)mz_cuda_update_bytes(&model->params), (double)sizeof u + (double)host.bytes,
          moved_by(&u, &host)};
}

/* ---- the host's vectors ---- */

static const float *forward_weights(const update *u) { return u->packed != nullptr ? u->packed : u->weights; }

static mz_status pack(update *u) {
  if (u->packed == nullptr) return MZ_OK;
  return mz_lane_pack(&u->lane, u->lane.backend->pack_forward, &u->model->params, u->weights, u->model->train_bf16, u->packed);
}

static mz_status changed(mz_update *base) {
  update *u = of(base);
  const size_t bytes = (size_t)u->model->params.size * sizeof(float);
  MZ_TRY(mz_lane_load(&u->lane, u->weights, u->vectors.weights, bytes));
  MZ_TRY(mz_lane_load(&u->lane, u->moment1, u->vectors.optimizer->moment1, bytes));
  if (u->moment2 != nullptr) MZ_TRY(mz_lane_load(&u->lane, u->moment2, u->vectors.optimizer->moment2, bytes));
  if (u->average != nullptr) MZ_TRY(mz_lane_load(&u->lane, u->average, u->vectors.average, bytes));
  MZ_TRY(pack(u));
  return mz_lane_sync(&u->lane);
}

static mz_status fetch(mz_update *base, bool moments) {
  update *u = of(base);
  const size_t bytes = (size_t)u->model->params.size * sizeof(float);
  MZ_TRY(mz_lane_fetch(&u->lane, u->vectors.weights, u->weights, bytes));
  if (u->average != nullptr) MZ_TRY(mz_lane_fetch(&u->lane, u->vectors.average, u->average, bytes));
  if (moments) MZ_TRY(mz_lane_fetch(&u->lane, u->vectors.optimizer->moment1, u->moment1, bytes));
  if (moments && u->moment2 != nullptr) MZ_TRY(mz_lane_fetch(&u->lane, u->vectors.optimizer->moment2, u->moment2, bytes));
  return mz_lane_sync(&u->lane);
}

/* ---- a batch ---- */

static mz_status send_batch(update *u, const mz_update_rows *b) {
  const mz_model *m = u->model;
  const size_t scalars = ((size_t)b->unroll + 1) * (size_t)b->rows;
  const size_t observed = (size_t)mz_loss_observed(&u->settings.loss) * (size_t)b->rows;
  const struct {
    void *to;
    const void *from;
    size_t count;
  } parts[] = {{u->rows.obs, b->obs, observed * (size_t)m->obs_size},
               {u->rows.obs_weight, b->obs_weight, observed},
               {u->rows.policy, b->policy, scalars * (size_t)m->actions},
               {u->rows.value, b->value, scalars},
               {u->rows.reward, b->reward, scalars},
               {u->rows.policy_weight, b->policy_weight, scalars},
               {u->rows.value_weight, b->value_weight, scalars},
               {u->rows.reward_weight, b->reward_weight, scalars},
               {u->rows.action, b->action, scalars},
               {u->rows.turn, b->turn, m->tells_turns ? scalars : 0},
               {u->rows.turn_weight, b->turn_weight, m->tells_turns ? scalars : 0}};
  for (const auto &part : parts)
    if (part.count > 0) MZ_TRY(mz_lane_load(&u->lane, part.to, part.from, part.count * sizeof(float)));
  return MZ_OK;
}

static float *data_of(const update *u, mz_value value) { return mz_cuda_data(&u->tape->values[value]); }

/* A list of what goes where. */
typedef struct sources {
  mz_cuda_source items[1 + 11 * (MZ_UNROLL_MAX + 1)];
  int count;
} sources;

static void add_dense(sources *list, const update *u, mz_value value, const float *from) {
  mz_cuda_source *source = &list->items[list->count++];
  *source = {};
  source->kind = MZ_CUDA_DENSE;
  source->columns = u->tape->values[value].columns;
  source->from = from;
  source->to = data_of(u, value);
}

static void add_two_hot(sources *list, const update *u, mz_value value, const mz_support *support, const float *from) {
  mz_cuda_source *source = &list->items[list->count++];
  *source = {};
  source->kind = MZ_CUDA_TWO_HOT;
  source->columns = support->bins;
  source->from = from;
  source->to = data_of(u, value);
  source->support_min = support->min;
  source->support_max = support->max;
  source->transform = support->transform;
}

static void add_list(sources *list, const update *u, int index, const int32_t *from) {
  mz_cuda_source *source = &list->items[list->count++];
  *source = {};
  source->kind = MZ_CUDA_LIST;
  source->columns = 1;
  source->from = from;
  source->to = u->tape->indices[index];
}

static void add_step(sources *list, const update *u, int k, size_t at) {
  const mz_model *m = u->model;
  const mz_loss *loss = &u->loss;
  add_dense(list, u, loss->policy_target[k], u->rows.policy + at * (size_t)m->actions);
  add_two_hot(list, u, loss->value_target[k], &m->value, u->rows.value + at);
  add_dense(list, u, loss->policy_weight[k], u->rows.policy_weight + at);
  add_dense(list, u, loss->value_weight[k], u->rows.value_weight + at);
  if (loss->next_obs[k] >= 0) {
    add_dense(list, u, loss->next_obs[k], u->rows.obs + at * (size_t)m->obs_size);
    add_dense(list, u, loss->next_weight[k], u->rows.obs_weight + at);
  }
  if (k == 0) return;
  add_list(list, u, loss->action[k], u->rows.action + at);
  add_two_hot(list, u, loss->reward_target[k], &m->reward, u->rows.reward + at);
  add_dense(list, u, loss->reward_weight[k], u->rows.reward_weight + at);
  if (loss->turn_target[k] < 0) return;
  add_two_hot(list, u, loss->turn_target[k], &mz_model_turn_support, u->rows.turn + at);
  add_dense(list, u, loss->turn_weight[k], u->rows.turn_weight + at);
}

static mz_status set_shard(const update *u, int shard, int rows) {
  const size_t first = (size_t)shard * (size_t)u->shard_rows;
  sources list;
  list.count = 0;
  add_dense(&list, u, u->loss.obs, u->rows.obs + first * (size_t)u->model->obs_size);
  for (int k = 0; k <= u->loss.unroll; k++) add_step(&list, u, k, (size_t)k * (size_t)rows + first);
  return mz_cuda_inputs_put(mz_cuda_lane_of(u->tape), list.items, list.count, u->shard_rows);
}

/* ---- an update ---- */

static mz_status run_shard(update *u, int shard, const mz_update_rows *b, bool squares) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(u->tape);
  const mz_params *params = &u->model->params;
  const size_t size = (size_t)params->size, columns = ((size_t)b->unroll + 1) * MZ_CUDA_LOSS_KINDS * (size_t)u->shard_rows;
  MZ_TRY(set_shard(u, shard, b->rows));
  MZ_TRY(mz_tape_forward(u->tape, forward_weights(u), u->shard_rows));
  MZ_TRY(mz_tape_backward(u->tape, forward_weights(u), nullptr, u->gradient, u->shard_rows));
  MZ_TRY(mz_lane_copy(&u->lane, u->gradients + (size_t)shard * size, u->gradient, size * sizeof(float)));
  if (squares) {
    MZ_TRY(mz_cuda_gradient_squares(lane, params, u->gradient, u->squares));
    MZ_TRY(mz_cuda_squares_sum(lane, u->squares, mz_chunk_count(params), u->out.shard_squares + shard));
  }
  MZ_TRY(mz_cuda_loss_sums(u->tape, u->shard_rows, u->out.losses + (size_t)shard * (size_t)u->loss_count));
  MZ_TRY(mz_cuda_loss_columns(u->tape, &u->loss, u->shard_rows, u->out.columns + (size_t)shard * columns));
  MZ_TRY(mz_cuda_expectations(lane, &u->model->value, data_of(u, u->loss.heads[0].value), u->shard_rows,
                              u->out.value + (size_t)shard * (size_t)u->shard_rows));
  if (shard > 0) return MZ_OK;
  return mz_cuda_spread(lane, data_of(u, u->loss.heads[0].latent), u->shard_rows, u->model->latent, u->spreads,
                        u->out.latent_spread);
}

static mz_status make_step(update *u, const mz_update_step *step) {
  const mz_cuda_lane *lane = mz_cuda_lane_of(u->tape);
  const mz_params *params = &u->model->params;
  const mz_step_factors factors = mz_optimizer_factors(u->vectors.optimizer, 1.0f, step->rate);
  const mz_cuda_step s = {u->gradients, u->moment1, u->moment2, u->weights, u->average, step->average_decay, u->out.decision};
  MZ_TRY(mz_cuda_shards_sum(lane, u->gradients, (int)u->settings.shards, params->size, u->gradients));
  MZ_TRY(mz_cuda_gradient_squares(lane, params, u->gradients, u->squares));
  MZ_TRY(mz_cuda_decide(lane, u->squares, mz_chunk_count(params), u->out.losses, (int)u->settings.shards * u->loss_count,
                        u->out.decision));
  MZ_TRY(mz_cuda_update_step(&u->rules, lane, &factors, &s));
  return pack(u);
}

static mz_status receive(update *u, bool squares) {
  const size_t rows = (size_t)u->settings.batch_size, columns = ((size_t)u->settings.loss.unroll + 1) * rows * MZ_CUDA_LOSS_KINDS;
  const size_t shards = (size_t)u->settings.shards;
  MZ_TRY(mz_lane_fetch(&u->lane, u->losses, u->out.losses, shards * (size_t)u->loss_count * sizeof *u->losses));
  if (squares) MZ_TRY(mz_lane_fetch(&u->lane, u->shard_squares, u->out.shard_squares, shards * sizeof *u->shard_squares));
  MZ_TRY(mz_lane_fetch(&u->lane, &u->latent_spread, u->out.latent_spread, sizeof u->latent_spread));
  MZ_TRY(mz_lane_fetch(&u->lane, &u->decision, u->out.decision, sizeof u->decision));
  MZ_TRY(mz_lane_fetch(&u->lane, u->value, u->out.value, rows * sizeof *u->value));
  MZ_TRY(mz_lane_fetch(&u->lane, u->columns, u->out.columns, columns * sizeof *u->columns));
  return mz_lane_sync(&u->lane);
}

/* From columns of shards to steps of the batch. */
static void sort_losses(update *u) {
  float *const kinds[MZ_CUDA_LOSS_KINDS] = {u->policy_loss, u->value_loss, u->reward_loss};
  const size_t rows = (size_t)u->settings.batch_size, shard_rows = (size_t)u->shard_rows;
  const float *from = u->columns;
  for (size_t s = 0; s < (size_t)u->settings.shards; s++)
    for (size_t k = 0; k <= (size_t)u->settings.loss.unroll; k++)
      for (float *kind : kinds) {
        memcpy(kind + k * rows + s * shard_rows, from, shard_rows * sizeof *from);
        from += shard_rows;
      }
}

static mz_status run(mz_update *base, const mz_update_rows *rows, const mz_update_step *step, mz_update_report *report) {
  update *u = of(base);
  const int shards = (int)u->settings.shards;
  MZ_ASSERT(rows->rows == u->settings.batch_size && rows->unroll == u->settings.loss.unroll);
  MZ_TRY(send_batch(u, rows));
  for (int s = 0; s < shards; s++) MZ_TRY(run_shard(u, s, rows, step->shard_squares));
  u->vectors.optimizer->steps++;
  mz_status status = make_step(u, step);
  if (status == MZ_OK) status = receive(u, step->shard_squares);
  if (status != MZ_OK || !u->decision.finite) u->vectors.optimizer->steps--;
  MZ_TRY(status);
  sort_losses(u);
  *report = {};
  report->norm = u->decision.norm;
  report->latent_spread = u->latent_spread;
  report->value = u->value;
  report->policy_loss = u->policy_loss;
  report->value_loss = u->value_loss;
  report->reward_loss = u->reward_loss;
  for (int s = 0; s < shards; s++) {
    report->loss += mz_cuda_loss_total(u->tape, u->losses + s * u->loss_count);
    if (step->shard_squares) report->shard_square += u->shard_squares[s];
  }
  return MZ_OK;
}

static mz_status probe(mz_update *base, const mz_update_rows *rows, double *loss) {
  update *u = of(base);
  MZ_TRY(send_batch(u, rows));
  MZ_TRY(set_shard(u, 0, rows->rows));
  MZ_TRY(mz_tape_forward(u->tape, forward_weights(u), u->shard_rows));
  return mz_tape_loss(u->tape, loss);
}

const mz_updater mz_cuda_updater = {create, destroy, bytes_of, changed, run, fetch, probe};
