/* Go: OpenSpiel's games, and the situations its rules are known by. */
#include "tests/envs/go_game.h"
#include "tests/envs/playthrough.h"
#include "tests/envs/recorded_games.h"

/* --- OpenSpiel --- */

static void expect_full_state(const go_game *g, const playthrough_state *s) {
  double board[MZ_GO_CELLS_MAX], numbers[MZ_ENV_NUMBERS_MAX];
  assert_int_equal(playthrough_board(s->picture, 'X', 'O', '+', g->side, g->side, board), g->side);
  g->env->numbers(g->env, g->state, numbers);
  for (int row = 0; row < g->side; row++)
    assert_memory_equal(board + (g->side - 1 - row) * g->side, numbers + row * g->side, (size_t)g->side * sizeof(double));
  assert_int_equal(g->last.terminated, s->terminal);
  uint8_t mask[GO_ACTIONS_MAX];
  const int count = g->env->legal(g->env, g->state, mask);
  if (s->terminal) {
    const int mover = 1 - g->env->to_play(g->env, g->state);
    assert_int_equal(count, 0);
    assert_true((double)g->last.reward == s->rewards[mover] && s->returns[1 - mover] == -s->returns[mover]);
    return;
  }
  assert_int_equal(g->env->to_play(g->env, g->state), s->player);
  assert_int_equal(count, s->legal_count);
  for (int i = 0; i < s->legal_count; i++) assert_int_equal(mask[s->legal[i]], 1);
}

