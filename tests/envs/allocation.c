/* The environment `allocation`: episodes recorded by an independent implementation (tests/data/envs/make_allocation_traces.py),
 * courses from files, what other decision makers do. */
#include "envs/env.h"
#include "envs/variants.h"
#include "base/course/course.h"
#include "base/file/file.h"
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { STATE_WORDS = 64, NUMBERS = 17, PLANS = MZ_COURSE_PLANS_MAX };

static char folder[256];

static const mz_env *env_named(const char *name) {
  const mz_env *env = NULL;
  if (mz_env_find(name, &env) != MZ_OK) fail_msg("%s", mz_message());
  assert_true(env->state_size <= STATE_WORDS * sizeof(uint64_t));
  return env;
}

/* Options hold at most 63 bytes, so courses are copied to where their path is short. */
static int make_folder(void **unused) {
  (void)unused;
  uint8_t *text;
  size_t size;
  if (mz_file_make_temporary("mz", folder, sizeof folder) != MZ_OK || chdir(folder) != 0) return 1;
  if (mz_file_mkdirs("dir") != MZ_OK || mz_file_read(TEST_DATA "/envs/allocation_course.json", 0, &text, &size) != MZ_OK)
    return 1;
  const mz_status status = mz_file_write_atomic("dir/small.json", text, size);
  free(text);
  return status != MZ_OK;
}

static int remove_folder(void **unused) {
  (void)unused;
  return chdir("/") != 0 || mz_file_remove_tree(folder) != MZ_OK;
}

static void write_text(const char *path, const char *text) {
  assert_int_equal(mz_file_write_atomic(path, text, strlen(text)), MZ_OK);
}

/* ---- recorded episodes ---- */

static bool near(double a, double b) { return fabs(a - b) <= 1e-11 * fmax(1, fmax(fabs(a), fabs(b))); }

static uint64_t give_seed(void *context) { return *(uint64_t *)context; }

static int read_legal(const char *line, uint8_t *mask) {
  memset(mask, 0, PLANS);
  int count = 0, length = 0, plan;
  for (const char *at = line + 5; sscanf(at, " %d%n", &plan, &length) == 1; at += length) {
    assert_in_range(plan, 0, PLANS - 1);
    mask[plan] = 1;
    count++;
  }
  return count;
}

static void check_step(const mz_env *env, void *state, const char *line) {
  int32_t plan;
  double reward, seconds, cost, score, slope, noise_scale, pace, yield, numbers[MZ_ENV_NUMBERS_MAX];
  int ended;
  assert_int_equal(sscanf(line, "step %" SCNd32 " %lf %lf %lf %lf %lf %lf %lf %lf %d", &plan, &reward, &seconds, &cost, &score,
                          &slope, &noise_scale, &pace, &yield, &ended),
                   10);
  mz_step result;
  assert_true(env->valid(env, state));
  assert_int_equal(env->step(env, state, 1, &plan, NULL, &result), MZ_OK);
  assert_true(fabs((double)result.reward - reward) < 1e-6);
  assert_int_equal(result.terminated, ended);
  assert_false(result.truncated);
  assert_int_equal(env->numbers(env, state, numbers), NUMBERS);
  const double expected[] = {plan, seconds, cost, score, slope, noise_scale};
  for (int i = 0; i < 6; i++) assert_true(near(numbers[2 + i], expected[i]));
  assert_true(near(numbers[14], pace) && near(numbers[15], yield));
  assert_int_equal(env->valid(env, state), !ended);
}

static void follows_the_recorded_episodes(void **unused) {
  (void)unused;
  const mz_env *env = env_named("allocation:course=dir/small.json");
  FILE *file = fopen(TEST_DATA "/envs/allocation_traces.txt", "r");
  assert_non_null(file);
  uint64_t state[STATE_WORDS], seed;
  uint8_t expected[PLANS], mask[PLANS];
  char line[512];
  int episodes = 0, steps = 0, masked = 0;
  const mz_generator generator = {.context = &seed, .next64 = give_seed};
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "seed %" SCNu64, &seed) == 1) {
      assert_int_equal(env->reset(env, state, &generator), MZ_OK);
      episodes++;
    } else if (strncmp(line, "legal", 5) == 0) {
      const int count = read_legal(line, expected);
      assert_int_equal(env->legal(env, state, mask), count);
      assert_memory_equal(mask, expected, (size_t)env->spec.actions);
      masked += count < env->spec.actions;
    } else if (line[0] != '#') {
      check_step(env, state, line);
      steps++;
    }
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(episodes, 63);
  assert_int_equal(steps, 223);
  assert_true(masked > 50);
}

/* ---- states ---- */

