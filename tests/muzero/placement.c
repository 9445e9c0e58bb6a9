/* Stages on devices of the CUDA module's stand-in (tests/fake_module.c), which compute as the CPU does: where they run changes no
 * digest, resumed runs stay where they were, and what cannot be had is refused. */
#include "muzero/run.h"
#include "muzero/storage/sections.h"
#include "testing.h"

static const char *const sets[] = {"num_games=12",
                                   "moves_per_round=6",
                                   "loop_count=5",
                                   "batch_size=32",
                                   "shards=8",
                                   "simulations=10",
                                   "unroll_steps=3",
                                   "td_steps=4",
                                   "network.width=32",
                                   "replay.min_fill=50",
                                   "replay.capacity=300",
                                   "reanalyze_ratio=0.3",
                                   "target_interval=7",
                                   "weight_average=0.9",
                                   "network.kind=mlp",
                                   "train.phase_rounds=3",
                                   "eval.opponent=random",
                                   "eval.games=4",
                                   "replay.priority_exponent=0.6"};
enum { SETS = sizeof sets / sizeof *sets, ROUNDS = 7, GPUS = 2 };

/* One set of all cores, then two GPUs. */
static const mz_devices *devices(void) {
  static mz_devices found;
  if (found.count > 0) return &found;
  expect_ok(mz_devices_find(&found, "auto", "test"));
  found.count = 1;
  for (int gpu = 0; gpu < GPUS; gpu++) assert_true(mz_devices_add_gpu(&found, gpu, "Fake GPU", 1e9));
  return &found;
}

/* Devices of self-play, reanalysis and learning: 1 the CPUs, 2 and 3 the GPUs. */
static const mz_knobs placements[] = {
    {1, 1, 1, 12, 2, 1, 1, 1, 0, 0}, {2, 1, 1, 6, 4, 2, 1, 1, 0, 0}, {1, 2, 1, 12, 2, 1, 2, 1, 0, 0},
    {1, 1, 2, 5, 1, 1, 1, 2, 0, 0},  {2, 2, 2, 3, 4, 2, 2, 2, 0, 0}, {1, 1, 1, 12, 2, 3, 2, 3, 0, 0},
    {2, 2, 1, 4, 8, 2, 3, 1, 0, 0},
};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

/* Plays rounds under one placement after the other. */
static uint64_t play(const mz_knobs *plans, int count) {
  mz_settings settings = settings_with(sets, SETS);
  mz_state state;
  mz_workers workers;
  mz_round_stats stats = {0};
  uint64_t hashes[MZ_DIGEST_PARTS], digest;
  const mz_placement begins = mz_placement_of(&plans[0], devices());
  expect_ok(mz_state_init(&state, env_named("tictactoe"), &settings, 7, 1, &begins));
  expect_ok(mz_workers_init(&workers, &state, &plans[0], devices()));
  for (int r = 0; r < ROUNDS; r++) {
    if (r > 0) expect_ok(mz_workers_resize(&workers, &plans[r % count]));
    const mz_placement now = mz_placement_of(&plans[r % count], devices());
    assert_true(mz_lane_same(&state.where.selfplay, &now.selfplay) && mz_lane_same(&state.where.learning, &now.learning));
    expect_ok(mz_round_play(&state, &workers, &stats));
  }
  assert_true(stats.learning.updates > 0);
  expect_ok(mz_state_digest(&state, hashes, &digest));
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
  return digest;
}

static void one_digest_wherever_stages_run(void **unused) {
  (void)unused;
  const uint64_t cpu = play(placements, 1);
  for (int i = 1; i < PLACEMENTS; i++) assert_int_equal(play(&placements[i], 1), cpu);
  assert_int_equal(play(placements, PLACEMENTS), cpu);
}

