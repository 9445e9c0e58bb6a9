/* What ties settings together, and the presets. */
#include "testing.h"
#include "muzero/knobs.h"
#include "muzero/run.h"

static mz_status resolve(const char *const *sets, int count, mz_settings *settings) {
  uint8_t given[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, given);
  mz_config_defaults(&config);
  memset(given, 0, sizeof given);
  for (int i = 0; i < count; i++) expect_ok(mz_config_set_pair(&config, sets[i], "test"));
  return mz_settings_resolve(settings, given);
}

static void two_of_three_give_the_replay_ratio(void **unused) {
  (void)unused;
  mz_settings s;
  expect_ok(resolve((const char *[]){"num_games=32", "moves_per_round=16", "loop_count=40", "batch_size=128"}, 4, &s));
  assert_true(s.learning.replay_ratio == 10);
  expect_ok(resolve((const char *[]){"num_games=32", "moves_per_round=16", "replay_ratio=5", "batch_size=128"}, 4, &s));
  assert_int_equal(s.learning.loop_count, 20);
  expect_ok(resolve((const char *[]){"num_games=32", "loop_count=40", "replay_ratio=20", "batch_size=128"}, 4, &s));
  assert_int_equal(s.selfplay.moves, 8);
  assert_int_equal(resolve((const char *[]){"num_games=32", "moves_per_round=16", "replay_ratio=5.1", "batch_size=128"}, 4, &s),
                   MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid replay_ratio: 5"));
  assert_int_equal(resolve((const char *[]){"num_games=32", "moves_per_round=16", "replay_ratio=2000", "batch_size=128"}, 4, &s),
                   MZ_E_CONFIG); /* loop_count 8000, which no stored run may have */
  assert_non_null(strstr(mz_message(), "more than it may be; nearest valid replay_ratio: 1024"));
  assert_int_equal(resolve((const char *[]){"num_games=1", "loop_count=4096", "replay_ratio=1", "batch_size=65536"}, 4, &s),
                   MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "from 1 to 1048576; nearest valid replay_ratio: 256"));
  assert_int_equal(
      resolve((const char *[]){"num_games=32", "moves_per_round=16", "loop_count=40", "replay_ratio=5", "batch_size=128"}, 5, &s),
      MZ_E_CONFIG);
}

