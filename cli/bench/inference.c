#include "cli/bench/bench.h"
#include "networks/infer_state.h"
#include "networks/tape/cost.h"

enum { BATCH_MAX = 128, GPU_BATCH_MAX = 16384 };

typedef struct asker { /* one worker's */
  mz_lane lane;
  mz_infer *infer; /* two latents a board: from, to */
  int32_t from[GPU_BATCH_MAX], to[GPU_BATCH_MAX], action[GPU_BATCH_MAX];
  float policy[GPU_BATCH_MAX * 7], value[GPU_BATCH_MAX], reward[GPU_BATCH_MAX];
} asker;

typedef struct fixture {
  mz_bench *bench;
  mz_model model;
  float *weights;
  mz_prepared *prepared;
  asker *askers;
  int asker_count, batch, batch_max;
} fixture;

static int part_of(const fixture *f) { return (f->batch + f->asker_count - 1) / f->asker_count; }

static mz_status run_part(void *context, int part, int worker) {
  (void)worker;
  fixture *f = context;
  asker *own = &f->askers[part];
  const int each = part_of(f), first = part * each, count = first + each < f->batch ? each : f->batch - first;
  if (count <= 0) return MZ_OK;
  return mz_infer_recurrent(own->infer, count, own->from, own->action, own->to, own->policy, own->value, own->reward);
}

static mz_status infer(void *context) {
  fixture *f = context;
  if (f->batch == 1 || f->asker_count == 1) return run_part(f, 0, 0);
  return mz_pool_run(f->bench->pool, run_part, f, f->asker_count);
}

static mz_status asker_init(asker *own, const fixture *f) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const size_t seen = (size_t)f->model.obs_size;
  float *observations = NULL;
  const int most = f->batch_max;
  MZ_TRY(mz_lane_open(&own->lane, &f->bench->where));
  MZ_TRY(mz_infer_create(&own->infer, &f->model, &own->lane, most, 2 * most));
  MZ_TRY(mz_infer_set_weights(own->infer, f->prepared));
  MZ_TRY(mz_alloc(&observations, (size_t)most * seen, sizeof *observations));
  for (size_t i = 0; i < (size_t)most * seen; i++) observations[i] = mz_rng_f32(&rng);
  for (int i = 0; i < most; i++) {
    own->from[i] = i;
    own->to[i] = most + i;
    own->action[i] = (int32_t)mz_rng_below(&rng, (uint32_t)f->model.actions);
  }
  const mz_status status = mz_infer_initial(own->infer, most, observations, MZ_OBS_F32, own->from, own->policy, own->value);
  free(observations);
  return status;
}

static mz_status fixture_init(fixture *f, mz_bench *bench) {
  const mz_network_settings network = mz_bench_residual(bench);
  *f = (fixture){.bench = bench, .asker_count = mz_bench_on_gpu(bench) ? 1 : bench->threads};
  f->batch_max = mz_bench_on_gpu(bench) ? GPU_BATCH_MAX : BATCH_MAX;
  MZ_TRY(mz_model_init(&f->model, &network, &mz_bench_board));
  MZ_TRY(mz_alloc(&f->weights, (size_t)f->model.params.size, sizeof(float)));
  mz_params_init(&f->model.params, 1, f->weights);
  MZ_TRY(mz_prepared_create(&f->prepared, &f->model, &bench->where, f->weights));
  MZ_TRY(mz_alloc(&f->askers, (size_t)f->asker_count, sizeof *f->askers));
  for (int i = 0; i < f->asker_count; i++) MZ_TRY(asker_init(&f->askers[i], f));
  return MZ_OK;
}

static void fixture_deinit(fixture *f) {
  for (int i = 0; f->askers && i < f->asker_count; i++) {
    mz_infer_free(f->askers[i].infer);
    mz_lane_close(&f->askers[i].lane);
  }
  mz_prepared_release(f->prepared);
  free(f->weights), free(f->askers);
}

static mz_status measure(fixture *f, double peak, cJSON *rows) {
  static const int on_cpus[] = {1, 8, 32, 128}, on_gpu[] = {128, 1024, 4096, GPU_BATCH_MAX};
  const bool gpu = mz_bench_on_gpu(f->bench);
  for (size_t i = 0; i < sizeof on_cpus / sizeof *on_cpus; i++) {
    double per_s;
    f->batch = gpu ? on_gpu[i] : on_cpus[i];
    MZ_TRY(mz_bench_rate(f->bench->time_s, infer, f, &per_s));
    const double gflops = per_s * f->batch * mz_model_inference_flops(&f->model) * 1e-9;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "model", "conv");
    cJSON_AddNumberToObject(row, "batch", f->batch);
    cJSON_AddNumberToObject(row, "threads", f->batch == 1 ? 1 : f->asker_count);
    cJSON_AddNumberToObject(row, "evaluations_per_s", per_s * f->batch);
    mz_bench_add_gflops(row, gflops, peak);
    const mz_tape_cost cost = mz_tape_forward_cost(f->askers[0].infer->recurrent.tape);
    mz_bench_add_cost(row, mz_model_inference_flops(&f->model), cost.bytes_per_row + cost.parameter_bytes / f->batch, cost.nodes);
    cJSON_AddItemToArray(rows, row);
  }
  return MZ_OK;
}

mz_status mz_bench_inference(mz_bench *bench, cJSON **out) {
  fixture f;
  double peak = 0;
  cJSON *rows = cJSON_CreateArray();
  mz_status status = fixture_init(&f, bench);
  if (status == MZ_OK && !mz_bench_on_gpu(bench)) status = mz_bench_peak(bench, &peak);
  if (status == MZ_OK) status = measure(&f, peak, rows);
  fixture_deinit(&f);
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
