/* MinAtar's games against the package: every reset, reward, end and observation of recorded games, in digests of 50 steps
 * (tests/data/envs/make_minatar_traces.py says what the lines mean). */
#include "base/maths/digest.h"
#include "envs/env.h"
#include "envs/numpy_random_state.h"
#include "envs/variants.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STATE_MAX = 2048, OBSERVATION_MAX = 1000, BLOCK = 50, DIGEST_DIGITS = 8, PLAYS = 42 };

/* One record: what is to be played, and where its play stands. */
typedef struct play {
  const mz_env *env;
  char name[128];
  int steps;
  bool recorded;
  mz_random_state dynamics, choices;
  char *actions; /* recorded digits */
  int action_count;

  uint64_t state[STATE_MAX / 8];
  uint8_t block[BLOCK * (2 + 2 * OBSERVATION_MAX)];
  size_t block_size;
  bool over; /* a reset comes next */
  int step, games, rewards;
} play;

static void add_observation(play *p) {
  p->env->observe(p->env, p->state, 1, p->block + p->block_size);
  p->block_size += mz_spec_obs_bytes(&p->env->spec);
}

static int32_t next_action(play *p) {
  if (!p->recorded) return (int32_t)mz_random_state_below(&p->choices, (uint32_t)p->env->spec.actions);
  assert_true(p->step < p->action_count);
  return p->actions[p->step] - '0';
}

static void play_step(play *p) {
  const mz_generator generator = mz_generator_from_random_state(&p->dynamics);
  if (p->over) {
    assert_int_equal(p->env->reset(p->env, p->state, &generator), MZ_OK);
    add_observation(p);
    p->games++;
  }
  const int32_t action = next_action(p);
  mz_step result;
  assert_int_equal(p->env->step(p->env, p->state, 1, &action, &generator, &result), MZ_OK);
  p->block[p->block_size++] = (uint8_t)(int)result.reward;
  p->block[p->block_size++] = result.terminated;
  add_observation(p);
  p->over = result.terminated || result.truncated;
  if (!p->over) assert_true(p->env->valid(p->env, p->state));
  p->rewards += (int)result.reward;
  p->step++;
}

static void check_digests(play *p, const char *digits) {
  for (; strlen(digits) >= DIGEST_DIGITS; digits += DIGEST_DIGITS) {
    p->block_size = 0;
    for (int i = 0; i < BLOCK; i++) play_step(p);
    char digest[DIGEST_DIGITS + 1];
    snprintf(digest, sizeof digest, "%08" PRIx32, (uint32_t)mz_hash(p->block, p->block_size, 0));
    if (memcmp(digest, digits, DIGEST_DIGITS) != 0)
      fail_msg("%s: steps %d to %d are not the package's", p->name, p->step - BLOCK, p->step);
  }
}

static void begin(play *p, uint32_t seed, const char *actions) {
  uint32_t action_seed = 0;
  assert_int_equal(mz_env_find(p->name, &p->env), MZ_OK);
  assert_true(p->env->state_size <= sizeof p->state && p->env->spec.obs_size <= OBSERVATION_MAX);
  p->recorded = sscanf(actions, "random %" SCNu32, &action_seed) != 1;
  mz_random_state_seed(&p->dynamics, seed);
  mz_random_state_seed(&p->choices, action_seed);
  p->action_count = p->step = p->games = p->rewards = 0;
  p->over = true;
  free(p->actions);
  p->actions = malloc((size_t)p->steps);
  assert_non_null(p->actions);
}

static void add_actions(play *p, const char *digits) {
  for (; *digits >= '0' && *digits <= '9'; digits++) {
    assert_true(p->action_count < p->steps && *digits - '0' < p->env->spec.actions);
    p->actions[p->action_count++] = *digits;
  }
}

