#include "cli/bench/bench.h"
#include "muzero/training/state.h"
#include "networks/lane.h"
#include "networks/tape/cost.h"

enum { BINS = 21, UNROLL = 5, CONV_SHARD_ROWS = 16 /* as in the presets of board games */ };

typedef struct measured { /* a model and its batch */
  mz_model_kind kind;
  int width, rows;
} measured;

typedef struct fixture {
  mz_model model;
  const mz_spec *spec;
  mz_learner *learner;
  mz_batch batch;
  float *errors;
  mz_learning_stats stats;
  mz_tape_cost cost; /* of the passes over a shard, forward and backward; its parameters' bytes are a shard's */
  int shards;
} fixture;

static mz_status update(void *context) {
  fixture *f = context;
  return mz_learner_update(f->learner, &f->batch, f->errors, &f->stats);
}

static mz_status add_costs(mz_tape *tape, mz_tape_cost *out) {
  MZ_TRY(mz_tape_plan(tape));
  const mz_tape_cost forward = mz_tape_forward_cost(tape), backward = mz_tape_backward_cost(tape);
  out->nodes = forward.nodes + backward.nodes;
  out->bytes_per_row = forward.bytes_per_row + backward.bytes_per_row;
  out->parameter_bytes = forward.parameter_bytes + backward.parameter_bytes;
  return MZ_OK;
}

/* Bytes and nodes are the same for any number of rows, so few are planned. */
static mz_status find_cost(fixture *f, const mz_settings *settings) {
  mz_update_settings few = mz_state_learning(settings).update;
  mz_loss loss;
  mz_tape *tape = NULL;
  f->shards = (int)few.shards;
  few.batch_size = settings->network.norm_rows;
  few.shards = 1;
  MZ_TRY(mz_update_record(&tape, &mz_lane_cpu, &f->model, &few, &loss));
  const mz_status status = add_costs(tape, &f->cost);
  mz_tape_free(tape);
  return status;
}

/* Random inputs and targets; every row counts alike. */
static void fill(mz_batch *batch, const mz_spec *spec) {
  const int steps = (batch->unroll + 1) * batch->rows;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < batch->observed * batch->rows * spec->obs_size; i++) batch->obs[i] = mz_rng_f32(&rng);
  for (int i = 0; i < steps; i++) {
    float *policy = batch->policy + (size_t)i * (size_t)spec->actions, rest = 1;
    batch->action[i] = (int32_t)mz_rng_below(&rng, (uint32_t)spec->actions);
    for (int a = 0; a < spec->actions; a++) {
      policy[a] = a == spec->actions - 1 ? rest : rest * mz_rng_f32(&rng);
      rest -= policy[a];
    }
    batch->value[i] = spec->return_max * (2 * mz_rng_f32(&rng) - 1);
    batch->reward[i] = mz_rng_f32(&rng);
    batch->policy_weight[i] = batch->value_weight[i] = 1.0f / (float)batch->rows;
    batch->reward_weight[i] = i < batch->rows ? 0 : 1.0f / (float)batch->rows;
  }
  for (int i = 0; i < batch->observed * batch->rows; i++) batch->obs_weight[i] = 1.0f / (float)batch->rows;
  for (int i = 0; i < batch->rows; i++) batch->importance[i] = 1;
}

/* As `train` would resolve them; what --set did not give is as the peers have it. */
static mz_status settings_of(mz_bench *bench, const measured *m, mz_settings *out) {
  *out = bench->settings;
  out->learning.batch_size = m->rows;
  if (m->kind == MZ_MODEL_CONV) {
    out->network = mz_bench_residual(bench);
    if (!mz_bench_given(bench, "shards")) out->learning.shards = (m->rows + CONV_SHARD_ROWS - 1) / CONV_SHARD_ROWS;
  } else {
    out->network.kind = MZ_MODEL_MLP;
    out->network.width = m->width;
    if (!mz_bench_given(bench, "network.value_bins")) out->network.value_bins = BINS;
    if (!mz_bench_given(bench, "network.reward_bins")) out->network.reward_bins = BINS;
  }
  if (mz_bench_on_gpu(bench) && !mz_bench_given(bench, "shards")) out->learning.shards = 1; /* each costs launches */
  if (!mz_bench_given(bench, "unroll_steps")) out->loss.unroll = UNROLL;
  return mz_settings_resolve(out, bench->given);
}

