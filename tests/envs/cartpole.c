/* CartPole against games recorded with Gymnasium (tests/data/envs/make_cartpole_traces.py): every reset and flag exact, and
 * every step, taken from the recorded state, within 4 units in the last place. (The two sines differ in the last place now
 * and then; where an acceleration all but cancels a velocity, as in 2 of 100,000 steps of other games, that shows as more
 * units of the small sum. The recorded games hold none of these.) */
#include "envs/env.h"
#include "envs/numpy_generator.h"
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { NUMBERS = 4, STATE_WORDS = 8 };

static const mz_env *cartpole(void) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find("cartpole", &env), MZ_OK);
  assert_true(env->state_size % 8 == 0 && env->state_size <= STATE_WORDS * sizeof(uint64_t));
  return env;
}

/* Doubles in order as integers: neighbours differ by one. */
static int64_t ordinal(double x) {
  int64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t ulps_apart(double a, double b) { return llabs(ordinal(a) - ordinal(b)); }

static void check_observation(const mz_env *env, const void *state, const double *expected) {
  float observation[NUMBERS];
  env->observe(env, state, 1, observation);
  for (int i = 0; i < NUMBERS; i++) assert_true(observation[i] == (float)expected[i]);
}

/* --- the recorded games --- */

typedef struct record {
  int32_t action;
  double to[NUMBERS];
  float reward;
  int terminated, truncated;
} record;

static bool read_step(const char *line, record *r) {
  return sscanf(line, "step %" SCNd32 " %la %la %la %la %f %d %d", &r->action, &r->to[0], &r->to[1], &r->to[2], &r->to[3],
                &r->reward, &r->terminated, &r->truncated) == 8;
}

static bool read_reset(const char *line, double *to) {
  return sscanf(line, "reset %la %la %la %la", &to[0], &to[1], &to[2], &to[3]) == NUMBERS;
}

typedef struct follower {
  mz_numpy_generator numpy;
  uint64_t free_state[STATE_WORDS]; /* stepped from the reset on, never corrected */
  double from[NUMBERS];             /* the recorded state before the next step */
  int move, games, steps, truncated, both;
  int64_t worst_ulps;
  double worst_drift;
} follower;

static void check_reset(const mz_env *env, follower *f, const double *to) {
  const mz_generator generator = mz_generator_from_numpy(&f->numpy);
  double drawn[NUMBERS];
  assert_int_equal(env->reset(env, f->free_state, &generator), MZ_OK);
  assert_int_equal(env->numbers(env, f->free_state, drawn), NUMBERS);
  assert_memory_equal(drawn, to, sizeof drawn);
  check_observation(env, f->free_state, to);
  memcpy(f->from, to, sizeof f->from);
  f->move = 0;
}

static void check_flags(const mz_step *result, const record *r) {
  assert_true(result->reward == r->reward);
  assert_int_equal(result->terminated, r->terminated);
  assert_int_equal(result->truncated, r->truncated);
}

static void check_step(const mz_env *env, follower *f, const record *r) {
  uint64_t state[STATE_WORDS];
  double got[NUMBERS], free_numbers[NUMBERS];
  mz_step result;
  env->load(env, state, f->from, f->move);
  assert_int_equal(env->step(env, state, 1, &r->action, NULL, &result), MZ_OK);
  check_flags(&result, r);
  env->numbers(env, state, got);
  assert_int_equal(env->step(env, f->free_state, 1, &r->action, NULL, &result), MZ_OK);
  check_flags(&result, r);
  env->numbers(env, f->free_state, free_numbers);
  for (int i = 0; i < NUMBERS; i++) {
    const int64_t ulps = ulps_apart(got[i], r->to[i]);
    assert_true(ulps <= 4);
    if (ulps > f->worst_ulps) f->worst_ulps = ulps;
    f->worst_drift = fmax(f->worst_drift, fabs(free_numbers[i] - r->to[i]));
  }
  env->load(env, state, r->to, f->move + 1);
  check_observation(env, state, r->to);
  memcpy(f->from, r->to, sizeof f->from);
  f->move++;
  f->steps++;
  f->games += r->terminated || r->truncated;
  f->truncated += r->truncated;
  f->both += r->terminated && r->truncated;
}

static void follows_gymnasium(void **unused) {
  (void)unused;
  const mz_env *env = cartpole();
  FILE *file = fopen(TEST_DATA "/envs/cartpole_traces.txt", "r");
  assert_non_null(file);
  follower f = {0};
  char line[256];
  while (fgets(line, sizeof line, file)) {
    uint64_t seed;
    double start[NUMBERS];
    record r;
    if (sscanf(line, "seed %" SCNu64, &seed) == 1) {
      f.numpy = mz_numpy_generator_at(seed);
    } else if (read_reset(line, start)) {
      check_reset(env, &f, start);
    } else if (read_step(line, &r)) {
      check_step(env, &f, &r);
    } else {
      assert_int_equal(line[0], '#');
    }
  }
  assert_int_equal(fclose(file), 0);
  print_message("%d games, %d steps, at most %d ulp; uncorrected games drift by at most %.1e\n", f.games, f.steps,
                (int)f.worst_ulps, f.worst_drift);
  assert_int_equal(f.games, 73);
  assert_int_equal(f.steps, 3336);
  assert_int_equal(f.truncated, 3);
  assert_int_equal(f.both, 1);
  assert_true(f.worst_drift < 1e-9);
}

/* Every batch size, with every lane and tail, gives the bits of single steps. */
static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  enum { MOST = 37, MOVES = 60 };
  const mz_env *env = cartpole();
  const size_t size = env->state_size;
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  for (int n = 1; n <= MOST; n++) {
    uint8_t together[MOST * STATE_WORDS * 8], alone[MOST * STATE_WORDS * 8];
    int32_t actions[MOST];
    mz_step results[MOST], result;
    for (int i = 0; i < n; i++) assert_int_equal(env->reset(env, together + size * (size_t)i, &generator), MZ_OK);
    memcpy(alone, together, size * (size_t)n);
    for (int move = 0; move < MOVES; move++) {
      for (int i = 0; i < n; i++) actions[i] = (int32_t)mz_rng_below(&rng, 2);
      assert_int_equal(env->step(env, together, n, actions, NULL, results), MZ_OK);
      for (int i = 0; i < n; i++) {
        assert_int_equal(env->step(env, alone + size * (size_t)i, 1, &actions[i], NULL, &result), MZ_OK);
        assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated &&
                    result.truncated == results[i].truncated);
      }
      assert_memory_equal(together, alone, size * (size_t)n);
    }
    float many[MOST * NUMBERS], one[NUMBERS];
    env->observe(env, together, n, many);
    for (int i = 0; i < n; i++) {
      env->observe(env, together + size * (size_t)i, 1, one);
      assert_memory_equal(one, many + NUMBERS * i, sizeof one);
    }
  }
}