/* Plays the records of a file. Returns how many there are. */
static int follow(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  static play p;
  char line[256], actions[32];
  int done = 0;
  while (fgets(line, sizeof line, file)) {
    uint32_t seed;
    int games, rewards;
    if (sscanf(line, "play %127s seed %" SCNu32 " steps %d actions %31[^\n]", p.name, &seed, &p.steps, actions) == 4) {
      begin(&p, seed, actions);
    } else if (strncmp(line, "actions ", 8) == 0) {
      add_actions(&p, line + 8);
    } else if (strncmp(line, "digests ", 8) == 0) {
      check_digests(&p, line + 8);
    } else if (sscanf(line, "total games %d rewards %d", &games, &rewards) == 2) {
      assert_int_equal(p.step, p.steps);
      assert_int_equal(p.games, games);
      assert_int_equal(p.rewards, rewards);
      done++;
    } else {
      assert_int_equal(line[0], '#');
    }
  }
  free(p.actions);
  p.actions = NULL;
  assert_int_equal(fclose(file), 0);
  return done;
}

static void follows_the_package(void **unused) {
  (void)unused;
  assert_int_equal(follow(TEST_DATA "/envs/minatar_traces.txt"), PLAYS);
}

/* --- promises of the interface --- */

static const char *const games[] = {"asterix", "breakout", "freeway", "seaquest", "space_invaders"};
enum { GAMES = sizeof games / sizeof games[0] };

static const mz_env *found(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  assert_true(env->state_size <= STATE_MAX && env->spec.obs_size <= OBSERVATION_MAX);
  return env;
}

static void reset(const mz_env *env, void *state, const mz_generator *generator) {
  assert_int_equal(env->reset(env, state, generator), MZ_OK);
}

static mz_step step(const mz_env *env, void *state, int32_t action, const mz_generator *generator) {
  mz_step result;
  assert_int_equal(env->step(env, state, 1, &action, generator, &result), MZ_OK);
  return result;
}

static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  enum { BATCH = 7, MOVES = 300 };
  static uint8_t alone[BATCH * STATE_MAX], together[BATCH * STATE_MAX], one[OBSERVATION_MAX], many[BATCH * OBSERVATION_MAX];
  for (uint32_t g = 0; g < GAMES; g++) {
    const mz_env *env = found(games[g]);
    const size_t size = env->state_size, observed = mz_spec_obs_bytes(&env->spec);
    mz_rng choice = mz_rng_at(1, MZ_RNG_TEST, g, 1), rngs[2][BATCH];
    mz_generator generators[2][BATCH];
    for (uint32_t i = 0; i < BATCH; i++) {
      for (int k = 0; k < 2; k++) {
        rngs[k][i] = mz_rng_at(1, MZ_RNG_TEST, i, 2);
        generators[k][i] = mz_generator_from_rng(&rngs[k][i]);
        reset(env, (k ? together : alone) + size * i, &generators[k][i]);
      }
    }
    for (int move = 0; move < MOVES; move++) {
      int32_t actions[BATCH];
      mz_step results[BATCH];
      for (int i = 0; i < BATCH; i++) actions[i] = (int32_t)mz_rng_below(&choice, (uint32_t)env->spec.actions);
      assert_int_equal(env->step(env, together, BATCH, actions, generators[1], results), MZ_OK);
      env->observe(env, together, BATCH, many);
      for (size_t i = 0; i < BATCH; i++) {
        const mz_step result = step(env, alone + size * i, actions[i], &generators[0][i]);
        assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated &&
                    result.truncated == results[i].truncated);
        env->observe(env, alone + size * i, 1, one);
        assert_memory_equal(one, many + observed * i, observed);
      }
      assert_memory_equal(alone, together, size * BATCH);
      for (size_t i = 0; i < BATCH; i++) {
        if (!results[i].terminated) continue;
        reset(env, together + size * i, &generators[1][i]);
        reset(env, alone + size * i, &generators[0][i]);
      }
    }
  }
}