static void a_state_is_its_bytes(void **unused) {
  (void)unused;
  const mz_env *env = env_named("allocation");
  uint64_t a[STATE_WORDS], b[STATE_WORDS], copy[STATE_WORDS], loaded[STATE_WORDS];
  double numbers[MZ_ENV_NUMBERS_MAX];
  memset(a, 0x00, sizeof a);
  memset(b, 0xff, sizeof b);
  mz_rng rng_a = mz_rng_at(3, MZ_RNG_ENV, 1, 2), rng_b = rng_a;
  const mz_generator generator_a = mz_generator_from_rng(&rng_a), generator_b = mz_generator_from_rng(&rng_b);
  assert_int_equal(env->reset(env, a, &generator_a), MZ_OK);
  assert_int_equal(env->reset(env, b, &generator_b), MZ_OK);
  memcpy(copy, a, env->state_size);
  for (int32_t s = 0; s < 8; s++) {
    mz_step result;
    const int32_t plan = s % 3;
    env->numbers(env, a, numbers);
    env->load(env, loaded, numbers, s);
    assert_memory_equal(a, loaded, env->state_size);
    assert_int_equal(env->step(env, a, 1, &plan, NULL, &result), MZ_OK);
    assert_int_equal(env->step(env, b, 1, &plan, NULL, &result), MZ_OK);
    assert_int_equal(env->step(env, copy, 1, &plan, NULL, &result), MZ_OK);
    assert_memory_equal(a, b, env->state_size);
    assert_memory_equal(a, copy, env->state_size);
  }
}

static void every_reset_draws_another_course(void **unused) {
  (void)unused;
  const mz_env *env = env_named("allocation"), *known = env_named("allocation:spread=0");
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  double last = 0;
  for (int i = 0; i < 20; i++) {
    uint64_t state[STATE_WORDS];
    const int32_t plan = 4;
    mz_step result;
    assert_int_equal(env->reset(env, state, &generator), MZ_OK);
    assert_int_equal(env->step(env, state, 1, &plan, NULL, &result), MZ_OK);
    assert_true((double)result.reward < last || (double)result.reward > last);
    last = (double)result.reward;
    assert_int_equal(known->reset(known, state, &generator), MZ_OK);
    assert_int_equal(known->step(known, state, 1, &plan, NULL, &result), MZ_OK);
    static mz_course course;
    mz_course_builtin(&course);
    assert_true(
        near((double)result.reward, (double)(float)(-course.cell[0][4].seconds * course.plan[4].cost_per_s / course.budget)));
  }
}

/* The bundled environment's ranges, written by hand, hold what its course can give. */
static void ranges_hold_every_reward(void **unused) {
  (void)unused;
  const mz_env *bundled = env_named("allocation");
  mz_env made = *bundled;
  struct {
    char course[64];
    double spread;
    uint64_t digest;
  } options = {.spread = 0.2};
  assert_int_equal(sizeof options, bundled->variants->size);
  made.options = &options;
  assert_int_equal(bundled->variants->fill(&made, "here"), MZ_OK);
  assert_true(bundled->spec.reward_min <= made.spec.reward_min && bundled->spec.return_min <= made.spec.return_min);
  assert_int_equal(bundled->spec.actions, made.spec.actions);
}

/* ---- courses from files ---- */

static void a_course_of_a_file_has_its_own_plans(void **unused) {
  (void)unused;
  const mz_env *env = env_named("allocation:course=dir/small.json");
  assert_int_equal(env->spec.actions, 5);
  assert_int_equal(env->spec.obs_size, env_named("allocation")->spec.obs_size);
  assert_string_equal(env->name, "allocation:course=dir/small.json");
  assert_ptr_equal(env, env_named("allocation:spread=0.2,course=dir/small.json"));
  assert_ptr_not_equal(env, env_named("allocation:course=dir/small.json,spread=0"));
  char text[256];
  env->action_text(env, 3, text, sizeof text);
  assert_string_equal(text, "4 cores 1 GPU 16 GiB b512");
}

/* A run is resumed with the course that it began with, or not at all. */
static void states_of_another_course_are_refused(void **unused) {
  (void)unused;
  char *text;
  size_t size;
  assert_int_equal(mz_file_read("dir/small.json", 0, (uint8_t **)&text, &size), MZ_OK);
  write_text("changing.json", text);
  const mz_env *before = env_named("allocation:course=changing.json");
  char *budget = strstr(text, "\"budget\": 6");
  assert_non_null(budget);
  budget[10] = '7';
  write_text("changed.json", text);
  free(text);
  const mz_env *after = env_named("allocation:course=changed.json");
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  uint64_t state[STATE_WORDS];
  assert_int_equal(before->reset(before, state, &generator), MZ_OK);
  assert_true(before->valid(before, state));
  assert_false(after->valid(after, state));
}