static void follows_openspiels_playthrough(void **unused) {
  (void)unused;
  static playthrough_state s;
  static go_game g;
  FILE *file = playthrough_open("go");
  go_begin(&g, "go:size=7,komi=4.5,superko=draw");
  int states = 0, full = 0;
  for (; playthrough_next(file, &s); states++) {
    if (s.full) expect_full_state(&g, &s);
    full += s.full;
    if (s.action < 0) continue;
    uint8_t mask[GO_ACTIONS_MAX];
    g.env->legal(g.env, g.state, mask);
    assert_int_equal(mask[s.action], 1);
    go_step(&g, s.action);
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(states, 70);
  assert_true(full >= 2 && g.last.terminated);
}

static void replays_openspiels_random_games(void **unused) {
  (void)unused;
  assert_int_equal(recorded_games_replay(go_env("go:size=5,komi=0.5,superko=draw"), NULL, "go5_games.txt"), 6000);
  assert_int_equal(recorded_games_replay(go_env("go:size=7,komi=4.5,superko=draw"), NULL, "go7_games.txt"), 3000);
  assert_int_equal(recorded_games_replay(go_env("go:superko=draw"), NULL, "go9_games.txt"), 1500);
  assert_int_equal(recorded_games_replay(go_env("go:size=19,komi=6,superko=draw"), NULL, "go19_games.txt"), 20);
}

/* --- situations --- */

static void a_throw_in_snaps_back(void **unused) {
  (void)unused;
  static go_game g;
  go_set_up(&g, "go:size=5",
            "....."
            "....."
            "XX..."
            "OOX.."
            "..X..",
            0);
  go_play(&g,
          "A1 B1 A1"); /* thrown in, taken, and taken back with all three: no ko, for the chain that took it has three stones */
  double numbers[MZ_ENV_NUMBERS_MAX];
  g.env->numbers(g.env, g.state, numbers);
  for (int cell = 0; cell < 25; cell++) assert_true(numbers[cell] >= 0);
  assert_true(numbers[0] == 1 && numbers[1] == 0 && numbers[5] == 0 && numbers[6] == 0);
}

#define KO                                                                                                                       \
  "....."                                                                                                                        \
  "....."                                                                                                                        \
  ".XO.."                                                                                                                        \
  "XO.O."                                                                                                                        \
  ".XO.."

static void a_ko_is_not_taken_back_at_once(void **unused) {
  (void)unused;
  static go_game g;
  static const char *const names[] = {"go:size=5", "go:size=5,superko=forbid", "go:size=5,superko=draw",
                                      "go:size=5,superko=none"};
  for (int i = 0; i < 4; i++) {
    go_set_up(&g, names[i], KO, 0);
    go_play(&g, "C2");
    assert_false(go_legal(&g, "B2"));
    go_play(&g, "E5 A5"); /* a threat and its answer */
    assert_true(go_legal(&g, "B2"));
    go_play(&g, "B2");
    assert_false(go_legal(&g, "C2") || g.last.terminated);
    go_set_up(&g, names[i], KO, 0);
    go_play(&g, "C2 pass pass");
    assert_true(g.last.terminated);
  }
}

/* The ko taken back after a pass each is a repetition, which only some rules mind. */
static void a_pass_is_no_ko_threat(void **unused) {
  (void)unused;
  static go_game g;
  go_set_up(&g, "go:size=5,superko=none", KO, 0);
  go_play(&g, "C2 pass");
  assert_true(go_legal(&g, "A5"));
  go_play(&g, "A5 B2");
  assert_false(g.last.terminated);
}

/* Sending two, returning one: White's stones A1 and B1 are taken by C1, which is taken by B1, and there is the first position again
 * after three moves, with the other player to move. */
#define SEND_TWO                                                                                                                 \
  "....."                                                                                                                        \
  "....."                                                                                                                        \
  "....."                                                                                                                        \
  "XXO.."                                                                                                                        \
  ".O.O."

static void a_longer_repetition_is_up_to_superko(void **unused) {
  (void)unused;
  static go_game g;
  go_set_up(&g, "go:size=5,superko=forbid", SEND_TWO, 1);
  go_play(&g, "A1 C1");
  assert_false(go_legal(&g, "B1"));
  go_play(&g, "E5 E4");
  assert_true(go_legal(&g, "B1")); /* not that position any more */

  go_set_up(&g, "go:size=5", SEND_TWO, 1);
  go_play(&g, "A1 C1 B1");
  assert_true(g.last.terminated && g.last.reward == -1);
  assert_false(go_legal(&g, "pass"));

  go_set_up(&g, "go:size=5,superko=draw", SEND_TWO, 1);
  go_play(&g, "A1 C1 B1");
  assert_true(g.last.terminated && g.last.reward == 0);

  go_set_up(&g, "go:size=5,superko=none", SEND_TWO, 1);
  go_play(&g, "A1 C1 B1");
  assert_false(g.last.terminated);
}

static void suicide_is_illegal(void **unused) {
  (void)unused;
  static go_game g;
  const char *const picture = "....."
                              "....X"
                              "XXXX."
                              "OOX.X"
                              "O.X..";
  go_set_up(&g, "go:size=5", picture, 1);
  assert_false(go_legal(&g, "E3")); /* one stone */
  assert_false(go_legal(&g, "B1")); /* four */
  assert_true(go_legal(&g, "D1"));
  go_set_up(&g, "go:size=5", picture, 0);
  assert_true(go_legal(&g, "E3"));
  go_play(&g, "B1"); /* Black takes them */
  double numbers[MZ_ENV_NUMBERS_MAX];
  g.env->numbers(g.env, g.state, numbers);
  assert_true(numbers[0] == 0 && numbers[1] == 1 && numbers[5] == 0 && numbers[6] == 0);
}

/* A2's chain and B2's have two liberties in common, where neither can play: both live, and A3 and B1 are nobody's. Black has 15
 * stones and two eyes, White six stones: 11. */
static void area_is_scored_with_seki_and_komi(void **unused) {
  (void)unused;
  static go_game g;
  const char *const picture = "XXXX."
                              "OOXXX"
                              ".OXXX"
                              "XOOXX"
                              "X.OX.";
  static const struct {
    const char *name;
    float black;
  } cases[] = {{"go:size=5,komi=10.5", 1}, {"go:size=5,komi=11", 0}, {"go:size=5,komi=11.5", -1}, {"go:size=5,komi=-3", 1}};
  for (int i = 0; i < 4; i++) {
    go_set_up(&g, cases[i].name, picture, 0);
    go_play(&g, "pass");
    assert_false(g.last.terminated);
    go_play(&g, "pass"); /* White's move, White's reward */
    assert_true(g.last.terminated && !g.last.truncated && g.last.reward == -cases[i].black);
    go_set_up(&g, cases[i].name, picture, 1);
    go_play(&g, "pass pass");
    assert_true(g.last.terminated && g.last.reward == cases[i].black);
  }
}

static void an_empty_board_is_whites(void **unused) {
  (void)unused;
  static go_game g;
  go_begin(&g, "go");
  go_play(&g, "pass pass");
  assert_true(g.last.terminated && g.last.reward == 1);
  go_begin(&g, "go:komi=0");
  go_play(&g, "E5 pass D5 pass pass");
  assert_true(g.last.terminated && g.last.reward == 1); /* Black's */
}

static void passes_in_a_row_end_the_game_and_others_do_not(void **unused) {
  (void)unused;
  static go_game g;
  go_begin(&g, "go:size=5");
  go_play(&g, "A1 pass B1 pass C1 pass");
  assert_false(g.last.terminated);
  go_play(&g, "pass");
  assert_true(g.last.terminated);
}

/* --- rollouts and text --- */

static void rollouts_never_fill_their_own_eyes(void **unused) {
  (void)unused;
  static go_game g;
  static uint64_t before[GO_STATE_MAX / 8];
  const char *const alive = ".X.X." /* Black lives with two eyes, and White has no room to live */
                            "XXXXX"
                            "....."
                            "....."
                            ".....";
  uint64_t random = 88172645463325252ull;
  int wins = 0;
  for (int moves = 0; moves < 2; moves++) {
    go_set_up(&g, "go:size=5,komi=-0.5", alive, moves);
    memcpy(before, g.state, g.env->state_size);
    for (int i = 0; i < 100; i++) wins += g.env->rollout(g.env, g.state, &random) == (moves ? -1.0f : 1.0f);
    assert_memory_equal(before, g.state, g.env->state_size);
  }
  assert_true(wins > 180);

  uint64_t one = 7, other = 7;
  go_begin(&g, "go");
  int black = 0;
  for (int i = 0; i < 200; i++) {
    const float value = g.env->rollout(g.env, g.state, &one);
    assert_true(value == g.env->rollout(g.env, g.state, &other)); /* the generator is all the chance there is */
    black += value > 0;
  }
  assert_in_range(black, 20, 100); /* komi 7.5 is more than the first move is worth at random */
}

static void text_and_names(void **unused) {
  (void)unused;
  static go_game g;
  char out[512], small[4];
  go_begin(&g, "go:size=5");
  go_play(&g, "A1 E5 C2");
  const char *const expected = "   A B C D E\n"
                               " 5 . . . . O\n"
                               " 4 . . . . .\n"
                               " 3 . . . . .\n"
                               " 2 . . X . .\n"
                               " 1 X . . . .\n";
  assert_int_equal(g.env->text(g.env, g.state, out, sizeof out), (int)strlen(expected));
  assert_string_equal(out, expected);
  assert_int_equal(g.env->text(g.env, g.state, small, sizeof small), (int)strlen(expected));
  const mz_env *env = go_env("go:size=19");
  static const struct {
    int action;
    const char *name;
  } names[] = {{0, "A1"}, {7, "H1"}, {8, "J1"}, {18, "T1"}, {19, "A2"}, {360, "T19"}, {361, "pass"}};
  for (int i = 0; i < 7; i++) {
    env->action_text(env, names[i].action, out, sizeof out);
    assert_string_equal(out, names[i].name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_openspiels_playthrough),
      cmocka_unit_test(replays_openspiels_random_games),
      cmocka_unit_test(a_throw_in_snaps_back),
      cmocka_unit_test(a_ko_is_not_taken_back_at_once),
      cmocka_unit_test(a_pass_is_no_ko_threat),
      cmocka_unit_test(a_longer_repetition_is_up_to_superko),
      cmocka_unit_test(suicide_is_illegal),
      cmocka_unit_test(area_is_scored_with_seki_and_komi),
      cmocka_unit_test(an_empty_board_is_whites),
      cmocka_unit_test(passes_in_a_row_end_the_game_and_others_do_not),
      cmocka_unit_test(rollouts_never_fill_their_own_eyes),
      cmocka_unit_test(text_and_names),
  };
  return cmocka_run_group_tests_name("go", tests, NULL, NULL);
}