/* Two states of one history are equal, whatever was in the memory before, and a copy continues as its original. */
static void a_state_is_its_bytes(void **unused) {
  (void)unused;
  for (uint32_t g = 0; g < GAMES; g++) {
    const mz_env *env = found(games[g]);
    uint64_t states[3][STATE_MAX / 8];
    mz_rng rngs[3], choice = mz_rng_at(2, MZ_RNG_TEST, g, 1);
    mz_generator generators[3];
    for (int k = 0; k < 3; k++) {
      rngs[k] = mz_rng_at(2, MZ_RNG_TEST, g, 0);
      generators[k] = mz_generator_from_rng(&rngs[k]);
      memset(states[k], k == 0 ? 0x00 : 0xff, sizeof states[k]);
      if (k < 2) reset(env, states[k], &generators[k]);
    }
    memcpy(states[2], states[0], env->state_size);
    rngs[2] = rngs[0];
    for (int move = 0; move < 400; move++) {
      const int32_t action = (int32_t)mz_rng_below(&choice, (uint32_t)env->spec.actions);
      bool terminated = false;
      for (int k = 0; k < 3; k++) terminated = step(env, states[k], action, &generators[k]).terminated;
      for (int k = 1; k < 3; k++) assert_memory_equal(states[0], states[k], env->state_size);
      for (int k = 0; terminated && k < 3; k++) reset(env, states[k], &generators[k]);
    }
  }
}

static void the_limit_truncates(void **unused) {
  (void)unused;
  uint64_t state[STATE_MAX / 8];
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  static const char *const limited[] = {"asterix:limit=5", "breakout:limit=5", "seaquest:limit=5", "space_invaders:limit=5"};
  for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++) {
    const mz_env *env = found(limited[i]);
    assert_int_equal(env->spec.max_moves, 5);
    reset(env, state, &generator);
    for (int move = 1; move <= 5; move++) {
      assert_true(env->valid(env, state));
      assert_int_equal(step(env, state, 0, &generator).truncated, move == 5);
    }
    assert_false(env->valid(env, state));
  }
  const mz_env *freeway = found("freeway");
  assert_int_equal(freeway->spec.max_moves, 0);
  reset(freeway, state, &generator);
  for (int move = 1; move <= 2501; move++) {
    const mz_step result = step(freeway, state, 0, &generator);
    assert_false(result.truncated);
    assert_int_equal(result.terminated, move == 2501);
  }
  assert_false(freeway->valid(freeway, state));
}

/* A sticky action is the one that was carried out, and a game begins with none to repeat. */
static void sticky_actions_repeat(void **unused) {
  (void)unused;
  uint64_t state[STATE_MAX / 8];
  mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const mz_env *always = found("breakout:sticky=1"), *never = found("breakout:sticky=0");
  char before[512], after[512];
  reset(always, state, &generator);
  always->text(always, state, before, sizeof before);
  (void)step(always, state, 2, &generator);
  always->text(always, state, after, sizeof after);
  assert_ptr_equal(strchr(before, '=') - before, strchr(after, '=') - after);
  (void)step(never, state, 2, &generator);
  (void)step(always, state, 1, &generator);
  always->text(always, state, after, sizeof after);
  assert_int_equal(strchr(after, '=') - after, strchr(before, '=') - before + 2);
}