/* Two states with one history have the same bytes whatever was in the memory before, and a copy continues as its original. */
static void a_state_is_its_bytes(void **unused) {
  (void)unused;
  const mz_env *env = cartpole();
  uint8_t a[STATE_WORDS * 8], b[STATE_WORDS * 8], copy[STATE_WORDS * 8];
  memset(a, 0x00, sizeof a);
  memset(b, 0xff, sizeof b);
  mz_rng rng_a = mz_rng_at(3, MZ_RNG_ENV, 1, 2), rng_b = rng_a;
  const mz_generator generator_a = mz_generator_from_rng(&rng_a), generator_b = mz_generator_from_rng(&rng_b);
  assert_int_equal(env->reset(env, a, &generator_a), MZ_OK);
  assert_int_equal(env->reset(env, b, &generator_b), MZ_OK);
  memcpy(copy, a, env->state_size);
  for (int32_t move = 0; move < 12; move++) {
    const int32_t action = move & 1;
    mz_step result;
    assert_int_equal(env->step(env, a, 1, &action, NULL, &result), MZ_OK);
    assert_int_equal(env->step(env, b, 1, &action, NULL, &result), MZ_OK);
    assert_int_equal(env->step(env, copy, 1, &action, NULL, &result), MZ_OK);
    assert_memory_equal(a, b, env->state_size);
    assert_memory_equal(a, copy, env->state_size);
  }
}

static void resets_fill_their_range(void **unused) {
  (void)unused;
  const mz_env *env = cartpole();
  mz_rng rng = mz_rng_at(5, MZ_RNG_ENV, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  double low[NUMBERS] = {1, 1, 1, 1}, high[NUMBERS] = {-1, -1, -1, -1};
  for (int game = 0; game < 1000; game++) {
    uint64_t state[STATE_WORDS];
    double drawn[NUMBERS];
    assert_int_equal(env->reset(env, state, &generator), MZ_OK);
    env->numbers(env, state, drawn);
    for (int i = 0; i < NUMBERS; i++) {
      low[i] = fmin(low[i], drawn[i]);
      high[i] = fmax(high[i], drawn[i]);
    }
  }
  for (int i = 0; i < NUMBERS; i++) assert_true(low[i] >= -0.05 && low[i] < -0.049 && high[i] <= 0.05 && high[i] > 0.049);
}

static void text_shows_the_cart(void **unused) {
  (void)unused;
  const mz_env *env = cartpole();
  uint64_t state[STATE_WORDS];
  char out[1024], small[8];
  env->load(env, state, (const double[]){0.5, 0, 0.1, 0}, 17);
  const int length = env->text(env, state, out, sizeof out);
  assert_int_equal(length, (int)strlen(out));
  assert_non_null(strchr(out, '#'));
  assert_non_null(strchr(out, '/'));
  assert_non_null(strstr(out, "move 17"));
  assert_int_equal(env->text(env, state, small, sizeof small), length);
  assert_int_equal(env->action_text(env, 1, out, sizeof out), 5);
  assert_string_equal(out, "right");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_gymnasium),    cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(a_state_is_its_bytes), cmocka_unit_test(resets_fill_their_range),
      cmocka_unit_test(text_shows_the_cart),
  };
  return cmocka_run_group_tests_name("cartpole", tests, NULL, NULL);
}
