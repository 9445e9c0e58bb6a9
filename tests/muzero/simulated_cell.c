/* Arms on a simulated machine: blocks as a process replies them, the same every time, with windows as the trainer has them; cores that
 * come and go; what costs more as the run goes on. */
#include "muzero/compare/simulated_cell.h"
#include "muzero/compare/simulated_probes.h"
#include "muzero/run.h"
#include "muzero/steering/trainer_pipeline.h"
#include "tests/muzero/testing.h"
#include <math.h>
#include <string.h>

enum { ROUNDS = 200 };

/* The probes that a small network might give, without measuring. */
static mz_pipeline probed(void) {
  mz_pipeline p = {.stage_count = MZ_STAGE_EVALUATE + 1};
  p.stages[MZ_STAGE_ACTOR] = (mz_pipeline_stage){.probes = {{.batch = {1, 8, 32}, .cpu_s = {4e-6, 1.6e-6, 1.3e-6}}}};
  p.stages[MZ_STAGE_BATCH] = (mz_pipeline_stage){.probes = {{.batch = {1}, .cpu_s = {6e-5}}}};
  p.stages[MZ_STAGE_LEARNER] = (mz_pipeline_stage){.probes = {{.batch = {1}, .cpu_s = {1.2e-3}}}};
  return p;
}

static mz_simulated_cell *open_cell(const char *machine, const char *strategy, const char *start, uint64_t noise_seed) {
  const char *const sets[] = {start};
  const mz_run_options options = {.env = "cartpole", .sets = sets, .set_count = 1, .allocate = strategy};
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  const mz_pipeline probes = probed();
  mz_simulated_cell_options cell = {
      .probed = &probes, .settings = &settings, .memory = &memory, .seed = 1, .noise_seed = noise_seed, .rounds = ROUNDS};
  mz_simulated_cell *out;
  expect_ok(mz_sim_machine_parse(&cell.machine, machine));
  expect_ok(mz_env_find("cartpole", &env));
  expect_ok(mz_settings_for_new_run(&options, &settings));
  expect_ok(mz_memory_count(&memory, env, &settings, NULL));
  memory.fixed[MZ_MEMORY_PROCESS] = 40 << 20; /* not what this process has now */
  expect_ok(mz_simulated_cell_open(&out, &cell));
  return out;
}

static double number(const cJSON *block, const char *key) { return mz_json_number_or_nan(block, key); }

/* Plays to the end; blocks: an array. */
static cJSON *play(mz_simulated_cell *cell, int64_t rounds) {
  cJSON *blocks = cJSON_CreateArray();
  for (bool ended = false; !ended;) {
    cJSON *block;
    expect_ok(mz_simulated_cell_advance(cell, rounds, &block, &ended));
    cJSON_AddItemToArray(blocks, block);
  }
  return blocks;
}

static double total(const cJSON *blocks, const char *key) {
  const cJSON *block;
  double sum = 0;
  cJSON_ArrayForEach(block, blocks) sum += number(block, key);
  return sum;
}

static void blocks_are_as_a_process_replies_them(void **state) {
  (void)state;
  static const char *const keys[] = {"wall_s", "cpu_s", "reserved_core_s", "gib_s", "cost"};
  mz_simulated_cell *cell = open_cell("sim:cores=16", "greedy", "allocate.start=plain", 7);
  cJSON *blocks = play(cell, 30), *block;
  mz_simulated_cell_close(cell);
  assert_int_equal(cJSON_GetArraySize(blocks), (ROUNDS + 29) / 30);
  int at = 0;
  cJSON_ArrayForEach(block, blocks) {
    const bool last = ++at == cJSON_GetArraySize(blocks);
    assert_true(number(block, "rounds") == (last ? ROUNDS : 30 * at));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) assert_true(number(block, keys[k]) > 0);
    assert_true(number(block, "cpu_s") <= 16 * number(block, "wall_s"));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(block, "score")));
    assert_int_equal(strlen(mz_json_text_or_empty(block, "digest")), 16);
    assert_string_equal(mz_json_text_or_empty(block, "reason"), last ? "rounds" : "");
    assert_true(mz_json_number_or_nan(cJSON_GetObjectItem(block, "plan"), "cpu_actor") >= 1);
  }
  assert_true(total(blocks, "changes") > 0);
  cJSON_Delete(blocks);
}

static char *line_of(const char *machine, const char *strategy, uint64_t noise_seed, int64_t rounds) {
  mz_simulated_cell *cell = open_cell(machine, strategy, "allocate.start=plain", noise_seed);
  cJSON *blocks = play(cell, rounds);
  char *line = mz_json_line(blocks);
  cJSON_Delete(blocks);
  mz_simulated_cell_close(cell);
  return line;
}

static void the_same_comes_of_it_every_time(void **state) {
  (void)state;
  static const char machine[] = "sim:cores=64,numa=2,gpus=2,quota=40,neighbour=9,drift=2,tail=0.02";
  char *first = line_of(machine, "greedy", 3, 20), *again = line_of(machine, "greedy", 3, 20),
       *other = line_of(machine, "greedy", 4, 20);
  assert_string_equal(first, again);
  assert_string_not_equal(first, other);
  free(first), free(again), free(other);
}