static void options_change_the_spec(void **unused) {
  (void)unused;
  static const int minimal[GAMES] = {5, 3, 3, 6, 4};
  for (int g = 0; g < (int)GAMES; g++) {
    char name[64], text[32];
    const mz_env *env = found(games[g]);
    assert_int_equal(env->spec.actions, minimal[g]);
    mz_env filled = *env;
    filled.spec.return_max = -1;
    filled.spec.max_moves = 0;
    assert_int_equal(env->variants->fill(&filled, "here"), MZ_OK);
    if (env->spec.max_moves > 0) assert_true(filled.spec.return_max == env->spec.return_max);
    assert_int_equal(filled.spec.max_moves, env->spec.max_moves);
    snprintf(name, sizeof name, "%s:actions=all", games[g]);
    const mz_env *all = found(name);
    assert_int_equal(all->spec.actions, 6);
    assert_string_equal(all->name, name);
    all->action_text(all, 5, text, sizeof text);
    assert_string_equal(text, "fire");
    env->action_text(env, 0, text, sizeof text);
    assert_string_equal(text, "wait");
    snprintf(name, sizeof name, "%s:actions=minimal,sticky=0.1", games[g]);
    assert_ptr_equal(found(name), env);
  }
  assert_true(found("asterix:limit=100")->spec.return_max == 100);
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find("freeway:limit=100", &env), MZ_E_CONFIG);
  assert_int_equal(mz_env_find("breakout:ramping=off", &env), MZ_E_CONFIG);
  assert_int_equal(mz_env_find("breakout:sticky=1.5", &env), MZ_E_CONFIG);
}

static void text_shows_the_grid(void **unused) {
  (void)unused;
  uint64_t state[STATE_MAX / 8];
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const mz_env *env = found("space_invaders");
  char out[512], small[8];
  reset(env, state, &generator);
  const int length = env->text(env, state, out, sizeof out);
  assert_string_equal(out, "..xxxxxx..\n..xxxxxx..\n..xxxxxx..\n..xxxxxx..\n..........\n"
                           "..........\n..........\n..........\n..........\n.....^....\nmove 0\n");
  assert_int_equal(length, (int)strlen(out));
  assert_int_equal(env->text(env, state, small, sizeof small), length);
}

/* Marks the timers and rows of shots that `moves` moves lead to, of which bit m of `fires` says whether move m fires; any shots of
 * them may have hit. */
static void mark_shots(uint32_t fires, int moves, bool reached[5][1 << 10]) {
  int timer = 0;
  uint32_t rows = 0;
  for (int move = 0; move < moves; move++) {
    if (fires >> move & 1 && timer == 0) {
      rows |= 1 << 9;
      timer = 5;
    }
    rows >>= 1;
    if (timer > 0) timer--;
  }
  for (uint32_t left = rows;; left = (left - 1) & rows) {
    reached[timer][left] = true;
    if (left == 0) return;
  }
}

/* Shots that some play leads to are valid, and no others. */
static void shots_are_those_of_some_play(void **unused) {
  (void)unused;
  enum { MOVES = 12, SHOTS = 28, TIMER = 72 }; /* bytes of the state where rows of shots, one column a bit, and their timer are */
  static bool reached[5][1 << 10];
  for (uint32_t fires = 0; fires < 1 << MOVES; fires++) mark_shots(fires, MOVES, reached);
  uint64_t state[STATE_MAX / 8];
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const mz_env *env = found("space_invaders");
  reset(env, state, &generator);
  for (int timer = 0; timer < 5; timer++) {
    for (uint32_t rows = 0; rows < 1 << 10; rows++) {
      uint8_t *bytes = (uint8_t *)state;
      bytes[TIMER] = (uint8_t)timer;
      for (uint32_t row = 0; row < 10; row++) bytes[SHOTS + 2 * row] = rows >> row & 1;
      assert_int_equal(env->valid(env, state), reached[timer][rows]);
    }
  }
}

/* A file of fresh records is followed alone. */
int main(int argc, char **argv) {
  if (argc > 1) return follow(argv[1]) > 0 ? 0 : 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_the_package),   cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(a_state_is_its_bytes),  cmocka_unit_test(the_limit_truncates),
      cmocka_unit_test(sticky_actions_repeat), cmocka_unit_test(options_change_the_spec),
      cmocka_unit_test(text_shows_the_grid),   cmocka_unit_test(shots_are_those_of_some_play),
  };
  return cmocka_run_group_tests_name("minatar", tests, NULL, NULL);
}
