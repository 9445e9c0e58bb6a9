/* Catch and 2048 against games of OpenSpiel (tests/data/envs/make_chance_games.py, where the format is described): its chance and its
 * moves bring the same boards and rewards. */
#include "base/symmetry.h"
#include "envs/env.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LINE_MAX = 65536, CELLS = 16, DIRECTIONS = 4, STATE_WORDS = 8 };

static const char *folder = TEST_DATA "/envs"; /* or that of other games */

static const mz_env *find(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  assert_true(env->state_size <= STATE_WORDS * sizeof(uint64_t));
  return env;
}

/* Chance as it was recorded. */
typedef struct script {
  uint32_t place;
  bool four;
} script;

static double give_share(void *context) { return ((script *)context)->four ? 0.95 : 0.5; }

static uint32_t give_place(void *context, uint32_t n) {
  const script *s = context;
  assert_in_range(s->place, 0, n - 1);
  return s->place;
}

static int for_each_line(const char *name, void (*play)(char *line)) {
  static char line[LINE_MAX];
  char path[1024];
  int lines = 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (line[0] == '#') continue;
    line[strcspn(line, "\n")] = '\0';
    play(line);
    lines++;
  }
  assert_int_equal(fclose(file), 0);
  return lines;
}

/* --- Catch --- */

static void play_catch(char *line) {
  const mz_env *env = find("catch");
  uint64_t state[STATE_WORDS];
  script s = {.place = (uint32_t)(line[0] - '0')};
  const mz_generator generator = {.context = &s, .below = give_place};
  mz_step last = {0};
  assert_int_equal(env->reset(env, state, &generator), MZ_OK);
  const char *at = line + 1;
  for (; *at >= '0' && *at <= '2'; at++) {
    assert_false(last.terminated);
    assert_true(last.reward == 0);
    assert_int_equal(env->step(env, state, 1, &(int32_t){*at - '0'}, NULL, &last), MZ_OK);
  }
  assert_true(last.terminated);
  assert_true(last.reward == (*at == 'w' ? 1.0f : -1.0f));
}

static void catch_follows_openspiel(void **unused) {
  (void)unused;
  assert_int_equal(for_each_line("catch_games.txt", play_catch), 1000);
}

/* The expert's value is what the moves that it marks bring, and no other move brings more. */
static void catch_is_solved(void **unused) {
  (void)unused;
  const mz_env *env = find("catch:rows=6,columns=7");
  for (int ball = 0; ball < 7; ball++) {
    for (int paddle = 0; paddle < 7; paddle++) {
      for (int row = 4; row >= 0; row--) {
        uint64_t state[STATE_WORDS], next[STATE_WORDS];
        uint8_t best[3], ignored[3];
        float value, reached[3];
        env->load(env, state, (const double[]){row, ball, paddle}, row);
        assert_true(env->valid(env, state));
        env->expert(env, state, best, &value);
        for (int32_t a = 0; a < 3; a++) {
          mz_step step;
          memcpy(next, state, env->state_size);
          assert_int_equal(env->step(env, next, 1, &a, NULL, &step), MZ_OK);
          if (step.terminated)
            reached[a] = step.reward;
          else
            env->expert(env, next, ignored, &reached[a]);
          assert_true(reached[a] <= value);
        }
        for (int a = 0; a < 3; a++) assert_int_equal(best[a], reached[a] >= value);
      }
    }
  }
}

/* --- 2048 --- */

static int ended; /* games: OpenSpiel ends some before the last move */

typedef struct player {
  const mz_env *env;
  uint64_t state[STATE_WORDS];
  uint64_t hash;
  double sum;
  mz_step last;
} player;

static void mix(player *p, uint64_t number) { p->hash = (p->hash ^ number) * 0x100000001b3; }

