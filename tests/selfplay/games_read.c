/* Games in play from a section that somebody else has written: refused, or as good as any. */
#include "tests/selfplay/in_play.h"
#include <math.h>

enum { HEAD_BYTES = 8, COUNTERS_BYTES = 32 };

typedef struct section { /* of games that have been played for a while */
  setup setup;
  mz_games *games;
  mz_writer bytes;
} section;

static void section_init(section *s, const char *name, double fork_share, int moves) {
  const mz_env *env;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  setup_init(&s->setup, env, MZ_GUMBEL, env->spec.max_moves > 0 ? (mz_cut){4, 3} : (mz_cut){0, 6});
  s->setup.agent.search.simulations = 2;
  s->setup.settings.fork_share = fork_share;
  s->games = new_games(&s->setup);
  mz_selfplay_result result = {0};
  advance(&s->setup, s->games, GAMES, moves, 1, 0, &result);
  mz_selfplay_result_deinit(&result);
  s->bytes = written(s->games);
}

static void section_deinit(section *s) {
  mz_writer_free(&s->bytes);
  mz_games_free(s->games);
  test_agent_deinit(&s->setup.agent);
}

/* Reads the first `size` bytes, which end where the memory does. */
static mz_status read_copy(const section *s, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  assert_non_null(copy);
  memcpy(copy, s->bytes.data, size);
  mz_reader reader = mz_reader_over(copy, size);
  const mz_status status = mz_games_read(s->games, &reader);
  free(copy);
  return status;
}

static void expect_refused(const section *s, const char *message) {
  assert_int_equal(read_copy(s, s->bytes.size), MZ_E_CHECKPOINT);
  if (!strstr(mz_message(), message)) fail_msg("\"%s\" is not in \"%s\"", message, mz_message());
}

static void *counters_of_first(const section *s) { return s->bytes.data + HEAD_BYTES; }
static uint8_t *state_of_first(const section *s) { return s->bytes.data + HEAD_BYTES + COUNTERS_BYTES; }

static void a_state_of_no_game_is_refused(void **unused) {
  (void)unused;
  section s;
  section_init(&s, "gomoku:size=6,k=4", 0.5, 3);
  const size_t size = s.setup.env->state_size;
  uint8_t *const places[] = {state_of_first(&s), s.bytes.data + s.bytes.size - size}; /* the last: the last game's fork */
  const char *const messages[] = {"the state of game 0 is no state of gomoku:size=6,k=4",
                                  "the position that game 6 may fork from is no state of gomoku:size=6,k=4"};
  for (int i = 0; i < 2; i++) {
    uint8_t kept[512];
    assert_true(size <= sizeof kept);
    memcpy(kept, places[i], size);
    memset(places[i], 0xff, size);
    expect_refused(&s, messages[i]);
    memcpy(places[i], kept, size);
    assert_int_equal(read_copy(&s, s.bytes.size), MZ_OK);
  }
  section_deinit(&s);
}

static void a_finished_game_is_not_in_play(void **unused) {
  (void)unused;
  section s;
  section_init(&s, "tictactoe", 0.5, 3);
  const mz_env *env = s.setup.env;
  uint64_t state[8];
  const int32_t wins[] = {0, 3, 1, 4, 2};
  mz_step result;
  assert_int_equal(env->reset(env, state, NULL), MZ_OK);
  for (int i = 0; i < 5; i++) assert_int_equal(env->step(env, state, 1, &wins[i], NULL, &result), MZ_OK);
  assert_true(result.terminated);
  memcpy(state_of_first(&s), state, env->state_size);
  expect_refused(&s, "the state of game 0");
  section_deinit(&s);
}

