/* States from outside: those of play are valid until the end; what else is valid can be given to every function and played on. */
#include "envs/env.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TEXT_MAX = 4096, MOVES_MAX = 6000 };

static const char *const names[] = {"tictactoe",
                                    "connect4",
                                    "othello",
                                    "othello6",
                                    "cartpole",
                                    "acrobot",
                                    "mountaincar",
                                    "mountaincar:limit=50",
                                    "catch",
                                    "catch:rows=2,columns=9",
                                    "2048",
                                    "pig",
                                    "pig:target=9,sides=2,horizon=5",
                                    "hex",
                                    "hex:size=19",
                                    "allocation",
                                    "allocation:spread=0",
                                    "gomoku",
                                    "gomoku:size=5,k=3",
                                    "gomoku:size=8",
                                    "gomoku:size=19,k=6",
                                    "asterix",
                                    "asterix:actions=all,ramping=off",
                                    "breakout",
                                    "freeway",
                                    "seaquest",
                                    "seaquest:sticky=0,limit=300",
                                    "space_invaders",
                                    "go",
                                    "go:size=5,superko=forbid",
                                    "go:size=5,superko=none",
                                    "go:size=6,komi=0.5,superko=draw",
                                    "go:size=19"};
enum { ENVS = sizeof names / sizeof names[0] };

/* An environment with memory of exactly the sizes that it asks for, which a sanitizer sees the ends of. */
typedef struct bench {
  const mz_env *env;
  void *state, *other, *observation;
  uint8_t *mask, *optimal;
  mz_rng rng;
  mz_generator generator;
} bench;

static void *exactly(size_t size) {
  void *memory = calloc(1, size);
  assert_non_null(memory);
  return memory;
}

static void bench_init(bench *b, const char *name, uint32_t stream) {
  assert_int_equal(mz_env_find(name, &b->env), MZ_OK);
  b->state = exactly(b->env->state_size);
  b->other = exactly(b->env->state_size);
  b->observation = exactly(mz_spec_obs_bytes(&b->env->spec));
  b->mask = exactly((size_t)b->env->spec.actions);
  b->optimal = exactly((size_t)b->env->spec.actions);
  b->rng = mz_rng_at(1, MZ_RNG_TEST, stream, 0);
  b->generator = mz_generator_from_rng(&b->rng);
}

static void bench_deinit(bench *b) {
  free(b->state);
  free(b->other);
  free(b->observation);
  free(b->mask);
  free(b->optimal);
}

static bool is_valid(const bench *b) { return b->env->valid(b->env, b->state); }

/* Returns how many moves are legal. */
static int look(const bench *b) {
  const mz_env *env = b->env;
  env->observe(env, b->state, 1, b->observation);
  for (int i = 0; env->spec.obs_kind == MZ_OBS_F32 && i < env->spec.obs_size; i++)
    assert_true(isfinite(((const float *)b->observation)[i]));
  double numbers[MZ_ENV_NUMBERS_MAX];
  if (env->numbers) assert_in_range(env->numbers(env, b->state, numbers), 1, MZ_ENV_NUMBERS_MAX);
  assert_in_range(mz_env_to_play(env, b->state), 0, env->spec.players - 1);
  const int legal = mz_env_legal(env, b->state, b->mask);
  int count = 0;
  for (int a = 0; a < env->spec.actions; a++) count += b->mask[a];
  assert_int_equal(legal, count);
  return legal;
}

/* Costs more than a move. */
static void look_at_text(const bench *b) {
  char text[TEXT_MAX];
  assert_in_range(b->env->text(b->env, b->state, text, sizeof text), 1, sizeof text - 1);
}

/* What is asked only of an unfinished game. */
static void look_ahead(bench *b) {
  const mz_env *env = b->env;
  if (env->expert) {
    float value;
    env->expert(env, b->state, b->optimal, &value);
    assert_true(fabsf(value) <= 1);
  }
  if (env->rollout) {
    uint64_t random = mz_rng_u64(&b->rng) | 1;
    assert_true(fabsf(env->rollout(env, b->state, &random)) <= 1);
  }
}

