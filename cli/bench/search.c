#include "cli/bench/bench.h"
#include "networks/lane.h"
#include "selfplay/search/network_search.h"
#include <string.h>

enum {
  WIDTH = 64,
  OBS = MZ_BENCH_OBS,
  ACTIONS = MZ_BENCH_ACTIONS,
  BINS = 21,
  BATCH_MAX = 512,
  GPU_BATCH_MAX = 16384,
  PART_MIN = 16,
  TILE_BYTES = 512 << 10
};

typedef struct searcher { /* one worker's */
  mz_lane lane;
  mz_infer *infer;
  mz_infer_model adapter;
  mz_search_model model;
  mz_search *search;
  mz_network_search whole; /* on a GPU: trees and network */
} searcher;

typedef struct fixture {
  mz_bench *bench;
  mz_search_settings settings;
  mz_model model;
  mz_prepared *prepared;
  float *weights, *observations, *policies;
  mz_root *roots;
  mz_root_result *results;
  searcher *searchers;
  int batch, workers;
} fixture;

static void searcher_deinit(searcher *one) {
  mz_network_search_deinit(&one->whole);
  if (one->search) mz_search_free(one->search);
  mz_infer_free(one->infer);
  mz_lane_close(&one->lane);
  *one = (searcher){0};
}

static mz_status searcher_init(searcher *one, const fixture *f, int roots) {
  if (mz_bench_on_gpu(f->bench))
    return mz_network_search_init(&one->whole, &mz_bench_spec, &f->settings, &f->model, &f->bench->where,
                                  f->bench->settings.replay.discount, roots);
  const int stride = mz_infer_latent_stride(&f->model);
  const int fitting = (int)(TILE_BYTES / mz_search_slot_bytes(&f->settings, ACTIONS, stride)) + 1;
  const int64_t asked = f->bench->settings.knobs.mcts_storage_size;
  const int tile = asked > 0 ? (int)asked : fitting, slots = tile < roots ? tile : roots;
  MZ_TRY(mz_lane_open(&one->lane, &mz_lane_cpu));
  MZ_TRY(mz_infer_create(&one->infer, &f->model, &one->lane, roots, mz_search_latents(&f->settings, ACTIONS, stride, slots)));
  MZ_TRY(mz_infer_set_weights(one->infer, f->prepared));
  one->adapter = (mz_infer_model){.infer = one->infer, .kind = MZ_OBS_F32};
  one->model = mz_search_model_of_infer(&one->adapter, &f->model);
  return mz_search_create(&one->search, &f->settings, ACTIONS, stride, f->bench->settings.replay.discount, MZ_TURNS_ALONE, slots);
}

static mz_status search_part(void *context, int part, int worker) {
  (void)worker;
  fixture *f = context;
  searcher *one = &f->searchers[part];
  const int first = (int)((int64_t)f->batch * part / f->workers), end = (int)((int64_t)f->batch * (part + 1) / f->workers);
  if (mz_bench_on_gpu(f->bench))
    return mz_network_search_run(&one->whole, f->prepared, end - first, f->roots + first, 0, f->results + first);
  return mz_search_run(one->search, &one->model, end - first, f->roots + first, 0, f->results + first);
}

static mz_status search_batch(void *context) {
  fixture *f = context;
  return f->workers == 1 ? search_part(f, 0, 0) : mz_pool_run(f->bench->pool, search_part, f, f->workers);
}

/* The share of the network and the cost of an edge need clocks in the search, so they are measured apart from the rate. */
static mz_status measure_cost(fixture *f, double time_s, mz_search_cost *out) {
  *out = (mz_search_cost){0};
  for (int i = 0; i < f->workers; i++) mz_search_count_cost(f->searchers[i].search, true);
  double ignored;
  MZ_TRY(mz_bench_rate(time_s, search_batch, f, &ignored));
  for (int i = 0; i < f->workers; i++) {
    const mz_search_cost one = mz_search_cost_read(f->searchers[i].search);
    out->model_ns += one.model_ns;
    out->total_ns += one.total_ns;
    out->edges += one.edges;
  }
  return MZ_OK;
}