static void shards_divide_the_batch(void **unused) {
  (void)unused;
  mz_settings s;
  assert_int_equal(resolve((const char *[]){"batch_size=100", "shards=16"}, 2, &s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 96"));
  expect_ok(resolve((const char *[]){"batch_size=100"}, 1, &s));
  assert_int_equal(100 % s.learning.shards, 0);
}

static void groups_of_batch_norm_divide_a_shard(void **unused) {
  (void)unused;
  mz_settings s;
  const char *sets[] = {"network.kind=conv", "batch_size=320", "shards=16", "network.bn_rows=9"};
  assert_int_equal(resolve(sets, 4, &s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 10"));
  sets[3] = "network.bn_rows=30";
  assert_int_equal(resolve(sets, 4, &s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 20"));
  expect_ok(resolve(sets, 3, &s)); /* nobody asked for a number */
  assert_int_equal(20 % s.network.norm_rows, 0);
}

static void a_projection_normalises_and_needs_consistency(void **unused) {
  (void)unused;
  mz_settings s;
  const char *sets[] = {"network.projection=64", "loss.consistency_weight=1", "batch_size=320", "shards=16", "network.bn_rows=9"};
  assert_int_equal(resolve(sets, 5, &s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 10"));
  expect_ok(resolve(sets, 4, &s));
  assert_int_equal(20 % s.network.norm_rows, 0);
  assert_int_equal(resolve(sets, 1, &s), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "loss.consistency_weight"));
}

static void every_bundled_preset_is_valid(void **unused) {
  (void)unused;
  assert_true(mz_preset_count() >= 2);
  for (int i = 0; i < mz_preset_count(); i++) {
    mz_settings s;
    mz_config config = mz_settings_config(&s, NULL);
    mz_config_defaults(&config);
    expect_ok(mz_preset_apply(&config, mz_preset_name(i)));
    expect_ok(mz_settings_resolve(&s, NULL));
  }
  char *text;
  size_t size;
  expect_ok(mz_preset_load("gomoku:size=9", &text, &size)); /* of the game that it is a variant of */
  assert_non_null(strstr(text, "Gomoku"));
  free(text);
  assert_int_equal(mz_preset_load("cartpol", &text, &size), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "cartpole"));
}

static mz_status settings_of_preset(const char *file, const char *text, mz_settings *out) {
  expect_ok(mz_file_write_atomic(file, text, strlen(text)));
  const mz_run_options options = {.preset = file};
  return mz_settings_for_new_run(&options, out);
}

static void a_preset_may_begin_with_a_bundled_one(void **unused) {
  (void)unused;
  char folder[64], file[96];
  make_folder(folder);
  expect_ok(mz_path_join(file, sizeof file, folder, "mine.json"));
  mz_settings breakout, mine;
  expect_ok(mz_settings_for_new_run(&(mz_run_options){.preset = "breakout"}, &breakout)); /* which begins with asterix */
  expect_ok(settings_of_preset(file, "{\"network\": {\"blocks\": 7}, \"preset\": \"breakout\"}", &mine));
  assert_int_equal(mine.network.blocks, 7); /* its own settings count wherever "preset" stands */
  mz_config from = mz_settings_config(&breakout, NULL), to = mz_settings_config(&mine, NULL);
  for (int row = 0; row < mz_config_row_count(&from); row++)
    if (strcmp(mz_config_row(&from, row)->key, "network.blocks") != 0) assert_true(mz_config_equal(&from, &to, row));
  assert_int_equal(settings_of_preset(file, "{\"preset\": \"brekout\"}", &mine), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "did you mean 'breakout'"));
  assert_non_null(strstr(mz_message(), file));
  assert_int_equal(settings_of_preset(file, "{\"preset\": 3}", &mine), MZ_E_CONFIG);
  assert_int_equal(settings_of_preset(file, "{\"preset\": \"mine.json\"}", &mine), MZ_E_CONFIG); /* of files, none */
  assert_int_equal(settings_of_preset(file, "{\"train\": {\"preset\": \"asterix\"}}", &mine), MZ_E_CONFIG);
  drop_folder(folder);
}

/* Settings are read back as a run of each preset records them. */
static void every_config_of_a_run_is_a_preset(void **unused) {
  (void)unused;
  char folder[64], file[96];
  make_folder(folder);
  expect_ok(mz_path_join(file, sizeof file, folder, "config.json"));
  for (int i = 0; i < mz_preset_count(); i++) {
    mz_settings made, read;
    const char *sets[] = {"loop_count=7"}; /* with most presets' numbers replay_ratio is then no binary fraction */
    mz_run_options options = {.preset = mz_preset_name(i), .sets = sets, .set_count = 1};
    expect_ok(mz_settings_for_new_run(&options, &made));
    mz_config from = mz_settings_config(&made, NULL), to = mz_settings_config(&read, NULL);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "env", "tictactoe");
    cJSON_AddStringToObject(json, "seed", "1");
    cJSON_AddItemToObject(json, "settings", mz_config_to_json(&from));
    char *text = mz_json_page(json);
    cJSON_Delete(json);
    expect_ok(mz_file_write_atomic(file, text, strlen(text)));
    free(text);
    options = (mz_run_options){.preset = file};
    expect_ok(mz_settings_for_new_run(&options, &read));
    for (int row = 0; row < mz_config_row_count(&from); row++) assert_true(mz_config_equal(&from, &to, row));
  }
  drop_folder(folder);
}

static void settings_survive_their_text(void **unused) {
  (void)unused;
  mz_settings a = settings_with((const char *[]){"learning_rate=0.1234567890123456789", "replay.capacity=123k",
                                                 "checkpoint.interval=90s", "eval.opponent=mcts:50"},
                                4),
              b;
  mz_config from = mz_settings_config(&a, NULL), to = mz_settings_config(&b, NULL);
  cJSON *json = mz_config_to_json(&from);
  mz_config_defaults(&to);
  expect_ok(mz_config_set_json(&to, json, "test"));
  for (int i = 0; i < mz_config_row_count(&from); i++) assert_true(mz_config_equal(&from, &to, i));
  cJSON_Delete(json);
}

static void renamed_keys_lead_to_settings(void **unused) {
  (void)unused;
  mz_settings s;
  mz_config config = mz_settings_config(&s, NULL);
  for (const mz_renamed_key *r = mz_renamed_settings; r->old; r++) {
    const int index = mz_config_find(&config, r->old);
    assert_true(index >= 0);
    assert_string_equal(mz_config_row(&config, index)->key, r->key);
  }
}

static void knobs_follow_the_thread_budget(void **unused) {
  (void)unused;
  mz_settings s = settings_with(NULL, 0);
  mz_knobs k = {0};
  mz_knobs_resolve(&k, &s, 1);
  assert_int_equal(k.cpu_actor, 1);
  assert_int_equal(k.learner_threads, 1);
  k = (mz_knobs){.cpu_actor = 3};
  mz_knobs_resolve(&k, &s, 8);
  assert_int_equal(k.cpu_actor, 3);
  assert_int_equal(k.learner_threads, 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_of_three_give_the_replay_ratio),  cmocka_unit_test(shards_divide_the_batch),
      cmocka_unit_test(groups_of_batch_norm_divide_a_shard), cmocka_unit_test(a_projection_normalises_and_needs_consistency),
      cmocka_unit_test(every_bundled_preset_is_valid),       cmocka_unit_test(a_preset_may_begin_with_a_bundled_one),
      cmocka_unit_test(every_config_of_a_run_is_a_preset),   cmocka_unit_test(settings_survive_their_text),
      cmocka_unit_test(knobs_follow_the_thread_budget),      cmocka_unit_test(renamed_keys_lead_to_settings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
