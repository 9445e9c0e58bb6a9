#include "allocator/records/history.h"
#include "allocator/records/ledger.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/maths/rng.h"
#include "base/maths/statistics.h"
#include "cli/bench/bench.h"
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/steering/probe.h"
#include "muzero/run.h"
#include <math.h>
#include <string.h>

/* On CartPole's preset: changing every knob at once, scratch memory of the new plan included; a decision of the greedy
 * strategy on 128 observations; a ledger line; a row of the history. */
enum { CHANGES = 200, DECISIONS = 400 };

typedef struct fixture {
  mz_settings settings;
  mz_state state;
  mz_devices devices;
  mz_workers workers;
  mz_pipeline pipeline;
  char dir[512];
  double us[DECISIONS];
} fixture;

static double since_us(uint64_t start) { return (double)(mz_clock_ns() - start) * 1e-3; }

static void add_row(cJSON *rows, const char *what, double *us, int count) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "what", what);
  cJSON_AddNumberToObject(row, "median_us", mz_median(us, count));
  cJSON_AddNumberToObject(row, "p99_us", mz_quantile(us, count, 0.99));
  cJSON_AddItemToArray(rows, row);
}

static mz_status fixture_init(fixture *f) {
  const mz_env *env;
  const mz_run_options options = {.env = "cartpole"};
  MZ_TRY(mz_env_find("cartpole", &env));
  MZ_TRY(mz_settings_for_new_run(&options, &f->settings));
  MZ_TRY(mz_state_init(&f->state, env, &f->settings, 1, 1, NULL));
  MZ_TRY(mz_devices_find(&f->devices, "auto", "devices.cpu"));
  mz_knobs knobs = {0};
  mz_memory memory;
  MZ_TRY(mz_memory_count(&memory, env, &f->settings, NULL));
  mz_pipeline_describe(&f->pipeline, &f->settings, &memory, &f->devices, &knobs, 4);
  MZ_TRY(mz_probe(&f->pipeline, NULL, &f->state));
  mz_knobs_resolve(&knobs, &f->settings, 2);
  MZ_TRY(mz_workers_init(&f->workers, &f->state, &knobs, &f->devices));
  return mz_file_make_temporary("muzero-bench", f->dir, sizeof f->dir);
}

static void fixture_deinit(fixture *f) {
  mz_workers_deinit(&f->workers);
  mz_state_deinit(&f->state);
  if (f->dir[0] && mz_file_remove_tree(f->dir) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
  free(f);
}

static mz_status change_plans(fixture *f, cJSON *rows) {
  const mz_knobs plans[] = {
      {.cpu_actor = 4, .batch_actor = 2, .learner_threads = 4, .mcts_storage_size = 4, .batch_buffer_size = 8},
      {.cpu_actor = 2, .batch_actor = 1, .learner_threads = 2, .mcts_storage_size = 16, .batch_buffer_size = 2}};
  for (int i = -2; i < CHANGES; i++) { /* the first two make threads */
    const mz_knobs *plan = &plans[i & 1];
    const uint64_t start = mz_clock_ns();
    MZ_TRY(mz_workers_resize(&f->workers, plan));
    for (int worker = 0; worker < plan->cpu_actor; worker++) {
      mz_actor *actor;
      MZ_TRY(mz_workers_actor(&f->workers, worker, &actor));
    }
    if (i >= 0) f->us[i] = since_us(start);
  }
  add_row(rows, "plan change", f->us, CHANGES);
  return MZ_OK;
}

static void make_window(mz_window *w, int i) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
  *w = (mz_window){
      .phase = i, .round = 10 * i, .units = 10, .wall_s = 0.1 * (1 + 0.02 * mz_rng_f64(&rng)), .round_count = 10, .score = NAN};
  for (int r = 0; r < 10; r++) w->round_s[r] = 0.01 * (1 + 0.05 * mz_rng_f64(&rng));
  for (int s = 0; s <= MZ_STAGE_EVALUATE; s++)
    w->stages[s] =
        (mz_stage_sample){.items = 100, .busy_s = 0.08, .cpu_s = 0.07 * (1 + 0.05 * mz_rng_f64(&rng)), .elapsed_s = 0.08};
  w->usage = (mz_usage){.wall_s = 0.1, .cpu_s = 0.18, .rss_bytes = 3e7};
  mz_window_quantise(w);
}

static mz_status decide(fixture *f, cJSON *rows) {
  mz_allocation_settings settings = f->settings.allocation;
  snprintf(settings.strategy, sizeof settings.strategy, "greedy");
  mz_allocator_options options = {.pipeline = &f->pipeline,
                                  .settings = &settings,
                                  .bounds = {.cpu_max = 2, .memory_max = INFINITY},
                                  .start = mz_plan_of_knobs(&f->workers.knobs)};
  mz_allocator *allocator;
  static double ledger_us[DECISIONS], history_us[DECISIONS];
  mz_ledger ledger = {.fd = -1};
  mz_history *history = NULL;
  char path[600];
  mz_decision decision;
  mz_status status;
  MZ_TRY(mz_allocator_create(&allocator, &options));
  snprintf(path, sizeof path, "%s/history.db", f->dir);
  MZ_TRY_CLEANUP(mz_history_open(&history, path));
  MZ_TRY_CLEANUP(mz_ledger_open(&ledger, f->dir, 0));
  MZ_TRY_CLEANUP(mz_ledger_begin(&ledger, &options, 0, 0));
  mz_allocator_begin(allocator, 0, 0, &decision);
  for (int i = 0; i < DECISIONS; i++) {
    mz_window window;
    mz_history_row row = {.key = {.machine = "bench", .env = "cartpole", .network = "-", .work = "0"},
                          .source = "bench",
                          .version = MUZERO_VERSION};
    make_window(&window, i + 1);
    mz_observation_from_window(&row.observation, mz_allocator_plan(allocator), &window);
    uint64_t start = mz_clock_ns();
    mz_allocator_decide(allocator, &window, &decision);
    f->us[i] = since_us(start);
    start = mz_clock_ns();
    MZ_TRY_CLEANUP(mz_ledger_append(&ledger, &f->pipeline, &decision, window.round_s, window.round_count, &window, NULL));
    ledger_us[i] = since_us(start);
    start = mz_clock_ns();
    MZ_TRY_CLEANUP(mz_history_add(history, &f->pipeline, &row));
    history_us[i] = since_us(start);
  }
  add_row(rows, "decision", f->us, DECISIONS);
  add_row(rows, "ledger line", ledger_us, DECISIONS);
  add_row(rows, "history row", history_us, DECISIONS);
cleanup:
  mz_ledger_close(&ledger);
  mz_history_close(history);
  mz_allocator_free(allocator);
  return status;
}

mz_status mz_bench_allocator(mz_bench *bench, cJSON **out) {
  (void)bench;
  fixture *f;
  cJSON *rows = cJSON_CreateArray();
  MZ_TRY(mz_alloc(&f, 1, sizeof *f));
  mz_status status = fixture_init(f);
  if (status == MZ_OK) status = change_plans(f, rows);
  if (status == MZ_OK) status = decide(f, rows);
  fixture_deinit(f);
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
