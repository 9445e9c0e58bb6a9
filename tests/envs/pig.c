/* Pig against games of OpenSpiel (tests/data/envs/make_chance_games.py, where the format is described), and its perfect play against
 * an evaluation of policies that shares nothing with it. */
#include "envs/env.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LINE_MAX = 8192, STATE_WORDS = 8, TARGET = 100, SIDES = 6, ROLL = 0, STOP = 1 };

static const char *folder = TEST_DATA "/envs"; /* or that of other games */

static const mz_env *find(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  assert_true(env->state_size <= STATE_WORDS * sizeof(uint64_t));
  return env;
}

/* ---- OpenSpiel's games ---- */

/* The die as it was recorded; -1: it is not to be thrown. */
static uint32_t give_side(void *context, uint32_t n) {
  const int side = *(const int *)context;
  assert_in_range(side, 0, n - 1);
  return (uint32_t)side;
}

typedef struct counts {
  int games, wins[2], unfinished;
} counts;

static void play(const mz_env *env, const char *line, counts *seen) {
  static const char alphabet[] = "0123456789A";
  uint64_t state[STATE_WORDS], hash = 0xcbf29ce484222325;
  unsigned recorded;
  char won;
  int read, side = -1;
  assert_int_equal(sscanf(line, "%x %c %n", &recorded, &won, &read), 2);
  const mz_generator generator = {.context = &side, .below = give_side};
  mz_step last = {0};
  int mover = 0;
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  for (const char *at = line + read; *at; at++) {
    uint8_t legal[2];
    double numbers[MZ_ENV_NUMBERS_MAX];
    assert_false(last.terminated || last.truncated);
    assert_true(env->valid(env, state));
    assert_int_equal(env->numbers(env, state, numbers), 4);
    mover = env->to_play(env, state);
    assert_int_equal(mover, numbers[3]);
    assert_in_range(env->legal(env, state, legal), 1, 2);
    const int heard[] = {mover, (int)numbers[0], (int)numbers[1], (int)numbers[2], legal[ROLL] + 2 * legal[STOP]};
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++) hash = (hash ^ (uint64_t)heard[i]) * 0x100000001b3;
    side = *at == 's' || *at == 'r' ? -1 : (int)(strchr(alphabet, *at) - alphabet) - 1;
    assert_int_equal(env->step(env, state, 1, &(int32_t){*at == 's' ? STOP : ROLL}, &generator, &last), MZ_OK);
    assert_int_equal(last.outcome, side + 1);
    assert_true(last.reward == (last.terminated ? 1 : 0));
  }
  assert_true(last.terminated || last.truncated);
  assert_int_equal(won, last.terminated ? '0' + mover : '-');
  assert_int_equal(hash & 0xffffff, recorded);
  seen->games++;
  if (last.terminated) seen->wins[mover]++;
  seen->unfinished += !last.terminated;
}

static counts play_all(const char *file, const char *name) {
  static char line[LINE_MAX];
  const mz_env *env = find(name);
  counts seen = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) {
    if (line[0] == '#') continue;
    line[strcspn(line, "\n")] = '\0';
    play(env, line, &seen);
  }
  assert_int_equal(fclose(in), 0);
  return seen;
}

static void it_follows_openspiel(void **unused) {
  (void)unused;
  const counts whole = play_all("pig_games.txt", "pig");
  assert_true(whole.games == 1000 && whole.wins[0] > 300 && whole.wins[1] > 300);
  const counts cut = play_all("pig_short_games.txt", "pig:target=50,sides=10,horizon=30");
  assert_true(cut.games == 200 && cut.wins[0] > 50 && cut.wins[1] > 50 && cut.unfinished > 3);
}

static void the_mover_sees_its_own_score_first(void **unused) {
  (void)unused;
  const mz_env *env = find("pig");
  uint64_t state[STATE_WORDS];
  float seen[4];
  env->load(env, state, (const double[]){20, 50, 8, 0}, 9);
  env->observe(env, state, 1, seen);
  assert_true(seen[0] == 0.2f && seen[1] == 0.5f && fabsf(seen[2] - 0.08f) < 1e-6f && fabsf(seen[3] - 0.28f) < 1e-6f);
  env->load(env, state, (const double[]){20, 50, 8, 1}, 9);
  env->observe(env, state, 1, seen);
  assert_true(seen[0] == 0.5f && seen[1] == 0.2f && fabsf(seen[2] - 0.08f) < 1e-6f && fabsf(seen[3] - 0.58f) < 1e-6f);
}

