/* MountainCar and Acrobot against games recorded with Gymnasium (tests/data/envs/make_classic_traces.py): resets, the length of every
 * game and how it ended are exact, and every recorded step, taken from the recorded state, is within 4 units in the last place
 * of its terms. */
#include "envs/env.h"
#include "envs/numpy_generator.h"
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { NUMBERS_MAX = 4, STATE_WORDS = 8, LINE_MAX = 1024, MOVES_MAX = 500 };

static const mz_env *find(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  assert_true(env->state_size <= STATE_WORDS * sizeof(uint64_t));
  return env;
}

/* How many units in the last place of `scale` two numbers are apart. */
static double ulps_apart(double a, double b, double scale) {
  return fabs(a - b) / (nextafter(fabs(scale), INFINITY) - fabs(scale));
}

static const char *folder = TEST_DATA "/envs";
static bool fresh; /* other games than the committed ones */

typedef struct follower {
  const mz_env *env;
  bool coupled; /* terms of the largest number enter all others */
  int numbers;  /* of a state */
  mz_numpy_generator numpy;
  uint64_t state[STATE_WORDS]; /* stepped from the reset on, never corrected */
  int32_t actions[MOVES_MAX];
  int moves, terminated, truncated; /* of the game */
  int games, steps, compared, reached;
  double worst_ulps;
} follower;

static const char *read_numbers(const char *at, int count, double *out) {
  for (int i = 0; i < count; i++) {
    char *end;
    out[i] = strtod(at, &end);
    assert_ptr_not_equal(at, end);
    at = end;
  }
  return at;
}

static void check_reset(follower *f, const char *line) {
  const mz_generator generator = mz_generator_from_numpy(&f->numpy);
  double drawn[NUMBERS_MAX], recorded[NUMBERS_MAX];
  read_numbers(line, f->numbers, recorded);
  assert_int_equal(f->env->reset(f->env, f->state, &generator), MZ_OK);
  assert_int_equal(f->env->numbers(f->env, f->state, drawn), f->numbers);
  assert_memory_equal(drawn, recorded, (size_t)f->numbers * sizeof *drawn);
}

static void unpack(const char *text, int moves, int32_t *actions) {
  static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQ";
  assert_int_equal(strspn(text, alphabet), (moves + 2) / 3);
  for (int move = 0; move < moves; move++) {
    const int place = (int)(strchr(alphabet, text[move / 3]) - alphabet);
    actions[move] = (int32_t[]){place % 3, place / 3 % 3, place / 9}[move % 3];
  }
}

/* Plays the game from the reset on: it ends at the recorded move, in the recorded way. (Acrobot is chaotic: in one of some hundred
 * games the last bits of sines grow until the end is another. The committed games hold none of these.) */
static void check_game(follower *f, const char *line) {
  int read;
  mz_step result = {0};
  assert_int_equal(sscanf(line, "%d %d %d %n", &f->moves, &f->terminated, &f->truncated, &read), 3);
  assert_in_range(f->moves, 1, MOVES_MAX);
  unpack(line + read, f->moves, f->actions);
  f->games++;
  f->steps += f->moves;
  f->reached += f->terminated;
  for (int move = 0; move < f->moves; move++) {
    if (fresh && f->coupled && result.terminated) return;
    assert_false(result.terminated || result.truncated);
    assert_true(f->env->valid(f->env, f->state));
    assert_int_equal(f->env->step(f->env, f->state, 1, &f->actions[move], NULL, &result), MZ_OK);
    assert_true(result.reward == (result.terminated && f->coupled ? 0.0f : -1.0f));
  }
  if (fresh && f->coupled) return; /* check_step sees how it ends */
  assert_int_equal(result.terminated, f->terminated);
  assert_int_equal(result.truncated, f->truncated);
  assert_int_equal(f->env->valid(f->env, f->state), false);
}

/* The size of the terms whose roundings a number keeps where they all but cancel: of Acrobot's those of all four numbers, of a car's
 * velocity those of its push and of the slope. */
static double scale_of(const follower *f, int number, const double *before, const double *after) {
  double largest = 0;
  if (!f->coupled) return number == 1 ? fmax(fabs(after[number]), 0.0025) : after[number];
  for (int i = 0; i < f->numbers; i++) largest = fmax(largest, fmax(fabs(before[i]), fabs(after[i])));
  return largest;
}

static void check_step(follower *f, const char *line) {
  uint64_t state[STATE_WORDS];
  double before[NUMBERS_MAX], after[NUMBERS_MAX], got[NUMBERS_MAX];
  char *end;
  mz_step result;
  const long move = strtol(line, &end, 10);
  assert_in_range(move, 0, MOVES_MAX - 1);
  read_numbers(read_numbers(end, f->numbers, before), f->numbers, after);
  f->env->load(f->env, state, before, (int)move);
  assert_int_equal(f->env->step(f->env, state, 1, &f->actions[move], NULL, &result), MZ_OK);
  f->env->numbers(f->env, state, got);
  const bool last = move == f->moves - 1;
  assert_int_equal(result.terminated, last && f->terminated);
  assert_int_equal(result.truncated, last && f->truncated);
  for (int i = 0; i < f->numbers; i++) {
    const double ulps = ulps_apart(got[i], after[i], scale_of(f, i, before, after));
    if (!(ulps <= 4))
      fail_msg("%s, move %ld: number %d is %a, recorded %a: %g ulp", f->env->name, move, i, got[i], after[i], ulps);
    f->worst_ulps = fmax(f->worst_ulps, ulps);
  }
  f->compared++;
}