/* Whether a slide changes the board: some tile has an empty cell or an equal tile before it. */
static bool can_slide(const double *tiles, int action) {
  static const int steps[DIRECTIONS] = {-4, 1, 4, -1};
  for (int cell = 0; cell < CELLS; cell++) {
    const int ahead = cell + steps[action];
    if (ahead < 0 || ahead >= CELLS || (action % 2 == 1 && ahead / 4 != cell / 4)) continue;
    if (tiles[cell] > 0 && (tiles[ahead] == 0 || tiles[ahead] == tiles[cell])) return true;
  }
  return false;
}

static void move(player *p, int32_t action, const mz_generator *generator) {
  uint8_t mask[DIRECTIONS];
  double tiles[CELLS];
  assert_false(p->last.terminated);
  const int count = p->env->legal(p->env, p->state, mask);
  p->env->numbers(p->env, p->state, tiles);
  int can = 0;
  for (int a = 0; a < DIRECTIONS; a++) {
    assert_int_equal(mask[a], can_slide(tiles, a));
    can += mask[a];
  }
  assert_int_equal(count, can);
  assert_int_equal(mask[action], 1);
  mix(p, (uint64_t)action);
  assert_int_equal(p->env->step(p->env, p->state, 1, &action, generator, &p->last), MZ_OK);
  mix(p, (uint64_t)p->last.reward);
  p->sum += (double)p->last.reward;
  p->env->numbers(p->env, p->state, tiles);
  for (int cell = 0; cell < CELLS; cell++) mix(p, (uint64_t)tiles[cell]);
  const double appeared = tiles[p->last.outcome / 2];
  assert_true(appeared == (p->last.outcome % 2 ? 4 : 2));
  can = 0;
  for (int a = 0; a < DIRECTIONS; a++) can += can_slide(tiles, a);
  assert_int_equal(p->last.terminated, can == 0);
}

static void play_2048(char *line) {
  static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
  unsigned hash;
  int sum, read;
  assert_int_equal(sscanf(line, "%x %d %n", &hash, &sum, &read), 2);
  player p = {.env = find("2048"), .hash = 0xcbf29ce484222325};
  script s[2];
  const char *at = line + read;
  /* Both tiles of the start are drawn in the one reset: the generator hands out one script after the other. */
  int32_t actions[2];
  for (int i = 0; i < 2; i++) {
    s[i].four = *at == '!';
    at += s[i].four;
    const int place = (int)(strchr(alphabet, *at++) - alphabet);
    s[i].place = (uint32_t)place % CELLS;
    actions[i] = place / CELLS;
  }
  assert_int_equal(actions[0] + actions[1], 0);
  double tiles[CELLS] = {0};
  for (int i = 0; i < 2; i++) {
    uint32_t left = s[i].place;
    int cell = 0;
    while (tiles[cell] > 0 || left-- > 0) cell++;
    tiles[cell] = s[i].four ? 4 : 2;
  }
  p.env->load(p.env, p.state, tiles, 0);
  while (*at) {
    script drawn = {.four = *at == '!'};
    at += drawn.four;
    const int place = (int)(strchr(alphabet, *at++) - alphabet);
    drawn.place = (uint32_t)place % CELLS;
    const mz_generator generator = {.context = &drawn, .f64 = give_share, .below = give_place};
    assert_true(p.env->valid(p.env, p.state));
    move(&p, place / CELLS, &generator);
  }
  ended += p.last.terminated;
  assert_int_equal(p.sum, sum);
  assert_int_equal(p.hash & 0xffffff, hash);
}

static void game_2048_follows_openspiel(void **unused) {
  (void)unused;
  ended = 0;
  assert_int_equal(for_each_line("2048_games.txt", play_2048), 1000);
  assert_in_range(ended, 900, 1000);
}

/* A first board has two tiles, each of them a 4 in a tenth of the games, on every pair of cells as often. */
static void game_2048_starts_with_two_tiles(void **unused) {
  (void)unused;
  enum { GAMES = 20000 };
  const mz_env *env = find("2048");
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  int fours = 0, at[CELLS] = {0};
  for (int game = 0; game < GAMES; game++) {
    uint64_t state[STATE_WORDS];
    double tiles[CELLS];
    int count = 0;
    assert_int_equal(env->reset(env, state, &generator), MZ_OK);
    env->numbers(env, state, tiles);
    for (int cell = 0; cell < CELLS; cell++) {
      count += tiles[cell] > 0;
      at[cell] += tiles[cell] > 0;
      fours += tiles[cell] > 3;
    }
    assert_int_equal(count, 2);
  }
  assert_in_range(fours, 3700, 4300);                                             /* 5 σ about 4000 */
  for (int cell = 0; cell < CELLS; cell++) assert_in_range(at[cell], 2260, 2740); /* and about 2500 */
}