static void wrong_files_are_named(void **unused) {
  (void)unused;
  static const struct {
    const char *text, *says;
  } cases[] = {{NULL, "cannot open"},
               {"", "bad.json"},
               {"{\"format\": \"muzero cours", "bad.json:1:"},
               {"[1]", "bad.json: takes a JSON object"},
               {"{\"format\": \"other\"}", "bad.json: no course"},
               {"{\"format\": \"muzero course\", \"version\": 3}", "version 3: this program reads version 2"},
               {"{\"format\": \"muzero course\", \"version\": 2, \"plan\": []}", "unknown key 'plan'; did you mean 'plans'?"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mz_env *env = NULL;
    if (cases[i].text) write_text("bad.json", cases[i].text);
    assert_int_equal(mz_env_find("allocation:course=bad.json", &env), cases[i].text ? MZ_E_CONFIG : MZ_E_IO);
    assert_null(env);
    if (!strstr(mz_message(), cases[i].says)) fail_msg("'%s' does not say '%s'", mz_message(), cases[i].says);
    assert_non_null(strstr(mz_message(), "allocation:course=bad.json"));
  }
}

/* ---- for people; other decision makers ---- */

static void text_shows_the_run(void **unused) {
  (void)unused;
  const mz_env *env = env_named("allocation:spread=0");
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  uint64_t state[STATE_WORDS];
  char out[1024], small[8];
  const int32_t plan = 13;
  mz_step result;
  assert_int_equal(env->reset(env, state, &generator), MZ_OK);
  env->text(env, state, out, sizeof out);
  assert_non_null(strstr(out, "0 of 8 done"));
  assert_non_null(strstr(out, "none yet"));
  assert_int_equal(env->step(env, state, 1, &plan, NULL, &result), MZ_OK);
  const int length = env->text(env, state, out, sizeof out);
  assert_int_equal(length, (int)strlen(out));
  assert_int_equal(env->text(env, state, small, sizeof small), length);
  assert_non_null(strstr(out, "1 of 8 done"));
  assert_non_null(strstr(out, "4 cores 1 GPU 16 GiB b1024"));
  assert_non_null(strstr(out, " s left"));
}

/* Plays an episode by what `how` marks; its return. */
static double play_by(const mz_env *env, const mz_env_solver *how, uint64_t seed) {
  const mz_generator generator = {.context = &seed, .next64 = give_seed};
  uint64_t state[STATE_WORDS];
  uint8_t chosen[PLANS], legal[PLANS];
  void *solver;
  assert_int_equal(how->create(&solver), MZ_OK);
  assert_int_equal(env->reset(env, state, &generator), MZ_OK);
  double sum = 0;
  for (mz_step result = {0}; !result.terminated;) {
    env->legal(env, state, legal);
    assert_int_equal(how->solve(env, solver, state, chosen), MZ_OK);
    int32_t action = -1;
    for (int a = 0; a < env->spec.actions; a++) {
      assert_true(!chosen[a] || legal[a]);
      if (chosen[a]) action = a;
    }
    assert_true(action >= 0);
    assert_int_equal(env->step(env, state, 1, &action, NULL, &result), MZ_OK);
    sum += (double)result.reward;
  }
  how->free(solver);
  return sum;
}

static void nobody_beats_perfect_play(void **unused) {
  (void)unused;
  static const char *const names[] = {"allocation", "allocation:spread=0", "allocation:course=dir/small.json"};
  static const char *const baselines[] = {"replan", "greedy", "static"};
  for (int e = 0; e < 3; e++) {
    const mz_env *env = env_named(names[e]);
    for (uint64_t seed = 0; seed < 12; seed++) {
      const double best = play_by(env, env->solver, seed);
      for (int b = 0; b < 3; b++) {
        assert_string_equal(env->baselines[b].name, baselines[b]);
        assert_true(play_by(env, env->baselines[b].how, seed) <= best + 1e-5);
      }
    }
    assert_null(env->baselines[3].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_the_recorded_episodes),
      cmocka_unit_test(a_state_is_its_bytes),
      cmocka_unit_test(every_reset_draws_another_course),
      cmocka_unit_test(ranges_hold_every_reward),
      cmocka_unit_test(a_course_of_a_file_has_its_own_plans),
      cmocka_unit_test(states_of_another_course_are_refused),
      cmocka_unit_test(wrong_files_are_named),
      cmocka_unit_test(text_shows_the_run),
      cmocka_unit_test(nobody_beats_perfect_play),
  };
  return cmocka_run_group_tests_name("allocation", tests, make_folder, remove_folder);
}