/* Makes a random move; false when it ended the game. */
static bool move(bench *b, int legal) {
  mz_step result;
  const int32_t action = mz_env_nth_legal(b->mask, b->env->spec.actions, mz_rng_below(&b->rng, (uint32_t)legal));
  assert_int_equal(b->env->step(b->env, b->state, 1, &action, b->env->draws ? &b->generator : NULL, &result), MZ_OK);
  return !result.terminated && !result.truncated;
}

/* Plays at random to the end; every state up to there is valid, and the last one is not. Returns the number of moves. */
static int play_on(bench *b) {
  for (int moves = 0; moves < MOVES_MAX; moves++) {
    assert_true(is_valid(b));
    const int legal = look(b);
    assert_true(legal >= 1);
    if (moves % 8 == 0) look_at_text(b), look_ahead(b);
    if (move(b, legal)) continue;
    assert_false(is_valid(b));
    look(b);
    look_at_text(b);
    return moves + 1;
  }
  fail_msg("%s: a game without end", b->env->name);
  return 0;
}

/* A position of a random game, up to `moves` moves on. */
static void reach(bench *b, int moves) {
  assert_int_equal(b->env->reset(b->env, b->state, &b->generator), MZ_OK);
  for (int m = 0; m < moves; m++) {
    const int legal = mz_env_legal(b->env, b->state, b->mask);
    memcpy(b->other, b->state, b->env->state_size);
    if (move(b, legal)) continue;
    memcpy(b->state, b->other, b->env->state_size);
    return;
  }
}

static void states_of_play_are_valid_until_the_end(void **unused) {
  (void)unused;
  for (uint32_t e = 0; e < ENVS; e++) {
    bench b;
    bench_init(&b, names[e], e);
    const int games = b.env->spec.actions > 200 ? 5 : 60;
    for (int game = 0; game < games; game++) {
      assert_int_equal(b.env->reset(b.env, b.state, &b.generator), MZ_OK);
      play_on(&b);
    }
    bench_deinit(&b);
  }
}

static void a_state_of_another_variant_is_none(void **unused) {
  (void)unused;
  static const char *const pairs[][2] = {{"gomoku", "gomoku:size=9"},
                                         {"gomoku", "gomoku:k=4"},
                                         {"othello", "othello6"},
                                         {"go", "go:komi=6.5"},
                                         {"go", "go:superko=forbid"},
                                         {"go:size=5", "go:size=6"},
                                         {"go:size=19", "go:size=9"},
                                         {"tictactoe", "connect4"},
                                         {"gomoku:size=5", "gomoku:size=19"},
                                         {"allocation", "allocation:spread=0"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    for (int turned = 0; turned < 2; turned++) {
      bench from, to;
      bench_init(&from, pairs[i][turned], 100);
      bench_init(&to, pairs[i][1 - turned], 101);
      reach(&from, 6);
      assert_true(is_valid(&from));
      const size_t size = from.env->state_size < to.env->state_size ? from.env->state_size : to.env->state_size;
      memcpy(to.state, from.state, size);
      assert_false(is_valid(&to));
      bench_deinit(&from);
      bench_deinit(&to);
    }
  }
}

/* Changes the state in one of several ways that leave it near a valid one. */
static void mutate(bench *b) {
  uint8_t *bytes = b->state;
  const uint8_t *from = b->other;
  const uint32_t size = (uint32_t)b->env->state_size;
  mz_rng *rng = &b->rng;
  const uint32_t kind = mz_rng_below(rng, 6), at = mz_rng_below(rng, size), to = mz_rng_below(rng, size);
  if (kind < 2) {
    for (uint32_t flips = 1 + mz_rng_below(rng, 3); flips > 0; flips--)
      bytes[mz_rng_below(rng, size)] ^= (uint8_t)(1u << mz_rng_below(rng, 8));
  } else if (kind == 2) {
    bytes[at] = (uint8_t)mz_rng_u32(rng);
  } else if (kind == 3) { /* two of its own bytes change places */
    const uint8_t kept = bytes[at];
    bytes[at] = bytes[to];
    bytes[to] = kept;
  } else if (kind == 4) { /* a stretch is that of another state */
    const uint32_t most = size - at, length = 1 + mz_rng_below(rng, most < 64 ? most : 64);
    memcpy(bytes + at, from + at, length);
  } else { /* a bit moves to another place of the same byte, as a stone does */
    bytes[at] = (uint8_t)(bytes[at] << 1 | bytes[at] >> 7);
  }
}

static void changed_states_are_refused_or_can_be_played(void **unused) {
  (void)unused;
  for (uint32_t e = 0; e < ENVS; e++) {
    bench b;
    bench_init(&b, names[e], 200 + e);
    const int trials = b.env->spec.actions > 200 ? 1500 : 6000;
    int accepted = 0, refused = 0;
    for (int trial = 0; trial < trials; trial++) {
      const int moves = (int)mz_rng_below(&b.rng, b.env->spec.actions > 9 ? 60 : 8);
      reach(&b, moves);
      void *first = exactly(b.env->state_size);
      memcpy(first, b.state, b.env->state_size);
      reach(&b, moves + 2);
      memcpy(b.other, b.state, b.env->state_size);
      memcpy(b.state, first, b.env->state_size);
      mutate(&b);
      const bool changed = memcmp(b.state, first, b.env->state_size) != 0;
      free(first);
      if (!changed) continue;
      if (is_valid(&b)) {
        accepted++;
        play_on(&b);
      } else {
        refused++;
      }
    }
    if (accepted <= 10 || refused <= 100) fail_msg("%s: %d accepted, %d refused", names[e], accepted, refused);
    bench_deinit(&b);
  }
}

static void a_first_board_with_a_bit_flipped_is_none(void **unused) {
  (void)unused;
  static const char *const fixed[] = {"tictactoe", "connect4", "gomoku", "go:size=5"};
  for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
    bench b;
    bench_init(&b, fixed[i], 300);
    assert_int_equal(b.env->reset(b.env, b.state, &b.generator), MZ_OK);
    for (size_t bit = 0; bit < 8 * b.env->state_size; bit++) {
      uint8_t *byte = (uint8_t *)b.state + bit / 8;
      *byte ^= (uint8_t)(1u << bit % 8);
      if (is_valid(&b)) { /* Go: where stones have been taken may be any set of points */
        assert_string_equal(fixed[i], "go:size=5");
        memcpy(b.other, b.state, b.env->state_size);
        play_on(&b);
        memcpy(b.state, b.other, b.env->state_size);
      }
      *byte ^= (uint8_t)(1u << bit % 8);
    }
    bench_deinit(&b);
  }
}