/* Boards that no game reaches are still played: two of the largest tile that there can be do not merge. */
static void game_2048_goes_on(void **unused) {
  (void)unused;
  const mz_env *env = find("2048");
  uint64_t state[STATE_WORDS];
  uint8_t observation[CELLS * 18];
  script s = {0};
  const mz_generator generator = {.context = &s, .f64 = give_share, .below = give_place};
  mz_step step;
  double tiles[CELLS] = {65536, 65536, 0, 0, 131072, 131072};
  env->load(env, state, tiles, 100);
  assert_true(env->valid(env, state));
  assert_int_equal(env->step(env, state, 1, &(int32_t){3}, &generator, &step), MZ_OK);
  assert_true(step.reward == 131072 && !step.terminated);
  env->numbers(env, state, tiles);
  assert_true(tiles[0] == 131072 && tiles[1] == 2 && tiles[4] == 131072 && tiles[5] == 131072);
  env->observe(env, state, 1, observation);
  for (int cell = 0; cell < CELLS; cell++) {
    int planes = 0;
    for (int plane = 0; plane < 18; plane++) planes += observation[18 * cell + plane];
    assert_int_equal(planes, 1);
  }
}

/* A board turned or mirrored slides as the board does, in the direction that turns with it. */
static void game_2048_has_its_symmetries(void **unused) {
  (void)unused;
  const mz_env *env = find("2048");
  const mz_generator first = {.context = &(script){0}, .f64 = give_share, .below = give_place};
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  int slides = 0;
  for (int board = 0; board < 200; board++) {
    double tiles[CELLS];
    for (int cell = 0; cell < CELLS; cell++) tiles[cell] = mz_rng_below(&rng, 2) ? 2 << mz_rng_below(&rng, 3) : 0;
    for (int s = 0; s < env->spec.symmetries; s++) {
      double turned[CELLS], after[2][CELLS];
      for (int cell = 0; cell < CELLS; cell++) turned[mz_symmetry_cell(&env->spec, s, cell)] = tiles[cell];
      for (int a = 0; a < DIRECTIONS; a++) {
        const int32_t actions[2] = {a, mz_symmetry_action(&env->spec, s, a)};
        const double *const before[2] = {tiles, turned};
        mz_step step[2];
        assert_int_equal(can_slide(tiles, actions[0]), can_slide(turned, actions[1]));
        if (!can_slide(tiles, a)) continue;
        for (int i = 0; i < 2; i++) {
          uint64_t state[STATE_WORDS];
          env->load(env, state, before[i], 0);
          assert_int_equal(env->step(env, state, 1, &actions[i], &first, &step[i]), MZ_OK);
          env->numbers(env, state, after[i]);
          after[i][step[i].outcome / 2] = 0; /* the new tile */
        }
        assert_true(step[0].reward == step[1].reward);
        for (int cell = 0; cell < CELLS; cell++) assert_true(after[0][cell] == after[1][mz_symmetry_cell(&env->spec, s, cell)]);
        slides++;
      }
    }
  }
  assert_true(slides > 4000);
}

int main(int argc, char **argv) {
  if (argc > 1) folder = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(catch_follows_openspiel),     cmocka_unit_test(catch_is_solved),
      cmocka_unit_test(game_2048_follows_openspiel), cmocka_unit_test(game_2048_starts_with_two_tiles),
      cmocka_unit_test(game_2048_goes_on),           cmocka_unit_test(game_2048_has_its_symmetries),
  };
  return cmocka_run_group_tests_name("chance_games", tests, NULL, NULL);
}
