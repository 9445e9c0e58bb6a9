/* The processes that play a run's environment: within the cores that a run may use, resized between phases, and in its records. */
#include "base/json/json.h"
#include "envs/worker/workers.h"
#include "muzero/run.h"
#include "testing.h"
#include <sched.h>
#include <stdlib.h>

#define GAME OWN_GAMES "/game_42.so"

static char folder[64];

/* Fresh options make another environment, with processes of its own; limit: in cores. */
static mz_run *open_run(const char *name, const char *dir, const char *limit) {
  static const char *const common[] = {"num_games=4",      "moves_per_round=6",  "loop_count=2",        "batch_size=16",
                                       "shards=2",         "simulations=4",      "unroll_steps=2",      "td_steps=2",
                                       "network.width=16", "replay.min_fill=8",  "replay.capacity=500", "train.phase_rounds=2",
                                       "eval.games=4",     "allocate.share=off", "watchdog.time=0",     "monitor.rate=0"};
  enum { COMMON = sizeof common / sizeof *common };
  const char *sets[COMMON + 1];
  char path[128];
  mz_run *run;
  for (int i = 0; i < COMMON; i++) sets[i] = common[i];
  sets[COMMON] = limit;
  snprintf(path, sizeof path, "%s/%s", folder, dir);
  const mz_run_options options = {.env = name,
                                  .dir = path,
                                  .sets = sets,
                                  .set_count = COMMON + (limit != NULL),
                                  .seed = 3,
                                  .seed_given = true,
                                  .allocate = "fixed"};
  expect_ok(mz_run_open(&run, &options));
  return run;
}

static uint64_t play(const char *name, const char *dir, const int *numbers, int phases) {
  mz_run *run = open_run(name, dir, NULL);
  mz_phase phase = {0};
  for (int i = 0; i < phases; i++) {
    if (numbers) expect_ok(mz_run_resize(run, &(mz_knobs){.env_workers = numbers[i]}));
    phase = play_phase(run);
    if (!numbers) continue;
    assert_int_equal(phase.plan.env_workers, numbers[i]);
    assert_int_equal(mz_env_workers_count(mz_run_env(run)->workers), numbers[i]);
    assert_true(phase.env_busy > 0 && phase.env_wait > 0 && phase.env_cpu_s > 0 && phase.cpu_s > phase.env_cpu_s);
  }
  assert_true(phase.counters.updates > 0);
  mz_run_close(run);
  return phase.digest;
}

static void resizing_between_phases_keeps_the_digest(void **unused) {
  (void)unused;
  static const int numbers[] = {2, 1, 3, 4, 1, 2}, ones[] = {1, 1, 1, 1, 1, 1};
  enum { PHASES = sizeof numbers / sizeof *numbers };
  const uint64_t digest = play(GAME, "without", NULL, PHASES);
  assert_true(play(GAME ":isolate=1", "resized", numbers, PHASES) == digest);
  assert_true(play(GAME ":isolate=1", "one", ones, PHASES) == digest);
}

/* ---- limits ---- */

static int children, outside;
static cpu_set_t allowed;

static mz_status look_at(void *context, const char *name) {
  (void)context;
  char path[64];
  int parent = 0;
  cpu_set_t cores;
  const pid_t pid = atoi(name);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = pid > 0 ? fopen(path, "r") : NULL;
  if (!file) return MZ_OK;
  const bool own = fscanf(file, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == getpid();
  fclose(file);
  if (!own || sched_getaffinity(pid, sizeof cores, &cores) != 0) return MZ_OK;
  children++;
  outside += !CPU_EQUAL(&cores, &allowed);
  return MZ_OK;
}

/* Before any other environment has processes. */
static void processes_keep_to_the_limit(void **unused) {
  (void)unused;
  mz_run *run = open_run(GAME ":isolate=1,timeout=50", "limited", "limits.cpu_max=1");
  const mz_phase phase = play_phase(run);
  const mz_devices *devices = run->workers.devices;
  assert_int_equal(devices->items[0].core_count, 1);
  CPU_ZERO(&allowed);
  CPU_SET((size_t)devices->items[0].cores[0], &allowed);
  assert_int_equal(phase.plan.env_workers, 1);
  expect_ok(mz_file_list("/proc", look_at, NULL));
  assert_int_equal(children, 1);
  assert_int_equal(outside, 0);
  assert_int_equal(mz_steer_cores(run->steer), 1);
  mz_run_close(run);
}

static void others_have_no_such_pool(void **unused) {
  (void)unused;
  mz_run *run = open_run(GAME, "plain", "env_workers=3");
  const mz_phase phase = play_phase(run);
  assert_true(phase.plan.env_workers == 0 && phase.env_busy == 0 && phase.env_wait == 0 && phase.env_cpu_s == 0);
  assert_int_equal(mz_pipeline_knob(mz_steer_pipeline(run->steer), "env_workers"), -1);
  cJSON *json = mz_phase_to_json(&phase);
  assert_false(cJSON_HasObjectItem(cJSON_GetObjectItem(json, "plan"), "env_workers"));
  cJSON_Delete(json);
  mz_run_close(run);
}

static void a_plan_without_a_number_begins_with_the_usual_one(void **unused) {
  (void)unused;
  cJSON *json = cJSON_Parse("{\"cpu_actor\":2,\"batch_actor\":1,\"learner_threads\":1,\"mcts_storage_size\":2,"
                            "\"batch_buffer_size\":4,\"selfplay_device\":0,\"reanalyze_device\":0,\"learning_device\":0,"
                            "\"replay_raw\":1073741824}"); /* of an earlier version */
  const mz_knobs last = mz_knobs_from_json(json);
  const mz_settings settings = settings_with(NULL, 0);
  const mz_device_choice none = {.first = -1};
  const mz_outset_options options = {
      .bounds = {.cpu_max = 1, .memory_max = 0x1p60}, .threads = 3, .last = &last, .choice = &none};
  mz_outset *outset = calloc(1, sizeof *outset);
  mz_memory memory;
  expect_ok(mz_memory_count(&memory, env_named(GAME ":isolate=1"), &settings, NULL));
  expect_ok(mz_outset_find(outset, &settings, &memory, &options));
  assert_int_equal(outset->plan.values[MZ_KNOB_CPU_ACTOR], 2);
  assert_int_equal(outset->plan.values[MZ_KNOB_ENV_WORKERS], 3);
  free(outset);
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(processes_keep_to_the_limit),
      cmocka_unit_test(resizing_between_phases_keeps_the_digest),
      cmocka_unit_test(others_have_no_such_pool),
      cmocka_unit_test(a_plan_without_a_number_begins_with_the_usual_one),
  };
  make_folder(folder);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  drop_folder(folder);
  return failed;
}