static void counters_that_cannot_be_are_refused(void **unused) {
  (void)unused;
  section s;
  section_init(&s, "cartpole", 0, 12);
  struct {
    uint64_t episode, moves, length;
    double sum;
  } sound, c;
  memcpy(&sound, counters_of_first(&s), sizeof sound);
  assert_int_equal(sound.moves, 12);
  for (int i = 0; i < 10; i++) {
    const char *message = "game 0";
    c = sound;
    if (i == 0) c.episode = UINT64_MAX;
    if (i == 1) c.moves = UINT64_C(1) << 50, message = "game 0 counts 1125899906842624 moves";
    if (i == 2) c.length = UINT32_MAX;
    if (i == 3) c.length = c.moves = 500, message = "500 in its episode";
    if (i == 4) c.moves = 13, message = "game 1 has made 12 moves, game 0 13";
    if (i == 5) c.length = 0, c.sum = 0, message = "on record";
    if (i == 6) c.sum = NAN, message = "a return";
    if (i == 7) c.sum = -INFINITY, message = "a return";
    if (i == 8) c.sum = 1e6, message = "a return";
    if (i == 9) c.length = 13, message = "13 in its episode";
    memcpy(counters_of_first(&s), &c, sizeof c);
    expect_refused(&s, message);
  }
  memcpy(counters_of_first(&s), &sound, sizeof sound);
  assert_int_equal(read_copy(&s, s.bytes.size), MZ_OK);
  section_deinit(&s);
}

/* Without forks the section says so by its end, and the positions in play are what is forked from. */
static void every_truncation_is_refused(void **unused) {
  (void)unused;
  for (int forks = 0; forks < 2; forks++) {
    section s;
    section_init(&s, "tictactoe", forks ? 0.5 : 0, 4);
    const size_t whole = s.bytes.size, without = forks ? whole - GAMES * s.setup.env->state_size : whole;
    for (size_t size = 0; size < whole; size++) assert_int_equal(read_copy(&s, size), size == without ? MZ_OK : MZ_E_CHECKPOINT);
    assert_int_equal(read_copy(&s, whole), MZ_OK);
    section_deinit(&s);
  }
}

static void play_a_little(section *s) {
  mz_selfplay_result result = {0};
  advance(&s->setup, s->games, 3, 6, 1, 0, &result);
  mz_selfplay_result_deinit(&result);
}

static void changed_sections_are_refused_or_can_be_played(void **unused) {
  (void)unused;
  const char *const names[] = {"tictactoe",  "connect4",    "othello6",   "gomoku:size=5,k=3", "go:size=5", "cartpole",
                               "acrobot",    "mountaincar", "allocation", "seaquest",          "catch",     "2048",
                               "hex:size=5", "pig"};
  for (uint32_t e = 0; e < sizeof names / sizeof names[0]; e++) {
    section s;
    section_init(&s, names[e], 0.5, 9);
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, e, 0);
    int accepted = 0, refused = 0;
    for (int trial = 0; trial < 1500; trial++) {
      uint8_t before[3];
      size_t at[3];
      const int changes = 1 + (int)mz_rng_below(&rng, 3);
      for (int i = 0; i < changes; i++) {
        at[i] = mz_rng_below(&rng, (uint32_t)s.bytes.size);
        before[i] = s.bytes.data[at[i]];
        s.bytes.data[at[i]] =
            mz_rng_below(&rng, 2) ? (uint8_t)mz_rng_u32(&rng) : before[i] ^ (uint8_t)(1u << mz_rng_below(&rng, 8));
      }
      const mz_status status = read_copy(&s, s.bytes.size);
      for (int i = changes - 1; i >= 0; i--) s.bytes.data[at[i]] = before[i];
      accepted += status == MZ_OK;
      refused += status == MZ_E_CHECKPOINT;
      if (status == MZ_OK) play_a_little(&s);
    }
    assert_int_equal(accepted + refused, 1500);
    if (accepted <= 20 || refused <= 100) fail_msg("%s: %d accepted, %d refused", names[e], accepted, refused);
    section_deinit(&s);
  }
}

/* Before any position is kept there is one to fork from. */
static void games_that_have_not_begun_can_be_read(void **unused) {
  (void)unused;
  section s;
  section_init(&s, "go:size=5", 0.5, 0);
  assert_int_equal(read_copy(&s, s.bytes.size), MZ_OK);
  play_a_little(&s);
  section_deinit(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_of_no_game_is_refused),
      cmocka_unit_test(a_finished_game_is_not_in_play),
      cmocka_unit_test(counters_that_cannot_be_are_refused),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(changed_sections_are_refused_or_can_be_played),
      cmocka_unit_test(games_that_have_not_begun_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