static void a_device_without_memory_leaves_the_old_plan(void **unused) {
  (void)unused;
  mz_settings settings = settings_with(sets, SETS);
  mz_state state;
  mz_workers workers;
  mz_round_stats stats = {0};
  const mz_knobs cpu = placements[0];
  expect_ok(mz_state_init(&state, env_named("tictactoe"), &settings, 7, 1, NULL));
  expect_ok(mz_workers_init(&workers, &state, &cpu, devices()));
  setenv("FAKE_LANES", "0", 1);
  for (int i = 1; i < PLACEMENTS; i++) {
    assert_int_equal(mz_workers_resize(&workers, &placements[i]), MZ_E_MEMORY);
    assert_non_null(strstr(mz_message(), "no memory for"));
    assert_memory_equal(&workers.knobs, &cpu, sizeof cpu);
    assert_true(mz_lane_is_cpu(&state.where.selfplay) && mz_lane_is_cpu(&state.where.learning));
    mz_queue_view view;
    assert_true(mz_queue_look(workers.queue, &view));
    assert_int_equal(view.capacity, cpu.batch_buffer_size);
    expect_ok(mz_round_play(&state, &workers, &stats));
  }
  unsetenv("FAKE_LANES");
  expect_ok(mz_workers_resize(&workers, &placements[4]));
  expect_ok(mz_round_play(&state, &workers, &stats));
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
}

/* ---- runs ---- */

static mz_run_options options_for(const char *dir, const char *device) {
  return (mz_run_options){.env = "tictactoe",
                          .dir = dir,
                          .device = device,
                          .sets = sets,
                          .set_count = SETS,
                          .seed = 5,
                          .seed_given = true,
                          .threads = 2};
}

static void expect_place(const mz_run *run, const char *selfplay, const char *learning) {
  mz_device_records now;
  mz_steer_device_records(run->steer, &run->workers.knobs, &now);
  assert_string_equal(now.stages[MZ_PLACED_SELFPLAY].device, selfplay);
  assert_string_equal(now.stages[MZ_PLACED_LEARNING].device, learning);
}

static uint64_t train(const char *dir, const char *device, int64_t rounds) {
  mz_run *run;
  const mz_run_options options = options_for(dir, device);
  expect_ok(mz_run_open(&run, &options));
  play_to(run, rounds);
  mz_run_close(run);
  return digest_of_run(dir);
}

static mz_run *resume(const char *dir, const char *device, int allow) {
  mz_run *run = NULL;
  const mz_run_options options = {.device = device, .threads = 2};
  expect_ok(mz_run_resume(&run, dir, &options, allow));
  return run;
}

static void expect_refused(const char *dir, const char *device, const char *text) {
  mz_run *run = NULL;
  const mz_run_options options = {.device = device, .threads = 2};
  assert_int_equal(mz_run_resume(&run, dir, &options, 0), MZ_E_CONFIG);
  if (strstr(mz_message(), text) == NULL || strstr(mz_message(), "--allow-numeric") == NULL) fail_msg("%s", mz_message());
}

static void a_resumed_run_stays_where_it_was(void **unused) {
  (void)unused;
  char folder[64], whole[80], parts[80];
  make_folder(folder);
  snprintf(whole, sizeof whole, "%s/whole", folder);
  snprintf(parts, sizeof parts, "%s/parts", folder);
  const uint64_t digest = train(whole, "cpu", ROUNDS);
  train(parts, "cuda:1", 3);
  expect_refused(parts, "cpu", "self-play ran on cuda:1 (Fake GPU) and would run on CPUs (--device cpu leaves GPUs alone)");
  setenv("FAKE_DRIVER", "12080", 1);
  expect_refused(parts, "auto", "with driver 13.0 and would run with 12.8");
  unsetenv("FAKE_DRIVER");
  setenv("FAKE_GPU_MODELS", "Other GPU", 1);
  expect_refused(parts, "auto", "on cuda:1 (Fake GPU) and would run on cuda:1 (Other GPU)");
  unsetenv("FAKE_GPU_MODELS");
  mz_run *run = resume(parts, "auto", 0);
  expect_place(run, "cuda:1", "cuda:1");
  play_to(run, 5);
  mz_run_close(run);
  run = resume(parts, "cpu", MZ_ALLOW_NUMERIC);
  expect_place(run, "cpu:0", "cpu:0");
  play_to(run, 6);
  mz_run_close(run);
  expect_refused(parts, "cuda", "self-play ran on CPUs and would run on cuda:0 (Fake GPU)");
  run = resume(parts, "auto", 0);
  expect_place(run, "cpu:0", "cpu:0");
  play_to(run, ROUNDS);
  mz_run_close(run);
  assert_int_equal(digest_of_run(parts), digest);
  drop_folder(folder);
}

/* The GPU is another one by its number, and the same by its model. */
static void a_gpu_that_is_gone_gives_way_to_its_like(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(dir, "cuda:1", 2);
  setenv("FAKE_GPUS", "1", 1);
  mz_run *run = resume(dir, "cuda", 0);
  expect_place(run, "cuda:0", "cuda:0");
  unsetenv("FAKE_GPUS");
  mz_run_close(run);
  drop_folder(folder);
}