static double wall_of(const char *machine, const char *strategy, const char *start) {
  mz_simulated_cell *cell = open_cell(machine, strategy, start, 5);
  cJSON *blocks = play(cell, ROUNDS);
  const double seconds = total(blocks, "wall_s");
  cJSON_Delete(blocks);
  mz_simulated_cell_close(cell);
  return seconds;
}

static void what_adapts_leaves_a_bad_plan(void **state) {
  (void)state;
  const double plain = wall_of("sim:cores=16", "fixed", "allocate.start=plain");
  const double automatic = wall_of("sim:cores=16", "fixed", "allocate.start=auto");
  const double adapted = wall_of("sim:cores=16", "greedy", "allocate.start=plain");
  assert_true(automatic < 0.6 * plain && adapted < 0.6 * plain);
  assert_true(wall_of("sim:cores=16,drift=4", "fixed", "allocate.start=plain") > 1.2 * plain);
  assert_true(wall_of("sim:cores=16,quota=0.5", "fixed", "allocate.start=plain") > 1.5 * plain);
}

/* The plan moves into the bounds after the window in which cores went, and back to what it was when they return. */
static void cores_come_and_go(void **state) {
  (void)state;
  mz_sim_machine machine;
  cJSON *block;
  bool ended;
  mz_simulated_cell *cell = open_cell("sim:cores=16", "fixed", "allocate.start=auto", 5);
  static const int cores[] = {16, 2, 16}, actors[] = {16, 4, 16}; /* as many as may be: twice the cores */
  double wall_s[3];
  for (int i = 0; i < 3; i++) {
    char text[32];
    snprintf(text, sizeof text, "sim:cores=%d", cores[i]);
    expect_ok(mz_sim_machine_parse(&machine, text));
    mz_simulated_cell_change(cell, &machine);
    expect_ok(mz_simulated_cell_advance(cell, 60, &block, &ended));
    assert_int_equal((int)mz_json_number_or_nan(cJSON_GetObjectItem(block, "plan"), "cpu_actor"), actors[i]);
    assert_true(number(block, "cpu_s") <= 16 * number(block, "wall_s"));
    wall_s[i] = number(block, "wall_s");
    cJSON_Delete(block);
  }
  assert_true(wall_s[1] > 2 * wall_s[0] && wall_s[2] < 0.6 * wall_s[1]);
  mz_simulated_cell_close(cell);
}

static void a_machine_without_room_is_refused(void **state) {
  (void)state;
  const mz_run_options options = {.env = "cartpole"};
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  mz_pipeline probes = probed();
  mz_simulated_cell *out;
  mz_simulated_cell_options cell = {.probed = &probes, .settings = &settings, .memory = &memory, .rounds = 1};
  expect_ok(mz_env_find("cartpole", &env));
  expect_ok(mz_settings_for_new_run(&options, &settings));
  expect_ok(mz_memory_count(&memory, env, &settings, NULL));
  memory.fixed[MZ_MEMORY_PROCESS] = 40 << 20; /* not what this process has now */
  expect_ok(mz_sim_machine_parse(&cell.machine, "sim:memory=0.03"));
  assert_int_equal(mz_simulated_cell_open(&out, &cell), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "limits.memory_max"));
  expect_ok(mz_sim_machine_parse(&cell.machine, "sim:cores=4"));
  probes = (mz_pipeline){0};
  assert_int_equal(mz_simulated_cell_open(&out, &cell), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "no stage was probed"));
}

/* Later memory of this process and of those that play the environment is another. */
static void memory_is_that_of_when_stages_were_timed(void **unused) {
  (void)unused;
  const mz_simulated_probes timed = {.process_bytes = 40 << 20, .env_bytes = 21 << 20};
  mz_simulated_probes read;
  mz_memory memory = {.env = {.bytes = 1}};
  memory.fixed[MZ_MEMORY_PROCESS] = 2;
  cJSON *json = mz_simulated_probes_json(&timed);
  expect_ok(mz_simulated_probes_read(&read, json, "plan.json"));
  mz_simulated_probes_settle(&read, &memory);
  assert_true(memory.fixed[MZ_MEMORY_PROCESS] == timed.process_bytes && memory.env.bytes == timed.env_bytes);
  cJSON_DeleteItemFromObject(json, "env_bytes"); /* as files from before it was kept */
  expect_ok(mz_simulated_probes_read(&read, json, "plan.json"));
  assert_true(read.process_bytes == timed.process_bytes && read.env_bytes == 0);
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_as_a_process_replies_them), cmocka_unit_test(the_same_comes_of_it_every_time),
      cmocka_unit_test(what_adapts_leaves_a_bad_plan),        cmocka_unit_test(cores_come_and_go),
      cmocka_unit_test(a_machine_without_room_is_refused),    cmocka_unit_test(memory_is_that_of_when_stages_were_timed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
