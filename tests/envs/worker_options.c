/* Names of environments that workers play (envs/worker/options.h). */
#include "envs/worker/options.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void the_programs_options_are_read_and_the_rest_is_kept(void **state) {
  (void)state;
  mz_worker_options o;
  assert_int_equal(
      mz_worker_options_read("gym:Some-v1,workers=3,wrap=m:C(1,'a,b'),timeout=2,limit=50,reward_max=4,wind=true", &o), MZ_OK);
  assert_string_equal(o.id, "Some-v1");
  assert_int_equal(o.workers, 3);
  assert_int_equal(o.limit, 50);
  assert_true(o.timeout_s == 2);
  assert_true(o.ranges[MZ_REWARD_MAX] == 4);
  assert_true(isnan(o.ranges[MZ_REWARD_MIN]));
  assert_int_equal(o.other_count, 2);
  assert_string_equal(o.others[0], "wrap=m:C(1,'a,b')");
  assert_string_equal(o.others[1], "wind=true");
}

static void names_lack_what_cannot_change_results(void **state) {
  (void)state;
  mz_worker_options one, other;
  assert_int_equal(mz_worker_options_read("gym:Some-v1,workers=3,limit=50", &one), MZ_OK);
  assert_int_equal(mz_worker_options_read("gym:Some-v1,limit=50,timeout=9", &other), MZ_OK);
  assert_string_equal(one.canonical, "gym:Some-v1,limit=50");
  assert_true(one.timeout_s == 60);
  assert_string_equal(other.canonical, one.canonical);
  assert_int_equal(mz_worker_options_read("spiel:breakthrough(rows=6,columns=6)", &one), MZ_OK);
  assert_string_equal(one.id, "breakthrough(rows=6,columns=6)");
}

static void expect_refused(const char *name, const char *message) {
  mz_worker_options o;
  assert_int_equal(mz_worker_options_read(name, &o), MZ_E_CONFIG);
  if (!strstr(mz_message(), message)) fail_msg("'%s' lacks '%s'", mz_message(), message);
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  expect_refused("gym:", "names no environment");
  expect_refused("gym:Some-v1,workers", "takes key=value");
  expect_refused("gym:Some-v1,workers=0", "nearest valid value: 1");
  expect_refused("gym:Some-v1,workers=1.5", "nearest valid value: 2");
  expect_refused("gym:Some-v1,timeout=0", "timeout: 0 is outside of 0.05 … 86400; nearest valid value: 0.05");
  expect_refused("gym:Some-v1,timeout=1e6", "nearest valid value: 86400");
  expect_refused("gym:Some-v1,limit=many", "'many' is no number");
  expect_refused("gym:Some-v1,reward_min=2,reward_max=1", "reward_min 2 is above reward_max 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_programs_options_are_read_and_the_rest_is_kept),
      cmocka_unit_test(names_lack_what_cannot_change_results),
      cmocka_unit_test(what_is_wrong_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
