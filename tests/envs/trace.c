/* `envs ENV --trace`: keys, seeding as the reference's, numbering of games, given actions, errors. */
#include "envs/trace.h"
#include "envs/numpy_generator.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { LINES_MAX = 700 };

/* The lines of one trace, kept. */
typedef struct lines {
  cJSON *objects[LINES_MAX];
  int count, stop_at; /* stop_at: fail at that line; 0: never */
} lines;

static mz_status keep(void *context, cJSON *object) {
  lines *kept = context;
  if (kept->stop_at && kept->count + 1 == kept->stop_at) return mz_fail(MZ_E_IO, "no more room");
  assert_true(kept->count < LINES_MAX);
  kept->objects[kept->count] = cJSON_Duplicate(object, true);
  assert_non_null(kept->objects[kept->count]);
  kept->count++;
  return MZ_OK;
}

static void drop(lines *kept) {
  for (int i = 0; i < kept->count; i++) cJSON_Delete(kept->objects[i]);
  kept->count = 0;
}

static const mz_env *env_named(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  return env;
}

static double number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  assert_true(cJSON_IsNumber(item));
  return item->valuedouble;
}

static bool flag(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  assert_true(cJSON_IsBool(item));
  return cJSON_IsTrue(item);
}

static double element(const cJSON *object, const char *key, int index) {
  return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(object, key), index)->valuedouble;
}

static int length(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  assert_true(cJSON_IsArray(item));
  return cJSON_GetArraySize(item);
}

static void every_line_has_every_key(void **unused) {
  (void)unused;
  enum { LINES = 501 }; /* longer than most games */
  for (int e = 0; e < mz_env_count(); e++) {
    const mz_env *env = mz_env_at(e);
    lines kept = {0};
    assert_int_equal(mz_env_trace(env, &(mz_trace_options){.steps = LINES, .seed = 4}, keep, &kept), MZ_OK);
    assert_int_equal(kept.count, LINES);
    int expected_t = 0, games = 0;
    for (int i = 0; i < kept.count; i++) {
      const cJSON *line = kept.objects[i];
      assert_int_equal(number(line, "t"), expected_t);
      assert_in_range(number(line, "player"), 0, env->spec.players - 1);
      assert_int_equal(length(line, "observation"), env->spec.obs_size);
      assert_true(length(line, "legal") > 0);
      assert_int_equal(length(line, "state") > 0, env->numbers != NULL);
      bool legal = false;
      for (int a = 0; a < length(line, "legal"); a++) legal |= element(line, "legal", a) == number(line, "action");
      assert_true(legal);
      number(line, "reward");
      const bool end = flag(line, "terminated") || flag(line, "truncated");
      expected_t = end ? 0 : expected_t + 1;
      games += end;
    }
    assert_true(games > 0 || env->spec.max_moves == 0 || env->spec.max_moves > LINES);
    drop(&kept);
  }
}

/* reset(seed=3) and the reset() after it, as Gymnasium 1.4.0 draws them (the first lines of seed 3 in cartpole_traces.txt). */
static void resets_continue_the_seeded_generator(void **unused) {
  (void)unused;
  const mz_env *env = env_named("cartpole");
  lines kept = {0};
  assert_int_equal(mz_env_trace(env, &(mz_trace_options){.steps = 300, .seed = 3}, keep, &kept), MZ_OK);
  mz_numpy_generator numpy = mz_numpy_generator_at(3);
  const mz_generator generator = mz_generator_from_numpy(&numpy);
  int games = 0;
  for (int i = 0; i < kept.count; i++) {
    if (number(kept.objects[i], "t") != 0) continue;
    for (int k = 0; k < 4; k++) assert_true(element(kept.objects[i], "state", k) == -0.05 + 0.1 * mz_generator_f64(&generator));
    games++;
  }
  assert_true(games >= 3);
  for (int k = 0; k < 4; k++) {
    const double expected[] = {-0x1.536faaf3cd9dap-5, -0x1.af35acaba6ce0p-6, 0x1.ed9bab612925cp-6, 0x1.0d3a82e4b9e68p-7};
    assert_true(element(kept.objects[0], "state", k) == expected[k]);
    assert_true(element(kept.objects[0], "observation", k) == (double)(float)expected[k]);
  }
  drop(&kept);
}

static void one_seed_gives_one_trace(void **unused) {
  (void)unused;
  const mz_env *env = env_named("tictactoe");
  lines a = {0}, b = {0}, other = {0};
  assert_int_equal(mz_env_trace(env, &(mz_trace_options){.steps = 50, .seed = 8}, keep, &a), MZ_OK);
  assert_int_equal(mz_env_trace(env, &(mz_trace_options){.steps = 50, .seed = 8}, keep, &b), MZ_OK);
  assert_int_equal(mz_env_trace(env, &(mz_trace_options){.steps = 50, .seed = 9}, keep, &other), MZ_OK);
  int different = 0;
  for (int i = 0; i < 50; i++) {
    assert_true(cJSON_Compare(a.objects[i], b.objects[i], true));
    different += !cJSON_Compare(a.objects[i], other.objects[i], true);
  }
  assert_true(different > 0);
  drop(&a);
  drop(&b);
  drop(&other);
}