static mz_status fixture_init(fixture *f, mz_bench *bench, const measured *m) {
  mz_settings settings;
  *f = (fixture){.spec = m->kind == MZ_MODEL_CONV ? &mz_bench_board : &mz_bench_spec};
  MZ_TRY(settings_of(bench, m, &settings));
  MZ_TRY(mz_model_init(&f->model, &settings.network, f->spec));
  const mz_learner_settings learning = mz_state_learning(&settings);
  MZ_TRY(mz_learner_create(&f->learner, &f->model, &bench->where, &learning, bench->pool));
  mz_params_init(&f->model.params, 1, mz_learner_weights(f->learner));
  MZ_TRY(mz_learner_weights_changed(f->learner));
  MZ_TRY(mz_batch_init(&f->batch, f->spec, m->rows, (int)settings.loss.unroll, mz_loss_observed(&settings.loss)));
  MZ_TRY(mz_alloc(&f->errors, (size_t)m->rows, sizeof *f->errors));
  fill(&f->batch, f->spec);
  return find_cost(f, &settings);
}

static void fixture_deinit(fixture *f) {
  mz_learner_free(f->learner);
  mz_batch_deinit(&f->batch);
  free(f->errors);
}

static mz_status measure(mz_bench *bench, const measured *m, cJSON *rows) {
  fixture f;
  double per_s = 0, peak = 0;
  mz_status status = fixture_init(&f, bench, m);
  if (status == MZ_OK && !mz_bench_on_gpu(bench)) status = mz_bench_peak(bench, &peak);
  if (status == MZ_OK) status = mz_bench_rate(bench->time_s, update, &f, &per_s);
  const bool conv = m->kind == MZ_MODEL_CONV;
  const double gflops = per_s * m->rows * mz_model_update_flops(&f.model, f.batch.unroll) * 1e-9;
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "model", conv ? "conv" : "mlp");
  cJSON_AddNumberToObject(row, "width", conv ? f.model.channels : m->width);
  cJSON_AddNumberToObject(row, "batch", m->rows);
  cJSON_AddNumberToObject(row, "threads", bench->threads);
  cJSON_AddNumberToObject(row, "updates_per_s", per_s);
  mz_bench_add_gflops(row, gflops, peak);
  const double bytes = f.cost.bytes_per_row + f.cost.parameter_bytes * f.shards / m->rows;
  mz_bench_add_cost(row, mz_model_update_flops(&f.model, f.batch.unroll), bytes, f.cost.nodes * f.shards);
  cJSON_AddItemToArray(rows, row);
  fixture_deinit(&f);
  return status;
}

mz_status mz_bench_learner(mz_bench *bench, cJSON **out) {
  enum { MLP_ROWS = 256, CONV_ROWS = 128 };
  measured all[] = {{MZ_MODEL_MLP, 64, MLP_ROWS}, {MZ_MODEL_MLP, 256, MLP_ROWS}, {MZ_MODEL_CONV, 0, CONV_ROWS}};
  int first = 0, count = 3;
  if (mz_bench_given(bench, "network.width")) {
    all[0].width = (int)bench->settings.network.width;
    count = 1;
  } else if (mz_bench_given(bench, "network.kind") && bench->settings.network.kind == MZ_MODEL_CONV) {
    first = 2;
  }
  if (mz_bench_given(bench, "batch_size"))
    for (int i = first; i < count; i++) all[i].rows = (int)bench->settings.learning.batch_size;
  cJSON *rows = cJSON_CreateArray();
  mz_status status = MZ_OK;
  for (int i = first; i < count && status == MZ_OK; i++) status = measure(bench, &all[i], rows);
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
