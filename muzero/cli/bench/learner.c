#include "muzero/cli/bench/bench.h"
#include "muzero/learner.h"
#include "networks/backend.h"

enum { OBS = MZ_BENCH_OBS, ACTIONS = MZ_BENCH_ACTIONS, BINS = 21, ROWS = 256, UNROLL = 5 };

typedef struct fixture {
  mz_model model;
  mz_learner *learner;
  mz_batch batch;
  float *errors;
  mz_learning_stats stats;
} fixture;

static mz_status update(void *context) {
  fixture *f = context;
  return mz_learner_update(f->learner, &f->batch, f->errors, &f->stats);
}

/* Random inputs and targets; every row counts alike. */
static void fill(mz_batch *batch) {
  const int steps = (batch->unroll + 1) * batch->rows;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < batch->rows * OBS; i++) batch->obs[i] = mz_rng_f32(&rng);
  for (int i = 0; i < steps; i++) {
    batch->action[i] = (int32_t)mz_rng_below(&rng, ACTIONS);
    batch->policy[i * ACTIONS] = mz_rng_f32(&rng);
    batch->policy[i * ACTIONS + 1] = 1 - batch->policy[i * ACTIONS];
    batch->value[i] = mz_rng_f32(&rng) * 20 - 10;
    batch->reward[i] = mz_rng_f32(&rng);
    batch->policy_weight[i] = batch->value_weight[i] = 1.0f / (float)batch->rows;
    batch->reward_weight[i] = i < batch->rows ? 0 : 1.0f / (float)batch->rows;
  }
  for (int i = 0; i < batch->rows; i++) batch->importance[i] = 1;
}

static mz_status fixture_init(fixture *f, mz_bench *bench, int width) {
  *f = (fixture){0};
  mz_network_settings network = bench->settings.network;
  network.width = width;
  network.latent = 0;
  if (!mz_bench_given(bench, "network.depth")) network.depth = 1;
  if (!mz_bench_given(bench, "network.value_bins")) network.value_bins = BINS;
  if (!mz_bench_given(bench, "network.reward_bins")) network.reward_bins = BINS;
  MZ_TRY(mz_model_init(&f->model, &network, &mz_bench_spec));
  mz_learner_settings settings = {.loss = bench->settings.loss,
                                  .optimizer = bench->settings.optimizer,
                                  .batch_size = ROWS,
                                  .shards = bench->settings.learning.shards};
  settings.loss.unroll = UNROLL;
  if (ROWS % settings.shards != 0)
    return mz_fail(MZ_E_CONFIG, "shards: %lld does not divide the batch of %d rows", (long long)settings.shards, ROWS);
  MZ_TRY(mz_learner_create(&f->learner, &f->model, &mz_backend_cpu, &settings, bench->pool));
  mz_params_init(&f->model.params, 1, mz_learner_weights(f->learner));
  mz_learner_weights_changed(f->learner);
  MZ_TRY(mz_batch_init(&f->batch, &mz_bench_spec, ROWS, UNROLL));
  MZ_TRY(mz_alloc(&f->errors, ROWS, sizeof *f->errors));
  fill(&f->batch);
  return MZ_OK;
}

static void fixture_deinit(fixture *f) {
  mz_learner_free(f->learner);
  mz_batch_deinit(&f->batch);
  free(f->errors);
}

mz_status mz_bench_learner(mz_bench *bench, cJSON **out) {
  static const int widths[] = {64, 256};
  const bool one_width = mz_bench_given(bench, "network.width");
  cJSON *rows = cJSON_CreateArray();
  mz_status status = MZ_OK;
  for (size_t i = 0; i < (one_width ? 1 : 2) && status == MZ_OK; i++) {
    const int width = one_width ? (int)bench->settings.network.width : widths[i];
    fixture f;
    double per_s = 0, peak = 0;
    status = fixture_init(&f, bench, width);
    if (status == MZ_OK) status = mz_bench_peak(bench, &peak);
    if (status == MZ_OK) status = mz_bench_rate(bench->time_s, update, &f, &per_s);
    const double gflops = per_s * ROWS * mz_model_update_flops(&f.model, UNROLL) * 1e-9;
    fixture_deinit(&f);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "model", "mlp");
    cJSON_AddNumberToObject(row, "width", width);
    cJSON_AddNumberToObject(row, "batch", ROWS);
    cJSON_AddNumberToObject(row, "threads", bench->threads);
    cJSON_AddNumberToObject(row, "updates_per_s", per_s);
    cJSON_AddNumberToObject(row, "gflops", gflops);
    cJSON_AddNumberToObject(row, "peak_gflops", peak);
    cJSON_AddNumberToObject(row, "share_of_peak", gflops / peak);
    cJSON_AddItemToArray(rows, row);
  }
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
