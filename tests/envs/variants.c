/* Variants of environments: "gomoku:size=9,k=5". */
#include "envs/variants.h"
#include "envs/trace.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const mz_env *env_named(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  return env;
}

static void equal_variants_are_one(void **unused) {
  (void)unused;
  static const struct {
    const char *asked, *name;
  } cases[] = {{"gomoku:size=9", "gomoku:size=9"},
               {"gomoku:size=9,k=5", "gomoku:size=9"},
               {"gomoku:k=4,size=9", "gomoku:size=9,k=4"},
               {"gomoku:size=15,k=5", "gomoku"},
               {"gomoku:size=+9", "gomoku:size=9"},
               {"go:komi=7.50", "go"},
               {"go:komi=5", "go:komi=5"},
               {"go:superko=forbid,komi=6.5,size=19", "go:size=19,komi=6.5,superko=forbid"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mz_env *env = env_named(cases[i].asked);
    assert_string_equal(env->name, cases[i].name);
    assert_ptr_equal(env, env_named(cases[i].name));
    assert_ptr_equal(env, env_named(cases[i].asked));
  }
  assert_ptr_not_equal(env_named("gomoku:size=9"), env_named("gomoku:size=10"));
}

static void a_variant_has_its_own_spec(void **unused) {
  (void)unused;
  const mz_env *env = env_named("gomoku:size=9,k=4"), *bundled = env_named("gomoku");
  assert_int_equal(env->spec.actions, 81);
  assert_int_equal(env->spec.obs_shape[0], 9);
  assert_int_equal(env->spec.obs_size, 243);
  assert_int_equal(bundled->spec.actions, 225);
  assert_true(env->step == bundled->step && env->variants == bundled->variants);
  env = env_named("go:size=19");
  assert_int_equal(env->spec.actions, 362);
  assert_true(env->state_size > env_named("go")->state_size);
  const mz_env *last = env_named("go:size=6");
  assert_int_equal(last->state_size % 8, 0);
  assert_int_equal(env->spec.actions, 362); /* what is kept stays as it is */
}

/* The bundled environment is what its options' defaults make of it. */
static void defaults_describe_the_bundled_environment(void **unused) {
  (void)unused;
  int with_options = 0;
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    if (!env->variants) continue;
    with_options++;
    assert_in_range(env->variants->count, 1, MZ_ENV_OPTIONS_MAX);
    mz_settings_table table;
    mz_config stored = mz_env_config(env, &table), defaults = stored;
    assert_int_equal(mz_alloc(&defaults.values, 1, env->variants->size), MZ_OK);
    mz_config_defaults(&defaults);
    for (int row = 0; row < env->variants->count; row++) {
      assert_true(mz_config_equal(&stored, &defaults, row));
      assert_true(strlen(env->variants->rows[row].help) > 0);
    }
    mz_env made = *env;
    made.options = defaults.values;
    assert_int_equal(env->variants->fill(&made, "here"), MZ_OK);
    assert_memory_equal(made.spec.obs_shape, env->spec.obs_shape, sizeof made.spec.obs_shape);
    assert_int_equal(made.spec.actions, env->spec.actions);
    assert_int_equal(made.spec.symmetries, env->spec.symmetries);
    assert_int_equal(made.spec.max_moves, env->spec.max_moves);
    assert_int_equal(made.state_size, env->state_size);
    free(defaults.values);
  }
  assert_true(with_options >= 2);
}

static void wrong_options_say_what_is_right(void **unused) {
  (void)unused;
  static const struct {
    const char *asked, *says[3];
  } cases[] = {{"gomoku:siez=9", {"gomoku:siez=9", "unknown key 'siez'", "did you mean 'size'?"}},
               {"gomoku:size=4", {"size=4: out of range", "5 … 19", "nearest valid value: 5"}},
               {"gomoku:size=20", {"size=20: out of range", "5 … 19", "nearest valid value: 19"}},
               {"gomoku:size=6,k=7", {"gomoku:size=6,k=7", "k=7", "3 … 6"}},
               {"gomoku:size=x", {"size=x", "a whole number", "5 … 19"}},
               {"gomoku:size=9.5", {"size=9.5", "a whole number", "5 … 19"}},
               {"gomoku:size", {"gomoku:size", "takes key=value", ""}},
               {"gomoku:", {"gomoku:", "takes key=value", ""}},
               {"gomoku:size=9,", {"gomoku:size=9,", "takes key=value", ""}},
               {"gomoku:size=9,size=9", {"gomoku:size=9,size=9", "size is given twice", ""}},
               {"go:superko=loose", {"superko=loose", "forbid, loss, draw, none", ""}},
               {"go:komi=nan", {"komi=nan", "a number", "-361 … 361"}},
               {"tictactoe:size=4", {"tictactoe:size=4", "tictactoe has no options", ""}},
               {"gomuko:size=9", {"gomuko", "did you mean gomoku?", ""}},
               {":size=9", {"environment", "unknown", ""}}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mz_env *env = NULL;
    assert_int_equal(mz_env_find(cases[i].asked, &env), MZ_E_CONFIG);
    assert_null(env);
    for (int k = 0; k < 3; k++)
      if (!strstr(mz_message(), cases[i].says[k])) fail_msg("'%s' does not say '%s'", mz_message(), cases[i].says[k]);
  }
}

static void memory_that_is_out_is_survived(void **unused) {
  (void)unused;
  const mz_env *env = NULL;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_env_find("gomoku:size=18", &env), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_string_equal(env_named("gomoku:size=18")->name, "gomoku:size=18");
}

enum { THREADS = 8, NAMES = 40 };

static void *ask_for_all(void *out) {
  const mz_env **found = out;
  for (int i = 0; i < NAMES; i++) {
    char name[32];
    snprintf(name, sizeof name, "go:komi=%d", 100 + i);
    if (mz_env_find(name, &found[i]) != MZ_OK) found[i] = NULL;
  }
  return NULL;
}

static void threads_get_the_same_variants(void **unused) {
  (void)unused;
  static const mz_env *found[THREADS][NAMES];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, ask_for_all, found[t]), 0);
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
  for (int i = 0; i < NAMES; i++) {
    assert_non_null(found[0][i]);
    for (int t = 1; t < THREADS; t++) assert_ptr_equal(found[t][i], found[0][i]);
  }
}

static void options_as_json(void **unused) {
  (void)unused;
  cJSON *json = mz_env_to_json(env_named("go:size=7,superko=draw"));
  const cJSON *options = cJSON_GetObjectItemCaseSensitive(json, "options");
  assert_int_equal(cJSON_GetArraySize(options), 3);
  assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(options, "size")) == 7);
  assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(options, "komi")) == 7.5);
  assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(options, "superko")), "draw");
  cJSON_Delete(json);
  json = mz_env_to_json(env_named("tictactoe"));
  options = cJSON_GetObjectItemCaseSensitive(json, "options");
  assert_true(cJSON_IsObject(options) && cJSON_GetArraySize(options) == 0);
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_variants_are_one),
      cmocka_unit_test(a_variant_has_its_own_spec),
      cmocka_unit_test(defaults_describe_the_bundled_environment),
      cmocka_unit_test(wrong_options_say_what_is_right),
      cmocka_unit_test(memory_that_is_out_is_survived),
      cmocka_unit_test(threads_get_the_same_variants),
      cmocka_unit_test(options_as_json),
  };
  return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
