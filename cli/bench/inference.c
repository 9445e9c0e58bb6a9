#include "cli/bench/bench.h"
#include "networks/tape/backend.h"

enum { BATCH_MAX = 128 };

typedef struct lane { /* one worker's */
  mz_infer *infer;
  float *pool; /* two latents a board: from, to */
  int32_t from[BATCH_MAX], to[BATCH_MAX], action[BATCH_MAX];
  float policy[BATCH_MAX * 7], value[BATCH_MAX], reward[BATCH_MAX];
} lane;

typedef struct fixture {
  mz_bench *bench;
  mz_model model;
  float *weights, *prepared;
  lane *lanes;
  int lane_count, batch;
} fixture;

static int part_of(const fixture *f) { return (f->batch + f->lane_count - 1) / f->lane_count; }

static mz_status run_part(void *context, int part, int worker) {
  (void)worker;
  fixture *f = context;
  lane *own = &f->lanes[part];
  const int each = part_of(f), first = part * each, count = first + each < f->batch ? each : f->batch - first;
  if (count > 0)
    mz_infer_recurrent(own->infer, count, own->pool, own->from, own->action, own->to, own->policy, own->value, own->reward);
  return MZ_OK;
}

static mz_status infer(void *context) {
  fixture *f = context;
  if (f->batch == 1) return run_part(f, 0, 0);
  return mz_pool_run(f->bench->pool, run_part, f, f->lane_count);
}

static mz_status lane_init(lane *own, const fixture *f) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  MZ_TRY(mz_infer_create(&own->infer, &f->model, &mz_backend_cpu, BATCH_MAX));
  mz_infer_set_weights(own->infer, f->prepared);
  const size_t stride = (size_t)mz_infer_latent_stride(own->infer);
  MZ_TRY(mz_alloc(&own->pool, 2 * BATCH_MAX * stride, sizeof *own->pool));
  for (size_t i = 0; i < BATCH_MAX * stride; i++) own->pool[i] = mz_rng_f32(&rng);
  for (int i = 0; i < BATCH_MAX; i++) {
    own->from[i] = i;
    own->to[i] = BATCH_MAX + i;
    own->action[i] = (int32_t)mz_rng_below(&rng, (uint32_t)f->model.actions);
  }
  return MZ_OK;
}

static mz_status fixture_init(fixture *f, mz_bench *bench) {
  const mz_network_settings network = mz_bench_residual(bench);
  *f = (fixture){.bench = bench, .lane_count = bench->threads};
  MZ_TRY(mz_model_init(&f->model, &network, &mz_bench_board));
  MZ_TRY(mz_alloc(&f->weights, (size_t)f->model.params.size, sizeof(float)));
  MZ_TRY(mz_alloc(&f->prepared, (size_t)f->model.params.packed, sizeof(float)));
  mz_params_init(&f->model.params, 1, f->weights);
  MZ_TRY(mz_infer_prepare(&f->model, &mz_backend_cpu, f->weights, f->prepared));
  MZ_TRY(mz_alloc(&f->lanes, (size_t)f->lane_count, sizeof *f->lanes));
  for (int i = 0; i < f->lane_count; i++) MZ_TRY(lane_init(&f->lanes[i], f));
  return MZ_OK;
}

static void fixture_deinit(fixture *f) {
  for (int i = 0; f->lanes && i < f->lane_count; i++) {
    mz_infer_free(f->lanes[i].infer);
    free(f->lanes[i].pool);
  }
  free(f->weights), free(f->prepared), free(f->lanes);
}

static mz_status measure(fixture *f, double peak, cJSON *rows) {
  static const int batches[] = {1, 8, 32, 128};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
    double per_s;
    f->batch = batches[i];
    MZ_TRY(mz_bench_rate(f->bench->time_s, infer, f, &per_s));
    const double gflops = per_s * f->batch * mz_model_inference_flops(&f->model) * 1e-9;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "model", "conv");
    cJSON_AddNumberToObject(row, "batch", f->batch);
    cJSON_AddNumberToObject(row, "threads", f->batch == 1 ? 1 : f->bench->threads);
    cJSON_AddNumberToObject(row, "evaluations_per_s", per_s * f->batch);
    cJSON_AddNumberToObject(row, "gflops", gflops);
    cJSON_AddNumberToObject(row, "peak_gflops", peak);
    cJSON_AddNumberToObject(row, "share_of_peak", gflops / peak);
    cJSON_AddItemToArray(rows, row);
  }
  return MZ_OK;
}

mz_status mz_bench_inference(mz_bench *bench, cJSON **out) {
  fixture f;
  double peak = 0;
  cJSON *rows = cJSON_CreateArray();
  mz_status status = fixture_init(&f, bench);
  if (status == MZ_OK) status = mz_bench_peak(bench, &peak);
  if (status == MZ_OK) status = measure(&f, peak, rows);
  fixture_deinit(&f);
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