static void settings_place_stages(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  const char *mixed[SETS + 1];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  memcpy(mixed, sets, sizeof sets);
  mixed[SETS] = "devices.learning=cuda:1";
  mz_run *run;
  mz_run_options options = options_for(dir, "auto");
  options.sets = mixed, options.set_count = SETS + 1;
  expect_ok(mz_run_open(&run, &options));
  expect_place(run, "cpu:0", "cuda:1"); /* a network of kind mlp stays where nobody asks for a GPU */
  mz_run_close(run);
  options.device = "cpu";
  assert_int_equal(mz_run_open(&run, &options), MZ_E_DEVICE);
  assert_non_null(strstr(mz_message(), "devices.learning: cuda:1 cannot be had"));
  mixed[SETS] = "devices.learning=cuda:5";
  options.device = "cuda";
  assert_int_equal(mz_run_open(&run, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "did you mean 'cuda:"));
  drop_folder(folder);
}

static const mz_knob *knob_of(const mz_run *run, int knob) { return &mz_steer_pipeline(run->steer)->knobs[knob]; }

/* On a GPU few actors search many games each. */
static void a_gpu_is_given_large_groups(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run;
  const char *all[SETS + 1];
  memcpy(all, sets, sizeof sets);
  all[0] = "num_games=3000";
  all[SETS] = "allocate.strategy=fixed";
  mz_run_options options = options_for(dir, "cuda");
  options.sets = all, options.set_count = SETS + 1, options.threads = 4;
  expect_ok(mz_run_open(&run, &options));
  const mz_knobs *k = &run->workers.knobs;
  assert_int_equal(k->cpu_actor, 2);
  assert_int_equal(k->mcts_storage_size, 1024);
  assert_int_equal(k->learner_threads, 1);
  assert_int_equal(k->batch_actor, 2);
  assert_int_equal(knob_of(run, MZ_KNOB_MCTS_STORAGE_SIZE)->max, 3000);
  mz_run_close(run);
  drop_folder(folder);
}

static void auto_puts_large_networks_on_a_gpu(void **unused) {
  (void)unused;
  static const char *const conv[] = {"network.kind=conv", "network.channels=16", "network.blocks=1"}, *const large[] = {
                                                                                                          "network.kind=conv",
                                                                                                          "network.channels=128",
                                                                                                          "network.blocks=3"};
  const mz_spec *spec = &env_named("connect4")->spec;
  mz_device_choice choice;
  const mz_settings small_network = settings_with(conv, 3), large_network = settings_with(large, 3);
  expect_ok(mz_device_choose(&choice, "auto", &small_network, spec, NULL));
  assert_int_equal(choice.first, -1);
  expect_ok(mz_device_choose(&choice, NULL, &large_network, spec, NULL));
  assert_int_equal(choice.first, 0);
  assert_false(choice.asked || choice.holds);
  assert_int_equal(mz_device_choose(&choice, "cuda:2", &large_network, spec, NULL), MZ_E_DEVICE);
  assert_non_null(strstr(mz_message(), "nearest: cuda:1"));
  assert_int_equal(mz_device_choose(&choice, "cuda:x", &large_network, spec, NULL), MZ_E_USAGE);
  setenv("FAKE_GPUS", "0", 1);
  expect_ok(mz_device_choose(&choice, "auto", &large_network, spec, NULL));
  assert_int_equal(choice.first, -1);
  assert_int_equal(mz_device_choose(&choice, "cuda", &large_network, spec, NULL), MZ_E_DEVICE);
  assert_non_null(strstr(mz_message(), "the NVIDIA driver knows none"));
  unsetenv("FAKE_GPUS");
}

/* ---- what may move ---- */

static void expect_range(const char *folder, const char *device, const char *numeric, int64_t min, int64_t max) {
  char dir[96];
  const char *all[SETS + 1];
  mz_run *run;
  static int number;
  snprintf(dir, sizeof dir, "%s/run%d", folder, number++);
  memcpy(all, sets, sizeof sets);
  all[SETS] = numeric;
  mz_run_options options = options_for(dir, device);
  options.sets = all, options.set_count = SETS + 1;
  expect_ok(mz_run_open(&run, &options));
  for (int k = MZ_KNOB_SELFPLAY_DEVICE; k <= MZ_KNOB_LEARNING_DEVICE; k++) {
    assert_int_equal(knob_of(run, k)->min, min);
    assert_int_equal(knob_of(run, k)->max, max);
  }
  mz_run_close(run);
}