static void random_bytes_are_refused_or_can_be_played(void **unused) {
  (void)unused;
  for (uint32_t e = 0; e < ENVS; e++) {
    bench b;
    bench_init(&b, names[e], 400 + e);
    int accepted = 0;
    for (int trial = 0; trial < 3000; trial++) {
      const uint32_t kind = mz_rng_below(&b.rng, 4); /* no bit, few bits, half of them */
      for (size_t i = 0; i < b.env->state_size; i++) {
        const uint32_t bits = mz_rng_u32(&b.rng);
        ((uint8_t *)b.state)[i] = (uint8_t)(kind == 0 ? 0 : kind == 1 ? bits & bits >> 8 & bits >> 16 : bits);
      }
      if (!is_valid(&b)) continue;
      accepted++;
      play_on(&b);
    }
    assert_true(accepted < 3000);
    bench_deinit(&b);
  }
}

static void numbers_that_are_none_are_refused(void **unused) {
  (void)unused;
  bench b;
  bench_init(&b, "cartpole", 500);
  const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 251};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    for (int at = 0; at < 4; at++) {
      double numbers[4] = {0};
      numbers[at] = bad[i];
      b.env->load(b.env, b.state, numbers, 3);
      assert_false(is_valid(&b));
    }
  }
  const double fast[4] = {-2.4, 249, 0.2, -24};
  b.env->load(b.env, b.state, fast, 499);
  assert_true(is_valid(&b));
  play_on(&b);
  b.env->load(b.env, b.state, fast, 500);
  assert_false(is_valid(&b));
  bench_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_of_play_are_valid_until_the_end),      cmocka_unit_test(a_state_of_another_variant_is_none),
      cmocka_unit_test(changed_states_are_refused_or_can_be_played), cmocka_unit_test(a_first_board_with_a_bit_flipped_is_none),
      cmocka_unit_test(random_bytes_are_refused_or_can_be_played),   cmocka_unit_test(numbers_that_are_none_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