static follower follow(const char *name) {
  follower f = {.env = find(name), .coupled = strcmp(name, "acrobot") == 0};
  char path[1024], line[LINE_MAX];
  f.numbers = f.env->numbers(f.env, f.state, (double[MZ_ENV_NUMBERS_MAX]){0});
  snprintf(path, sizeof path, "%s/%s_traces.txt", folder, name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "seed ", 5) == 0)
      f.numpy = mz_numpy_generator_at(strtoull(line + 5, NULL, 10));
    else if (strncmp(line, "reset ", 6) == 0)
      check_reset(&f, line + 6);
    else if (strncmp(line, "game ", 5) == 0)
      check_game(&f, line + 5);
    else if (strncmp(line, "at ", 3) == 0)
      check_step(&f, line + 3);
    else
      assert_int_equal(line[0], '#');
  }
  assert_int_equal(fclose(file), 0);
  print_message("%s: %d games, %d moves; %d steps compared, at most %d ulp\n", name, f.games, f.steps, f.compared,
                (int)f.worst_ulps);
  return f;
}

static void mountain_car_follows_gymnasium(void **unused) {
  (void)unused;
  const follower f = follow("mountaincar");
  assert_int_equal(f.games, 200);
  if (!fresh) assert_int_equal(f.reached, 86);
  assert_true(f.compared > 1500);
}

static void acrobot_follows_gymnasium(void **unused) {
  (void)unused;
  const follower f = follow("acrobot");
  assert_int_equal(f.games, 200);
  assert_true((fresh || f.reached > 100) && f.compared > 1000);
}

/* Every batch size, with every lane and tail, gives the bits of single steps. */
static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  enum { MOST = 19, MOVES = 40 };
  static const char *const names[] = {"mountaincar", "acrobot"};
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  static const double near_the_goal[][4] = {{0.45, 0.05}, {2, 0, 1, 0}};
  for (size_t which = 0; which < 2; which++) {
    const mz_env *env = find(names[which]);
    const size_t size = env->state_size;
    int reached = 0, cut = 0;
    for (int n = 1; n <= MOST; n++) {
      uint8_t together[MOST * STATE_WORDS * 8], alone[MOST * STATE_WORDS * 8];
      int32_t actions[MOST];
      mz_step results[MOST], result;
      for (int i = 0; i < n; i++) assert_int_equal(env->reset(env, together + size * (size_t)i, &generator), MZ_OK);
      for (int i = 0; i < n; i += 2)
        env->load(env, together + size * (size_t)i, near_the_goal[which], env->spec.max_moves - MOVES / 2);
      memcpy(alone, together, size * (size_t)n);
      for (int move = 0; move < MOVES; move++) {
        for (int i = 0; i < n; i++) actions[i] = (int32_t)mz_rng_below(&rng, 3);
        assert_int_equal(env->step(env, together, n, actions, NULL, results), MZ_OK);
        for (int i = 0; i < n; i++) {
          assert_int_equal(env->step(env, alone + size * (size_t)i, 1, &actions[i], NULL, &result), MZ_OK);
          assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated &&
                      result.truncated == results[i].truncated);
          reached += result.terminated;
          cut += result.truncated;
        }
        assert_memory_equal(together, alone, size * (size_t)n);
      }
    }
    assert_true(reached > 0 && cut > 0);
  }
}

static void limits_are_options(void **unused) {
  (void)unused;
  const mz_env *env = find("mountaincar:limit=3");
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 1, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  uint64_t state[STATE_WORDS];
  mz_step result;
  assert_int_equal(env->spec.max_moves, 3);
  assert_true(env->spec.return_min == -3);
  assert_int_equal(env->reset(env, state, &generator), MZ_OK);
  for (int move = 1; move <= 3; move++) {
    assert_int_equal(env->step(env, state, 1, &(int32_t){0}, NULL, &result), MZ_OK);
    assert_int_equal(result.truncated, move == 3);
  }
}

static void text_shows_where_things_are(void **unused) {
  (void)unused;
  uint64_t state[STATE_WORDS];
  char out[2048], small[8];
  const mz_env *car = find("mountaincar"), *links = find("acrobot");
  car->load(car, state, (const double[]){-0.5, 0.01}, 17);
  int length = car->text(car, state, out, sizeof out);
  assert_int_equal(length, (int)strlen(out));
  assert_non_null(strchr(out, 'o'));
  assert_non_null(strchr(out, 'P'));
  assert_non_null(strstr(out, "move 17   position -0.5000   velocity +0.0100"));
  assert_int_equal(car->text(car, state, small, sizeof small), length);
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 2, 0);
  for (int i = 0; i < 1000; i++) { /* anywhere: the picture holds both links at full length */
    double at[4] = {0};
    for (int k = 0; k < 2; k++) at[k] = 6.28 * (mz_rng_f64(&rng) - 0.5);
    links->load(links, state, at, 1);
    length = links->text(links, state, out, sizeof out);
    assert_int_equal(length, (int)strlen(out));
    assert_non_null(strchr(out, 'o'));
  }
}

int main(int argc, char **argv) {
  fresh = argc > 1;
  if (fresh) folder = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mountain_car_follows_gymnasium), cmocka_unit_test(acrobot_follows_gymnasium),
      cmocka_unit_test(a_batch_equals_single_steps),    cmocka_unit_test(limits_are_options),
      cmocka_unit_test(text_shows_where_things_are),
  };
  return cmocka_run_group_tests_name("classic", tests, NULL, NULL);
}