static mz_status measure(fixture *f, cJSON *rows) {
  const int parts = f->batch / PART_MIN;
  const bool gpu = mz_bench_on_gpu(f->bench);
  f->workers = gpu || parts < 1 ? 1 : parts < f->bench->threads ? parts : f->bench->threads;
  mz_status status = MZ_OK;
  for (int i = 0; i < f->workers && status == MZ_OK; i++)
    status = searcher_init(&f->searchers[i], f, (f->batch + f->workers - 1) / f->workers);
  double per_s = 0;
  mz_search_cost cost = {0};
  MZ_TRY_CLEANUP(status);
  MZ_TRY_CLEANUP(mz_bench_rate(f->bench->time_s, search_batch, f, &per_s));
  if (!gpu) MZ_TRY_CLEANUP(measure_cost(f, f->bench->time_s / 4, &cost));
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "algorithm", f->settings.algorithm == MZ_PUCT ? "puct" : "gumbel");
  cJSON_AddNumberToObject(row, "batch", f->batch);
  cJSON_AddNumberToObject(row, "simulations", (double)f->settings.simulations);
  cJSON_AddNumberToObject(row, "threads", f->workers);
  cJSON_AddNumberToObject(row, "sims_per_s", per_s * f->batch * (double)f->settings.simulations);
  if (!gpu) {
    cJSON_AddNumberToObject(row, "network_share", (double)cost.model_ns / (double)cost.total_ns);
    cJSON_AddNumberToObject(row, "ns_per_edge", (double)(cost.total_ns - cost.model_ns) / (double)cost.edges);
  }
  cJSON_AddItemToArray(rows, row);
cleanup:
  for (int i = 0; i < f->workers; i++) searcher_deinit(&f->searchers[i]);
  return status;
}

static mz_status fixture_init(fixture *f, mz_bench *bench) {
  *f = (fixture){.bench = bench, .settings = bench->settings.search};
  const size_t most = mz_bench_on_gpu(bench) ? GPU_BATCH_MAX : BATCH_MAX;
  mz_network_settings network = bench->settings.network;
  if (!mz_bench_given(bench, "network.width")) network.width = WIDTH;
  if (!mz_bench_given(bench, "network.depth")) network.depth = 1;
  if (!mz_bench_given(bench, "network.value_bins")) network.value_bins = BINS;
  if (!mz_bench_given(bench, "network.reward_bins")) network.reward_bins = BINS;
  MZ_TRY(mz_model_init(&f->model, &network, &mz_bench_spec));
  MZ_TRY(mz_alloc(&f->weights, (size_t)f->model.params.size, sizeof(float)));
  mz_params_init(&f->model.params, 1, f->weights);
  MZ_TRY(mz_prepared_create(&f->prepared, &f->model, &bench->where, f->weights));
  MZ_TRY(mz_alloc(&f->observations, most * OBS, sizeof(float)));
  MZ_TRY(mz_alloc(&f->policies, most * ACTIONS, sizeof(float)));
  MZ_TRY(mz_alloc(&f->roots, most, sizeof *f->roots));
  MZ_TRY(mz_alloc(&f->results, most, sizeof *f->results));
  MZ_TRY(mz_alloc(&f->searchers, (size_t)bench->threads, sizeof *f->searchers));
  for (size_t i = 0; i < most; i++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
    for (int j = 0; j < OBS; j++) f->observations[i * OBS + j] = mz_rng_f32(&rng);
    f->roots[i] = (mz_root){.observation = f->observations + i * OBS, .noise = true, .rng = rng};
    f->results[i].policy = f->policies + i * ACTIONS;
  }
  return MZ_OK;
}

static void fixture_deinit(fixture *f) {
  mz_prepared_release(f->prepared);
  free(f->weights), free(f->observations), free(f->policies), free(f->roots), free(f->results), free(f->searchers);
}

mz_status mz_bench_search(mz_bench *bench, cJSON **out) {
  static const int on_cpus[] = {1, 8, 32, 128, BATCH_MAX}, on_gpu[] = {128, 512, 1024, 4096, GPU_BATCH_MAX};
  const int *batches = mz_bench_on_gpu(bench) ? on_gpu : on_cpus;
  static const int64_t simulations[] = {25, 50};
  const bool one_algorithm = mz_bench_given(bench, "search.algorithm"), one_count = mz_bench_given(bench, "simulations");
  cJSON *rows = cJSON_CreateArray();
  fixture f;
  mz_status status = fixture_init(&f, bench);
  for (int32_t algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    if (one_algorithm && algorithm != bench->settings.search.algorithm) continue;
    f.settings.algorithm = algorithm;
    for (size_t b = 0; b < sizeof on_cpus / sizeof on_cpus[0]; b++)
      for (size_t s = 0; s < (one_count ? 1 : 2) && status == MZ_OK; s++) {
        f.batch = batches[b];
        f.settings.simulations = one_count ? bench->settings.search.simulations : simulations[s];
        status = measure(&f, rows);
      }
  }
  fixture_deinit(&f);
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