static void states_that_cannot_be_are_refused(void **unused) {
  (void)unused;
  const mz_env *env = find("pig");
  static const struct {
    double numbers[4];
    int moves;
    bool valid;
  } rows[] = {{{0, 0, 0, 0}, 0, true},    {{99, 99, 6, 1}, 999, true}, {{0, 0, 1, 0}, 5, false},   {{0, 0, 0, 2}, 5, false},
              {{100, 0, 0, 0}, 5, false}, {{0, 100, 0, 0}, 5, false},  {{99, 0, 7, 0}, 5, false},  {{99, 0, 7, 1}, 5, true},
              {{0, 0, -2, 0}, 5, false},  {{0, -1, 0, 0}, 5, false},   {{0, 0, 0, 0}, 1000, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint64_t state[STATE_WORDS] = {0};
    env->load(env, state, rows[i].numbers, rows[i].moves);
    assert_int_equal(env->valid(env, state), rows[i].valid);
  }
}

/* ---- perfect play ---- */

/* A policy by own score, the other's and the turn's total: 1 stops, 0 rolls. */
typedef uint8_t policy[TARGET][TARGET][TARGET];
/* How likely who moves wins, with its own policy. */
typedef double chances[TARGET][TARGET][TARGET];

static policy perfect, hold20; /* large */
static chances first, second;

/* One sweep of the mover's chances; answer: the other's, with its own policy. Returns the largest change. */
static double sweep(policy mine, chances at, chances answer, int own, int other) {
  double most = 0;
  for (int total = TARGET - own - 1; total >= 0; total--) {
    double win = 0;
    if (mine[own][other][total]) {
      win = 1 - answer[other][own + total][0];
    } else {
      for (int shown = 2; shown <= SIDES; shown++)
        win += own + total + shown >= TARGET ? 1.0 / SIDES : at[own][other][total + shown] / SIDES;
      win += (1 - answer[other][own][0]) / SIDES;
    }
    most = fmax(most, fabs(win - at[own][other][total]));
    at[own][other][total] = win;
  }
  return most;
}

/* Evaluates one policy against another: `first` becomes the chances of a, `second` of b, each when it is to move. */
static void evaluate(policy a, policy b) {
  memset(first, 0, sizeof first);
  memset(second, 0, sizeof second);
  for (int sum = 2 * (TARGET - 1); sum >= 0; sum--) {
    for (int own = sum < TARGET ? 0 : sum - TARGET + 1; own <= sum && own < TARGET; own++) {
      double change = 1;
      while (change > 1e-13) {
        change = sweep(a, first, second, own, sum - own);
        change = fmax(change, sweep(b, second, first, sum - own, own));
      }
    }
  }
}

static void read_policies(const mz_env *env) {
  const mz_env_baseline *hold = env->baselines;
  assert_string_equal(hold->name, "hold20");
  void *solver;
  assert_int_equal(hold->how->create(&solver), MZ_OK);
  for (int own = 0; own < TARGET; own++)
    for (int other = 0; other < TARGET; other++)
      for (int total = 0; own + total < TARGET; total++) {
        uint64_t state[STATE_WORDS];
        uint8_t mask[2];
        float value;
        env->load(env, state, (const double[]){other, own, total, 1}, 0);
        env->expert(env, state, mask, &value);
        assert_true(mask[ROLL] || mask[STOP]);
        perfect[own][other][total] = mask[STOP];
        assert_int_equal(hold->how->solve(env, solver, state, mask), MZ_OK);
        hold20[own][other][total] = mask[STOP];
        assert_int_equal(mask[ROLL], !mask[STOP]);
        assert_int_equal(mask[STOP], total >= 20);
      }
  hold->how->free(solver);
}

/* Neller & Presser (2004): 53.06 % for who begins. The other two numbers were computed by another program. */
static void it_is_solved(void **unused) {
  (void)unused;
  const mz_env *env = find("pig");
  read_policies(env);
  evaluate(perfect, perfect);
  assert_true(fabs(first[0][0][0] - 0.530593) < 1e-6);
  for (int own = 0; own < TARGET; own++)
    for (int other = 0; other < TARGET; other++)
      for (int total = 0; own + total < TARGET; total++) { /* the expert's value is its play's, and the other move is no better */
        uint64_t state[STATE_WORDS];
        uint8_t mask[2];
        float value;
        env->load(env, state, (const double[]){own, other, total, 0}, 0);
        env->expert(env, state, mask, &value);
        const double win = first[own][other][total];
        assert_true(fabs(2 * win - 1 - (double)value) < 1e-5);
        double roll = (1 - second[other][own][0]) / SIDES;
        for (int shown = 2; shown <= SIDES; shown++)
          roll += own + total + shown >= TARGET ? 1.0 / SIDES : first[own][other][total + shown] / SIDES;
        assert_true(roll < win + 1e-6 && 1 - second[other][own + total][0] < win + 1e-6);
      }
  evaluate(hold20, perfect);
  assert_true(fabs(first[0][0][0] - 0.4917) < 5e-5 && fabs(1 - second[0][0][0] - 0.4285) < 5e-5);
}

static void who_can_win_stops(void **unused) {
  (void)unused;
  const mz_env *env = find("pig");
  uint64_t state[STATE_WORDS];
  uint8_t mask[2];
  float value;
  env->load(env, state, (const double[]){95, 3, 5, 0}, 9);
  env->expert(env, state, mask, &value);
  assert_true(!mask[ROLL] && mask[STOP] && value == 1);
  assert_int_equal(env->legal(env, state, mask), 1);
  assert_true(!mask[ROLL] && mask[STOP]);
  assert_non_null(find("pig:horizon=200")->expert);
  assert_null(find("pig:horizon=199")->expert);
  assert_null(find("pig:target=50")->expert);
  assert_null(find("pig:sides=8")->expert);
}

int main(int argc, char **argv) {
  if (argc > 1) folder = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_follows_openspiel),
      cmocka_unit_test(the_mover_sees_its_own_score_first),
      cmocka_unit_test(states_that_cannot_be_are_refused),
      cmocka_unit_test(it_is_solved),
      cmocka_unit_test(who_can_win_stops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
