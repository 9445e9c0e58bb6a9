/* Rows of the history speak for a run only where they were measured on the same work. */
#include "muzero/steering/history_key.h"
#include "muzero/steering/curve_record.h"
#include "testing.h"

static mz_devices one_device = {.count = 1, .items = {{.device = {.name = "cpu:0", .cores = 2}}}};

static mz_history_key key_with(const char *env_name, const char *const *sets, int count) {
  const mz_env *env = env_named(env_name);
  const mz_settings settings = settings_with(sets, count);
  mz_network_settings shape = settings.network;
  shape.inference = shape.training = MZ_PRECISION_F32; /* a model of bf16 can be made on some processors only */
  mz_model model;
  mz_history_key key = {0};
  expect_ok(mz_model_init(&model, &shape, &env->spec));
  mz_history_key_of(&key, env, &settings, &model, 2, &one_device);
  return key;
}

static bool agree(const mz_history_key *a, const mz_history_key *b) {
  return strcmp(a->machine, b->machine) == 0 && strcmp(a->env, b->env) == 0 && strcmp(a->network, b->network) == 0 &&
         strcmp(a->work, b->work) == 0;
}

/* Whatever a unit's cost depends on separates two keys, precision too; a learning rate does not. */
static void what_changes_the_work_changes_the_key(void **unused) {
  (void)unused;
  static const char *const changes[] = {"network.kind=mlp",        "network.channels=32",   "network.blocks=3",
                                        "network.pooled_blocks=1", "network.bn_rows=4",     "network.prediction_blocks=1",
                                        "network.inference=bf16",  "network.training=bf16", "network.head_channels=32",
                                        "simulations=9",           "batch_size=64"};
  enum { CHANGES = sizeof changes / sizeof changes[0] };
  mz_history_key keys[CHANGES + 1];
  const char *sets[] = {"network.kind=conv", "learning_rate=0.01", ""};
  keys[CHANGES] = key_with("connect4", sets, 1);
  const mz_history_key slower = key_with("connect4", sets, 2);
  assert_true(agree(&keys[CHANGES], &slower));
  for (int i = 0; i < CHANGES; i++) {
    sets[1] = changes[i];
    keys[i] = key_with("connect4", sets, 2);
  }
  for (int i = 0; i <= CHANGES; i++)
    for (int j = 0; j < i; j++)
      if (agree(&keys[i], &keys[j])) fail_msg("%s: the same key as %s", i < CHANGES ? changes[i] : "conv", changes[j]);
}

static void a_conv_model_is_named_by_its_layers_and_precision(void **unused) {
  (void)unused;
  const char *sets[] = {"network.kind=conv",           "network.channels=32",     "network.blocks=3",
                        "network.prediction_blocks=1", "network.pooled_blocks=1", "network.training=bf16"};
  const mz_history_key key = key_with("connect4", sets, 6);
  assert_non_null(strstr(key.network, "conv channels 32 blocks 3+1 pooled 1 heads 16, "));
  assert_non_null(strstr(key.network, " parameters, inference f32, training bf16"));
}

/* The longest text that settings can make is not cut. */
static void the_largest_model_has_room(void **unused) {
  (void)unused;
  const char *sets[] = {"network.kind=conv",        "network.channels=1024",       "network.blocks=16",
                        "network.pooled_blocks=16", "network.prediction_blocks=8", "network.head_channels=256",
                        "network.training=bf16",    "network.inference=bf16"};
  const mz_history_key key = key_with("connect4", sets, 8);
  assert_non_null(strstr(key.network, "inference bf16, training bf16"));
}

/* Rows that earlier versions recorded of mlps stay valid. */
static void an_mlp_keeps_its_name(void **unused) {
  (void)unused;
  const char *sets[] = {"network.width=8", "network.depth=2", "network.training=bf16"};
  const mz_history_key key = key_with("cartpole", sets, 3);
  assert_ptr_equal(strstr(key.network, "mlp width 8 depth 2 latent 8, "), key.network);
  assert_string_equal(strrchr(key.network, ' '), " parameters");
}

/* Plans name devices by number. */
static void several_devices_are_named(void **unused) {
  (void)unused;
  const mz_history_key one = key_with("tictactoe", NULL, 0);
  mz_devices *devices = &one_device, before = one_device;
  devices->count = 3;
  for (int i = 0; i < 2; i++) devices->items[i].device = (mz_device){.name = "cpu:0", .cores = 1};
  devices->items[2].device = (mz_device){.name = "cuda:0", .kind = MZ_DEVICE_CUDA};
  const mz_history_key several = key_with("tictactoe", NULL, 0);
  one_device = before;
  assert_false(agree(&one, &several));
  assert_non_null(strstr(several.machine, ", devices 1+1+cuda:0"));
  assert_null(strstr(one.machine, "devices"));
}

/* A plan that was measured on one model of GPU says nothing of another. */
static void other_gpus_are_another_machine(void **unused) {
  (void)unused;
  static const char *const models[][2] = {{"A", "A"}, {"A", "B"}, {"B", "B"}, {"B", "A"}};
  mz_history_key keys[5];
  keys[4] = key_with("tictactoe", NULL, 0);
  for (int i = 0; i < 4; i++) {
    const mz_devices before = one_device;
    for (int g = 0; g < 2; g++) assert_true(mz_devices_add_gpu(&one_device, g, models[i][g], 0));
    keys[i] = key_with("tictactoe", NULL, 0);
    one_device = before;
  }
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) assert_false(agree(&keys[i], &keys[j]));
}

static mz_curve_key curve_key_with(const char *set) {
  const mz_settings settings = settings_with(&set, 1);
  const mz_history_key measured = {.env = "cartpole", .network = "mlp"};
  mz_curve_key key;
  mz_curve_key_of(&key, &measured, &settings);
  return key;
}

/* Learning curves are separated by what is learned, but for the portions that it is learned in; their times by what costs time. */
static void curves_agree_over_batches_and_times_over_moves(void **unused) {
  (void)unused;
  static const struct {
    const char *set;
    bool learning, timing; /* the same as without it */
  } rows[] = {{"batch_schedule=0:64", true, true},   {"batch_size=64", false, false},    {"num_games=8", false, false},
              {"simulations=9", false, false},       {"learning_rate=0.5", false, true}, {"numerics.backs=7", false, true},
              {"eval.games=7", false, false},        {"cpu_actor=2", true, true},        {"limits.score=3", true, true},
              {"train.phase_rounds=3", false, true}, {"allocate.window=7", true, true}};
  const mz_curve_key usual = curve_key_with("cpu_actor=1");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const mz_curve_key key = curve_key_with(rows[i].set);
    if ((strcmp(key.learning, usual.learning) == 0) != rows[i].learning) fail_msg("%s: learning", rows[i].set);
    if ((strcmp(key.timing, usual.timing) == 0) != rows[i].timing) fail_msg("%s: timing", rows[i].set);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(other_gpus_are_another_machine),
                                     cmocka_unit_test(what_changes_the_work_changes_the_key),
                                     cmocka_unit_test(several_devices_are_named),
                                     cmocka_unit_test(a_conv_model_is_named_by_its_layers_and_precision),
                                     cmocka_unit_test(the_largest_model_has_room),
                                     cmocka_unit_test(an_mlp_keeps_its_name),
                                     cmocka_unit_test(curves_agree_over_batches_and_times_over_moves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