static void given_actions_are_followed(void **unused) {
  (void)unused;
  const mz_env *env = env_named("tictactoe");
  const int32_t actions[] = {0, 3, 1, 4, 2, 8}; /* x wins the first row; then a new game */
  lines kept = {0};
  mz_trace_options options = {.actions = actions, .action_count = 6};
  assert_int_equal(mz_env_trace(env, &options, keep, &kept), MZ_OK);
  assert_int_equal(kept.count, 6);
  for (int i = 0; i < 6; i++) assert_int_equal(number(kept.objects[i], "action"), actions[i]);
  assert_int_equal(number(kept.objects[4], "reward"), 1);
  assert_int_equal(number(kept.objects[4], "player"), 0);
  assert_true(flag(kept.objects[4], "terminated"));
  assert_int_equal(length(kept.objects[4], "legal"), 5);
  assert_true(element(kept.objects[4], "state", 0) == 1 && element(kept.objects[4], "state", 3) == -1);
  assert_int_equal(number(kept.objects[5], "t"), 0);
  assert_int_equal(length(kept.objects[5], "legal"), 9);
  drop(&kept);

  options.steps = 2;
  assert_int_equal(mz_env_trace(env, &options, keep, &kept), MZ_OK);
  assert_int_equal(kept.count, 2);
  drop(&kept);
}

static void an_illegal_action_is_named(void **unused) {
  (void)unused;
  const mz_env *env = env_named("tictactoe");
  const int32_t bad[][2] = {{4, 4}, {4, 9}, {4, -1}};
  for (int i = 0; i < 3; i++) {
    lines kept = {0};
    const mz_trace_options options = {.actions = bad[i], .action_count = 2};
    assert_int_equal(mz_env_trace(env, &options, keep, &kept), MZ_E_CONFIG);
    assert_int_equal(kept.count, 1);
    char expected[32];
    snprintf(expected, sizeof expected, "action %d of line 2", bad[i][1]);
    assert_non_null(strstr(mz_message(), expected));
    drop(&kept);
  }
}

static void the_receiver_can_stop(void **unused) {
  (void)unused;
  lines kept = {.stop_at = 5};
  assert_int_equal(mz_env_trace(env_named("cartpole"), &(mz_trace_options){.steps = 20, .seed = 1}, keep, &kept), MZ_E_IO);
  assert_int_equal(kept.count, 4);
  drop(&kept);
}

static int released;

static void count_release(const mz_env *env, void *state) { (void)env, (void)state, released++; }

/* An environment may keep a game for a state, as workers do. */
static void the_state_is_released(void **unused) {
  (void)unused;
  mz_env env = *env_named("tictactoe");
  lines kept = {0};
  env.release = count_release;
  assert_int_equal(mz_env_trace(&env, &(mz_trace_options){.steps = 3, .seed = 1}, keep, &kept), MZ_OK);
  assert_int_equal(released, 1);
  drop(&kept);
  mz_alloc_fail_after(1); /* no state, and nothing to release */
  assert_int_equal(mz_env_trace(&env, &(mz_trace_options){.steps = 3}, keep, &kept), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_int_equal(released, 1);
}

static void memory_that_is_out_is_survived(void **unused) {
  (void)unused;
  for (long n = 1; n <= 4; n++) {
    lines kept = {0};
    mz_alloc_fail_after(n);
    assert_int_equal(mz_env_trace(env_named("cartpole"), &(mz_trace_options){.steps = 3}, keep, &kept), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
    assert_int_equal(kept.count, 0);
  }
}

static long json_allocations_left;

static void *failing_malloc(size_t size) { return json_allocations_left-- > 0 ? malloc(size) : NULL; }

static mz_status count_line(void *context, cJSON *object) {
  (void)object;
  ++*(int *)context;
  return MZ_OK;
}

/* Whichever allocation of the JSON library fails, the trace and the spec fail as a whole and leak nothing. */
static void json_memory_that_is_out_is_survived(void **unused) {
  (void)unused;
  const mz_env *env = env_named("tictactoe");
  cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = failing_malloc, .free_fn = free});
  mz_status status = MZ_E_MEMORY;
  cJSON *spec = NULL;
  for (long allowed = 0; status != MZ_OK; allowed++) {
    int count = 0;
    json_allocations_left = allowed;
    status = mz_env_trace(env, &(mz_trace_options){.steps = 2, .seed = 1}, count_line, &count);
    assert_true(status == MZ_E_MEMORY || (status == MZ_OK && count == 2));
  }
  for (long allowed = 0; !spec; allowed++) {
    json_allocations_left = allowed;
    spec = mz_env_to_json(env);
  }
  cJSON_InitHooks(NULL);
  assert_non_null(cJSON_GetObjectItem(spec, "state_bytes"));
  cJSON_Delete(spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_line_has_every_key),
      cmocka_unit_test(resets_continue_the_seeded_generator),
      cmocka_unit_test(one_seed_gives_one_trace),
      cmocka_unit_test(given_actions_are_followed),
      cmocka_unit_test(an_illegal_action_is_named),
      cmocka_unit_test(the_receiver_can_stop),
      cmocka_unit_test(the_state_is_released),
      cmocka_unit_test(memory_that_is_out_is_survived),
      cmocka_unit_test(json_memory_that_is_out_is_survived),
  };
  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
