/* The hash of the settings that say what work a run is: measurements of earlier versions are found by it. */
#include "muzero/settings.h"
#include "testing.h"

static mz_config defaults(mz_settings *settings) {
  mz_config config = mz_settings_config(settings, NULL);
  mz_config_defaults(&config);
  return config;
}

/* The defaults' hash from before these keys existed. Who changes a default changes it here. */
static void later_keys_leave_it_alone(void **unused) {
  (void)unused;
  mz_settings settings;
  defaults(&settings);
  assert_true(mz_settings_work_hash(&settings) == 0x9dd5197ada82fb17);
}

static void later_keys_that_are_set_are_work(void **unused) {
  (void)unused;
  mz_settings usual, settings;
  defaults(&usual);
  const char *const sets[] = {"network.downsample=2",  "network.downsample=0",     "network.downsample_blocks=2",
                              "search.spread_min=0.1", "network.value_start=zero", "selfplay.exploring_moves=1",
                              "search.prior_min=0.1"};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    mz_config config = defaults(&settings);
    expect_ok(mz_config_set_pair(&config, sets[i], "test"));
    assert_true(mz_settings_work_hash(&settings) != mz_settings_work_hash(&usual));
    assert_true(mz_settings_learning_hash(&settings) != mz_settings_learning_hash(&usual));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(later_keys_leave_it_alone),
      cmocka_unit_test(later_keys_that_are_set_are_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