static void no_plan_changes_rounding_unless_it_may(void **unused) {
  (void)unused;
  char folder[64];
  make_folder(folder);
  setenv("FAKE_GPUS", "3", 1);
  setenv("FAKE_GPU_MODELS", "A,A,B", 1);
  expect_range(folder, "auto", "allocate.numeric=off", 0, 0);
  expect_range(folder, "cuda", "allocate.numeric=off", 1, 2); /* the two of one model */
  expect_range(folder, "cuda", "allocate.numeric=on", 0, 3);
  expect_range(folder, "cuda:2", "allocate.numeric=off", 3, 3);
  expect_range(folder, "cuda:1", "allocate.numeric=on", 2, 2); /* held */
  expect_range(folder, "cpu", "allocate.numeric=on", 0, 0);
  unsetenv("FAKE_GPUS");
  unsetenv("FAKE_GPU_MODELS");
  drop_folder(folder);
}

/* A plan is shrunk until a GPU has room for it, and refused with the sum where none has. */
static void memory_of_gpus_bounds_plans(void **unused) {
  (void)unused;
  char folder[64], dir[80], sum[512];
  const char *all[SETS + 2];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  memcpy(all, sets, sizeof sets);
  mz_run *run;
  mz_run_options options = options_for(dir, "cuda:1");
  all[SETS] = "cpu_actor=2", all[SETS + 1] = "limits.gpu_memory=300M";
  options.sets = all, options.set_count = SETS + 2;
  assert_int_equal(mz_run_open(&run, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "limits.gpu_memory: the start plan may need"));
  assert_non_null(strstr(mz_message(), " MiB of cuda:1, "));
  assert_non_null(strstr(mz_message(), "actor "));
  all[SETS] = "cpu_actor=0", all[SETS + 1] = "limits.gpu_memory=600M"; /* two actors and two builders want more */
  expect_ok(mz_run_open(&run, &options));
  assert_true(run->workers.knobs.cpu_actor * run->workers.knobs.batch_actor < 4);
  const mz_pipeline *pipeline = mz_steer_pipeline(run->steer);
  const mz_plan plan = mz_plan_of_knobs(&run->workers.knobs);
  assert_int_equal(pipeline->devices[2].memory, 600e6);
  assert_true(mz_plan_gpu_bytes(pipeline, &plan, 1, NULL, 0) == 0);
  assert_true(mz_plan_gpu_bytes(pipeline, &plan, 2, sum, sizeof sum) <= 600e6);
  assert_non_null(strstr(sum, "learner "));
  mz_run_close(run);
  drop_folder(folder);
}

static void a_lost_device_names_the_way_on(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(dir, "cuda", 4);
  mz_run *run = resume(dir, "auto", 0);
  const mz_limits limits = {.rounds = 20};
  mz_phase phase;
  mz_reason reason;
  setenv("FAKE_LOST", "0", 1);
  assert_int_equal(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason), MZ_E_DEVICE);
  unsetenv("FAKE_LOST");
  assert_non_null(strstr(mz_message(), "fallen off the bus"));
  assert_non_null(strstr(mz_message(), "the last checkpoint is "));
  assert_non_null(strstr(mz_message(), "--device cpu --allow-numeric'"));
  mz_run_close(run);
  run = resume(dir, "cpu", MZ_ALLOW_NUMERIC);
  play_to(run, 5);
  mz_run_close(run);
  drop_folder(folder);
}

int main(void) {
  setenv("MUZERO_CUDA_MODULE", FAKE_MODULE, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_digest_wherever_stages_run),
      cmocka_unit_test(a_device_without_memory_leaves_the_old_plan),
      cmocka_unit_test(a_resumed_run_stays_where_it_was),
      cmocka_unit_test(a_gpu_that_is_gone_gives_way_to_its_like),
      cmocka_unit_test(settings_place_stages),
      cmocka_unit_test(a_gpu_is_given_large_groups),
      cmocka_unit_test(auto_puts_large_networks_on_a_gpu),
      cmocka_unit_test(no_plan_changes_rounding_unless_it_may),
      cmocka_unit_test(memory_of_gpus_bounds_plans),
      cmocka_unit_test(a_lost_device_names_the_way_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
